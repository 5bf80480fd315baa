use std::path::Path;

use super::*;
use crate::{
    model::{Authorities, Forward, HttpProbe, HttpsProbe, Method, ProbedAt, StatusRange, Trust},
    probe::fixtures::{self, group, model, name},
};

const SECOND: Duration = Duration::from_secs(1);

fn seconds(interval: u64, timeout: u64) -> Probe {
    fixtures::probe(Duration::from_secs(interval), Duration::from_secs(timeout))
}

fn all(model: &Model) -> BTreeMap<StreamKey, Schedule> {
    streams(model, |_, _| true)
}

#[test]
fn a_shared_stream_has_the_smallest_timeout_and_the_longest_haste() {
    for groups in [["g1", "g2"], ["g2", "g1"]] {
        let [first, second] = groups;
        let streams = all(&model([
            group(first, &["a"], Some(seconds(30, 4)), (5, 3)),
            group(second, &["a2"], Some(seconds(10, 7)), (4, 2)),
        ]));
        let schedule = Schedule {
            interval: 10 * SECOND,
            timeout: 4 * SECOND,
            hasty: 5,
        };
        assert_eq!(streams.into_values().collect::<Vec<_>>(), [schedule]);
    }
}

#[test]
fn what_differs_in_any_part_of_the_key_has_its_own_stream() {
    let mut probes = vec![seconds(10, 5); 7];
    probes[1].port = 81;
    let changes: [fn(&mut HttpProbe); 5] = [
        |http| http.host = Some("a.example".to_owned()),
        |http| http.method = Method::Get,
        |http| http.path = "/other".to_owned(),
        |http| http.headers = vec![("User-Agent".to_owned(), "x".to_owned())],
        |http| http.expect = vec![StatusRange::new(200, 299).unwrap()],
    ];
    for (probe, change) in probes[2..].iter_mut().zip(changes) {
        let ProbeKind::Http(http) = &mut probe.kind else {
            unreachable!("the fixture's")
        };
        change(http);
    }
    probes.push(Probe {
        kind: ProbeKind::Tcp,
        ..seconds(10, 5)
    });
    let https = |file: Option<&str>, server_name: &str| Probe {
        kind: ProbeKind::Https(HttpsProbe {
            http: fixtures::head(),
            server_name: server_name.to_owned(),
            trust: Trust::Authorities(Authorities::new(file.map(Path::new), Vec::new())),
        }),
        ..seconds(10, 5)
    };
    probes.push(https(None, "a"));
    probes.push(https(None, "b"));
    probes.push(https(Some("/x"), "a"));
    let count = probes.len();
    let groups = (probes.into_iter().enumerate())
        .map(|(i, probe)| group(&format!("g{i}"), &["a", "b"], Some(probe), (4, 2)));
    assert_eq!((count, all(&model(groups)).len()), (11, 22));
}

#[test]
fn a_backend_that_is_probed_elsewhere_has_its_stream_there() {
    let mut model = model([
        group("g1", &["a", "b"], Some(seconds(30, 5)), (4, 2)),
        group("g2", &["b"], Some(seconds(10, 5)), (4, 2)),
    ]);
    let elsewhere = ProbedAt {
        address: Some([10, 9, 9, 9].into()),
        port: Some(8080),
    };
    model.backends.get_mut("b").unwrap().probe = elsewhere;
    let streams = all(&model);
    let places: Vec<_> = streams.keys().map(|key| (key.address, key.port)).collect();
    let expected = [([10, 0, 0, 1], 80), ([10, 9, 9, 9], 8080)];
    assert_eq!(
        places,
        expected.map(|(host, port)| (IpAddr::from(host), port))
    );
}

#[test]
fn a_backend_with_a_port_of_its_own_is_probed_there_unless_something_else_is_said() {
    let mut probe = seconds(30, 5);
    let mut model = model([group("g1", &["a"], None, (4, 2))]);
    let port = |model: &Model, probe: &Probe| stream_key(&model.backends["a"], probe).port;
    model.backends.get_mut("a").unwrap().port = Some(8080);
    assert_eq!(port(&model, &probe), 80, "the group's own");
    probe.is_service_port = true;
    assert_eq!(port(&model, &probe), 8080);
    model.backends.get_mut("a").unwrap().probe.port = Some(9000);
    assert_eq!(port(&model, &probe), 9000);
}

