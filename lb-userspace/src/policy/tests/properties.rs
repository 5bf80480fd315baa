//! What holds of all decisions, whatever the groups are.

use proptest::{strategy::ValueTree as _, test_runner::TestRunner};

use super::{
    trees::{self, GROUPS, Tree, trees},
    *,
};

/// A decision without the reasons.
fn unexplained(mut decision: Decision) -> Decision {
    decision.trace.clear();
    decision.nested = decision.nested.into_iter().map(unexplained).collect();
    decision
}

/// What each group in a decision does: the parts of its members by name, and what becomes of flows.
type Outcomes = BTreeMap<Name, (BTreeMap<Name, Share>, Rows, bool)>;

fn outcomes(tree: &Tree, decision: &Decision) -> Outcomes {
    let of = |decision: &Decision| {
        let members = &tree.groups[&decision.group].members;
        let parts = decision.members.iter();
        let parts = parts.map(|(member, part)| (members[*member].name().clone(), part.clone()));
        let outcome = (parts.collect(), decision.rows.clone(), decision.best_effort);
        (decision.group.clone(), outcome)
    };
    decision.all().map(of).collect()
}

/// The same tree and clients with the members of each group in another order, by `keys`.
fn reordered(tree: &Tree, clients: &[Client], keys: &[u8]) -> (Tree, Vec<Client>) {
    let (mut tree, mut clients) = (tree.clone(), clients.to_vec());
    for (name, group) in &mut tree.groups {
        let mut order: Vec<usize> = (0..group.members.len()).collect();
        order.sort_by_key(|it| keys[it % keys.len()].wrapping_mul(1 + *it as u8));
        let states = &tree.states[name];
        let states = order.iter().map(|it| states[*it].clone()).collect();
        group.members = order.iter().map(|it| group.members[*it].clone()).collect();
        tree.states.insert(name.clone(), states);
        for client in &mut clients {
            if let Some(member) = client.members.get_mut(name) {
                *member = order.iter().position(|it| it == member).unwrap();
            }
        }
    }
    (tree, clients)
}

/// The members of a group of one stage whom that keeps for a client.
fn kept(tree: &Tree, client: &Client) -> Vec<MemberIndex> {
    let decision = tree.decide(client);
    let stage = decision.trace.get(1);
    stage.map(|it| it.kept.clone()).unwrap_or_default()
}

/// Everything that the properties are about comes about, and often.
#[test]
fn the_trees_have_every_stage_and_every_end() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::<String, usize>::new();
    for _ in 0..300 {
        let (tree, clients) = trees().new_tree(&mut runner).unwrap().current();
        for client in &clients {
            let root = tree.decide(client);
            for decision in root.all() {
                let removing = decision.trace.iter().filter(|it| !it.removed.is_empty());
                let removing = removing.map(|it| format!("{} removes", it.stage));
                let stages = decision.trace.iter().map(|it| it.stage.to_owned());
                let answers = decision.rows.iter().flat_map(|it| it.1.keys());
                let answers = answers.filter_map(|it| Some(it.answer()?.as_str().to_owned()));
                let nested = decision.nested.iter().flat_map(|it| &it.nested);
                let deep = nested.map(|_| "three deep".to_owned());
                let several = (decision.rows.iter().len() > 1).then(|| "several rows".to_owned());
                for it in stages
                    .chain(removing)
                    .chain(answers)
                    .chain(deep)
                    .chain(several)
                {
                    *seen.entry(it).or_default() += 1;
                }
            }
        }
    }
    for stage in [
        "available",
        "enabled",
        "geo",
        "latency",
        "prefer",
        "priority",
        "proximity",
        "stopped",
        "subnet",
    ] {
        let removes = format!("{stage} removes");
        assert!(
            seen.get(&removes).is_some_and(|it| *it > 5),
            "{removes}: {seen:?}"
        );
    }
    for what in [
        "answer",
        "drop",
        "pass",
        "reject",
        "several rows",
        "subset",
        "three deep",
        "weight",
    ] {
        assert!(seen.get(what).is_some_and(|it| *it > 5), "{what}: {seen:?}");
    }
}

