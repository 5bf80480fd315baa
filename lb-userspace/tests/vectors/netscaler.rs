use crate::{
    case::{Case, group},
    file::vector,
};

const SERVICES: [&str; 8] = [
    "Asia.IN",
    "Asia.JPN",
    "Asia.HK",
    "Europe.UK",
    "Europe.RU",
    "Europe.EG",
    "Africa.SD",
    "Africa.ZMB",
];

const ASIA: [&str; 3] = ["Asia.IN", "Asia.JPN", "Asia.HK"];
const EUROPE: [&str; 3] = ["Europe.UK", "Europe.RU", "Europe.EG"];

/// The worked example W3: each service is called as the place where it is.
fn w3(settings: &str) -> Case {
    let case = Case::of_all(
        &SERVICES,
        &format!("policy = \"static-proximity\"{settings}"),
    );
    let at = |case: Case, place: &&'static str| case.with(place, "location", place);
    SERVICES.iter().fold(case, at)
}

fn preferred() -> Case {
    w3("")
        .location("Africa.ZMB")
        .prefer(&["Asia.HK", "Europe.UK"])
}

#[test]
fn t120_the_first_preferred_location() {
    preferred().check("T120");
}

#[test]
fn t121_the_second_when_the_first_is_down() {
    preferred().down(&["Asia.HK"]).check("T121");
}

#[test]
fn t122_a_partial_match_of_the_first_when_both_are_down() {
    preferred().down(&["Asia.HK", "Europe.UK"]).check("T122");
}

#[test]
fn t123_the_partial_match_that_is_up() {
    preferred()
        .down(&["Asia.HK", "Europe.UK", "Asia.JPN"])
        .check("T123");
}

#[test]
fn t124_a_partial_match_of_the_second() {
    preferred().down(&ASIA).down(&["Europe.UK"]).check("T124");
}

#[test]
fn t126_all_others_in_the_end() {
    preferred().down(&ASIA).down(&EUROPE).check("T126");
}

#[test]
fn t129_an_empty_answer_when_all_are_down() {
    let case = w3(", all_down = \"no-answer\"").location("Africa.ZMB");
    case.prefer(&["Asia.HK", "Europe.UK"])
        .all_down()
        .check("T129");
}

#[test]
fn t130_without_a_preference_static_proximity_decides() {
    w3("").location("Europe.FR").check("T130");
}

#[test]
fn t132_a_perfect_match_below_comes_before_a_partial_one_above() {
    w3("").prefer(&["Asia.SG", "Europe.UK"]).check("T132");
}

#[test]
fn t133_the_partial_pass_begins_at_the_top() {
    w3("")
        .prefer(&["Asia.SG", "Europe.UK"])
        .down(&["Europe.UK"])
        .check("T133");
}

#[test]
fn t134_a_preference_that_nobody_fits_leaves_all() {
    w3("").prefer(&["Oceania.AU"]).check("T134");
}

#[test]
fn t135_one_literal_qualifier_has_no_partial_match() {
    w3("").prefer(&["*.UK"]).down(&["Europe.UK"]).check("T135");
}

fn pair(one: &str, other: Option<&str>) -> Case {
    let case = Case::of_all(&["s1", "s2"], "policy = \"static-proximity\"");
    let case = case.with("s1", "location", one);
    match other {
        Some(other) => case.with("s2", "location", other),
        None => case,
    }
}

#[test]
fn t136_the_deeper_match_wins() {
    pair("Europe.UK", Some("Europe.RU"))
        .location("Europe.UK.London")
        .check("T136");
}

#[test]
fn t137_the_shallower_match_takes_over() {
    let case = pair("Europe.UK", Some("Europe.RU")).location("Europe.UK.London");
    case.down(&["s1"]).check("T137");
}

#[test]
fn t138_without_a_match_all_share() {
    pair("Europe.UK", Some("Asia.JP"))
        .location("Africa.ZA")
        .check("T138");
}

#[test]
fn t139_a_member_without_a_location_matches() {
    pair("Europe.UK", None).location("Europe.UK").check("T139");
}

#[test]
fn t140_those_within_the_tolerance_share() {
    let case = Case::of_all(
        &["r1", "r2", "r3"],
        "policy = \"dynamic-rtt\", latency_window = \"10ms\"",
    );
    let case = case
        .with("r1", "region", "one")
        .with("r2", "region", "two")
        .with("r3", "region", "three");
    case.row(&[("one", 20), ("two", 30), ("three", 31)])
        .check("T140");
}

/// Weights 1, 2 and 3, of which half must be healthy; else the spare takes over.
fn spillover(up: &[&str]) -> String {
    let members = r#"{ backend = "g1", weight = 1 }, { backend = "g2", weight = 2 }, { backend = "g3", weight = 3 }"#;
    let settings = "policy = \"static-proximity\", all_down = \"backup\", backup = \"spare\", min_healthy_weight = 50";
    let primary = group("g", &format!("{settings}, member = [{members}]"));
    let spare = group(
        "spare",
        "policy = \"weighted\", member = [{ backend = \"other\" }]",
    );
    let case = Case::new(&["g1", "g2", "g3", "other"], &(primary + &spare));
    let down = ["g1", "g2", "g3"].into_iter().filter(|it| !up.contains(it));
    let shares = case.down(&down.collect::<Vec<_>>()).shares();
    let spills = shares.contains_key("other");
    assert!(!spills || shares.len() == 1, "{shares:?}");
    if spills { "spill" } else { "primary" }.to_owned()
}

#[test]
fn t144_two_sixths_spill() {
    assert_eq!(spillover(&["g2"]), vector("T144").expected);
}

#[test]
fn t145_one_sixth_spills() {
    assert_eq!(spillover(&["g1"]), vector("T145").expected);
}

#[test]
fn t146_half_by_two_members_is_enough() {
    assert_eq!(spillover(&["g1", "g2"]), vector("T146").expected);
}

#[test]
fn t147_half_by_one_member_is_enough() {
    assert_eq!(spillover(&["g3"]), vector("T147").expected);
}

fn min_up() -> Case {
    let members = r#"{ backend = "lb1", weight = 45 }, { backend = "lb2", weight = 60 }, { backend = "lb3", weight = 75 }"#;
    let settings = format!("policy = \"weighted\", min_healthy_weight = 50, member = [{members}]");
    Case::new(&["lb1", "lb2", "lb3"], &group("g", &settings))
}

#[test]
fn t224_enough_weight_is_healthy() {
    min_up().down(&["lb3"]).check("T224");
}

#[test]
fn t225_with_too_little_weight_all_come_back() {
    let case = min_up().down(&["lb2", "lb3"]);
    assert!(case.decision().best_effort);
    case.check("T225");
}

#[test]
fn t225_a_group_with_too_little_weight_is_down_to_its_parent() {
    let child = r#"policy = "weighted", min_healthy_weight = 50, member = [{ backend = "lb1", weight = 45 }, { backend = "lb2", weight = 60 }, { backend = "lb3", weight = 75 }]"#;
    let members = r#"{ group = "lb" }, { backend = "other" }"#;
    let top = group("g", &format!("policy = \"priority\", member = [{members}]"));
    let case = Case::new(
        &["lb1", "lb2", "lb3", "other"],
        &(top + &group("lb", child)),
    );
    let above = case.clone().down(&["lb3"]).shares();
    assert!(!above.contains_key("other"), "{above:?}");
    let below = case.down(&["lb2", "lb3"]).shares();
    assert_eq!(below.keys().collect::<Vec<_>>(), ["other"]);
}
