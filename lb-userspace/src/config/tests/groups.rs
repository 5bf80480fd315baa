//! Groups: their policies, and groups in them.

use super::*;

/// Backends `a` to `c` and `six`, and these groups, of which the first serves.
pub(super) fn text(groups: &str) -> String {
    let mut text = "[edge]\nname = \"e\"\ninterfaces = [\"eth0\"]\n".to_owned();
    for (name, address) in [
        ("a", "10.0.0.1"),
        ("b", "10.0.0.2"),
        ("c", "10.0.0.3"),
        ("six", "2001:db8::6"),
    ] {
        text += &format!("[[backend]]\nname = \"{name}\"\naddress = \"{address}\"\n");
    }
    let name = groups.split('"').nth(1).unwrap_or("g");
    text + groups
        + &format!(
            "\n[[service]]\nname = \"s\"\naddress = \"203.0.113.10\"\nprotocol = \"tcp\"\nport = 80\n\
             group = \"{name}\"\n"
        )
}

/// A group of these settings and members, each of them the inside of a table.
fn group(name: &str, settings: &str, members: &[&str]) -> String {
    let members: Vec<_> = members.iter().map(|it| format!("{{ {it} }}")).collect();
    let members = members.join(", ");
    let probe = "probe = { kind = \"http\" }";
    format!("[[group]]\nname = \"{name}\"\n{settings}\nmember = [{members}]\n{probe}\n")
}

const A: &str = "backend = \"a\"";
const B: &str = "backend = \"b\"";

/// What is wrong with one group of two members.
fn wrong(settings: &str, members: [&str; 2]) -> Vec<String> {
    mistakes(&text(&group("g", settings, &members)))
}

