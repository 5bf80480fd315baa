//! `waggle table`, which reads the maps that packets go by.

use lb_tests::lab::Daemon;
use serde_json::Value;

use super::rig::{detach_line, lab, start_two_families};

/// What `waggle table` prints as JSON.
#[track_caller]
fn table(daemon: &Daemon<'_>, words: &[&str]) -> Value {
    let said = daemon.waggle(&[&["table", "--format", "json"], words].concat());
    assert!(said.ok() && said.stderr.is_empty(), "{said:?}");
    serde_json::from_str(&said.stdout).expect("JSON")
}

#[test]
fn a_client_s_class_has_the_ring_and_shares_that_explain_gives() {
    let lab = lab(2);
    let daemon = start_two_families(&lab);
    for (service, client, prefix) in [
        ("web", "198.51.100.11", "198.51.100.0/26"),
        ("web", "198.51.100.77", "198.51.100.77/32"),
        ("web", "192.0.2.1", "0.0.0.0/0"),
        ("web6", "2001:db8:51::77", "2001:db8:51::77/128"),
        ("web6", "2001:db8:192::1", "::/0"),
    ] {
        let explain = ["explain", "--service", service, "--client", client];
        let explained = daemon.waggle(&[&explain[..], &["--format", "json"]].concat());
        let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
        let found = table(&daemon, &["--client", client]);
        let [found_service] = &found["services"].as_array().unwrap()[..] else {
            panic!("{found:#}");
        };
        assert_eq!(found_service["name"], service);
        let [class] = &found_service["classes"].as_array().unwrap()[..] else {
            panic!("{found:#}");
        };
        assert_eq!(class["class"], explained["proof"]["class"], "{found:#}");
        assert_eq!(class["class"], found["client"]["class"]);
        assert_eq!(class["outcome"], explained["outcome"], "{found:#}");
        assert_eq!(found["client"]["prefix"], prefix, "{found:#}");
        assert_eq!(class["clients"], serde_json::json!([prefix]), "{found:#}");
        let shares = class["shares"].as_array().unwrap();
        assert_eq!(shares.len(), explained["shares"].as_object().unwrap().len());
        for share in shares {
            let decided = &explained["shares"][share["backend"].as_str().unwrap()];
            let off = share["share"].as_f64().unwrap() - decided.as_f64().unwrap();
            assert!(off.abs() < 1. / 16381., "{share}");
        }
        if explained["outcome"] == "forward" {
            assert_eq!(class["ring"], explained["ring"], "{found:#}");
        } else {
            assert_eq!(class["ring"], Value::Null, "{found:#}");
        }
    }
}

#[test]
fn the_table_is_the_same_without_a_daemon_and_gone_when_it_is_detached() {
    let lab = lab(2);
    let mut daemon = start_two_families(&lab);
    let config = daemon.config();
    let offline = ["table", "--config", config.to_str().unwrap()];
    let alive = daemon.waggle(&["table"]);
    assert!(alive.ok(), "{alive:?}");
    for line in [
        "service web, 203.0.113.10:80 tcp\n",
        "service web6, [2001:db8:203::10]:53 udp\n",
        "  CLASS  CLIENTS ",
        " all others ",
        "      2001:db8:51::/64     office6  ",
        "      2001:db8:51::77/128  pass\n",
        " 4914/16381   30 %\n",
    ] {
        assert!(alive.stdout.contains(line), "{line}: {}", alive.stdout);
    }
    let whole = table(&daemon, &[]);
    let services = whole["services"].as_array().unwrap().iter();
    let classes = services.map(|it| it["classes"].as_array().unwrap().len());
    assert_eq!(classes.collect::<Vec<_>>(), [3, 3], "{whole:#}");

    daemon.kill9();
    let left = daemon.waggle(&offline);
    assert_eq!((left.status, left.stderr.as_str()), (Some(0), ""));
    assert_eq!(left.stdout, alive.stdout);
    assert_eq!(table(&daemon, &offline[1..]), whole);
    // A socket's path alone tells of no pins.
    let said = daemon.waggle(&["table"]);
    assert_eq!((said.status, said.stdout.as_str()), (Some(1), ""));
    assert!(said.stderr.contains("no daemon listens at"), "{said:?}");

    lab.edge().run(&detach_line(&daemon));
    let gone = daemon.waggle(&offline);
    assert_eq!((gone.status, gone.stdout.as_str()), (Some(1), ""));
    let why = format!(
        "error[no-pinned-tables]: there are no tables in {}; start a daemon with `waggle run --config FILE`",
        daemon.pins().display()
    );
    assert!(gone.stderr.starts_with(&why), "{gone:?}");
}

#[test]
fn a_service_or_class_that_is_not_there_is_refused_with_those_that_are() {
    let lab = lab(2);
    let daemon = start_two_families(&lab);
    for (words, why) in [
        (
            &["nope"][..],
            "no-such-service]: there is no service `nope`; there is web, web6\n",
        ),
        (
            &["--class", "99"],
            "no-such-class]: no client is of class 99; the classes are 0, ",
        ),
        (
            &["web", "--client", "2001:db8::7"],
            "client-of-other-family]: 2001:db8::7 is an IPv6 address, and service `web` has the IPv4 address 203.0.113.10; \
             name an IPv4 client\n",
        ),
    ] {
        let said = daemon.waggle(&[&["table"], words].concat());
        assert_eq!((said.status, said.stdout.as_str()), (Some(1), ""));
        assert!(said.stderr.starts_with(&format!("error[{why}")), "{said:?}");
    }
}
