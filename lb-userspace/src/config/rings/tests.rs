use proptest::prelude::*;

use super::*;
use crate::{
    config::{parse, tests::GOOD},
    model::{Health, Priority, Weight},
    policy::{Client, decide},
    table::ring,
};

fn slots(group: &Group) -> u64 {
    let groups = BTreeMap::from([(group.name.clone(), group.clone())]);
    Bounds::new(&groups).of(&group.name).slots()
}

#[test]
fn a_small_share_needs_a_long_ring() {
    let mut group = parse(GOOD).unwrap().model.groups.remove("g").unwrap();
    group.members.truncate(1);
    group.members[0].weight = Weight::new(1).unwrap();
    let mut large = group.members[0].clone();
    large.weight = Weight::new(1000).unwrap();
    let mut slots = |large_members: usize| {
        group.members.resize(1 + large_members, large.clone());
        slots(&group)
    };
    let expected = [
        (0, 16_384),
        (1, 16_384),
        (2, 65_536),
        (7, 262_144),
        (200, 1_048_576),
    ];
    for (large_members, expected) in expected {
        let parts = format!("1 part of {large_members}001");
        assert_eq!(slots(large_members), expected, "{parts}");
    }
}

#[test]
fn members_of_another_priority_share_only_when_all_are_down() {
    let mut group = parse(GOOD).unwrap().model.groups.remove("g").unwrap();
    let [small, large] = [1, 1000].map(|weight| Weight::new(weight).unwrap());
    group.members[0].weight = small;
    group.members[1].weight = large;
    group.members[1].priority = Priority::new(2).unwrap();
    let spare = group.members[1].clone();
    group.members.resize(1000, spare.clone());
    assert_eq!(slots(&group), 16_384);
    group.members.resize(1700, spare);
    assert_eq!(slots(&group), 65_536);
}

const STAGES: [&str; 4] = [
    "policy = \"weighted\"",
    "stages = [{ stage = \"available\" }, { stage = \"weight\", spread = \"client\" }]",
    "stages = [{ stage = \"available\", all_down = \"rr-all\" }, { stage = \"subset\", take = 1 }, { stage = \"weight\" }]",
    "stages = [{ stage = \"priority\" }]",
];

/// A root group of two groups with these keys and backends of these weights.
fn nested(root: &str, inner: [&str; 2], weights: [[u16; 3]; 2]) -> Model {
    let mut text =
        "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\nring_slots = 67108864\n".to_owned();
    for (number, backend) in (1..).zip(["a", "b", "c", "d", "e", "f"]) {
        text += &format!("[[backend]]\nname = \"{backend}\"\naddress = \"10.0.0.{number}\"\n");
    }
    let probe = "probe = { kind = \"tcp\", port = 80 }";
    let groups = [("x", ["a", "b", "c"]), ("y", ["d", "e", "f"])];
    for (((group, names), keys), weights) in groups.into_iter().zip(inner).zip(weights) {
        let member = |(name, weight)| format!("{{ backend = \"{name}\", weight = {weight} }}");
        let members: Vec<_> = names.into_iter().zip(weights).map(member).collect();
        let members = members.join(", ");
        text += &format!("[[group]]\nname = \"{group}\"\n{keys}\n{probe}\nmember = [{members}]\n");
    }
    text += &format!(
        "[[group]]\nname = \"root\"\n{root}\nmember = [{{ group = \"x\" }}, {{ group = \"y\", \
         weight = 9 }}]\n[[service]]\nname = \"s\"\naddress = \"203.0.113.10\"\n\
         protocol = \"tcp\"\nport = 80\ngroup = \"root\"\n"
    );
    let parsed = parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    parsed.model
}

