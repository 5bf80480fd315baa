use crate::said::{case, check, down};

/// A client to whom westeurope is nearest and eastus next.
const CLIENT: &str = "192.0.2.7";
const BOTH: &str = "prod 9/10, test 1/10";

#[test]
fn d56_d57_the_group_splits_what_its_region_gets() {
    let all = ["prod", "test", "us", "ea"];
    check(
        "nested-weighted",
        &[
            case("D56", CLIENT, "", BOTH),
            case("D57", CLIENT, down(&["prod"]), "test 1"),
            case("T103, D57", CLIENT, down(&["prod", "test"]), "us 1"),
            case("T104, D37", CLIENT, down(&all), BOTH),
        ],
    );
}

#[test]
fn d57_min_healthy_takes_the_group_out_early() {
    check(
        "nested-min-healthy",
        &[
            case("D57", CLIENT, "", BOTH),
            case("D57", CLIENT, down(&["prod"]), "us 1"),
            case("T106, D58", CLIENT, "health.prod = \"checking\"", BOTH),
            case("T109, D37", CLIENT, down(&["prod", "us", "ea"]), "test 1"),
        ],
    );
}

#[test]
fn d59_failover_stays_in_the_group() {
    check(
        "nested-priority",
        &[
            case("D59", CLIENT, "", "we 1"),
            case("T111, D59", CLIENT, down(&["we"]), "us 1"),
            case("T112, D59", CLIENT, down(&["we", "us"]), "ea 1"),
        ],
    );
}
