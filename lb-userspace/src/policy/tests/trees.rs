//! Random trees of groups with all stages, and clients of them.

use std::{net::Ipv6Addr, time::Duration};

use proptest::{collection, option, sample};

use super::*;
use crate::{
    model::{
        AllDown, Backend, Clients, LatencySource, Location, LocationPattern, MinHealthy, NoAnswer,
        NoProximity, NoRegion, NoSubnet, Percent, Ramp, Region, Spread, StoppedRegion,
        UnhealthyRegion, UnhealthySubnet, Weight,
    },
    whereabouts::LatencyRegion,
};

/// Backends `b0`, `b1` ..; the last one of IPv6.
const BACKENDS: usize = 7;
/// Groups `g0`, `g1` ..; each may have those after it as members or as its backup.
pub(super) const GROUPS: usize = 4;
const REGIONS: [&str; 6] = ["WORLD", "GEO-EU", "IE", "FR", "US", "US-CA"];
const PLACES: [&str; 4] = ["Europe.UK", "Europe.RU", "Asia.HK", "Africa"];
/// In order.
const FAR: [&str; 3] = ["east", "north", "west"];

/// Everything that is decided from. The root is `g0`.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) groups: BTreeMap<Name, Group>,
    pub(super) backends: BTreeMap<Name, Backend>,
    pub(super) states: BTreeMap<Name, Vec<MemberState>>,
    regions: Vec<LatencyRegion>,
}

impl Tree {
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            groups: &self.groups,
            backends: &self.backends,
            states: &self.states,
            regions: &self.regions,
        }
    }

    pub(super) fn decide(&self, client: &Client) -> Decision {
        decide(&self.scene(), &name("g", 0), client)
    }
}

pub(super) fn name(kind: &str, number: usize) -> Name {
    format!("{kind}{number}").parse().unwrap()
}

fn far(place: usize) -> LatencyRegion {
    LatencyRegion::new(FAR[place]).unwrap()
}

fn place(number: usize) -> Location {
    PLACES[number].parse().unwrap()
}

fn latency() -> impl Strategy<Value = Option<Duration>> {
    option::of((0..5_u64).prop_map(|tens| Duration::from_millis(10 * tens)))
}

/// A tree, and some of its clients.
pub(super) fn trees() -> impl Strategy<Value = (Tree, Vec<Client>)> {
    let groups = [group(0), group(1), group(2), group(3)];
    let parts = (groups, collection::vec(backend(), BACKENDS));
    parts
        .prop_map(|(groups, backends)| {
            let backends = backends.into_iter().enumerate().map(|(number, mut it)| {
                it.name = name("b", number);
                it.address = match number < BACKENDS - 1 {
                    true => Ipv4Addr::from_bits(0x0a00_0000 + number as u32).into(),
                    false => Ipv6Addr::from_bits(0xfd << 120 | number as u128).into(),
                };
                (it.name.clone(), it)
            });
            let backends = backends.collect();
            let (groups, states): (Vec<_>, Vec<_>) = groups.into_iter().unzip();
            let states = groups.iter().map(|it| it.name.clone()).zip(states);
            Tree {
                states: states.collect(),
                groups: groups.into_iter().map(|it| (it.name.clone(), it)).collect(),
                backends,
                regions: (0..FAR.len()).map(far).collect(),
            }
        })
        .prop_flat_map(|tree| (Just(tree), collection::vec(client(), 1..4)))
        .prop_map(|(tree, mut clients)| {
            // Only members with addresses of their own can have the client's.
            for client in &mut clients {
                client.members.retain(|group, member| {
                    let member = tree.groups[group].members.get(*member);
                    member.is_some_and(|it| !it.clients.is_empty())
                });
            }
            (tree, clients)
        })
}