#[test]
fn shares_of_nested_groups_multiply() {
    let weights = [[1, 33, 66], [1, 1, 1]];
    let model = nested(STAGES[0], [STAGES[0]; 2], weights);
    let mut bounds = Bounds::new(&model.groups);
    let root = "root".parse().unwrap();
    // 1 of 10, and 1 of 100 of that: at least 10 slots of 16,381.
    assert_eq!(bounds.of(&root).flows, Share::new(1.into(), 1000.into()));
    assert_eq!(bounds.of(&root).slots(), 16_384);
    let model = nested(STAGES[0], [STAGES[0]; 2], [[1, 333, 666], [1, 1, 1]]);
    assert_eq!(Bounds::new(&model.groups).of(&root).slots(), 262_144);
}

#[test]
fn only_groups_that_services_name_have_rings_and_targets() {
    let model = nested(STAGES[0], [STAGES[0]; 2], [[1, 1, 1]; 2]);
    let summary = crate::config::Checked::new(model, Vec::new()).summary;
    assert_eq!(
        (summary.rings, summary.targets, summary.ring_slots),
        (1, 6, 32_768)
    );
}

#[test]
fn a_group_that_decides_by_client_has_a_ring_for_each_decision() {
    let text = GOOD.replace(
        "member = [{ backend = \"a\" }, { backend = \"b\" }]",
        "policy = \"subnet\"\nmember = [{ backend = \"a\", clients = [\"192.0.2.0/24\", \"10.0.0.0/8\"] }, \
         { backend = \"b\" }]",
    );
    let summary = parse(&text).unwrap().summary;
    assert_eq!(
        (summary.prefixes, summary.classes, summary.rings),
        (2, 2, 2)
    );
    // Two rings, and both once more.
    assert_eq!(summary.ring_slots, 4 * 16_384);
}

#[test]
fn subsets_are_as_small_as_they_are_drawn() {
    let share = |fewest: u32| Share::new(fewest.into(), 1_021.into());
    // 1021 / 3 less 4 * 18.4.
    assert_eq!(smallest_set(3, 2), share(266));
    assert_eq!(smallest_set(50, 5), share(1), "more sets than buckets");
}

#[test]
fn a_subset_has_a_row_for_each_bucket() {
    let mut group = parse(GOOD).unwrap().model.groups.remove("g").unwrap();
    let weight = Stage::Weight {
        equal: false,
        spread: Spread::Flow,
    };
    group.stages = vec![Stage::Subset { take: 2 }, weight];
    let member = group.members[0].clone();
    group.members.resize(10, member);
    assert_eq!(
        slots(&group),
        (1_021_u64 * 37).next_multiple_of(CHUNK as u64)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_health_makes_a_longer_ring(
        root in 0..3_usize,
        inner in (0..STAGES.len(), 0..STAGES.len()),
        weights in prop::array::uniform2(prop::array::uniform3(1..8_u16)),
        down in prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c", "d", "e", "f"]), 0..6),
    ) {
        let model = nested(STAGES[root], [STAGES[inner.0], STAGES[inner.1]], weights);
        let down = down.into_iter().map(|name| (name.parse().unwrap(), Health::Down));
        let assumed = Assumed { health: down.collect(), ..Assumed::default() };
        let states = model.groups.iter();
        let states = states.map(|(name, group)| (name.clone(), assumed.states(group))).collect();
        let scene = Scene { groups: &model.groups, backends: &model.backends, states: &states, regions: &[] };
        let root = "root".parse().unwrap();
        let decision = decide(&scene, &root, &Client::unknown(true));
        let spread = spread(&model.backends, &decision);
        let ring = ring(&root, &spread);
        if decision.rows.answer().is_none() {
            let known = ring.slots.len().next_multiple_of(CHUNK) as u64;
            prop_assert_eq!(slots_of(&spread), known, "{:?}", spread);
        }
        let bound = Bounds::new(&model.groups).of(&root);
        prop_assert!(ring.slots.len() as u64 <= bound.slots(), "{} of {:?}", ring.slots.len(), bound);
    }
}
