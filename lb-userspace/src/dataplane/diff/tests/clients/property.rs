use std::sync::Arc;

use proptest::{prelude::*, sample};

use super::*;

/// Two or three rings of a group, over some of its members and with some answers, in rows or not.
fn rings(group: &'static str, members: Vec<u8>) -> impl Strategy<Value = Vec<Ring>> {
    let picks = prop::collection::vec(any::<sample::Index>(), 0..4);
    let kind = (picks, 0..3_u32, prop::option::weighted(0.3, 1..9_usize));
    let made = move |(picks, rows, answers): (Vec<sample::Index>, u32, Option<usize>)| {
        let picked = picks.iter().filter(|_| !members.is_empty());
        let picked: BTreeSet<u8> = picked.map(|pick| *pick.get(&members)).collect();
        let mut ring = ring(group, &picked.into_iter().collect::<Vec<_>>(), 20);
        let answers = answers.unwrap_or_default();
        if ring.slots.is_empty() {
            // With an odd number they are not all alike.
            let mut slots = vec![Answer::REJECT.slot(); answers / 2 * 2];
            slots.resize(answers, Answer::DROP.slot());
            ring.slots = slots.into();
        } else {
            Arc::make_mut(&mut ring.slots)[..answers].fill(Answer::PASS.slot());
            ring.columns = rows * 5;
        }
        ring
    };
    prop::collection::vec(kind.prop_map(made), 2..4)
}

/// A list of rules for each service, and for the input which of the rings of a group they choose.
fn images() -> impl Strategy<Value = Image> {
    let routes = vec![
        Route::Drop,
        Route::Pass,
        Route::Reject,
        group("a"),
        group("b"),
        group("c"),
    ];
    let rules =
        prop::collection::btree_map(sample::select(prefixes()), sample::select(routes), 0..6);
    let own = sample::select(vec!["a", "b", "c"]);
    let rules = prop_oneof![1 => Just(BTreeMap::new()), 2 => rules];
    let services = prop::collection::vec((own, rules), 1..4);
    let members = prop::collection::vec(prop::collection::btree_set(1..6_u8, 0..4), 3);
    let held = prop::option::weighted(0.2, sample::select(vec!["a", "b", "c"]));
    let input = prop::collection::btree_map(sample::select(prefixes()), 0..3_usize, 0..6);
    (services, members, held, input).prop_flat_map(|(services, members, held, input)| {
        let members: Vec<Vec<u8>> = members
            .into_iter()
            .map(|it| it.into_iter().collect())
            .collect();
        let several = (
            rings("a", members[0].clone()),
            rings("b", members[1].clone()),
        );
        let which = (any::<bool>(), any::<bool>());
        (several, which).prop_map(move |((a, b), (has_a, has_b))| {
            let groups = ["a", "b", "c"].into_iter();
            let groups: Vec<_> = groups.zip(members.iter().map(Vec::as_slice)).collect();
            let services: Vec<_> = services
                .iter()
                .map(|(own, rules)| (*own, rules.clone().into_iter().collect()))
                .collect();
            let input: Vec<_> = input.clone().into_iter().collect();
            let rings = [("a", a, has_a), ("b", b, has_b)].into_iter();
            let rings: Vec<_> = rings
                .filter(|(.., has)| *has)
                .map(|(group, rings, _)| (group, rings))
                .collect();
            let mut image = with_views(&groups, &services, &input, &rings);
            image.held.extend(held.map(name));
            image
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_step_is_sound_for_every_client(
        images in prop::collection::vec((images(), any::<bool>(), any::<bool>()), 1..6),
    ) {
        let mut tables = tables();
        for (image, rests, restarts) in images {
            settle_soundly(&mut tables, &image);
            if image.held.is_empty() {
                assert_shows(&tables, &image);
            }
            if rests {
                rest(&mut tables);
                for change in collect(&tables, &image, &BTreeSet::new()) {
                    follow(&mut tables, &change);
                }
                prop_assert_eq!(diff(&tables, &image), Ok(Plan::default()));
            }
            if restarts {
                tables.retired = Default::default();
                prop_assert_eq!(diff(&tables, &image), Ok(Plan::default()));
            }
        }
    }

    #[test]
    fn a_change_of_rules_that_fails_is_made_up_for(
        rounds in prop::collection::vec((images(), any::<sample::Index>()), 1..5),
    ) {
        let mut tables = tables();
        for (image, fails) in &rounds {
            let plan = diff(&tables, image).unwrap();
            let done = fails.index(plan.changes.len() + 1);
            for change in &plan.changes[..done] {
                follow(&mut tables, change);
            }
            rest(&mut tables);
        }
        let mut last = rounds.last().unwrap().0.clone();
        last.held.clear();
        settle(&mut tables, &last).unwrap();
        assert_shows(&tables, &last);
    }
}