/// For each code groups that provoke it.
pub(super) const CASES: &[(&str, &str)] = &[
    (
        "coarse-quantum",
        "[[group]]\nname = \"g\"\npolicy = \"dynamic-rtt\"\nlatency_window = \"4ms\"\n\
         member = [{ backend = \"a\" }]\nprobe = { kind = \"none\" }\n[latency]\nquantum = \"5ms\"\n",
    ),
    (
        "beyond-preset",
        "[[group]]\nname = \"g\"\npolicy = \"dynamic-rtt\"\nlatency_window = \"101ms\"\n",
    ),
    (
        "foreign-setting",
        "[[group]]\nname = \"g\"\npolicy = \"weighted\"\ntake = 2\n",
    ),
    (
        "beside-stages",
        "[[group]]\nname = \"g\"\npolicy = \"weighted\"\nstages = [{ stage = \"weight\" }]\n",
    ),
    (
        "stage-twice",
        "[[group]]\nname = \"g\"\nstages = [{ stage = \"priority\" }, { stage = \"priority\" }]\n",
    ),
    (
        "stage-after",
        "[[group]]\nname = \"g\"\nstages = [{ stage = \"weight\" }, { stage = \"priority\" }]\n",
    ),
    (
        "no-affinity",
        "[[group]]\nname = \"g\"\npolicy = \"weighted\"\naffinity = {}\n",
    ),
    (
        "no-udp-reset",
        "[[group]]\nname = \"g\"\non_down = { udp = \"reset\" }\n",
    ),
    (
        "parts-of-seconds",
        "[[group]]\nname = \"g\"\naffinity = { idle = \"90500ms\" }\n",
    ),
    (
        "two-members-in-one",
        "[[group]]\nname = \"g\"\nmember = [{ backend = \"a\", group = \"h\" }]\n",
    ),
    (
        "key-of-groups",
        "[[group]]\nname = \"g\"\nmember = [{ backend = \"a\", min_healthy = 2 }]\n",
    ),
    (
        "group-always-serves",
        "[[group]]\nname = \"g\"\nmember = [{ group = \"h\", always_serve = true }]\n[[group]]\nname = \"h\"\n",
    ),
    (
        "some-priorities",
        "[[group]]\nname = \"g\"\npolicy = \"priority\"\nmember = [{ backend = \"a\", priority = 1 }, { backend = \"b\" }]\n",
    ),
    (
        "priority-twice",
        "[[group]]\nname = \"g\"\npolicy = \"priority\"\nmember = [{ backend = \"a\", priority = 1 }, { backend = \"b\", priority = 1 }]\n",
    ),
    (
        "clients-overlap",
        "[[group]]\nname = \"g\"\npolicy = \"subnet\"\nmember = [{ backend = \"a\", clients = [\"1.2.3.0/24\"] }, { backend = \"b\", clients = [\"1.2.3.4-5.6.7.8\"] }]\n",
    ),
    (
        "region-twice",
        "[[group]]\nname = \"g\"\npolicy = \"geographic\"\nmember = [{ backend = \"a\", geo = [\"IE\"] }, { backend = \"b\", geo = [\"ie\"] }]\n",
    ),
    (
        "no-region",
        "[[group]]\nname = \"g\"\npolicy = \"geographic\"\nmember = [{ backend = \"a\" }]\n",
    ),
    (
        "unknown-region",
        "[[group]]\nname = \"g\"\npolicy = \"geographic\"\nmember = [{ backend = \"a\", geo = [\"QQ\"] }]\n",
    ),
    (
        "group-in-multivalue",
        "[[group]]\nname = \"g\"\npolicy = \"multivalue\"\nmember = [{ group = \"h\" }]\n[[group]]\nname = \"h\"\n",
    ),
    (
        "no-backup",
        "[[group]]\nname = \"g\"\nno_answer = \"backup\"\n",
    ),
    (
        "unused-backup-group",
        "[[group]]\nname = \"g\"\nbackup = \"h\"\n[[group]]\nname = \"h\"\n",
    ),
    (
        "group-cycle",
        "[[group]]\nname = \"g\"\nmember = [{ group = \"h\" }]\n[[group]]\nname = \"h\"\nmember = [{ group = \"g\" }]\n",
    ),
    (
        "deep-nesting",
        "[[group]]\nname = \"g1\"\nmember = [{ group = \"g2\" }]\n[[group]]\nname = \"g2\"\nmember = [{ group = \"g3\" }]\n\
         [[group]]\nname = \"g3\"\nmember = [{ group = \"g4\" }]\n[[group]]\nname = \"g4\"\nmember = [{ group = \"g5\" }]\n\
         [[group]]\nname = \"g5\"\nmember = [{ group = \"g6\" }]\n[[group]]\nname = \"g6\"\nmember = [{ group = \"g7\" }]\n\
         [[group]]\nname = \"g7\"\nmember = [{ group = \"g8\" }]\n[[group]]\nname = \"g8\"\nmember = [{ group = \"g9\" }]\n\
         [[group]]\nname = \"g9\"\nmember = [{ group = \"g10\" }]\n[[group]]\nname = \"g10\"\nmember = [{ group = \"g11\" }]\n\
         [[group]]\nname = \"g11\"\nmember = [{ backend = \"a\" }]\nprobe = { kind = \"none\" }\n",
    ),
    (
        "no-latency-region",
        "[[group]]\nname = \"g\"\npolicy = \"performance\"\nmember = [{ backend = \"a\" }]\nprobe = { kind = \"http\" }\n",
    ),
];

#[test]
fn t190_t191_t193_clients_of_members_do_not_overlap() {
    let with = |other: &str| {
        let one = format!("{A}, clients = [\"1.2.3.0/24\"]");
        let other = format!("{B}, clients = [\"{other}\"]");
        wrong("policy = \"subnet\"", [&one, &other])
    };
    let expected = "group[0].member[1].clients[0]: 1.2.3.4/30 overlaps with \
        group[0].member[0].clients[0]; leave these addresses to one of them";
    assert_eq!(with("1.2.3.4-5.6.7.8"), [expected]);
    assert_eq!(with("1.2.4.0-5.6.7.8"), [""; 0]);
    let expected = "group[0].member[1].clients[0]: \"5.6.7.8-1.2.3.4\" ends before it begins; use \
        \"1.2.3.4-5.6.7.8\"";
    assert_eq!(with("5.6.7.8-1.2.3.4"), [expected]);
}

#[test]
fn clients_of_one_member_may_overlap() {
    let member = format!("{A}, clients = [\"10.0.0.0/8\", \"10.1.0.0/16\"]");
    assert_eq!(wrong("policy = \"subnet\"", [&member, B]), [""; 0]);
}

