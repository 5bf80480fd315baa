//! The proof of a live `waggle explain`: the daemon asks the packet program in the kernel.

use std::net::IpAddr;

use aya::maps::lpm_trie::{Key, LpmTrie};
use lb_common::{Address, CHUNK, Chunk, Descriptor, LongNetwork, ServiceKey, Target};
use lb_tests::{
    lab::{DEADLINE, Daemon, wait_until},
    maps::{dump, pinned, pinned_array, pinned_tables},
};
use lb_userspace::dataplane::{Kernel, Tables};
use serde_json::Value;

use super::rig::{detach_line, lab, start_two_families, wait_served};

/// A client of each class of each service, with where its flows go.
const CLIENTS: [(&str, &str, &[&str]); 6] = [
    ("web", "192.0.2.1", &["a", "b"]),
    ("web", "198.51.100.11", &["b"]),
    ("web", "198.51.100.77", &[]),
    ("web6", "2001:db8:192::1", &["a6", "b6"]),
    ("web6", "2001:db8:51::11", &["a6"]),
    ("web6", "2001:db8:51::77", &[]),
];

/// What `explain` says of its proof, with its exit status and what it complains of.
fn proof(daemon: &Daemon<'_>, service: &str, client: &str) -> (Value, Option<i32>, String) {
    let asked = ["explain", "--service", service, "--client", client];
    let said = daemon.waggle(&[&asked[..], &["--format", "json"]].concat());
    let explanation: Value = serde_json::from_str(&said.stdout).expect("JSON");
    (explanation["proof"].clone(), said.status, said.stderr)
}

