use crate::said::{case, check, down};

/// Clients of `data/locations.csv`, and one of whom it knows nothing.
const ZAMBIA: &str = "192.0.2.7";
const FRANCE: &str = "192.0.2.130";
const LONDON: &str = "192.0.2.200";
const UNKNOWN: &str = "203.0.113.9";

#[test]
fn w3_preferred_locations() {
    let asia = ["in", "jpn", "hk"];
    let europe = ["uk", "ru", "eg"];
    let both = [asia, europe].concat();
    check(
        "preferred-locations",
        &[
            case("W3, T120, S108", ZAMBIA, "", "hk 1"),
            case("T121, S109", ZAMBIA, down(&["hk"]), "uk 1"),
            case("T122, S110", ZAMBIA, down(&["hk", "uk"]), "in 1/2, jpn 1/2"),
            case("T123, S110", ZAMBIA, down(&["hk", "uk", "jpn"]), "in 1"),
            case(
                "T124, S111",
                ZAMBIA,
                down(&["hk", "uk", "in", "jpn"]),
                "eg 1/2, ru 1/2",
            ),
            case("T126, S112", ZAMBIA, down(&both), "sd 1/2, zmb 1/2"),
            case("T130, D76", FRANCE, "", "eg 1/3, ru 1/3, uk 1/3"),
        ],
    );
}

#[test]
fn r8_static_proximity_counts_leading_qualifiers() {
    check(
        "static-proximity",
        &[
            case("T136", LONDON, "", "uk 1"),
            case("T137", LONDON, down(&["uk"]), "ru 1"),
            case("T138", ZAMBIA, "", "jp 1/3, ru 1/3, uk 1/3"),
            case("D74, R10", "198.51.100.7", "", "ru 1"),
            case("D76", "198.51.100.200", "", "jp 1"),
            case(
                "D80, S40",
                LONDON,
                down(&["uk", "ru", "jp"]),
                "jp 1/3, ru 1/3, uk 1/3",
            ),
        ],
    );
}

#[test]
fn d87_round_trip_times_within_the_tolerance() {
    check(
        "dynamic-rtt",
        &[
            case("T140", "198.51.100.7", "", "us 1/2, we 1/2"),
            case("D87", "198.51.100.7", down(&["us"]), "ea 1/2, we 1/2"),
            case("D86, R4", UNKNOWN, "", "ea 1/3, us 1/3, we 1/3"),
        ],
    );
}

#[test]
fn d95_spillover_by_health() {
    let all = ["a", "b", "c", "spare"];
    check(
        "spillover",
        &[
            case("D95", UNKNOWN, "", "a 1/6, b 1/3, c 1/2"),
            case("T146", UNKNOWN, down(&["c"]), "a 1/3, b 2/3"),
            case("T147", UNKNOWN, down(&["a", "b"]), "c 1"),
            case("T145", UNKNOWN, down(&["b", "c"]), "spare 1"),
            case("T144", UNKNOWN, down(&["a", "c"]), "spare 1"),
            case("D81, R1", UNKNOWN, down(&all), "(reject) 1"),
        ],
    );
}

#[test]
fn stages_in_an_order_of_ones_own() {
    let uk = ["uk1", "uk2", "uk-spare"];
    let all = [&uk[..], &["ru"]].concat();
    check(
        "stages",
        &[
            case("R8, S8", LONDON, "", "uk1 3/10, uk2 7/10"),
            case("S6", LONDON, down(&uk[..2]), "uk-spare 1"),
            case("R8", LONDON, down(&uk), "ru 1"),
            case("D76, S6, S8", ZAMBIA, "", "ru 1/6, uk1 1/4, uk2 7/12"),
            case("D37", LONDON, down(&all), "uk1 3/10, uk2 7/10"),
        ],
    );
}
