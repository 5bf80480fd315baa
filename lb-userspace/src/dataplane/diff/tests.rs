mod capacity;
mod clients;
mod formers;
mod held;
mod property;
mod sound;

use std::net::{IpAddr, Ipv4Addr};

use lb_common::{Answer, CHUNK, Descriptor, Protocol, Row, Service, ServiceGroup};

use self::{
    property::logical,
    sound::{assert_sound, follow, ids_in, serves},
};
use super::*;
use crate::{
    dataplane::{Capacity, pool::Extent},
    model::{Departure, Forward, Identity, Mac, OnDown},
    table::{Ring, ServiceSpec, TargetKey, TargetSpec},
};

/// A ring counts for 150 ticks from now on that is replaced.
const GRACE: Grace = Grace {
    now: 1000,
    ticks: 150,
};

fn diff(tables: &Tables, image: &Image) -> Result<Plan, DoesNotFit> {
    super::diff(tables, image, GRACE)
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn service_key(address: u8, port: u16) -> ServiceKey {
    let address = IpAddr::from([203, 0, 113, address]);
    ServiceKey::new(address.into(), port.to_be_bytes(), Protocol::TCP)
}

fn member(group: &str, backend: u8) -> TargetKey {
    TargetKey {
        group: name(group),
        identity: Identity {
            address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, backend)),
            forward: Forward::L2Dsr,
            port: None,
        },
    }
}

fn live(mac: u8) -> TargetSpec {
    TargetSpec {
        next_hop: Some(Mac([2, 0, 0, 0, 0, mac])),
        source: Mac([2, 0, 0, 0, 1, 0]),
        edge_address: None,
        mtu: 1500,
        departure: Departure::AS_IT_CAME,
        takes_new: true,
        dead: None,
    }
}

/// An image with a service on port 80 of address `n` for the n-th group.
fn image(groups: &[(&str, &[u8])]) -> Image {
    let mut image = Image::default();
    for (n, (group, backends)) in groups.iter().enumerate() {
        publish(&mut image, service_key(n as u8, 80), group);
        let ring = ring(group, backends, 100);
        image.rings.insert(name(group), vec![ring].into());
        for backend in *backends {
            image
                .targets
                .insert(member(group, *backend), live(*backend));
        }
    }
    image
}

fn publish(image: &mut Image, key: ServiceKey, group: &str) {
    let spec = ServiceSpec {
        name: name(&format!("s-{group}")),
        group: name(group),
        routes: BTreeSet::new(),
        by_class: false,
    };
    image.services.insert(key, spec);
}

/// A ring in which the backends take turns.
fn ring(group: &str, backends: &[u8], length: usize) -> Ring {
    let targets: Vec<_> = backends.iter().map(|b| member(group, *b)).collect();
    let turn = 0..targets.len() as u16;
    let slots = turn.cycle().take(length).collect();
    let columns = 0;
    Ring {
        targets,
        slots,
        columns,
    }
}

fn tables() -> Tables {
    Tables::new(Capacity::new(4096))
}

/// Does all that `diff` says in one round.
fn update(tables: &mut Tables, image: &Image) -> Vec<Change> {
    let plan = diff(tables, image).unwrap();
    assert!(!plan.later);
    follow_all(tables, &plan);
    assert_eq!(diff(tables, image), Ok(Plan::default()));
    plan.changes
}

/// Does what `diff` says in as many rounds as it takes.
fn settle(tables: &mut Tables, image: &Image) -> Result<usize, DoesNotFit> {
    for round in 1..100 {
        let plan = diff(tables, image)?;
        follow_all(tables, &plan);
        if !plan.later {
            assert_eq!(diff(tables, image), Ok(Plan::default()));
            return Ok(round);
        }
        tables.release();
    }
    panic!("it does not end")
}

fn follow_all(tables: &mut Tables, plan: &Plan) {
    for change in &plan.changes {
        follow(tables, change);
    }
}

