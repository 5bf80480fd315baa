//! Bulk transfers, with hosts that leave checksums and cutting into segments to their cards, and with
//! hosts that do both themselves.

use lb_tests::lab::{
    Daemon, Host, INTERFACE, IperfServer, Lab, SERVICES, Settings, Topology, Transfer,
    client::UdpFlow,
};

use super::by_way::{self, FAMILIES, Way, all_ways, serve, tables, wait_up};

const PORT: u16 = 5201;

/// Much more than what is on its way when the sender ends and counts as not received.
const BYTES: u64 = 32 << 20;

/// A service of each family for `iperf3`, beside those that are probed.
fn iperf_services() -> String {
    let service = |(family, address)| {
        format!(
            "[[service]]\nname = \"iperf-{family}\"\naddress = \"{address}\"\nprotocol = \"tcp\"\n\
             port = {PORT}\ngroup = \"{family}\"\n"
        )
    };
    FAMILIES.into_iter().zip(SERVICES).map(service).collect()
}

/// One client and one backend, lest the two connections of a transfer go to different ones.
///
/// A frame comes to the edge as from a wire: one segment with its checksum. What a card of the client or
/// backend would do is done where the switch sends it to the edge.
fn lab(offloads: &str) -> Lab {
    let lab = Lab::new(Topology {
        backends: 1,
        ..Topology::default()
    });
    lab.switch.run(&format!(
        "ethtool -K {} tx off tso off gso off",
        lab.edge().name()
    ));
    for host in [lab.client(), &lab.backends[0]] {
        let features = ["tx", "sg", "tso", "gso", "gro"].map(|it| format!("{it} {offloads}"));
        host.run(&format!("ethtool -K {INTERFACE} {}", features.join(" ")));
        let shown = host.run(&format!("ethtool -k {INTERFACE}"));
        for feature in [
            "tx-checksumming",
            "tcp-segmentation-offload",
            "generic-receive-offload",
        ] {
            assert!(
                shown.contains(&format!("{feature}: {offloads}\n")),
                "{shown}"
            );
        }
    }
    lab
}

/// Segments and datagrams that a host found a wrong checksum in.
fn checksum_errors(host: &Host) -> u64 {
    let counters = [
        "TcpInCsumErrors",
        "UdpInCsumErrors",
        "IcmpInCsumErrors",
        "Udp6InCsumErrors",
        "Icmp6InCsumErrors",
    ];
    let shown = host.run(&format!("nstat -asz {}", counters.join(" ")));
    let counts = shown
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let counts: Vec<_> = counts.collect();
    assert_eq!(counts.len(), counters.len(), "{shown}");
    counts.iter().sum()
}

/// Uploads, downloads and datagrams by this way, in both families.
#[track_caller]
fn transfer(lab: &Lab, way: Way) {
    let rest = &(tables(way, &lab.backends) + &iperf_services());
    let daemon = Daemon::start(lab.edge(), Settings { edge: "", rest });
    wait_up(&daemon, 6);
    let (client, backend) = (lab.client(), &lab.backends[0]);
    for (address, direction) in SERVICES
        .into_iter()
        .flat_map(|it| [(it, ""), (it, "--reverse")])
    {
        let context = format!("{way:?} {address} {direction}");
        let _server = IperfServer::start(backend, PORT);
        let words = format!("--client {address} --port {PORT} --bytes {BYTES} {direction}");
        let done = Transfer::run(client, &words);
        assert!(
            done.received >= BYTES / 2 && done.sent >= BYTES,
            "{context}: {done:?}"
        );
        // Queues may overflow, but what comes through is not a trickle of repeated segments.
        let segments = done.sent / 1500;
        assert!(done.retransmits < segments / 4, "{context}: {done:?}");
    }
    for service in by_way::services() {
        let mut flow = client
            .enter(|| UdpFlow::open(service, None))
            .expect("a flow");
        let answered = flow.ask_long(1000).expect("an answer");
        assert_eq!(answered, backend.name(), "{way:?}");
    }
    for host in [client, backend] {
        assert_eq!(checksum_errors(host), 0, "{way:?}: {}", host.name());
    }
}

fn transfer_all(offloads: &str) {
    let lab = lab(offloads);
    let _servers = serve(&lab.backends);
    let _end = lab.backends[0].decapsulate();
    for way in all_ways() {
        transfer(&lab, way);
    }
}

#[test]
fn hosts_with_offloads_exchange_much_by_every_way() {
    transfer_all("on");
}

#[test]
fn hosts_without_offloads_exchange_much_by_every_way() {
    transfer_all("off");
}