proptest! {
    /// Whatever the stages, all flows of all clients go somewhere: to a backend, or to an answer.
    #[test]
    fn parts_sum_to_exactly_one_in_every_group((tree, clients) in trees()) {
        for client in &clients {
            let decision = tree.decide(client);
            for decision in decision.all() {
                let members: Share = decision.members.values().sum();
                prop_assert_eq!(members, share((!decision.members.is_empty()).into(), 1));
                let rows: Share = decision.rows.iter().map(|(clients, _)| clients).sum();
                prop_assert_eq!(rows, share(1, 1));
                let rows = decision.rows.iter().map(|(_, flows)| flows);
                for flows in rows.chain(decision.rows.buckets()).chain([&decision.rows.total()]) {
                    prop_assert_eq!(flows.values().sum::<Share>(), share(1, 1));
                    prop_assert!(flows.values().all(|part| *part > share(0, 1)));
                    let backup = Destination::Answer(crate::model::NoAnswer::Backup);
                    prop_assert!(!flows.contains_key(&backup), "a backup group has answered");
                }
            }
        }
    }

    #[test]
    fn decisions_made_together_are_those_made_one_by_one((tree, clients) in trees()) {
        let together = decide_all(&tree.scene(), &trees::name("g", 0), &clients);
        for (client, place) in clients.iter().zip(&together.of_client) {
            prop_assert_eq!(&together.distinct[*place], &unexplained(tree.decide(client)));
        }
    }

    /// No stage looks at the order. Where the list says who is preferred (S57), the configuration has made
    /// priorities of it before.
    #[test]
    fn the_order_of_members_does_not_matter_in_any_stage(
        (tree, clients) in trees(),
        keys in proptest::collection::vec(any::<u8>(), 5),
    ) {
        let (other, others) = reordered(&tree, &clients, &keys);
        for (client, turned) in clients.iter().zip(&others) {
            let (one, turned) = (tree.decide(client), other.decide(turned));
            prop_assert_eq!(outcomes(&tree, &one), outcomes(&other, &turned));
        }
    }

    /// What a member that goes changes, it changes in the groups around it: a group that does not have it,
    /// neither itself nor within, decides as before. So whoever has flows then, and had none before, is a
    /// member of such a group around, or got them from one whose part is new.
    #[test]
    fn a_member_that_goes_changes_only_the_groups_around_it(
        (tree, clients) in trees(),
        group in 0..GROUPS,
        member in any::<proptest::sample::Index>(),
        is_down in any::<bool>(),
    ) {
        let group = trees::name("g", group);
        let mut after = tree.clone();
        let states = after.states.get_mut(&group).unwrap();
        prop_assume!(!states.is_empty());
        let state = member.get_mut(states);
        match is_down {
            true => state.health = Health::Down,
            false => state.admin = Admin::Disable,
        }
        let is_around = |name: &Name| {
            let mut open = vec![name.clone()];
            std::iter::from_fn(|| {
                let next = open.pop()?;
                open.extend(tree.groups[&next].groups().cloned());
                Some(next)
            }).any(|it| it == group)
        };
        for client in &clients {
            let before = outcomes(&tree, &tree.decide(client));
            for (name, then) in outcomes(&after, &after.decide(client)) {
                if let Some(before) = before.get(&name) && !is_around(&name) {
                    prop_assert_eq!(before, &then, "{}", name);
                }
            }
        }
    }

    /// A stage that does not keep a member keeps the same ones without it. Of those that it keeps beside
    /// one, none has to go with that one. So a member that goes gives flows only to members that a stage
    /// had taken out because of it: one that kept it.
    ///
    /// It is not so where the rules say otherwise: where the client is mapped to the member that goes, the
    /// stage takes it for a client of nobody (D50, S85), and the weight of whoever goes counts no longer
    /// in the part that must be healthy (D103).
    #[test]
    fn a_stage_keeps_whom_it_keeps_whoever_else_goes(
        (mut tree, clients) in trees(),
        stage in trees::stage(),
    ) {
        let root = trees::name("g", 0);
        let by_weight =
            matches!(stage, Stage::Available { min_healthy_weight: Some(_), .. });
        prop_assume!(!by_weight);
        tree.groups.get_mut(&root).unwrap().stages = vec![stage];
        for client in &clients {
            let before = kept(&tree, client);
            for (place, member) in tree.groups[&root].members.iter().enumerate() {
                let has_region = client.region.chain().any(|it| member.geo.contains(&it));
                let is_mapped = match stage {
                    Stage::Subnet { .. } => client.members.get(&root) == Some(&place),
                    Stage::Geo { .. } => has_region,
                    _ => false,
                };
                let mut without = tree.clone();
                without.states.get_mut(&root).unwrap()[place].admin = Admin::Disable;
                let after = kept(&without, client);
                let others: Vec<_> = before.iter().copied().filter(|it| *it != place).collect();
                if !before.contains(&place) && !is_mapped {
                    prop_assert_eq!(&after, &before, "without {}", member.name());
                }
                prop_assert!(is_mapped || others.iter().all(|it| after.contains(it)));
            }
        }
    }
}