fn backend() -> impl Strategy<Value = Backend> {
    let parts = (
        option::weighted(0.8, 0..PLACES.len()),
        option::weighted(0.8, 0..FAR.len()),
    );
    parts.prop_map(|(at, region)| Backend {
        location: at.map(place),
        region: region.map(far),
        ..fixtures::backends(&["b0"])[&name("b", 0)].clone()
    })
}

fn client() -> impl Strategy<Value = Client> {
    let prefer = sample::select(vec!["Asia.HK", "*.UK", "Europe.FR", "Europe.*"]);
    let parts = (
        proptest::bool::weighted(0.9),
        collection::btree_map(0..GROUPS, 0..4_usize, 0..=GROUPS),
        sample::select(REGIONS.to_vec()),
        option::weighted(0.8, 0..PLACES.len()),
        option::weighted(0.8, collection::vec(latency(), FAR.len())),
        collection::vec(prefer, 0..3),
    );
    parts.prop_map(|(v4, members, region, at, row, prefer)| Client {
        v4,
        members: (members.into_iter())
            .map(|(group, member)| (name("g", group), member))
            .collect(),
        region: region.parse().unwrap(),
        location: at.map(place),
        latencies: row.unwrap_or_default().into(),
        prefer: (prefer.into_iter())
            .map(|it| it.parse::<LocationPattern>().unwrap())
            .collect(),
    })
}

/// A group that may have those after it as members, and the states of its members.
fn group(number: usize) -> impl Strategy<Value = (Group, Vec<MemberState>)> {
    let others = BACKENDS + GROUPS - 1 - number;
    let answers = vec![
        NoAnswer::Drop,
        NoAnswer::Pass,
        NoAnswer::Reject,
        NoAnswer::Backup,
    ];
    let backup = option::of(number + 1..GROUPS.max(number + 2));
    let parts = (
        collection::btree_map(0..others, (member(), state()), 2..7),
        collection::vec(stage(), 0..6),
        sample::select(answers),
        backup.prop_map(|it| it.filter(|it| *it < GROUPS)),
        proptest::bool::weighted(0.9),
    );
    parts.prop_map(move |(members, stages, no_answer, backup, enabled)| {
        let mut taken = std::collections::BTreeSet::new();
        let (members, states) = (members.into_iter())
            .map(|(who, (mut member, state))| {
                member.who = match who.checked_sub(BACKENDS) {
                    None => Who::Backend(name("b", who)),
                    Some(group) => Who::Group(name("g", number + 1 + group)),
                };
                // A region may be mapped to one member only (S81).
                member.geo.retain(|region| taken.insert(*region));
                (member, state)
            })
            .unzip();
        let group = Group {
            enabled,
            stages,
            no_answer,
            backup: backup.map(|it| name("g", it)),
            ..fixtures::front_door(name("g", number).as_str(), members)
        };
        (group, states)
    })
}

fn member() -> impl Strategy<Value = Member> {
    let own = Clients::new(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()).unwrap();
    let parts = (
        proptest::bool::weighted(0.95),
        proptest::bool::weighted(0.05),
        proptest::bool::weighted(0.1),
        (1..3_i64, sample::select(vec![0, 1, 1, 1, 2, 2, 3, 3])),
        any::<bool>(),
        sample::subsequence(REGIONS.to_vec(), 0..4),
        (option::of(0..PLACES.len()), option::of(0..FAR.len())),
        (0..3_u32, 0..2_u32, prop_oneof![9 => Just(0), 1 => Just(1)]),
    );
    parts.prop_map(
        move |(enabled, stopped, always_serve, sizes, maps, geo, at, min)| {
            let (priority, weight) = sizes;
            Member {
                enabled,
                stopped,
                always_serve,
                weight: Weight::new(weight).unwrap(),
                clients: maps.then_some(own).into_iter().collect(),
                geo: geo.iter().map(|it| it.parse::<Region>().unwrap()).collect(),
                location: at.0.map(place),
                region: at.1.map(far),
                min_healthy: MinHealthy {
                    all: min.0,
                    v4: min.1,
                    v6: min.2,
                },
                ..fixtures::member("any", priority, 1)
            }
        },
    )
}

