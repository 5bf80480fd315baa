use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use lb_common::{
    Address, Answer, Nat, Outer, Service, ServiceGroup, ServiceKey, Target, TargetState,
};

use super::{DoesNotFit, Scope};
use crate::{
    dataplane::{Change, Tables, pool::Extent},
    model::{Forward, TcpOnDown, UdpOnDown},
    table::{Image, TargetKey, TargetSpec, group_id},
};

pub(super) struct Plan<'a> {
    /// The id of every member.
    pub(super) ids: BTreeMap<&'a TargetKey, u16>,
    /// To be done before rings name them.
    pub(super) join: Vec<Change>,
    /// To be done after no ring names them.
    pub(super) leave: Vec<Change>,
}

pub(super) fn plan<'a>(
    tables: &Tables,
    image: &'a Image,
    scope: &Scope<'_>,
) -> Result<Plan<'a>, DoesNotFit> {
    let known: BTreeMap<_, _> = tables
        .targets()
        .map(|(id, target)| ((target.group, target.identity), id))
        .collect();
    let mut free = free(tables);
    let mut plan = Plan {
        ids: BTreeMap::new(),
        join: Vec::new(),
        leave: Vec::new(),
    };
    for (key, spec) in &image.targets {
        let group = group_id(&key.group);
        if scope.untouched.contains(&group) {
            continue;
        }
        let known = known.get(&(group, key.hash())).copied();
        let id = known
            .or_else(|| free.next())
            .ok_or_else(|| too_many(tables, scope))?;
        plan.ids.insert(key, id);
        let old = tables.targets.get(&id);
        let target = wanted(key, spec, old);
        if old != Some(&target) {
            let phase = match target.state.takes_new() || old.is_none() {
                true => &mut plan.join,
                false => &mut plan.leave,
            };
            phase.push(Change::SetTarget { id, target });
        }
    }
    plan.leave.extend(bury(tables, scope));
    Ok(plan)
}

/// Frees the ids of removed targets that no flow names any more, and forbids groups to serve where
/// neither the configuration nor a flow needs them any more.
///
/// `named` holds the ids that stand in live flow entries. An id that a packet may still find in a ring
/// is not freed either: it could become a flow's a moment later.
pub fn collect(tables: &Tables, image: &Image, named: &BTreeSet<u16>) -> Vec<Change> {
    let scope = Scope::new(tables, image, &image.held.iter().collect(), false);
    let visible = tables.visible_targets();
    let free = tables
        .targets()
        .filter(|(_, target)| target.state == GONE && scope.is_gone(target))
        .map(|(id, _)| id)
        .filter(|id| !named.contains(id) && !visible.contains(id))
        .map(|id| Change::FreeTarget { id });
    free.chain(forbid(tables, image, &scope, named)).collect()
}

fn forbid(
    tables: &Tables,
    image: &Image,
    scope: &Scope<'_>,
    named: &BTreeSet<u16>,
) -> impl Iterator<Item = Change> {
    let services: BTreeMap<u32, (ServiceKey, Service)> =
        tables.services().map(|it| (it.1.id, it)).collect();
    let others = tables.rings_out_of_use().map(Extent::of);
    let others = others.flat_map(|extent| &tables.slots[extent.slots()]);
    let targets = named
        .iter()
        .chain(others)
        .filter_map(|id| tables.targets.get(id));
    let flowing: BTreeSet<u32> = targets.map(|target| target.group).collect();
    let resting = tables.retired_services();
    let needed = move |other: &ServiceGroup| {
        let Some((key, service)) = services.get(&other.service) else {
            return resting.contains(&other.service);
        };
        let Some(spec) = image.services.get(key) else {
            return true;
        };
        let serves = spec.groups().any(|group| group_id(group) == other.group);
        let flows = serves || flowing.contains(&other.group);
        scope.staying.contains(key) || (flows && service.group != other.group)
    };
    let others = tables.service_groups.iter().copied();
    others
        .filter(move |other| !needed(other))
        .map(Change::ForbidGroup)
}

