use proptest::{prelude::*, sample};

use super::*;

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
    let services = prop::collection::vec((own, rules, 0..3), 1..4);
    let members = prop::collection::vec(prop::collection::btree_set(1..6_u8, 0..4), 3);
    let held = prop::option::weighted(0.2, sample::select(vec!["a", "b", "c"]));
    (services, members, held).prop_map(|(services, members, held)| {
        let members: Vec<Vec<u8>> = members
            .into_iter()
            .map(|it| it.into_iter().collect())
            .collect();
        let groups: Vec<(&str, &[u8])> = ["a", "b", "c"]
            .into_iter()
            .zip(members.iter().map(Vec::as_slice))
            .collect();
        let services: Vec<_> = services
            .into_iter()
            .map(|(own, rules, with)| {
                let rules = if with == 0 {
                    Vec::new()
                } else {
                    rules.into_iter().collect()
                };
                (own, rules)
            })
            .collect();
        let mut image = with_rules(&groups, &services);
        image.held.extend(held.map(name));
        image
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