fn state() -> impl Strategy<Value = MemberState> {
    let mut admins = vec![Admin::Enable; 18];
    admins.extend([Admin::Drain, Admin::Disable]);
    let healths = vec![
        Health::Up,
        Health::Up,
        Health::Up,
        Health::Down,
        Health::Checking,
    ];
    let parts = (
        sample::select(admins),
        proptest::bool::weighted(0.05),
        sample::select(healths),
        any::<bool>(),
        1..=16_u64,
        latency(),
    );
    parts.prop_map(
        |(admin, is_cut_off, health, serves_unchecked, ramp, latency)| MemberState {
            admin,
            unreachable: is_cut_off.then(|| "no route".to_owned()),
            serves_unchecked,
            ramp: Ramp::at(Duration::from_secs(ramp), Duration::from_secs(16)),
            latency,
            ..fixtures::state(health, None, "")
        },
    )
}

/// Any stage.
pub(super) fn stage() -> impl Strategy<Value = Stage> {
    let place = usual(NoProximity::Continue, NoProximity::NoAnswer);
    let source = sample::select(vec![LatencySource::Client, LatencySource::Probe]);
    let window = (0..3_u64).prop_map(|tens| Duration::from_millis(10 * tens));
    let spread = sample::select(vec![Spread::Client, Spread::Flow]);
    prop_oneof![
        available(),
        subnet(),
        geo(),
        Just(Stage::Prefer),
        place.prop_map(|on_no_match| Stage::Proximity { on_no_match }),
        Just(Stage::Priority),
        (source, window).prop_map(|(source, window)| Stage::Latency { source, window }),
        (1..4_u16).prop_map(|take| Stage::Subset { take }),
        (any::<bool>(), spread).prop_map(|(equal, spread)| Stage::Weight { equal, spread }),
    ]
}

/// Most often the first.
fn usual<T: Clone + std::fmt::Debug>(one: T, other: T) -> impl Strategy<Value = T> {
    prop_oneof![4 => Just(one), 1 => Just(other)]
}

fn available() -> impl Strategy<Value = Stage> {
    let all_downs = vec![
        AllDown::AsIfHealthy,
        AllDown::Backup,
        AllDown::NoAnswer,
        AllDown::RoundRobin,
    ];
    let least = (1..=100_i64).prop_map(|it| Percent::new(it).unwrap());
    let parts = (sample::select(all_downs), option::weighted(0.3, least));
    parts.prop_map(|(all_down, min_healthy_weight)| Stage::Available {
        all_down,
        min_healthy_weight,
    })
}

fn subnet() -> impl Strategy<Value = Stage> {
    let unmapped = vec![NoSubnet::Continue, NoSubnet::Fallback, NoSubnet::NoAnswer];
    let unhealthy = vec![
        UnhealthySubnet::Continue,
        UnhealthySubnet::Fallback,
        UnhealthySubnet::NoAnswer,
        UnhealthySubnet::Serve,
    ];
    let parts = (sample::select(unmapped), sample::select(unhealthy));
    parts.prop_map(|(on_no_match, on_unhealthy)| Stage::Subnet {
        on_no_match,
        on_unhealthy,
    })
}

fn geo() -> impl Strategy<Value = Stage> {
    let unhealthy = vec![
        UnhealthyRegion::Climb,
        UnhealthyRegion::NoAnswer,
        UnhealthyRegion::Serve,
    ];
    let parts = (
        usual(NoRegion::Continue, NoRegion::NoAnswer),
        sample::select(unhealthy),
        sample::select(vec![StoppedRegion::Climb, StoppedRegion::NoAnswer]),
    );
    parts.prop_map(|(on_no_match, on_unhealthy, on_stopped)| Stage::Geo {
        on_no_match,
        on_unhealthy,
        on_stopped,
    })
}