#[test]
fn t195_t196_t197_t198_priorities_of_each_system() {
    let with = |policy: &str, one: i64, other: i64| {
        let [one, other] = [(A, one), (B, other)].map(|(who, n)| format!("{who}, priority = {n}"));
        wrong(&format!("policy = \"{policy}\""), [&one, &other])
    };
    let expected = "group[0].member[1].priority: 6 is out of range in front-door; use 1 to 5, or list \
        `stages`, which take 1 to 1000";
    assert_eq!(with("front-door", 1, 6), [expected]);
    assert_eq!(with("front-door", 1, 1), [""; 0]);
    let expected = "group[0].member[1].priority: 1 is the priority of group[0].member[0] too; use \
        another, or list `stages`, in which members may share one";
    assert_eq!(with("priority", 1, 1), [expected]);
    assert_eq!(with("priority", 1, 1000), [""; 0]);
    let expected = "group[0].member[1].priority: 1001 is out of range; use 1 to 1000";
    assert_eq!(with("priority", 1, 1001), [expected]);
    assert_eq!(with("static-proximity", 1, 1001), [expected]);
}

#[test]
fn t199_t200_weights_of_each_system() {
    let with = |policy: &str, weight: i64| {
        let one = format!("{A}, weight = {weight}");
        !wrong(policy, [&one, B]).is_empty()
    };
    for (policy, weights) in [
        (
            "policy = \"front-door\"",
            [(0, true), (1, false), (1000, false), (1001, true)],
        ),
        (
            "policy = \"weighted\"",
            [(0, true), (1, false), (1000, false), (1001, true)],
        ),
        (
            "policy = \"static-proximity\"",
            [(0, true), (1, false), (100, false), (101, true)],
        ),
        (
            "stages = [{ stage = \"weight\" }]",
            [(-1, true), (0, false), (1000, false), (1001, true)],
        ),
    ] {
        for (weight, is_wrong) in weights {
            assert_eq!(with(policy, weight), is_wrong, "{policy} {weight}");
        }
    }
}

#[test]
fn t202_a_region_belongs_to_one_member() {
    let with = |other: &str| {
        let one = format!("{A}, geo = [\"IE\", \"GEO-EU\"]");
        let other = format!("{B}, geo = [\"{other}\"]");
        wrong("policy = \"geographic\"", [&one, &other])
    };
    let expected =
        "group[0].member[1].geo[0]: IE is group[0].member[0].geo[0] too; map it to one of them";
    assert_eq!(with("ie"), [expected]);
    let expected =
        "group[0].member[1].geo[0]: \"UK\" is the code of no region; did you mean \"GB\"?";
    assert_eq!(with("UK"), [expected]);
    assert_eq!(with("WORLD"), [""; 0]);
}

/// Groups `g1` to the last, each in the one before.
fn levels(count: usize) -> String {
    let inner = |level: usize| format!("group = \"g{}\"", level + 1);
    let groups = (1..=count).map(|level| match level == count {
        true => group(&format!("g{level}"), "", &[A]),
        false => group(&format!("g{level}"), "", &[&inner(level)]),
    });
    text(&groups.collect::<String>())
}

#[test]
fn t204_groups_stand_ten_levels_deep_and_never_in_themselves() {
    assert_eq!(mistakes(&levels(10)), [""; 0]);
    let way: Vec<_> = (1..=11).map(|it| format!("g{it}")).collect();
    let expected = format!(
        "group[0].member: groups stand 11 levels deep here: {}; use at most 10 levels",
        way.join(" > ")
    );
    assert_eq!(mistakes(&levels(11)), [expected]);
    let nested = |name: &str, inner: &str| group(name, "", &[&format!("group = \"{inner}\"")]);
    let cycle = nested("g", "h") + &nested("h", "i") + &nested("i", "h");
    let expected = "group[1].member: leads back to its own group: h > i > h; take one of them out of \
        another";
    assert_eq!(mistakes(&text(&cycle)), [expected]);
    let itself =
        "group[0].member: leads back to its own group: g > g; take one of them out of another";
    assert_eq!(mistakes(&text(&nested("g", "g"))), [itself]);
    let by_backup = group("g", "no_answer = \"backup\"\nbackup = \"g\"", &[A]);
    assert_eq!(mistakes(&text(&by_backup)), [itself]);
}

