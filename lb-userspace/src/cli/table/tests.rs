use serde_json::Value;

use super::*;
use crate::{
    class::Clients,
    config,
    dataplane::{Capacity, Grace, diff},
    model::{Admin, Health, Mac, MemberState, Model},
    policy::fixtures::{decided, state},
    table::{Image, ServiceSpec, TargetKey, TargetSpec, group_id, ring, ring_hash, spread},
};

const FILE: &str = r#"
    edge = { name = "e", interfaces = ["eth0"] }
    backend = [
        { name = "a", address = "10.0.0.1" }, { name = "b", address = "10.0.0.2" },
        { name = "a6", address = "2001:db8::a" },
    ]
    group = [
        { name = "web", probe = { kind = "tcp" }, member = [{ backend = "a", weight = 3 }, { backend = "b", weight = 7 }] },
        { name = "office", probe = { kind = "none" }, member = [{ backend = "b" }] },
        { name = "web6", probe = { kind = "none" }, member = [{ backend = "a6" }] },
    ]
    [[service]]
    name = "web"
    address = "203.0.113.10"
    port = 80
    protocol = "tcp"
    group = "web"
    rule = [
        { clients = ["198.51.100.0/26", "192.0.2.1-192.0.2.20"], group = "office" },
        { clients = ["198.51.100.9"], answer = "drop" },
    ]
    [[service]]
    name = "dns"
    address = "2001:db8:203::10"
    port = 53
    protocol = "udp"
    group = "web6"
"#;

fn model() -> Model {
    config::parse(FILE).expect("a good configuration").model
}

/// The tables of a model whose members are all up, but for the group without an answer.
fn tables(model: &Model, down: Option<&str>) -> Tables {
    let mut image = Image {
        clients: Clients::of(model).partition().clone(),
        ..Image::default()
    };
    for service in model.services.values() {
        let spec = ServiceSpec {
            name: service.name.clone(),
            group: service.group.clone(),
            routes: service.rules.iter().map(|it| it.route.clone()).collect(),
            by_class: !service.rules.is_empty(),
        };
        image.services.insert(service.key(), spec);
    }
    for group in model.groups.values() {
        let state = MemberState {
            admin: match down == Some(group.name.as_str()) {
                true => Admin::Drain,
                false => Admin::Enable,
            },
            ..state(Health::Up, None, "")
        };
        let decision = decided(group, &vec![state; group.members.len()]);
        let ring = ring(&group.name, &spread(&model.backends, &decision));
        image.rings.insert(group.name.clone(), vec![ring].into());
        for (.., backend) in group.backends() {
            let key = TargetKey {
                group: group.name.clone(),
                identity: model.backends[backend].identity(),
            };
            let target = TargetSpec {
                next_hop: Some(Mac([2, 0, 0, 0, 0, 1])),
                source: Mac([2, 0, 0, 0, 0, 2]),
                edge_address: None,
                mtu: 1500,
                takes_new: true,
                dead: None,
            };
            image.targets.insert(key, target);
        }
    }
    let mut tables = Tables::new(Capacity::new(1 << 20));
    let plan = diff(&tables, &image, Grace::OFF).expect("it fits");
    plan.changes.iter().for_each(|change| tables.apply(change));
    tables
}

fn arguments(words: &[&str]) -> Arguments {
    #[derive(clap::Parser)]
    struct Table {
        #[command(flatten)]
        arguments: Arguments,
    }
    let words = [&["table"], words].concat();
    clap::Parser::try_parse_from(words)
        .map(|it: Table| it.arguments)
        .expect("good usage")
}

fn view(words: &[&str]) -> Result<View, Refusal> {
    let model = model();
    let names = Names::of_model(&model);
    arguments(words).wanted.view(&tables(&model, None), &names)
}