#[test]
fn the_kernel_does_as_decided_for_every_class_of_both_families() {
    let lab = lab(2);
    let daemon = start_two_families(&lab);
    for (service, client, backends) in CLIENTS {
        let (proof, status, stderr) = proof(&daemon, service, client);
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{proof:#}");
        assert_eq!(proof["result"], "holds", "{client}: {proof:#}");
        assert_eq!(proof["flows"], 1000);
        let found = proof["backends"].as_object().unwrap();
        assert!(found.keys().eq(backends), "{client}: {proof:#}");
        let flows: u64 = found.values().map(|flows| flows.as_u64().unwrap()).sum();
        let verdict = match client {
            "198.51.100.77" => "policy_dropped",
            "2001:db8:51::77" => "policy_passed",
            _ => "forwarded",
        };
        assert_eq!(proof["verdicts"][verdict], 1000, "{client}: {proof:#}");
        assert_eq!(flows, if backends.is_empty() { 0 } else { 1000 });
        let text = daemon.waggle(&["explain", "--service", service, "--client", client]);
        let proved = "\nproved in the kernel: 1000 flows, ";
        assert!(text.ok() && text.stdout.contains(proved), "{text:?}");
    }
    let other = daemon.waggle(&["explain", "--service", "web", "--client", "2001:db8::7"]);
    assert_eq!((other.status, other.stdout.as_str()), (Some(1), ""));
    let why = "2001:db8::7 is an IPv6 address, and service `web` has the IPv4 address 203.0.113.10; \
               name an IPv4 client";
    assert!(other.stderr.contains(why), "{other:?}");
}

#[test]
fn a_proof_leaves_every_map_byte_for_byte_as_it_was() {
    let lab = lab(2);
    let daemon = start_two_families(&lab);
    let maps = daemon.pins().join("maps");
    // Now and then hosts look for each other, and their packets are counted.
    wait_until(DEADLINE, "proofs between two equal dumps", || {
        let before = dump(&maps);
        for (service, client, _) in CLIENTS {
            assert_eq!(proof(&daemon, service, client).0["result"], "holds");
        }
        let after = dump(&maps);
        assert_eq!(before.len(), 18, "{:?}", before.keys());
        let differ = before
            .iter()
            .filter(|(name, bytes)| after[*name] != **bytes);
        let differ: Vec<_> = differ.map(|(name, _)| name).collect();
        assert!(differ.iter().all(|it| *it == "CPUS"), "{differ:?}");
        differ.is_empty()
    });
}

/// What the kernel has for the class of a client.
fn row(tables: &Tables, service: &str, client: &str) -> (u32, Descriptor) {
    let mut services = tables.services().map(|(key, _)| key);
    let is_v4 = service == "web";
    let key: ServiceKey = services
        .find(|key| key.address.is_v4() == is_v4)
        .expect("the service");
    let client = client.parse().expect("an address");
    tables.row_for(&key, client).expect("its row")
}

/// The difference about this is found and told, and a new start of the daemon mends the tables.
#[track_caller]
fn found_and_mended(daemon: &mut Daemon<'_>, (service, client): (&str, &str), what: &str) {
    let (found, status, stderr) = proof(daemon, service, client);
    assert_eq!(found["result"], "differs", "{found:#}");
    assert_eq!(status, Some(1));
    let why = "error[not-as-decided]: the packet program in the kernel does not do what was \
               decided; start the daemon anew";
    assert!(stderr.starts_with(why), "{stderr}");
    let differences = found["differences"].as_array().expect("differences");
    let named = differences.iter().any(|it| it["what"] == what);
    assert!(named, "{what}: {found:#}");
    let text = daemon.waggle(&["explain", "--service", service, "--client", client]);
    assert_eq!(text.status, Some(1));
    for words in ["\nNOT SO IN THE KERNEL: ", &format!("\n  {what}: decided ")] {
        assert!(text.stdout.contains(words), "{text:?}");
    }
    daemon.restart();
    wait_served(daemon, 2);
    let (proof, status, _) = proof(daemon, service, client);
    assert_eq!(
        (&proof["result"], status),
        (&"holds".into(), Some(0)),
        "{proof:#}"
    );
}

#[test]
fn what_a_foreign_hand_writes_into_the_tables_is_found_and_a_restart_mends_it() {
    let lab = lab(2);
    let mut daemon = start_two_families(&lab);
    let map = |daemon: &Daemon<'_>, name: &str| daemon.pins().join("maps").join(name);
    let read = |daemon: &Daemon<'_>| {
        let kernel = Kernel::open(&daemon.pins()).unwrap();
        kernel.read_tables().unwrap()
    };
    let anybody = ("web", "192.0.2.1");
    let (_, ring) = row(&read(&daemon), anybody.0, anybody.1);

    let mut slots = pinned_array::<Chunk>(&map(&daemon, "SLOTS"));
    let index = ring.offset() / CHUNK as u32 + 1;
    let Chunk(mut chunk) = slots.get(&index, 0).unwrap();
    chunk[36] = *chunk.iter().find(|id| **id != chunk[36]).unwrap();
    slots.set(index, Chunk(chunk), 0).unwrap();
    found_and_mended(&mut daemon, anybody, "ring");

    let tables = read(&daemon);
    let office = ("web", "198.51.100.11");
    let (class, theirs) = row(&tables, office.0, office.1);
    let (_, ring) = row(&tables, anybody.0, anybody.1);
    let (_, web) = tables
        .services()
        .find(|(key, _)| key.address.is_v4())
        .unwrap();
    let mut rings = pinned_array::<Descriptor>(&map(&daemon, "RINGS"));
    let place = web.row.first() + class;
    assert_eq!(rings.get(&place, 0).unwrap(), theirs);
    rings.set(place, ring, 0).unwrap();
    found_and_mended(&mut daemon, office, "descriptor");

    let mut long = pinned_array::<LongNetwork>(&map(&daemon, "CLIENTS_V4_LONG"));
    let (class, _) = row(&read(&daemon), office.0, office.1);
    let in_use = (0..long.len()).filter(|index| {
        let LongNetwork(classes) = long.get(index, 0).unwrap();
        u32::from(classes[11]) == class
    });
    for index in in_use.collect::<Vec<_>>() {
        let LongNetwork(mut classes) = long.get(&index, 0).unwrap();
        classes[11] = classes[200];
        long.set(index, LongNetwork(classes), 0).unwrap();
    }
    found_and_mended(&mut daemon, office, "class");

    let office6 = ("web6", "2001:db8:51::11");
    let address: IpAddr = office6.1.parse().unwrap();
    for trie in ["CLIENTS_V6_0", "CLIENTS_V6_1"] {
        let mut trie: LpmTrie<_, Address, u32> =
            LpmTrie::try_from(pinned(&map(&daemon, trie))).unwrap();
        trie.insert(&Key::new(128, address.into()), 0, 0).unwrap();
    }
    found_and_mended(&mut daemon, office6, "class");

    let targets = pinned_tables(&map(&daemon, "TABLES")).targets;
    let tables = read(&daemon);
    let mut ids = tables.targets();
    let of_web = |(_, it): &(u16, &Target)| it.group == web.group;
    let (id, target) = ids.find(of_web).map(|(id, target)| (id, *target)).unwrap();
    let elsewhere = Target {
        next_hop: [2, 0, 0, 0, 0, 0xee],
        ..target
    };
    targets.store(id.into(), &elsewhere);
    found_and_mended(&mut daemon, anybody, &format!("target {id}"));
}

#[test]
fn without_the_program_on_the_interface_the_decision_is_explained_without_proof() {
    let lab = lab(2);
    let daemon = start_two_families(&lab);
    lab.edge().run(&detach_line(&daemon));
    let (proof, status, stderr) = proof(&daemon, "web", "192.0.2.1");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert_eq!(proof["result"], "unproven", "{proof:#}");
    let text = daemon.waggle(&["explain", "--service", "web", "--client", "192.0.2.1"]);
    let why = "\nnot proved in the kernel: the packet program is not on the interface; start the \
               daemon anew to attach it\n";
    assert!(text.ok() && text.stdout.ends_with(why), "{text:?}");
    assert!(text.stdout.contains("\nshares\n  a  3/10"), "{text:?}");
}
