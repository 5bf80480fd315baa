use lb_userspace::model::Share;

use crate::{
    case::{Case, group},
    file::vector,
};

fn priority() -> Case {
    let members = r#"{ backend = "P1", priority = 1 }, { backend = "P2", priority = 2 }, { backend = "P3", priority = 3 }"#;
    let settings = format!("policy = \"priority\", member = [{members}]");
    Case::new(&["P1", "P2", "P3"], &group("g", &settings))
}

#[test]
fn t31_the_second_takes_over() {
    priority().down(&["P1"]).check("T31");
}

#[test]
fn t32_the_third_takes_over() {
    priority().down(&["P1", "P2"]).check("T32");
}

#[test]
fn t33_a_disabled_member_is_passed_over() {
    priority().disabled(&["P1"]).check("T33");
}

#[test]
fn t36_a_member_without_a_verdict_gets_traffic() {
    priority().checking("P1").check("T36");
}

#[test]
fn t37_without_priorities_the_order_of_the_file_counts() {
    let case = Case::of_all(&["X", "Y", "Z"], "policy = \"priority\"");
    case.down(&["X"]).check("T37");
}

#[test]
fn t38_a_stopped_member_is_no_best_effort() {
    let members = r#"{ backend = "P1", priority = 1, stopped = true }, { backend = "P2", priority = 2 }, { backend = "P3", priority = 3 }"#;
    let settings = format!("policy = \"priority\", member = [{members}]");
    let case = Case::new(&["P1", "P2", "P3"], &group("g", &settings));
    case.down(&["P2", "P3"]).check("T38");
}

#[test]
fn t39_a_member_that_always_serves_is_not_judged() {
    let members = r#"{ backend = "P1", priority = 1, always_serve = true }, { backend = "P2", priority = 2 }, { backend = "P3", priority = 3 }"#;
    let settings = format!("policy = \"priority\", member = [{members}]");
    Case::new(&["P1", "P2", "P3"], &group("g", &settings))
        .down(&["P1"])
        .check("T39");
}

#[test]
fn t40_with_everybody_disabled_there_is_no_answer() {
    priority().disabled(&["P1", "P2", "P3"]).check("T40");
}

#[test]
fn t41_members_without_weights_share_equally() {
    Case::of_all(&["X", "Y", "Z"], "policy = \"weighted\"").check("T41");
}

