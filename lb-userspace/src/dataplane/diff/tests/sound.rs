use super::*;

/// Makes a change and checks what must hold after every single one.
pub(super) fn follow(tables: &mut Tables, change: &Change) {
    let seen: Vec<_> = seen(tables);
    let found: BTreeSet<_> = found(tables).collect();
    tables.apply(change);
    for key in found.difference(&self::found(tables).collect()) {
        let ends = *change == Change::RemoveService { key: *key };
        let leaves_its_port = matches!(change, Change::SetPort { .. });
        assert!(ends || leaves_its_port, "{change:?} hides {key:?}");
    }
    for (extent, slots) in seen {
        assert_eq!(tables.slots[extent.slots()], slots, "{change:?}");
    }
    assert_sound(tables, change);
    assert_formers(tables, change);
    assert!(tables.slots.len().is_multiple_of(CHUNK));
}

/// The parts of the pool that packets may be looking at.
fn seen(tables: &Tables) -> Vec<(Extent, Vec<u16>)> {
    tables
        .rings_in_use()
        .chain(tables.rings_out_of_use())
        .map(Extent::of)
        .map(|extent| (extent, tables.slots[extent.slots()].to_vec()))
        .collect()
}

pub(super) fn assert_sound(tables: &Tables, change: &Change) {
    for (key, service) in tables.services() {
        let classes = service.row.classes();
        let longest = tables.clients_in_use().numbers().last().copied();
        assert!(
            classes == 1 || u32::from(longest.unwrap()) < classes,
            "{change:?}"
        );
        for id in tables
            .rings_of(service.row)
            .flat_map(|ring| ids_in(tables, ring))
        {
            if Answer::of_slot(id).is_some() {
                continue;
            }
            let target = tables.targets.get(&id).expect("a slot names no target");
            assert!(serves(tables, &service, target.group), "{change:?}");
            assert!(target.state.takes_new(), "{change:?}");
        }
        assert_eq!(service.address, key.address, "{change:?}");
    }
    let keys: BTreeSet<_> = tables.services().map(|(key, _)| key).collect();
    assert!(found(tables).all(|key| keys.contains(&key)), "{change:?}");
}

/// Only rows that packets look at have former rings, and each slot of those names a target that there is.
fn assert_formers(tables: &Tables, change: &Change) {
    let rows = tables.rows_in_use().into_iter();
    let places: BTreeSet<_> = rows
        .flat_map(|row| tables.seen_places(row))
        .map(|(_, place)| place)
        .collect();
    for (place, former) in &tables.formers {
        assert!(places.contains(place), "{change:?}");
        for id in ids_in(tables, former.ring) {
            let is_known = Answer::of_slot(id).is_some() || tables.targets.contains_key(&id);
            assert!(is_known, "{change:?}");
        }
    }
}

pub(super) fn ids_in(tables: &Tables, ring: Descriptor) -> Vec<u16> {
    tables.slots_of(ring).to_vec()
}

/// Whether the packet program lets targets of a group serve.
pub(super) fn serves(tables: &Tables, service: &Service, group: u32) -> bool {
    let other = ServiceGroup {
        service: service.id,
        group,
    };
    group == service.group || tables.service_groups.contains(&other)
}

/// The services that a packet can find, as the packet program looks for them.
fn found(tables: &Tables) -> impl Iterator<Item = ServiceKey> {
    let find = |key: &ServiceKey| {
        let port = tables.ports.get(&u16::from_be_bytes(key.port))?;
        let (first, more) = port.listener(key.protocol)?;
        let mut services = tables.services.values();
        let first = services.find(|service| service.id == u32::from(first));
        (more || first.is_some_and(|first| first.address == key.address)).then_some(())
    };
    let keys = tables.services.keys().copied();
    keys.filter(move |key| find(key).is_some())
}
