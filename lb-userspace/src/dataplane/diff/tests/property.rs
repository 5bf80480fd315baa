use lb_common::{Affinity, Scope, ring_head};
use proptest::prelude::*;

use super::*;

/// The tables as an image, with names from `known`. What it has no name for must be a removed target.
pub(super) fn logical(tables: &Tables, known: &Image) -> Image {
    let keys: BTreeMap<_, _> = known
        .targets
        .keys()
        .map(|key| ((group_id(&key.group), key.hash()), key))
        .collect();
    let key_of = |target: &Target| keys.get(&(target.group, target.identity)).copied();
    let mut image = Image::default();
    for (key, service) in tables.services() {
        let spec = known.services[&key].clone();
        assert_eq!(group_id(&spec.group), service.group);
        let ids = tables.ring(service.row.first());
        let by_slot: Vec<_> = ids
            .iter()
            .map(|id| key_of(&tables.targets[id]).unwrap())
            .collect();
        let order: BTreeSet<_> = by_slot.iter().copied().collect();
        let targets: Vec<_> = order.into_iter().cloned().collect();
        let index = |key| targets.iter().position(|t| t == key).unwrap() as u16;
        let slots = by_slot.into_iter().map(index).collect();
        let columns = 0;
        let ring = Ring {
            targets,
            slots,
            columns,
        };
        image.rings.insert(spec.group.clone(), vec![ring].into());
        let affinity = affinity(tables, tables.row(service.row.first()));
        image
            .affinities
            .extend(affinity.map(|it| (spec.group.clone(), it)));
        image.services.insert(key, spec);
    }
    for target in tables.targets.values() {
        let Some(key) = key_of(target) else {
            assert!(target.state.dead() && !target.state.takes_new());
            continue;
        };
        let spec = TargetSpec {
            next_hop: (target.next_hop != [0; 6]).then_some(Mac(target.next_hop)),
            source: Mac(target.source),
            edge_address: None,
            mtu: target.mtu,
            departure: Departure::AS_IT_CAME,
            takes_new: target.state.takes_new(),
            dead: target.state.dead().then_some(OnDown::DEFAULT),
        };
        assert_eq!(IpAddr::from(target.address), key.identity.address);
        assert_eq!(target.forward, key.identity.forward.mode());
        image.targets.insert(key.clone(), spec);
    }
    image
}

/// The affinity of a ring, whose head must name its targets.
fn affinity(tables: &Tables, ring: Descriptor) -> Option<Affinity> {
    if !ring.has_head() {
        return None;
    }
    let affinity = tables.affinity_of(ring);
    let head = ring_head(affinity, tables.slots_of(ring).iter().copied());
    assert!(tables.slots[ring.offset() as usize..].starts_with(&head));
    Some(affinity)
}

/// What the tables say when they said `before` and were made to say `image`.
fn expected(before: &Image, image: &Image) -> Image {
    let held = |group: &Name| image.held.contains(group);
    let staying: BTreeMap<_, _> = before
        .services
        .iter()
        .filter(|(key, _)| image.services.get(key).is_some_and(|s| held(&s.group)))
        .collect();
    let serving: BTreeSet<_> = staying.values().map(|spec| &spec.group).collect();
    let untouched =
        |group: &Name| held(group) || (serving.contains(group) && !image.rings.contains_key(group));
    let from = |group: &Name| if untouched(group) { before } else { image };
    let mut expected = Image::default();
    for (key, spec) in image.services.iter().filter(|(_, spec)| !held(&spec.group)) {
        expected.services.insert(*key, spec.clone());
    }
    for (key, spec) in staying {
        expected.services.insert(*key, spec.clone());
    }
    for spec in expected.services.values() {
        let (group, from) = (&spec.group, from(&spec.group));
        let rings = from.rings[group].clone();
        let affinity = from.affinities.get(group);
        let affinity = affinity.map(|it| (group.clone(), *it));
        expected.affinities.extend(affinity);
        expected.rings.insert(group.clone(), rings);
    }
    for (key, spec) in before.targets.iter().chain(&image.targets) {
        if from(&key.group).targets.get(key) == Some(spec) {
            expected.targets.insert(key.clone(), spec.clone());
        }
    }
    expected
}

fn images() -> impl Strategy<Value = Image> {
    let target = (any::<u8>(), 0..4u8, 0..3u16);
    let members = prop::collection::btree_map(0..6u8, target, 0..6);
    let slots = prop::collection::vec(any::<prop::sample::Index>(), 0..300);
    let services = prop::collection::btree_set(0..12u8, 0..4);
    let idle = prop_oneof![Just(0), 60..62_u32];
    let group = (members, slots, services, idle);
    let name = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let held = prop::collection::btree_set(name(), 0..2);
    (prop::collection::btree_map(name(), group, 0..4), held).prop_map(|(groups, held)| {
        let mut image = build(groups);
        image.held.extend(held.into_iter().map(super::name));
        image
    })
}