#[test]
fn the_text_has_every_service_with_classes_prefixes_and_shares_lined_up() {
    let text = view(&[]).unwrap().to_string();
    let hashes: Vec<_> = (text.split_whitespace())
        .filter(|word| word.len() == 16 && word.bytes().all(|it| it.is_ascii_hexdigit()))
        .collect();
    let [web, office, dns] = hashes[..] else {
        panic!("{text}");
    };
    let expected = format!(
        "\
service web, 203.0.113.10:80 tcp
  CLASS  CLIENTS          GOES TO  RING              BACKEND  SLOTS        SHARE
  0      all others       web      {web}  a        4914/16381   30 %
         192.0.2.0/32                                b        11467/16381  70 %
  1      192.0.2.0/28     office   {office}  b        16381/16381  100 %
         192.0.2.16/30
         192.0.2.20/32
         198.51.100.0/26
  2      198.51.100.9/32  drop

service dns, [2001:db8:203::10]:53 udp
  CLASS  CLIENTS    GOES TO  RING              BACKEND  SLOTS        SHARE
  0      everybody  web6     {dns}  a6       16381/16381  100 %
"
    );
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn rings_have_the_hash_that_they_have_elsewhere() {
    let model = model();
    let view = serde_json::to_value(view(&["web"]).unwrap()).unwrap();
    let shown = &view["services"][0]["classes"][1]["ring"];
    let office = &model.groups["office"];
    let key = model.backends["b"].identity();
    let made = ring(
        &office.name,
        &crate::table::Spread::Flows(
            [(key.into(), crate::model::Share::from_integer(1.into()))].into(),
        ),
    );
    let hash = format!("{:016x}", ring_hash(&made));
    assert_eq!(shown, &serde_json::json!({"length": 16381, "hash": hash}));
}

#[test]
fn json_has_all_prefixes_and_exact_slots() {
    let json = serde_json::to_value(view(&[]).unwrap()).unwrap();
    let web = &json["services"][0];
    assert_eq!((&web["name"], &web["port"]), (&"web".into(), &80.into()));
    assert_eq!(web["group_id"], group_id(&"web".parse().unwrap()));
    let office = &web["classes"][1];
    let prefixes = [
        "192.0.2.0/28",
        "192.0.2.16/30",
        "192.0.2.20/32",
        "198.51.100.0/26",
    ];
    assert_eq!(office["clients"], serde_json::json!(prefixes));
    let others = serde_json::json!(["0.0.0.0/0", "192.0.2.0/32"]);
    assert_eq!(web["classes"][0]["clients"], others);
    assert_eq!(office["outcome"], "forward");
    let slots: Vec<_> = (web["classes"][0]["shares"].as_array().unwrap().iter())
        .map(|it| (it["backend"].as_str(), it["slots"].as_u64()))
        .collect();
    assert_eq!(slots, [(Some("a"), Some(4914)), (Some("b"), Some(11467))]);
    let drop = &web["classes"][2];
    assert_eq!(
        (&drop["outcome"], &drop["ring"]),
        (&"drop".into(), &Value::Null)
    );
    assert_eq!(json.get("client"), None);
}

#[test]
fn a_client_is_told_its_prefix_and_class_and_sees_what_it_can_reach() {
    for (client, class, by) in [
        ("198.51.100.11", 1, "by 198.51.100.0/26"),
        ("198.51.100.9", 2, "by 198.51.100.9/32"),
        ("::ffff:198.51.100.9", 2, "by 198.51.100.9/32"),
        ("192.0.2.0", 0, "by 192.0.2.0/32"),
        ("198.51.100.64", 0, "with all others"),
        ("2001:db8::7", 0, "with all others"),
    ] {
        let view = view(&["--client", client]).unwrap();
        let text = view.to_string();
        let address: IpAddr = client.parse().unwrap();
        let line = format!("client {}: class {class}, {by}\n\n", address.to_canonical());
        assert!(text.starts_with(&line), "{text}");
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["client"]["class"], class);
        assert_eq!(json["services"].as_array().unwrap().len(), 1);
        assert_eq!(json["services"][0]["classes"].as_array().unwrap().len(), 1);
        assert_eq!(json["services"][0]["classes"][0]["class"], class);
    }
}

#[test]
fn a_class_is_shown_where_clients_have_it() {
    let text = view(&["--class", "2"]).unwrap().to_string();
    assert!(
        text.contains("service web,") && !text.contains("service dns"),
        "{text}"
    );
    assert!(text.contains("  2      198.51.100.9/32  drop\n"), "{text}");
    assert!(!text.contains("office"), "{text}");
}

#[test]
fn without_names_services_go_by_their_endpoints_and_groups_by_their_numbers() {
    let tables = tables(&model(), None);
    let nameless = |words: &[&str]| arguments(words).wanted.view(&tables, &Names::default());
    let text = nameless(&["203.0.113.10:80"]).unwrap().to_string();
    assert!(text.starts_with("service 203.0.113.10:80 tcp\n"), "{text}");
    let web = format!("{:08x}", group_id(&"web".parse().unwrap()));
    assert!(text.contains(&web) && text.contains("10.0.0.1"), "{text}");
    let error = nameless(&["web"]).unwrap_err().to_string();
    let known = "there is 203.0.113.10:80, [2001:db8:203::10]:53";
    assert_eq!(error, format!("there is no service `web`; {known}"));
}

#[test]
fn a_group_without_a_backend_and_a_broken_ring_are_told() {
    let model = model();
    let names = Names::of_model(&model);
    let drained = tables(&model, Some("web"));
    let text = View::of(&drained, &names).to_string();
    assert!(text.contains("0      all others       reject"), "{text}");
    let empty = Tables::new(Capacity::new(1 << 20));
    let text = View::of(&empty, &names).to_string();
    assert_eq!(text, "no service is published\n");
}

#[test]
fn what_can_not_be_shown_is_refused_with_what_there_is() {
    let refused = |words: &[&str]| {
        let refusal = view(words).unwrap_err();
        (refusal.code.clone(), refusal.to_string())
    };
    let (code, text) = refused(&["--class", "7"]);
    assert_eq!(code, "no-such-class");
    assert_eq!(text, "no client is of class 7; the classes are 0, 1, 2");
    let (_, text) = refused(&["nope"]);
    assert_eq!(text, "there is no service `nope`; there is dns, web");
    let (code, text) = refused(&["web", "--client", "2001:db8::7"]);
    assert_eq!(code, "client-of-other-family");
    assert!(text.ends_with("name an IPv4 client"), "{text}");
}

#[test]
fn of_many_prefixes_the_first_are_shown_and_all_are_in_json() {
    let clients = (1..=6)
        .map(|i| format!("\"10.{}.0.0/16\"", 2 * i))
        .collect::<Vec<_>>();
    let file = FILE.replace("\"198.51.100.9\"", &clients.join(", "));
    let model = config::parse(&file).expect("a good configuration").model;
    let view = View::of(&tables(&model, None), &Names::of_model(&model));
    let text = view.to_string();
    let lines = "         10.4.0.0/16\n         10.6.0.0/16\n         and 3 more\n";
    assert!(text.contains(lines), "{text}");
    let json = serde_json::to_value(&view).unwrap();
    let classes = json["services"][0]["classes"].as_array().unwrap();
    let dropped = classes.iter().find(|it| it["outcome"] == "drop").unwrap();
    assert_eq!(dropped["clients"].as_array().unwrap().len(), 6);
}