/// Takes out all former rings.
fn forget_formers(tables: &mut Tables) {
    for change in expire(tables, Grace::OFF) {
        follow(tables, &change);
    }
}

/// Lets what was retired rest long enough.
fn rest(tables: &mut Tables) {
    tables.release();
    tables.release();
}

#[test]
fn services_are_withdrawn_first_and_published_last() {
    let mut tables = tables();
    let old = image(&[("a", &[1, 2])]);
    update(&mut tables, &old);
    let mut new = Image::default();
    publish(&mut new, service_key(1, 80), "b");
    new.rings
        .insert(name("b"), vec![ring("b", &[3], 100)].into());
    new.targets.insert(member("b", 3), live(3));
    let changes = update(&mut tables, &new);
    let kinds: Vec<_> = changes.iter().map(kind).collect();
    let expected = "address port remove target slots row put address port target target";
    assert_eq!(kinds.join(" "), expected);
}

fn kind(change: &Change) -> &'static str {
    match change {
        Change::AllowGroup(_) => "allow",
        Change::ForbidGroup(_) => "forbid",
        Change::SelectClients { .. } => "select",
        Change::WriteClients { .. } => "clients",
        Change::FreeTarget { .. } => "free",
        Change::PointRow { .. } => "row",
        Change::PutService { .. } => "put",
        Change::RemoveService { .. } => "remove",
        Change::SetAddress { .. } => "address",
        Change::SetFormer { .. } => "former",
        Change::SetPort { .. } => "port",
        Change::SetTarget { .. } => "target",
        Change::WriteSlots { .. } => "slots",
    }
}

/// The ids that are given back.
fn freed(tables: &Tables, image: &Image, named: &BTreeSet<u16>) -> Vec<u16> {
    let changes = collect(tables, image, named).into_iter();
    let id = |change| match change {
        Change::FreeTarget { id } => Some(id),
        _ => None,
    };
    changes.filter_map(id).collect()
}

#[test]
fn case_31_and_32_an_id_is_not_used_again_while_a_flow_names_it() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1])]));
    let old = tables.target_id(&member("a", 1)).unwrap();
    let next = image(&[("b", &[2])]);
    update(&mut tables, &next);
    assert_eq!(tables.target_id(&member("a", 1)), Some(old), "a tombstone");
    assert_ne!(tables.target_id(&member("b", 2)), Some(old));

    let nobody = BTreeSet::new();
    let early = freed(&tables, &next, &nobody);
    assert_eq!(early, [0; 0], "packets may still look at the old ring");
    rest(&mut tables);
    assert_eq!(freed(&tables, &next, &BTreeSet::from([old])), [0; 0]);
    assert_eq!(freed(&tables, &next, &nobody), [old]);
    tables.apply(&Change::FreeTarget { id: old });
    update(&mut tables, &image(&[("b", &[2, 3])]));
    assert_eq!(tables.target_id(&member("b", 3)), Some(old));
}

#[test]
fn a_removed_member_that_comes_back_has_its_old_id() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1, 2])]));
    let old = tables.target_id(&member("a", 1));
    update(&mut tables, &image(&[("a", &[2])]));
    update(&mut tables, &image(&[("a", &[1, 2])]));
    assert_eq!(tables.target_id(&member("a", 1)), old);
}

#[test]
fn a_dead_member_that_is_still_wanted_is_not_collected() {
    let mut tables = tables();
    let mut image = image(&[("a", &[1, 2])]);
    image
        .rings
        .insert(name("a"), vec![ring("a", &[2], 100)].into());
    let spec = image.targets.get_mut(&member("a", 1)).unwrap();
    (spec.takes_new, spec.dead) = (false, Some(OnDown::DEFAULT));
    update(&mut tables, &image);
    assert_eq!(collect(&tables, &image, &BTreeSet::new()), []);
}

#[test]
fn case_33_the_last_backend_leaves_an_empty_ring() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1])]));
    update(&mut tables, &image(&[("a", &[])]));
    let service = tables.services[&service_key(0, 80)];
    assert_eq!(tables.row(service.row.first()), Descriptor::NO_ANSWER);
    assert!(tables.targets.values().all(|target| target.state.dead()));
}