fn weighted(members: &[(&'static str, u16)]) -> Case {
    let names: Vec<_> = members.iter().map(|it| it.0).collect();
    let members = members
        .iter()
        .map(|(name, weight)| format!("{{ backend = \"{name}\", weight = {weight} }}"));
    let members = members.collect::<Vec<_>>().join(", ");
    let settings = format!("policy = \"weighted\", member = [{members}]");
    Case::new(&names, &group("g", &settings))
}

#[test]
fn t42_members_share_by_weight() {
    weighted(&[("X", 3), ("Y", 7)]).check("T42");
}

#[test]
fn t43_the_extremes_of_weight() {
    weighted(&[("X", 1), ("Y", 1000)]).check("T43");
}

#[test]
fn t46_best_effort_goes_by_weight_without_the_disabled() {
    let case = weighted(&[("X", 5), ("Y", 3), ("Z", 2)]);
    case.disabled(&["X"]).down(&["Y", "Z"]).check("T46");
}

const ROW: &[(&str, u64)] = &[("we", 20), ("us", 90), ("ea", 150)];

fn performance() -> Case {
    let case = Case::of_all(&["WE", "US", "EA"], "policy = \"performance\"");
    in_regions(case).row(ROW)
}

fn in_regions(case: Case) -> Case {
    case.with("WE", "region", "we")
        .with("US", "region", "us")
        .with("EA", "region", "ea")
}

#[test]
fn t50_the_nearest_region_wins() {
    performance().check("T50");
}

#[test]
fn t51_the_next_nearest_region_takes_over() {
    performance().down(&["WE"]).check("T51");
}

#[test]
fn t52_members_of_one_region_share_equally() {
    let case = Case::of_all(&["WE1", "WE2", "US"], "policy = \"performance\"");
    let case = case.with("WE1", "region", "we").with("WE2", "region", "we");
    case.with("US", "region", "us").row(ROW).check("T52");
}

#[test]
fn t54_best_effort_goes_to_the_nearest_region() {
    performance().all_down().check("T54");
}

#[test]
fn t55_a_client_without_a_row_may_get_any_region() {
    let case = Case::of_all(&["WE", "US", "EA"], "policy = \"performance\"");
    in_regions(case).client("198.18.0.1").check("T55");
}

#[test]
fn t57_an_override_to_an_unhealthy_member_is_passed_over() {
    let members =
        r#"{ backend = "WE" }, { backend = "US" }, { backend = "EA", clients = ["9.10.11.0/24"] }"#;
    let settings = format!("policy = \"performance\", member = [{members}]");
    let case = in_regions(Case::new(&["WE", "US", "EA"], &group("g", &settings))).row(ROW);
    let healthy = case.clone().client("9.10.11.5").shares();
    assert_eq!(
        healthy.keys().collect::<Vec<_>>(),
        ["EA"],
        "the override itself"
    );
    case.client("9.10.11.5").down(&["EA"]).check("T57");
}

#[test]
fn t58_regions_that_are_equally_near_share_equally() {
    performance()
        .row(&[("we", 30), ("us", 30), ("ea", 150)])
        .check("T58");
}

fn geographic(members: &[(&'static str, &str)]) -> Case {
    let names: Vec<_> = members.iter().map(|it| it.0).collect();
    let members = members
        .iter()
        .map(|(name, code)| format!("{{ backend = \"{name}\", geo = [\"{code}\"] }}"));
    let members = members.collect::<Vec<_>>().join(", ");
    let settings = format!("policy = \"geographic\", member = [{members}]");
    Case::new(&names, &group("g", &settings))
}

fn w2() -> Case {
    geographic(&[("Endpoint1", "IE"), ("Endpoint2", "GEO-EU")])
}

#[test]
fn t60_the_finer_region_wins() {
    w2().region("IE").check("T60");
}

#[test]
fn t62_a_region_without_a_mapping_has_no_answer() {
    w2().region("JP").check("T62");
}

#[test]
fn t64_an_unhealthy_member_keeps_its_region() {
    w2().region("IE").down(&["Endpoint1"]).check("T64");
}

#[test]
fn t65_a_stopped_member_leaves_its_region_without_an_answer() {
    let members = r#"{ backend = "Endpoint1", geo = ["IE"], stopped = true }, { backend = "Endpoint2", geo = ["GEO-EU"] }"#;
    let settings = format!("policy = \"geographic\", member = [{members}]");
    let case = Case::new(&["Endpoint1", "Endpoint2"], &group("g", &settings));
    case.region("IE").check("T65");
}

fn america() -> Case {
    geographic(&[("Cal", "US-CA"), ("Usa", "US"), ("Na", "GEO-NA")])
}

#[test]
fn t67_a_state_is_finer_than_its_country() {
    america().region("US-CA").check("T67");
}

#[test]
fn t68_another_state_goes_to_the_country() {
    america().region("US-NY").check("T68");
}

#[test]
fn t69_another_country_goes_to_the_group() {
    america().region("CA-AB").check("T69");
}

#[test]
fn t71_an_address_of_no_region_has_no_answer() {
    w2().check("T71");
}

fn nested_ireland(enabled: bool) -> Case {
    let members = r#"{ group = "ireland", geo = ["IE"] }, { backend = "eu", geo = ["GEO-EU"] }"#;
    let top = group(
        "g",
        &format!("policy = \"geographic\", member = [{members}]"),
    );
    let settings = format!("enabled = {enabled}, policy = \"priority\"");
    let members = r#"member = [{ backend = "ie1" }, { backend = "ie2" }]"#;
    let child = group("ireland", &format!("{settings}, {members}"));
    Case::new(&["ie1", "ie2", "eu"], &(top + &child)).region("IE")
}

#[test]
fn t73_an_unhealthy_child_answers_by_its_best_effort() {
    nested_ireland(true).down(&["ie1", "ie2"]).check("T73");
}

#[test]
fn t74_a_disabled_child_leaves_its_region_without_an_answer() {
    nested_ireland(false).check("T74");
}

#[test]
fn t76_turkey_is_in_the_middle_east() {
    let case = geographic(&[
        ("Endpoint1", "IE"),
        ("Endpoint2", "GEO-EU"),
        ("Me", "GEO-ME"),
    ]);
    case.region("TR").check("T76");
}

fn subnet(fallback: bool) -> Case {
    let mut members = r#"{ backend = "S1", clients = ["1.2.3.0/24"] }, { backend = "S2", clients = ["10.0.0.0-10.0.0.9"] }"#.to_owned();
    if fallback {
        members += r#", { backend = "FB" }"#;
    }
    let settings = format!("policy = \"subnet\", member = [{members}]");
    Case::new(&["S1", "S2", "FB"], &group("g", &settings))
}

fn range() -> Case {
    let members = r#"{ backend = "R", clients = ["1.2.3.4-5.6.7.8"] }, { backend = "FB" }"#;
    let settings = format!("policy = \"subnet\", member = [{members}]");
    Case::new(&["R", "FB"], &group("g", &settings))
}

#[test]
fn t80_a_client_in_a_prefix() {
    subnet(true).client("1.2.3.77").check("T80");
}

#[test]
fn t81_a_client_in_none_goes_to_the_fallback() {
    subnet(true).client("1.2.4.0").check("T81");
}

#[test]
fn t82_without_a_fallback_there_is_no_answer() {
    subnet(false).client("1.2.4.0").check("T82");
}

#[test]
fn t83_the_address_before_a_range() {
    range().client("1.2.3.3").check("T83");
}

#[test]
fn t84_the_first_address_of_a_range() {
    range().client("1.2.3.4").check("T84");
}

#[test]
fn t87_an_address_within_a_range() {
    range().client("3.0.0.1").check("T87");
}

#[test]
fn t88_a_disabled_member_s_addresses_are_not_there() {
    subnet(true)
        .client("1.2.3.77")
        .disabled(&["S1"])
        .check("T88");
}

#[test]
fn t90_an_unhealthy_member_s_addresses_go_to_the_fallback() {
    subnet(true).client("1.2.3.77").down(&["S1"]).check("T90");
}

#[test]
fn t91_without_a_fallback_they_have_no_answer() {
    subnet(false).client("1.2.3.77").down(&["S1"]).check("T91");
}

fn multivalue(take: &str) -> Case {
    Case::of_all(
        &["M1", "M2", "M3"],
        &format!("policy = \"multivalue\"{take}"),
    )
}

/// `2 of 3 backends, equal share`: every client has so many of the backends, with equal parts.
#[track_caller]
fn check_subset(case: &Case, id: &str) {
    let expected = vector(id).expected;
    let numbers: Vec<usize> = expected
        .split(' ')
        .filter_map(|it| it.parse().ok())
        .collect();
    let [take, of] = numbers[..] else {
        panic!("{id}: {expected}");
    };
    let decision = case.decision();
    for (_, flows) in decision.rows.iter() {
        assert_eq!(flows.len(), take, "{id}");
        let part = Share::new(1.into(), take.into());
        assert!(flows.values().all(|it| *it == part), "{id}: {flows:?}");
    }
    let shares = case.shares();
    assert_eq!(shares.len(), of, "{id}");
    let fair = Share::new(1.into(), of.into());
    let near = Share::new(2.into(), 100.into());
    let is_fair = |share: &Share| share < &(&fair + &near) && share > &(&fair - &near);
    assert!(shares.values().all(is_fair), "{id}: {shares:?}");
}

#[test]
fn t92_each_client_gets_two_of_three() {
    check_subset(&multivalue(""), "T92");
}

#[test]
fn t93_more_than_there_are_is_all() {
    check_subset(&multivalue(", take = 10"), "T93");
}

#[test]
fn t94_an_unhealthy_member_is_none_of_them() {
    check_subset(&multivalue(", take = 10").down(&["M2"]), "T94");
}

#[test]
fn t96_an_ipv4_client_gets_ipv4_members() {
    let case = multivalue(", take = 10").with("M3", "address", "2001:db8::3");
    check_subset(&case, "T96");
}

#[test]
fn t97_an_ipv6_client_gets_ipv6_members() {
    let case = multivalue(", take = 10").with("M1", "address", "10.0.0.1");
    let case = case
        .with("M2", "address", "10.0.0.2")
        .with("M3", "address", "2001:db8::3");
    check_subset(&case.client("2001:db8:1::9"), "T97");
}
