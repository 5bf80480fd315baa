//! What the tests of all that shows groups share.

use std::{collections::BTreeSet, time::Duration};

use super::{Effect, Engine, Event, GroupView, Saved};
use crate::{
    config,
    model::{Departure, Mac},
    neighbour::Way,
};

/// Group `inner` decides by client and stands in `web`; `plain` does the same for all.
const NESTED: &str = r#"
    [edge]
    name = "test"
    interfaces = ["eth0"]
    [[backend]]
    name = "a"
    address = "198.51.100.1"
    [[backend]]
    name = "b"
    address = "198.51.100.2"
    [[backend]]
    name = "c"
    address = "198.51.100.3"
    [[group]]
    name = "web"
    policy = "weighted"
    member = [{ group = "inner", weight = 3 }, { backend = "c" }]
    probe = { kind = "tcp" }
    [[group]]
    name = "inner"
    policy = "subnet"
    member = [{ backend = "a", clients = ["192.0.2.0/24"] }, { backend = "b" }]
    probe = { kind = "tcp" }
    [[group]]
    name = "plain"
    policy = "weighted"
    member = [{ backend = "a" }, { backend = "c", weight = 3 }]
    probe = { kind = "tcp" }
    [[service]]
    name = "web"
    address = "203.0.113.10"
    protocol = "tcp"
    port = 80
    group = "web"
    [[service]]
    name = "plain"
    address = "203.0.113.11"
    protocol = "tcp"
    port = 80
    group = "plain"
"#;

/// The groups `inner`, `plain` and `web`, whose backends are all up.
pub(crate) fn nested() -> Vec<GroupView> {
    let checked = config::parse(NESTED).unwrap();
    let backends = checked.model.backends.values();
    let ways = backends.map(|backend| {
        let way = Way::Open {
            next_hop: Mac([2, 0, 0, 0, 0, 1]),
            source: Mac([2; 6]),
            edge_address: None,
            mtu: 1500,
            departure: Departure::AS_IT_CAME,
        };
        (backend.destination(), way)
    });
    let ways = Event::Ways(ways.collect());
    let now = Duration::ZERO;
    let (mut engine, effects) = Engine::start(checked, Saved::default(), BTreeSet::new(), now);
    engine.handle(ways, now).unwrap();
    for effect in effects {
        let Effect::Probe(streams) = effect else {
            continue;
        };
        let good = |stream| (stream, Ok(Duration::from_millis(1)));
        let samples = Event::Samples(streams.into_keys().map(good).collect());
        for _ in 0..4 {
            engine.handle(samples.clone(), now).unwrap();
        }
    }
    engine.view().groups
}