type Drawn = (
    BTreeMap<u8, (u8, u8, u16)>,
    Vec<prop::sample::Index>,
    BTreeSet<u8>,
    u32,
);

fn build(drawn: BTreeMap<&'static str, Drawn>) -> Image {
    let mut image = Image::default();
    for (group, (members, picks, services, idle)) in drawn {
        for (backend, (mac, state, mtu)) in &members {
            let spec = TargetSpec {
                next_hop: (*mac > 50).then_some(Mac([*mac; 6])),
                mtu: 1400 + mtu,
                takes_new: *state > 1,
                dead: (*state == 1).then_some(OnDown::DEFAULT),
                ..live(0)
            };
            image.targets.insert(member(group, *backend), spec);
        }
        let taking: Vec<u8> = members
            .iter()
            .filter(|(_, m)| m.1 > 1)
            .map(|(b, _)| *b)
            .collect();
        let picked: Vec<u8> = match taking.is_empty() {
            true => Vec::new(),
            false => picks.iter().map(|pick| *pick.get(&taking)).collect(),
        };
        let order: BTreeSet<u8> = picked.iter().copied().collect();
        let index = |b: &u8| order.iter().position(|o| o == b).unwrap() as u16;
        let ring = Ring {
            targets: order.iter().map(|b| member(group, *b)).collect(),
            slots: picked.iter().map(index).collect(),
            columns: 0,
        };
        for service in services {
            let key = service_key(service / 4, 80 + u16::from(service % 4));
            if !image.services.contains_key(&key) {
                publish(&mut image, key, group);
                image.rings.insert(name(group), vec![ring.clone()].into());
                // Nobody is pinned to a ring without targets.
                if idle > 0 && !ring.targets.is_empty() {
                    let affinity = Affinity::new(idle, 32, 128, Scope::Eligible);
                    image.affinities.insert(name(group), affinity);
                }
            }
        }
    }
    image
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_tables_say_what_the_image_says(images in prop::collection::vec(images(), 1..5)) {
        let mut tables = tables();
        let mut shown = Image::default();
        for image in images {
            shown = expected(&shown, &image);
            update(&mut tables, &image);
            prop_assert_eq!(logical(&tables, &shown), shown.clone());
            tables.release();
        }
    }

    #[test]
    fn what_does_not_fit_at_once_comes_in_rounds_and_else_with_the_size_that_is_named(
        images in prop::collection::vec(images(), 2..9),
    ) {
        let mut tables = Tables::new(Capacity::new(512));
        let mut shown = Image::default();
        for image in images {
            shown = expected(&shown, &image);
            while let Err(error) = settle(&mut tables, &image) {
                let DoesNotFit::RingSlots { needed, size } = error else { panic!("{error:?}") };
                prop_assert_eq!(size, tables.slots.len());
                prop_assert!(needed > size);
                tables.slots.resize(needed, 0);
            }
            prop_assert_eq!(logical(&tables, &shown), shown.clone());
        }
    }

    #[test]
    fn a_change_that_fails_is_made_up_for_by_the_next_round_or_start(
        rounds in prop::collection::vec((images(), any::<prop::sample::Index>(), any::<bool>()), 1..5),
    ) {
        let mut maps = tables();
        let mut mirror = tables();
        for (image, fails, restart) in &rounds {
            let plan = diff(&mirror, image).unwrap();
            let done = fails.index(plan.changes.len() + 1);
            for change in &plan.changes[..done] {
                follow(&mut maps, change);
                mirror.apply(change);
            }
            if *restart {
                rest(&mut maps);
                mirror = maps.clone();
            }
            mirror.release();
            maps.release();
        }
        let mut last = rounds.last().unwrap().0.clone();
        last.held.clear();
        for change in &diff(&mirror, &last).unwrap().changes {
            follow(&mut maps, change);
            mirror.apply(change);
        }
        prop_assert_eq!(logical(&maps, &last), last);
        rest(&mut mirror);
        rest(&mut maps);
        prop_assert_eq!(maps, mirror);
    }

    #[test]
    fn ids_come_free_but_never_while_named(images in prop::collection::vec(images(), 2..6), named in 0..12u16) {
        let mut tables = tables();
        let mut shown = Image::default();
        let named = BTreeSet::from([named]);
        for image in images {
            shown = expected(&shown, &image);
            update(&mut tables, &image);
            forget_formers(&mut tables);
            rest(&mut tables);
            for change in collect(&tables, &image, &named) {
                match change {
                    Change::ForbidGroup(_) => {}
                    Change::FreeTarget { id } => prop_assert!(!named.contains(&id)),
                    other => panic!("{other:?}"),
                }
                tables.apply(&change);
                assert_sound(&tables, &change);
            }
            prop_assert_eq!(logical(&tables, &shown), shown.clone());
            prop_assert_eq!(diff(&tables, &image), Ok(Plan::default()));
            let gone = tables.targets.keys().filter(|id| !named.contains(id)).count();
            prop_assert!(gone <= shown.targets.len());
        }
    }
}
