use crate::said::{case, check, down};

const CLIENT: &str = "198.51.100.7";

/// The latencies of W1, with `f` a tempting one.
fn measured(health: &str) -> String {
    format!("{health}latency_ms = {{ a = 15, b = 30, d = 60, f = 1 }}\n")
}

#[test]
fn w1_priority_then_latency_then_weight() {
    let all = ["a", "b", "c", "d", "e", "f"];
    check(
        "front-door",
        &[
            case("W1, T01", CLIENT, measured(&down(&["c"])), "a 3/10, b 7/10"),
            case("T08, S13", CLIENT, measured(&down(&all[..4])), "f 1"),
            case(
                "W5, T09, S40",
                CLIENT,
                measured(&down(&all)),
                "a 1/5, b 1/5, c 1/5, d 1/5, f 1/5",
            ),
            case("T16, R4", CLIENT, down(&["c"]), "a 1/20, b 7/60, d 5/6"),
        ],
    );
}

#[test]
fn rules_of_health_have_groups_of_their_own() {
    let checking = "health = { a = \"checking\", b = \"checking\" }\n";
    check(
        "health",
        &[
            case("R3", CLIENT, "health.a = \"checking\"", "b 1").of_service("window"),
            case("S40", CLIENT, checking, "a 1/2, b 1/2").of_service("window"),
            case("D38", CLIENT, checking, "a 1/2, b 1/2").of_service("consecutive"),
        ],
    );
}

#[test]
fn s3_rules_lead_to_other_groups() {
    check(
        "rules",
        &[
            case("S3", "198.51.100.7", "", "test 1"),
            case("S98", "198.51.100.9", "", "drop"),
            case("S79", "192.0.2.7", "", "eu 1"),
            case("S101", "192.0.2.200", "", "eu 1"),
            case("S3", "203.0.113.9", "", "www 1"),
        ],
    );
}
