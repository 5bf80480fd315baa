use crate::case::{Case, group};

/// A performance parent with a nested entry in region `we`, and US and EA.
fn parent(child: &str, names: &[&'static str], min_healthy: u32) -> Case {
    let members = format!(
        "{{ group = \"child\", region = \"we\", min_healthy = {min_healthy} }}, {{ backend = \"US\" }}, {{ backend = \"EA\" }}"
    );
    let top = group(
        "g",
        &format!("policy = \"performance\", member = [{members}]"),
    );
    let mut all = names.to_vec();
    all.extend(["US", "EA"]);
    Case::new(&all, &(top + &group("child", child)))
        .with("US", "region", "us")
        .with("EA", "region", "ea")
        .row(&[("we", 20), ("us", 90), ("ea", 150)])
}

const WEIGHTED: &str = r#"policy = "weighted", member = [{ backend = "prod", weight = 9 }, { backend = "test", weight = 1 }]"#;

fn we(min_healthy: u32) -> Case {
    parent(WEIGHTED, &["prod", "test"], min_healthy)
}

#[test]
fn t103_with_the_whole_child_down_other_regions_take_over() {
    we(1).down(&["prod", "test"]).check("T103");
}

#[test]
fn t104_with_everything_down_best_effort_goes_down_both_levels() {
    we(1).all_down().check("T104");
}

#[test]
fn t105_a_disabled_child_is_stopped() {
    let child = format!("enabled = false, {WEIGHTED}");
    parent(&child, &["prod", "test"], 1).check("T105");
}

#[test]
fn t106_members_without_a_verdict_count_as_enough() {
    we(2).checking("prod").check("T106");
}

#[test]
fn t107_a_child_that_never_has_enough_members_is_never_healthy() {
    we(3).check("T107");
}

#[test]
fn t109_the_child_of_the_best_effort_still_has_a_healthy_member() {
    we(2).down(&["prod", "US", "EA"]).check("T109");
}

fn by_priority() -> Case {
    let child = r#"policy = "priority", member = [{ backend = "WEu", priority = 1 }, { backend = "WUs", priority = 2 }]"#;
    let members = r#"{ group = "child", region = "we" }, { backend = "EA" }"#;
    let top = group(
        "g",
        &format!("policy = \"performance\", member = [{members}]"),
    );
    Case::new(&["WEu", "WUs", "EA"], &(top + &group("child", child)))
        .with("EA", "region", "ea")
        .row(&[("we", 20), ("us", 90), ("ea", 150)])
}

#[test]
fn t111_failover_stays_within_the_child() {
    by_priority().down(&["WEu"]).check("T111");
}

#[test]
fn t112_other_regions_come_after_the_whole_child() {
    by_priority().down(&["WEu", "WUs"]).check("T112");
}

#[test]
fn t113_shares_multiply_down_the_tree() {
    let two = |one: &str, weight: u16, other: &str, rest: u16| {
        format!(
            "policy = \"weighted\", member = [{{ {one}, weight = {weight} }}, {{ {other}, weight = {rest} }}]"
        )
    };
    let backend = |name: &str| format!("backend = \"{name}\"");
    let nested = |name: &str| format!("group = \"{name}\"");
    let top = group("g", &two(&nested("mid"), 2, &backend("d"), 1));
    let mid = group("mid", &two(&nested("inner"), 1, &backend("c"), 1));
    let inner = group("inner", &two(&backend("a"), 3, &backend("b"), 7));
    Case::new(&["a", "b", "c", "d"], &(top + &mid + &inner)).check("T113");
}

fn isp() -> Case {
    let members = r#"{ group = "isp", clients = ["198.51.100.0/24"] }, { group = "rest" }"#;
    let top = group("g", &format!("policy = \"subnet\", member = [{members}]"));
    let members = r#"{ backend = "x" }, { backend = "y" }"#;
    let isp = group(
        "isp",
        &format!("policy = \"weighted\", member = [{members}]"),
    );
    let members = r#"{ backend = "eu", geo = ["GEO-EU"] }, { backend = "world", geo = ["WORLD"] }"#;
    let rest = group(
        "rest",
        &format!("policy = \"geographic\", member = [{members}]"),
    );
    Case::new(&["x", "y", "eu", "world"], &(top + &isp + &rest)).region("FR")
}

#[test]
fn t114_a_subnet_parent_sends_one_network_elsewhere() {
    isp().client("198.51.100.7").check("T114");
}

#[test]
fn t115_a_subnet_parent_sends_everybody_else_to_the_fallback() {
    isp().client("203.0.113.9").check("T115");
}