#[test]
fn case_34_a_recycled_row_never_shows_the_old_ring() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1])]));
    let old = tables.services[&service_key(0, 80)];
    update(&mut tables, &Image::default());
    let next = image(&[("b", &[])]);
    let mut early = tables.clone();
    update(&mut early, &next);
    assert_ne!(
        early.services[&service_key(0, 80)].row,
        old.row,
        "not in the same breath"
    );

    rest(&mut tables);
    let changes = update(&mut tables, &next);
    let new = tables.services[&service_key(0, 80)];
    assert_eq!(new.row, old.row);
    let row = new.row.first();
    let descriptor = Descriptor::NO_ANSWER;
    let point = changes
        .iter()
        .position(|c| *c == Change::PointRow { row, descriptor });
    let put = changes
        .iter()
        .position(|c| matches!(c, Change::PutService { .. }));
    assert!(point.is_some() && point < put, "{changes:?}");
}

#[test]
fn case_37_a_thousand_restarts_leak_nothing() {
    let mut tables = tables();
    let image = image(&[("a", &[1, 2]), ("b", &[1, 2])]);
    update(&mut tables, &image);
    let first = tables.clone();
    for _ in 0..1000 {
        let adopted = Tables {
            retired: Default::default(),
            ..tables
        };
        tables = adopted;
        assert_eq!(update(&mut tables, &image), []);
    }
    assert_eq!(tables, first);
}

#[test]
fn a_service_whose_ring_stays_is_not_touched() {
    let mut tables = tables();
    update(&mut tables, &image(&[("a", &[1]), ("b", &[2])]));
    let ours = tables.services[&service_key(0, 80)];
    let changes = update(&mut tables, &image(&[("a", &[1]), ("b", &[2, 3])]));
    assert!(!changes.is_empty());
    for change in changes {
        match change {
            Change::PointRow { row, .. } | Change::SetFormer { row, .. } => {
                assert_ne!(row, ours.row.first());
            }
            Change::SetTarget { target, .. } => assert_ne!(target.group, ours.group),
            Change::WriteSlots { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn services_of_one_group_share_a_row() {
    let mut tables = tables();
    let mut image = image(&[("a", &[1])]);
    publish(&mut image, service_key(0, 81), "a");
    update(&mut tables, &image);
    let rows: Vec<_> = tables.services.values().map(|s| s.row).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0], rows[1]);
    assert_eq!(tables.addresses[&service_key(0, 80).address], 2);
}

#[test]
fn a_ring_that_names_an_unknown_target_has_slots_of_no_target() {
    let mut tables = tables();
    let mut image = image(&[("a", &[1])]);
    image.targets.clear();
    for change in diff(&tables, &image).unwrap().changes {
        tables.apply(&change);
    }
    assert_eq!(tables.ring(0), [0; 100]);
}

#[test]
fn tables_written_by_a_foreign_hand_are_mended_and_never_a_panic() {
    let mut tables = tables();
    let image = image(&[("a", &[1])]);
    update(&mut tables, &image);
    let key = service_key(0, 80);
    let service = tables.services[&key];
    for ring in [
        Descriptor::new(u32::MAX, u32::MAX),
        Descriptor::new(4096, 1),
        Descriptor::new(3, 5),
    ] {
        tables.rows[service.row.first() as usize] = ring;
        assert_eq!(tables.ring(service.row.first()), [] as [u16; 0]);
        update(&mut tables, &image);
        assert_eq!(logical(&tables, &image), image);
        tables.release();
    }
    tables.services.insert(
        key,
        Service {
            row: Row::new(u32::MAX, 1),
            id: u32::MAX,
            ..service
        },
    );
    update(&mut tables, &image);
    assert_eq!(logical(&tables, &image), image);
    assert!(tables.services[&key].row.first() < 1 << 17);
}
