mod slots;

use std::collections::BTreeSet;

use lb_common::{ForwardMode, Nat, Protocol, TargetState, Verdict};

use super::*;
use crate::{
    class::Clients,
    config,
    model::{Health, Model, Route},
    policy::{
        Asked,
        fixtures::{decided, state},
    },
    table::{ring, ring_key, spread},
};

const CLIENT: &str = "192.0.2.1";

/// Where the ring stands in the pool.
const RING: u32 = 128;

/// A decision for a service of backends a and b with the weights 3 and 7, and a kernel that does so.
struct Rig {
    model: Model,
    explanation: Explanation,
    ring: Ring,
    targets: BTreeMap<u16, Target>,
    row: Option<(u32, Descriptor)>,
    pending: Option<&'static str>,
    found: Found,
}

fn model() -> Model {
    let text = r#"
        edge = { name = "e", interfaces = ["eth0"] }
        backend = [{ name = "a", address = "10.0.0.1" }, { name = "b", address = "10.0.0.2" }]
        group = [{ name = "web", probe = { kind = "tcp" },
            member = [{ backend = "a", weight = 3 }, { backend = "b", weight = 7 }] }]
        service = [{ name = "web", address = "203.0.113.10", port = 80, protocol = "tcp", group = "web" }]
    "#;
    config::parse(text).expect("a good configuration").model
}

impl Rig {
    /// What the client gets is what `route` says.
    fn new(route: &Route) -> Self {
        let model = model();
        let service = &model.services["web"];
        let asked = Asked::new(
            service,
            CLIENT.parse().unwrap(),
            &Clients::of(&model),
            &model.whereabouts,
        )
        .unwrap();
        let group = &model.groups["web"];
        let up = state(Health::Up, None, "");
        let decision = decided(group, &[up.clone(), up]);
        let made = ring(&group.name, &spread(&model.backends, &decision));
        let (explanation, ring, descriptor) = match route.leads_to() {
            Ok(_) => {
                let explanation = Explanation::of_decision(asked, &model.groups, &decision, &made);
                let descriptor = Descriptor::new(RING, made.slots.len() as u32);
                (explanation, made, descriptor)
            }
            Err(answer) => {
                let explanation = Explanation::of_answer(asked, answer.into());
                let descriptor = Descriptor::of_answer(answer.into());
                (explanation, Ring::default(), descriptor)
            }
        };
        let target = |identity: Identity| Target {
            next_hop: [2, 0, 0, 0, 0, 7],
            mtu: 1500,
            state: TargetState(TargetState::TAKES_NEW),
            forward: identity.forward.mode(),
            mode: identity.forward.mode(),
            group: 7,
            identity: 1,
            address: identity.address.into(),
            ..Target::FREE
        };
        let identities = ring.targets.iter().map(|it| target(it.identity));
        let targets: BTreeMap<_, _> = (1..).zip(identities).collect();
        let mut rig = Self {
            found: Found {
                answers: Vec::new(),
                slots: ring.slots.iter().map(|it| it + 1).collect(),
                targets: targets.clone(),
            },
            row: Some((0, descriptor)),
            pending: None,
            model,
            explanation,
            ring,
            targets,
        };
        rig.run(descriptor);
        rig
    }

    fn forwarding() -> Self {
        Self::new(&Route::Group("web".parse().unwrap()))
    }

    fn flows(&self) -> Vec<Tuple> {
        let client: std::net::IpAddr = CLIENT.parse().unwrap();
        flows(&self.model.services["web"].key(), client.into())
    }

    /// Has the program answer by what the kernel has.
    fn run(&mut self, ring: Descriptor) {
        let key = ring_key(&self.model.edge.ring_key);
        let answer = |flow: Tuple| {
            let verdict = match ring {
                Descriptor::NO_ANSWER => Verdict::NoAnswer,
                Descriptor::DROP => Verdict::PolicyDropped,
                Descriptor::PASS => Verdict::PolicyPassed,
                Descriptor::REJECT => Verdict::Rejected,
                _ => Verdict::Forwarded,
            };
            let slot = (ring.slot(&flow, &key) - ring.offset()) as usize;
            Proof {
                target: self.found.slots.get(slot).copied().unwrap_or(0),
                ring,
                ..Proof::of(verdict)
            }
        };
        self.found.answers = self.flows().into_iter().map(answer).collect();
    }

    fn judge(&self) -> Judgement {
        let backends = self.model.backends.values();
        let decided = Decided {
            explanation: &self.explanation,
            ring: &self.ring,
            key: ring_key(&self.model.edge.ring_key),
            backends: &backends
                .map(|it| (it.identity(), it.name.clone()))
                .collect(),
            row: self.row,
            targets: &self.targets,
            pending: self.pending,
        };
        judge(&decided, &self.flows(), &self.found)
    }

