//! What the engine makes of one event after the other is what it would make of all at once.

use std::fs;

use proptest::{collection, prelude::*, sample};

use super::{
    classes::{PROBE, nested::nested, preferring, with_groups},
    *,
};

/// Every stage but `prefer`, in groups that are within each other three deep, with a backup group.
const EVERY_STAGE: &str = r#"
        [[group]]
        name = "web"
        stages = [
            { stage = "subnet", on_no_match = "continue", on_unhealthy = "continue" },
            { stage = "available", all_down = "backup", min_healthy_weight = 40 },
            { stage = "latency", source = "client", window = "20ms" },
            { stage = "weight" },
        ]
        backup = "spare"
        member = [
            { group = "near", region = "east", weight = 3, min_healthy = 2 },
            { group = "far", region = "west", weight = 2 },
            { backend = "c", clients = ["10.0.0.0/8"] },
        ]
        PROBE
        [[group]]
        name = "near"
        stages = [
            { stage = "available", all_down = "as-if-healthy" },
            { stage = "geo", on_no_match = "continue", on_unhealthy = "climb" },
        ]
        member = [
            { group = "far", geo = ["WORLD"] },
            { backend = "a", geo = ["IE"] },
            { backend = "b", geo = ["GEO-EU"] },
            { backend = "c", geo = ["US"] },
        ]
        PROBE
        [[group]]
        name = "far"
        stages = [
            { stage = "available", all_down = "no-answer" },
            { stage = "proximity" },
            { stage = "priority" },
            { stage = "latency", source = "probe", window = "10ms" },
            { stage = "weight", spread = "client" },
        ]
        slow_start = "16s"
        member = [{ backend = "a", weight = 3 }, { backend = "b" }, { backend = "c", priority = 2 }]
        PROBE
        [[group]]
        name = "spare"
        stages = [{ stage = "available" }, { stage = "subset", take = 1 }]
        member = [{ backend = "b" }, { backend = "c" }]
        PROBE
        "#;

fn every_stage() -> Checked {
    let groups = EVERY_STAGE.replace("PROBE", PROBE);
    let rest = r#"
        [geography]
        files = ["geography.csv"]
        [latency]
        files = ["latency.csv"]
        [locations]
        custom = [{ range = "192.0.2.0/26", location = "Europe.IE" }]
    "#;
    let text = with_groups(&groups, rest);
    let text = text.replacen(
        "name = \"a\"\n",
        "name = \"a\"\nlocation = \"Europe.UK\"\n",
        1,
    );
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, lines: &str| fs::write(directory.path().join(name), lines).unwrap();
    file(
        "geography.csv",
        "prefix,country,state\n192.0.2.0/25,IE\n192.0.2.128/25,FR\n",
    );
    file(
        "latency.csv",
        "prefix,region,ms\n192.0.2.0/27,east,10\n192.0.2.0/27,west,25\n192.0.2.192/26,west,5\n",
    );
    let path = directory.path().join("waggle.toml");
    let checked = config::load_text(&path, &text);
    checked.unwrap_or_else(|refused| panic!("{refused}"))
}

/// Something that happens to a backend.
#[derive(Clone, Copy, Debug)]
enum News {
    Admin(Admin),
    Bad,
    Good(u64),
    Later(u64),
}

fn news() -> impl Strategy<Value = News> {
    let admins = vec![Admin::Disable, Admin::Drain, Admin::Enable, Admin::Enable];
    prop_oneof![
        1 => sample::select(admins).prop_map(News::Admin),
        4 => Just(News::Bad),
        4 => (1..4_u64).prop_map(|it| News::Good(15 * it)),
        1 => (1..9_u64).prop_map(News::Later),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_was_made_step_by_step_is_what_is_made_at_once(
        checked in sample::select(vec![parse(&preferring()), parse(&nested()), every_stage()]),
        events in collection::vec((sample::select(vec!["a", "b", "c"]), news()), 0..32),
    ) {
        let mut rig = Rig::start_with(checked, Saved::default(), &[]);
        for backend in ["a", "b", "c", "a", "b", "c"] {
            rig.good(backend, 5);
        }
        for (backend, news) in events {
            match news {
                News::Admin(admin) => rig.admin(admin, backend),
                News::Bad => rig.bad(backend),
                News::Good(ms) => rig.good(backend, ms),
                News::Later(seconds) => {
                    rig.now += Duration::from_secs(seconds);
                    rig.event(Event::Tick);
                }
            }
            let mut anew = rig.engine.clone();
            anew.image = None;
            prop_assert_eq!(&anew.compile().0, rig.image());
        }
    }
}