#[test]
fn a_member_is_the_group_or_backend_that_it_names_though_there_is_none() {
    let with = |member: &str| mistakes(&text(&group("g", "", &[member])));
    let keys = "location = \"Europe.UK\", region = \"we\", min_healthy = 2";
    let expected = "group[0].member[0].group: no group is named \"h\"; did you mean \"g\"?";
    assert_eq!(with(&format!("group = \"h\", {keys}")), [expected]);
    let expected = "group[0].member[0].backend: no backend is named \"d\"; did you mean \"a\"?";
    assert_eq!(with("backend = \"d\", always_serve = true"), [expected]);
    let mistakes = with("group = \"h\", always_serve = true");
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
}

#[test]
fn t205_t206_multivalue_takes_addresses_only() {
    let parent = group("g", "policy = \"multivalue\"", &[A, "group = \"h\""]);
    let expected = "group[0].member[1].group: multivalue takes no groups; name its backends, or list \
        `stages`";
    assert_eq!(
        mistakes(&text(&(parent + &group("h", "", &[B])))),
        [expected]
    );
    let by_name = text(&group("g", "policy = \"multivalue\"", &[A]));
    let by_name = by_name.replace("\"10.0.0.1\"", "\"web.example\"");
    let expected = "backend[0].address: \"web.example\" is no IP address; use an IP address like \
        \"192.0.2.1\" or \"2001:db8::1\"";
    assert_eq!(mistakes(&by_name), [expected]);
}

#[test]
fn t215_the_tolerance_of_round_trip_times() {
    let with = |window: &str| {
        let settings = format!("policy = \"dynamic-rtt\"\nlatency_window = \"{window}\"");
        wrong(&settings, [A, B])
    };
    assert_eq!(with("100ms"), [""; 0]);
    let expected = "group[0].latency_window: 101ms is out of range in dynamic-rtt; use 0s to 100ms, or \
        list `stages`, which take windows up to 10s";
    assert_eq!(with("101ms"), [expected]);
}

#[test]
fn t216_the_idle_time_of_affinity() {
    let with = |policy: &str, idle: &str| {
        let settings = format!("policy = \"{policy}\"\naffinity = {{ idle = \"{idle}\" }}");
        !wrong(&settings, [A, B]).is_empty()
    };
    for (policy, idle, is_wrong) in [
        ("static-proximity", "1m", true),
        ("static-proximity", "2m", false),
        ("static-proximity", "1440m", false),
        ("static-proximity", "1441m", true),
        ("front-door", "59s", true),
        ("front-door", "1m", false),
        ("front-door", "24h", false),
        ("weighted", "2m", true),
    ] {
        assert_eq!(with(policy, idle), is_wrong, "{policy} {idle}");
    }
}

#[test]
fn multivalue_mixes_families_and_other_presets_do_not() {
    let six = "backend = \"six\"";
    assert_eq!(wrong("policy = \"multivalue\"", [A, six]), [""; 0]);
    assert_eq!(wrong("policy = \"weighted\"", [A, six]).len(), 1);
}

#[test]
fn nested_groups_are_probed_at_the_port_of_the_service_above() {
    let groups = group("g", "", &["group = \"h\""]) + &group("h", "", &[A]);
    let model = parse(&text(&groups)).unwrap().model;
    assert_eq!(model.groups["h"].probe.as_ref().unwrap().port, 80);
}

#[test]
fn all_mistakes_of_stages_are_told_at_once() {
    let settings = r#"stages = [
        { stage = "available", all_down = "backup", min_healthy_weight = 101 },
        { stage = "latency", window = "11s", source = "edge" },
        { stage = "subset" },
        { stage = "colour" },
        { stage = "weight", spread = "packet", equal = 1 },
    ]"#;
    let expected = [
        "group[0].stages[0].min_healthy_weight: 101 is out of range; use 1 to 100",
        "group[0].stages[1].source: \"edge\" is unknown; use \"client\" or \"probe\"",
        "group[0].stages[1].window: 11s is out of range; use 0s to 10s",
        "group[0].stages[2].take: is missing; add `take = 2`",
        "group[0].stages[3].stage: \"colour\" is unknown; use \"available\" or \"subnet\" or \"geo\" or \
         \"prefer\" or \"proximity\" or \"priority\" or \"latency\" or \"subset\" or \"weight\"",
        "group[0].stages[4].equal: 1 is an integer; use true or false",
        "group[0].stages[4].spread: \"packet\" is unknown; use \"client\" or \"flow\"",
        "group[0].backup: is missing, and is to take over; add `backup = \"spare\"`",
    ];
    assert_eq!(wrong(settings, [A, B]), expected);
}