    /// What differs, as lines.
    fn differences(&self) -> Vec<String> {
        match self.judge() {
            Judgement::Differs { differences, .. } => {
                differences.iter().map(ToString::to_string).collect()
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_thousand_flows_have_ports_of_their_own_over_the_whole_range() {
    let ports = Rig::forwarding().flows();
    let ports: BTreeSet<_> = ports.iter().map(|it| it.ports.client()).collect();
    assert_eq!(ports.len(), 1000);
    assert!(ports.first() < Some(&1100) && ports.last() > Some(&64_900));
}

#[test]
fn a_kernel_that_does_as_decided_is_said_to() {
    let rig = Rig::forwarding();
    let Judgement::Holds(run) = rig.judge() else {
        panic!("{:?}", rig.judge());
    };
    assert_eq!((run.flows, run.class), (1000, 0));
    assert_eq!(run.ring.as_ref(), Some(&rig.explanation.ring.hash));
    assert_eq!(run.backends.values().sum::<usize>(), 1000);
    assert_eq!(run.verdicts, BTreeMap::from([("forwarded".into(), 1000)]));
    let (a, b) = (run.backends["a"], run.backends["b"]);
    let text = format!("proved in the kernel: 1000 flows, a {a}, b {b}\n");
    assert_eq!(Judgement::Holds(run).to_string(), text);
}

#[test]
fn the_answer_of_a_rule_is_proved_as_well() {
    for (route, verdict) in [
        (Route::Drop, "policy_dropped"),
        (Route::Pass, "policy_passed"),
        (Route::Reject, "rejected"),
    ] {
        let judgement = Rig::new(&route).judge();
        let text = format!("proved in the kernel: 1000 flows, {verdict} 1000\n");
        assert_eq!(judgement.to_string(), text);
    }
}

#[test]
fn a_wrong_slot_is_found_whether_or_not_a_flow_falls_into_it() {
    let rig = Rig::forwarding();
    let key = ring_key(&rig.model.edge.ring_key);
    let (_, ring) = rig.row.unwrap();
    let used: BTreeSet<u32> = (rig.flows().iter())
        .map(|flow| ring.slot(flow, &key) - RING)
        .collect();
    let length = rig.found.slots.len() as u32;
    let free = (0..length).find(|slot| !used.contains(slot)).unwrap();
    let hit = *used.first().unwrap();
    for (slot, lines) in [(free, 1), (hit, 2)] {
        let mut rig = Rig::forwarding();
        let there = &mut rig.found.slots[slot as usize];
        let names = ["", "a", "b"];
        let wanted = names[usize::from(*there)];
        *there = 3 - *there;
        let found = names[usize::from(*there)];
        rig.run(ring);
        let differences = rig.differences();
        assert_eq!(differences.len(), lines, "{differences:?}");
        let begins = format!("ring: decided {}; found ", rig.explanation.ring.hash);
        let ends = format!(": slot {slot} is {found}'s, not {wanted}'s");
        assert!(differences[0].starts_with(&begins), "{differences:?}");
        assert!(differences[0].ends_with(&ends), "{differences:?}");
        if let Some(flows) = differences.get(1) {
            let text = format!("backend: decided {wanted}; found {found}: 1 flow,");
            assert!(flows.starts_with(&text), "{flows}");
        }
    }
}

#[test]
fn a_wrong_descriptor_is_found_even_if_the_ring_there_is_the_same() {
    let mut rig = Rig::forwarding();
    let length = rig.ring.slots.len() as u32;
    rig.run(Descriptor::new(RING + 64, length));
    let text = format!(
        "descriptor: decided {length} slots from 128 on; found {length} slots from 192 on for 1000 flows"
    );
    assert_eq!(rig.differences(), [text]);
    rig.found.slots.clear();
    rig.run(Descriptor::PASS);
    let text = rig.judge().to_string();
    for line in [
        "NOT SO IN THE KERNEL: 1000 flows, policy_passed 1000\n",
        "found pass for 1000 flows\n",
        "  verdict: decided forwarded; found policy_passed for 1000 flows\n",
        "found no ring\n",
        "  backend: decided a; found nobody: ",
        "  share of b: decided 619 to 777 flows by its share; found 0 flows\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_wrong_class_is_found() {
    let mut rig = Rig::forwarding();
    rig.found.answers[7].class = 5;
    assert_eq!(rig.differences(), ["class: decided 0; found 5 for 1 flow"]);
}

#[test]
fn a_target_that_leads_elsewhere_than_written_is_found() {
    let mut rig = Rig::forwarding();
    let target = rig.found.targets.get_mut(&2).unwrap();
    target.next_hop = [2, 0, 0, 0, 0, 9];
    let way = "b at 10.0.0.2 in group 00000007, l2-dsr by 02:00:00:00:00";
    let text = format!("target 2: decided {way}:07, MTU 1500; found {way}:09, MTU 1500");
    assert_eq!(rig.differences(), [text]);
    let port = |port: u16| Target {
        next_hop: [2, 0, 0, 0, 0, 7],
        nat: Nat {
            port: port.to_be_bytes(),
            ..Nat::NONE
        },
        mode: ForwardMode::GUE,
        ..rig.found.targets[&2]
    };
    let (written, found) = (port(6080), port(6081));
    rig.targets.insert(2, written);
    rig.found.targets.insert(2, found);
    let way = |port| {
        format!("10.0.0.2 at 10.0.0.2:{port} in group 00000007, gue by 02:00:00:00:00:07, MTU 1500")
    };
    let text = format!("target 2: decided {}; found {}", way(6080), way(6081));
    assert!(rig.differences().contains(&text), "{text}");
    rig.found.targets.insert(2, Target::FREE);
    let text = rig.judge().to_string();
    assert!(text.contains("MTU 1500; found nobody\n"), "{text}");
    assert!(text.contains("found no ring: slot "), "{text}");
}

#[test]
fn what_the_program_drops_instead_is_counted() {
    let mut rig = Rig::forwarding();
    for answer in &mut rig.found.answers[..3] {
        answer.verdict = Verdict::NoNextHop as u16;
    }
    rig.found.answers[3].verdict = u16::MAX;
    assert_eq!(
        rig.differences(),
        ["verdict: decided forwarded; found no_next_hop for 3 flows, unknown for 1 flow"]
    );
}

#[test]
fn a_ring_that_is_not_made_by_the_shares_is_found_though_the_kernel_has_it() {
    let mut rig = Rig::forwarding();
    let b = "b".parse::<Name>().unwrap();
    rig.explanation.shares.insert(b, 0.);
    rig.explanation.shares.insert("a".parse().unwrap(), 1.);
    let differences = rig.differences();
    assert_eq!(differences.len(), 2, "{differences:?}");
    assert!(differences[0].starts_with("share of a: decided 1000 to 1000 flows by its share"));
    assert!(differences[1].starts_with("share of b: decided 0 to 0 flows by its share"));
}

#[test]
fn a_service_that_is_not_published_is_told_with_what_its_tables_wait_for() {
    let mut rig = Rig::forwarding();
    rig.row = None;
    rig.pending = Some("no room");
    assert_eq!(
        rig.differences(),
        [
            "service: decided published; found not in the tables",
            "tables: decided all written; found they wait: no room",
        ]
    );
    let refusal = rig.judge().refusal().unwrap();
    assert_eq!(refusal.code, "not-yet-as-decided");
    rig.row = Rig::forwarding().row;
    assert!(matches!(rig.judge(), Judgement::Holds(_)));
}

/// The bound takes flows to fall into slots as if by lot.
#[test]
fn the_ring_hash_spreads_the_flows_of_a_client_within_the_bound() {
    let service = ServiceKey::new(Address::v4([203, 0, 113, 10]), [0, 80], Protocol::TCP);
    let mut farthest = BTreeSet::new();
    for client in 0..4000_u32 {
        let key = ring_key(&client.to_string());
        let client = Address::v4((0xc000_0200 + client % 256).to_be_bytes());
        let third = |flow: &Tuple| Descriptor::new(0, 10).slot(flow, &key) < 3;
        let got = flows(&service, client)
            .iter()
            .filter(|it| third(it))
            .count();
        assert!(chance::likely(1000, 0.3, 2).contains(&got), "{got}");
        farthest.insert(got.abs_diff(300));
    }
    // As far as 4,000 lots go: the standard deviation is 14.5.
    let farthest = *farthest.last().unwrap();
    assert!((40..80).contains(&farthest), "{farthest}");
}

#[test]
fn a_judgement_is_one_flat_object_of_json_that_is_read_back() {
    let json = |judgement: &Judgement| serde_json::to_value(judgement).unwrap();
    let holds = Rig::forwarding().judge();
    assert_eq!(json(&holds)["result"], "holds");
    assert_eq!(json(&holds)["flows"], 1000);
    let mut rig = Rig::forwarding();
    rig.row = None;
    let differs = rig.judge();
    assert_eq!(json(&differs)["result"], "differs");
    assert_eq!(json(&differs)["differences"][0]["what"], "service");
    assert_eq!(json(&differs)["backends"], json(&holds)["backends"]);
    let why = "no reason".to_owned();
    let unproven = Judgement::Unproven { why };
    assert_eq!(json(&unproven)["result"], "unproven");
    let refusal = differs.refusal().unwrap();
    assert_eq!(refusal.code, "not-as-decided");
    for judgement in [holds, differs, unproven] {
        let is_wrong = judgement.refusal().is_some();
        assert_eq!(is_wrong, json(&judgement)["result"] == "differs");
        let read: Judgement = serde_json::from_value(json(&judgement)).unwrap();
        assert_eq!(read, judgement);
    }
}