/// The state of a target that was removed while flows may name it.
const GONE: TargetState = TargetState(TargetState::DEAD);

/// What was removed stays until no flow names it, but takes no new ones.
fn bury(tables: &Tables, scope: &Scope<'_>) -> impl Iterator<Item = Change> {
    tables
        .targets()
        .filter(|(_, target)| target.state != GONE && scope.is_gone(target))
        .map(|(id, target)| Change::SetTarget {
            id,
            target: Target {
                state: GONE,
                ..*target
            },
        })
}

fn wanted(key: &TargetKey, spec: &TargetSpec, old: Option<&Target>) -> Target {
    let mode = key.identity.forward.mode();
    let (forward, exit) = spec.departure.by(mode);
    Target {
        next_hop: spec.next_hop.map_or([0; 6], |mac| mac.0),
        mtu: spec.mtu,
        source: spec.source.0,
        state: state(spec),
        forward,
        group: group_id(&key.group),
        epoch: old.map_or(0, |old| old.epoch),
        identity: key.hash(),
        address: key.identity.address.into(),
        outer: match key.identity.forward {
            Forward::Gue { .. } | Forward::Ipip => outer(spec.edge_address, key.identity.address),
            Forward::FullNat | Forward::L2Dsr => Outer::default(),
        },
        nat: match key.identity.forward {
            Forward::FullNat => nat(spec.edge_address, key.identity.port),
            Forward::Gue { port } => nat(None, Some(port)),
            Forward::Ipip | Forward::L2Dsr => Nat::NONE,
        },
        exit,
        mode,
        reserved: [0; 3],
    }
}

fn nat(source: Option<IpAddr>, port: Option<u16>) -> Nat {
    Nat {
        // Without one its way is not known yet, and it is sent nothing.
        source: source.map_or(Nat::NONE.source, Address::from),
        port: port.unwrap_or(0).to_be_bytes(),
        ..Nat::NONE
    }
}

fn state(spec: &TargetSpec) -> TargetState {
    let takes_new = if spec.takes_new {
        TargetState::TAKES_NEW
    } else {
        0
    };
    let dead = spec.dead.map_or(0, |flows| {
        let tcp = match flows.tcp {
            TcpOnDown::Keep => 0,
            TcpOnDown::Reselect => TargetState::TCP_MOVES,
            TcpOnDown::Reset => TargetState::TCP_ENDS,
        };
        let udp = match flows.udp {
            UdpOnDown::Keep => TargetState::UDP_STAYS,
            UdpOnDown::Reselect => 0,
        };
        TargetState::DEAD | tcp | udp
    });
    TargetState(takes_new | dead)
}

fn outer(source: Option<IpAddr>, backend: IpAddr) -> Outer {
    match (source, backend) {
        (Some(IpAddr::V4(source)), IpAddr::V4(backend)) => {
            Outer::v4(source.octets(), backend.octets())
        }
        (Some(IpAddr::V6(source)), IpAddr::V6(_)) => Outer::v6(source.octets()),
        // Its way is not known yet, and it is sent nothing.
        _ => Outer::default(),
    }
}

fn free(tables: &Tables) -> impl Iterator<Item = u16> {
    // A slot with a higher number is an answer.
    let end = u16::try_from(tables.capacity.targets).unwrap_or(u16::MAX);
    let ids = 1..end.min(Answer::DROP.slot());
    ids.filter(|id| !tables.targets.contains_key(id))
}

