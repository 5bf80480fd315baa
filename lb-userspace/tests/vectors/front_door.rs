use crate::case::{Case, group};

/// The worked example W1, with the window in milliseconds.
fn w1(window: u64) -> Case {
    let members = r#"
        { backend = "A", priority = 1, weight = 3 }, { backend = "B", priority = 1, weight = 7 },
        { backend = "C", priority = 1 }, { backend = "D", priority = 1 },
        { backend = "E", priority = 1, enabled = false }, { backend = "F", priority = 2 }"#;
    let settings =
        format!("policy = \"front-door\", latency_window = \"{window}ms\", member = [{members}]");
    Case::new(&["A", "B", "C", "D", "E", "F"], &group("g", &settings)).down(&["C"])
}

/// `lat A15 B30 C10 D60 E5 F1`.
const LATENCIES: [(&str, u64); 6] = [
    ("A", 15),
    ("B", 30),
    ("C", 10),
    ("D", 60),
    ("E", 5),
    ("F", 1),
];

fn measured(window: u64) -> Case {
    w1(window).latency(&LATENCIES)
}

#[test]
fn t01_the_worked_example_w1() {
    measured(30).check("T01");
}

#[test]
fn t02_without_a_window_the_fastest_gets_all() {
    measured(0).check("T02");
}

#[test]
fn t03_the_edge_of_the_window_is_in_it() {
    measured(15).check("T03");
}

#[test]
fn t04_a_window_that_is_one_millisecond_too_small() {
    measured(14).check("T04");
}

#[test]
fn t05_a_member_without_a_weight_has_the_default() {
    measured(45).check("T05");
}

#[test]
fn t06_the_wider_window_is_one_millisecond_too_small() {
    measured(44).check("T06");
}

#[test]
fn t08_the_next_priority_takes_over() {
    measured(30).down(&["A", "B", "D"]).check("T08");
}

#[test]
fn t09_all_down_is_equal_parts_for_all_that_are_enabled() {
    measured(30).all_down().check("T09");
}

#[test]
fn t10_one_healthy_member_ends_the_all_down_rule() {
    measured(30).down(&["A", "B", "D", "E"]).check("T10");
}

#[test]
fn t14_a_disabled_member_gets_nothing_though_it_is_healthy() {
    Case::of_all(&["X", "Y"], "policy = \"front-door\"")
        .disabled(&["X"])
        .check("T14");
}

#[test]
fn t15_an_unmeasured_member_waits_while_a_measured_one_exists() {
    w1(30).latency(&[("A", 15), ("D", 60)]).check("T15");
}

#[test]
fn t16_without_any_latency_the_window_is_skipped() {
    w1(30).check("T16");
}

#[test]
fn t17_a_single_member_is_used_though_it_is_down() {
    Case::of_all(&["X"], "policy = \"front-door\"")
        .all_down()
        .check("T17");
}