#[test]
fn what_is_disabled_or_has_no_probe_is_not_probed() {
    let probed = group("g1", &["a", "b"], Some(seconds(30, 5)), (4, 2));
    let unprobed = group("g2", &["a", "b"], None, (4, 2));
    let model = model([probed, unprobed]);
    let streams = streams(&model, |_, backend| backend.as_str() != "a");
    let addresses: Vec<_> = streams.into_keys().map(|key| key.address).collect();
    assert_eq!(addresses, [IpAddr::from([10, 0, 0, 2])]);
}

#[test]
fn a_group_whose_member_is_not_probed_has_no_say_in_the_schedule() {
    let model = model([
        group("g1", &["a"], Some(seconds(30, 5)), (4, 2)),
        group("g2", &["a"], Some(seconds(10, 2)), (9, 9)),
    ]);
    let streams = streams(&model, |group, _| group.as_str() != "g2");
    let schedules: Vec<_> = streams.into_values().collect();
    assert_eq!(schedules.len(), 1);
    assert_eq!(
        (schedules[0].interval, schedules[0].hasty),
        (30 * SECOND, 3)
    );
}

#[test]
fn hasty_probes_are_a_second_apart_and_then_come_at_the_interval() {
    let schedule = Schedule {
        interval: 30 * SECOND,
        timeout: 5 * SECOND,
        hasty: 3,
    };
    let gaps = |phase| [0, 1, 2, 3, 4, 1_000].map(|sent| schedule.gap(sent, phase).as_millis());
    assert_eq!(gaps(0.0), [0, 1_000, 1_000, 1_000, 30_000, 30_000]);
    assert_eq!(gaps(0.5), [500, 1_000, 1_000, 15_500, 30_000, 30_000]);
}

#[test]
fn an_interval_under_a_second_is_kept_from_the_first_probe() {
    let schedule = Schedule {
        interval: SECOND / 4,
        timeout: SECOND / 4,
        hasty: 3,
    };
    let gaps = [0, 1, 2, 3, 4].map(|sent| schedule.gap(sent, 0.5).as_millis());
    assert_eq!(gaps, [125, 250, 250, 250, 250]);
}

#[test]
fn without_haste_the_first_probe_comes_within_the_interval() {
    let schedule = Schedule {
        interval: 30 * SECOND,
        timeout: 5 * SECOND,
        hasty: 0,
    };
    let gaps = [0, 1, 2].map(|sent| schedule.gap(sent, 0.5).as_secs());
    assert_eq!(gaps, [15, 30, 30]);
    let longest = Schedule {
        interval: Duration::MAX,
        ..schedule
    };
    assert!(longest.gap(0, 1.0_f64.next_down()) <= Duration::MAX);
}

#[test]
fn phases_differ_between_edges_and_spread_over_the_interval() {
    let backend = |host: u16| Backend {
        name: name("x"),
        address: [10, 0, (host >> 8) as u8, host as u8].into(),
        forward: Forward::L2Dsr,
        vlan: None,
        location: None,
        region: None,
        port: None,
        probe: ProbedAt::default(),
    };
    let (fra, ams) = (name("fra-1"), name("ams-1"));
    let keys = (0..10_000).map(|host| stream_key(&backend(host), &seconds(30, 5)));
    let mut tenths = [0; 10];
    for key in keys {
        let phase = key.phase(&fra);
        assert!((0.0..1.0).contains(&phase));
        assert_eq!(phase, key.phase(&fra));
        assert_ne!(phase, key.phase(&ams));
        tenths[(phase * 10.0) as usize] += 1;
    }
    assert!(
        tenths.iter().all(|n| (850..1_150).contains(n)),
        "{tenths:?}"
    );
}