fn too_many(tables: &Tables, scope: &Scope<'_>) -> DoesNotFit {
    let size = tables.capacity.targets as usize - 1;
    let untouched = |group: &u32| scope.untouched.contains(group);
    let gone = tables
        .targets
        .values()
        .filter(|target| scope.is_gone(target));
    let standing = tables.targets.values().map(|target| target.group);
    let members = scope.members.iter().map(|(group, _)| *group);
    let needed = standing.filter(untouched).count() + members.filter(|g| !untouched(g)).count();
    if needed <= size {
        return DoesNotFit::NotYet {
            map: "TABLES",
            needed: needed + gone.count(),
            size,
            when: "when flows to removed backends have ended",
        };
    }
    DoesNotFit::Targets { needed, size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Departure, Identity, Mac, OnDown};

    #[test]
    fn a_state_says_what_becomes_of_flows_of_the_dead() {
        let spec = |dead| TargetSpec {
            next_hop: None,
            source: Mac([0; 6]),
            edge_address: None,
            mtu: 1500,
            departure: Departure::AS_IT_CAME,
            takes_new: false,
            dead,
        };
        let written = |dead| {
            let state = state(&spec(dead));
            (state.keeps_tcp(), state.ends_tcp(), state.keeps_udp())
        };
        assert_eq!(written(None), (true, false, true));
        for (tcp, keeps, ends) in [
            (TcpOnDown::Keep, true, false),
            (TcpOnDown::Reselect, false, false),
            (TcpOnDown::Reset, false, true),
        ] {
            for (udp, stays) in [(UdpOnDown::Keep, true), (UdpOnDown::Reselect, false)] {
                let found = written(Some(OnDown { tcp, udp }));
                assert_eq!(found, (keeps, ends, stays), "{tcp:?} {udp:?}");
            }
        }
        assert_eq!(state(&spec(Some(OnDown::DEFAULT))), GONE);
    }

    #[test]
    fn an_outer_header_has_the_edge_s_address_of_the_backend_s_family() {
        let [ours, theirs, ours6, theirs6] =
            ["10.0.0.1", "10.0.0.9", "2001:db8::1", "2001:db8::9"].map(|it| it.parse().unwrap());
        let written = outer(Some(ours), theirs);
        assert_eq!(written, Outer::v4([10, 0, 0, 1], [10, 0, 0, 9]));
        let written = outer(Some(ours6), theirs6).words().map(u32::to_ne_bytes);
        assert_eq!(
            IpAddr::from(*written.concat().first_chunk::<16>().unwrap()),
            ours6
        );
        assert_eq!(outer(None, theirs), Outer::default());
    }

    #[test]
    fn a_backend_is_found_again_by_its_target_however_packets_reach_it() {
        let spec = TargetSpec {
            next_hop: None,
            source: Mac([2; 6]),
            edge_address: Some("10.0.0.1".parse().unwrap()),
            mtu: 1468,
            departure: Departure::AS_IT_CAME,
            takes_new: true,
            dead: None,
        };
        let mut hashes = BTreeSet::new();
        for (forward, port) in [
            (Forward::FullNat, None),
            (Forward::FullNat, Some(6080)),
            (Forward::Gue { port: 6080 }, None),
            (Forward::Gue { port: 6081 }, None),
            (Forward::Ipip, None),
            (Forward::L2Dsr, None),
        ] {
            let identity = Identity {
                address: "10.0.0.9".parse().unwrap(),
                forward,
                port,
            };
            let group = "web".parse().unwrap();
            let target = wanted(&TargetKey { group, identity }, &spec, None);
            assert_eq!(Identity::of(&target), Some(identity));
            assert!(hashes.insert(target.identity), "{forward:?}");
        }
    }

    #[test]
    fn what_a_target_is_translated_to_has_the_edge_s_address_and_the_backend_s_port() {
        let ours: IpAddr = "10.0.0.1".parse().unwrap();
        let written = nat(Some(ours), Some(8080));
        assert_eq!(IpAddr::from(written.source), ours);
        assert_eq!(u16::from_be_bytes(written.port), 8080);
        assert_eq!(nat(Some(ours), None).port, [0, 0], "the service's");
        assert_eq!(nat(None, None), Nat::NONE);
    }
}
