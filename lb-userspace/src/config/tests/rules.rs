//! The rules of services.

use super::{expect, mistakes, with};
use crate::{config::parse, model::When};

/// [`GOOD`](super::GOOD) with these rules of its service.
pub(super) fn text(rules: &str) -> String {
    with("group = \"g\"", &format!("group = \"g\"\nrule = [{rules}]"))
}

/// What is wrong with a rule of a service whose group looks at preferred locations.
fn preferring(rule: &str) -> Vec<String> {
    let policy = "name = \"g\"\npolicy = \"static-proximity\"";
    mistakes(&text(rule).replace("name = \"g\"", policy))
}

#[test]
fn t201_a_rule_prefers_up_to_eight_locations() {
    let with = |count: usize| {
        let places: Vec<_> = (0..count).map(|it| format!("\"Europe.P{it}\"")).collect();
        let places = places.join(", ");
        preferring(&format!("{{ location = \"*.ZMB\", prefer = [{places}] }}"))
    };
    assert_eq!(with(1), [""; 0]);
    assert_eq!(with(8), [""; 0]);
    let expected = "service[0].rule[0].prefer: 9 locations are given; use at most 8";
    assert_eq!(with(9), [expected]);
    let expected = "service[0].rule[0].prefer: is empty; add `prefer = [\"Europe.UK\"]`";
    assert_eq!(with(0), [expected]);
}

#[test]
fn a_preference_stands_where_a_group_of_the_service_alone_decides_by_it() {
    let rule = "{ geo = [\"IE\"], prefer = [\"Europe.UK\"] }";
    let idle = "service[0].rule[0].prefer: group \"g\" does not look at it; use the policy \
        \"static-proximity\" or \"dynamic-rtt\", or a stage \"prefer\"";
    assert_eq!(mistakes(&text(rule)), [idle]);
    let other = "name = \"s\"\naddress = \"203.0.113.11\"\nprotocol = \"tcp\"\nport = 80\ngroup = \"g\"\n\
        [[service]]\nname = \"t\"";
    let shared = text(rule)
        .replace(
            "name = \"g\"",
            "name = \"g\"\npolicy = \"static-proximity\"",
        )
        .replace("name = \"s\"", other);
    let expected = "service[1].rule[0].prefer: group \"g\" is used by service \"s\" too; give the \
        service a group of its own for that";
    assert_eq!(mistakes(&shared), [expected]);
    let answer = "{ geo = [\"IE\"], prefer = [\"Europe.UK\"], answer = \"drop\" }";
    let expected = "service[0].rule[0].answer: stands beside `prefer`; remove one of them";
    assert_eq!(preferring(answer), [expected]);
}

#[test]
fn a_rule_names_regions_or_a_location() {
    let rules =
        "{ geo = [\"IE\", \"geo-na\"], group = \"g\" }, { location = \"*.UK\", answer = \"drop\" }";
    let rules = parse(&text(rules)).unwrap().model.services["s"]
        .rules
        .clone();
    let [When::Geo(regions), When::Location(pattern)] = [&rules[0].when, &rules[1].when] else {
        panic!("{rules:?}")
    };
    assert_eq!(regions.len(), 2);
    assert_eq!(pattern.to_string(), "*.UK");
    expect(
        "group = \"g\"",
        &[
            (
                "group = \"g\"\nrule = [{ geo = [], group = \"g\" }]",
                &["service[0].rule[0].geo: is empty; add `geo = [\"IE\"]`"],
            ),
            (
                "group = \"g\"\nrule = [{ geo = [\"UK\"], group = \"g\" }]",
                &[
                    "service[0].rule[0].geo[0]: \"UK\" is the code of no region; did you mean \"GB\"?",
                ],
            ),
        ],
    );
}
