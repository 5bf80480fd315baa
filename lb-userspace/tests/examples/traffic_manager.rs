use crate::said::{case, check, down};

/// Clients of `data/`: in Ireland, near to westeurope; and in Japan, near to eastus.
const IRELAND: &str = "192.0.2.7";
const JAPAN: &str = "198.51.100.200";
/// A client of whom the files know nothing.
const UNKNOWN: &str = "203.0.113.9";

#[test]
fn s55_priority_by_the_order_of_the_members() {
    check(
        "priority",
        &[
            case("S55", UNKNOWN, "", "a 1"),
            case("T31, T37", UNKNOWN, down(&["a"]), "b 1"),
            case("T32", UNKNOWN, down(&["a", "b"]), "c 1"),
            case("T36, D38", UNKNOWN, "health.a = \"checking\"", "a 1"),
            case("D37", UNKNOWN, down(&["a", "b", "c"]), "a 1"),
        ],
    );
}

#[test]
fn s62_weighted_shares() {
    check(
        "weighted",
        &[
            case("T42", UNKNOWN, "", "a 3/10, b 7/10"),
            case("S62", UNKNOWN, down(&["b"]), "a 1"),
            case("T46, D37", UNKNOWN, down(&["a", "b"]), "a 3/10, b 7/10"),
        ],
    );
}

#[test]
fn s68_performance_by_the_row_of_the_client() {
    let of_ea = "198.51.100.70";
    check(
        "performance",
        &[
            case("T50", IRELAND, "", "we 1"),
            case("T51, S72", IRELAND, down(&["we"]), "us 1"),
            case("T54, D37", IRELAND, down(&["we", "us", "ea"]), "we 1"),
            case("T55, R4", UNKNOWN, "", "ea 1/3, us 1/3, we 1/3"),
            case("D51", of_ea, "", "ea 1"),
            case("T57, D51", of_ea, down(&["ea"]), "us 1"),
        ],
    );
}

#[test]
fn w2_geographic_takes_the_finest_region() {
    let halves = "us1 1/2, us2 1/2";
    check(
        "geographic",
        &[
            case("W2, T60", IRELAND, "", "ie1 1"),
            case("S80, S55", IRELAND, down(&["ie1"]), "ie2 1"),
            case("T73, D37", IRELAND, down(&["ie1", "ie2"]), "ie1 1"),
            case("S82, France", "192.0.2.70", "", "eu1 1/2, eu2 1/2"),
            case(
                "D45, France",
                "192.0.2.70",
                down(&["eu1", "eu2"]),
                "eu1 1/2, eu2 1/2",
            ),
            case("D47, Turkey", "192.0.2.130", "", halves),
            case("S79, Japan", JAPAN, "", halves),
            case("S87", UNKNOWN, "", halves),
        ],
    );
}

#[test]
fn r12_multivalue_gives_each_client_some() {
    check(
        "multivalue",
        &[
            case("T92, T236", UNKNOWN, "", "").whatever_the_shares(),
            case("T94, S91", UNKNOWN, down(&["b"]), "a 1/2, c 1/2"),
            case("T97, D52", "2001:db8:7::9", "", "d 1/2, e 1/2").of_service("web6"),
        ],
    );
}

#[test]
fn w4_subnet_by_both_notations() {
    check(
        "subnet",
        &[
            case("W4, T80", "198.51.100.77", "", "test 1"),
            case("T83", "192.0.2.3", "", "www 1"),
            case("T84", "192.0.2.4", "", "isp 1"),
            case("T84", "192.0.2.99", "", "isp 1"),
            case("T81", "192.0.2.100", "", "www 1"),
            case("T90, R7", "198.51.100.77", down(&["test"]), "www 1"),
        ],
    );
}
