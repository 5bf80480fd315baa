//! Datagrams that are longer than a frame, in both families and all ways to forward.

use lb_tests::lab::{
    DEADLINE, Daemon, Lab, Nginx, SERVICES, Settings, Topology, UdpServer, WebServer,
    client::UdpFlow, wait_until,
};

use super::{
    raw::send_syn,
    rig::{PORT, WEB, lab, start, verdict, wait_all_up, wait_served},
};

/// The service's port for each way to forward, and whether the backends' addresses are of the other family.
const MODES: [(&str, bool, u16); 6] = [
    ("l2-dsr", false, 53),
    ("ipip", false, 54),
    ("full-nat", false, 55),
    ("ipip", true, 56),
    ("gue", false, 57),
    ("gue", true, 58),
];

/// A service of each family for each way, over the same two backends.
fn tables(lab: &Lab) -> String {
    let mut text = String::new();
    for (family, service) in SERVICES.into_iter().enumerate() {
        for (mode, is_mixed, port) in MODES {
            let name = format!("{port}-{family}");
            let outer = family ^ usize::from(is_mixed);
            let mut members = Vec::new();
            for host in &lab.backends {
                let (backend, address) = (host.name(), host.addresses()[outer]);
                text += &format!(
                    "[[backend]]\nname = \"{backend}-{name}\"\naddress = \"{address}\"\nforward = \"{mode}\"\n"
                );
                members.push(format!("{{ backend = \"{backend}-{name}\" }}"));
            }
            text += &format!(
                "[[group]]\nname = \"{name}\"\nlatency_window = \"500ms\"\nmember = [{}]\n\
                 probe = {{ kind = \"http\", port = {PORT}, interval = \"200ms\", timeout = \"200ms\", health = {{ window = 5, required = 1 }} }}\n\
                 [[service]]\nname = \"{name}\"\naddress = \"{service}\"\nprotocol = \"udp\"\n\
                 port = {port}\ngroup = \"{name}\"\n",
                members.join(", ")
            );
        }
    }
    text
}

#[test]
fn case_12_long_datagrams_arrive_whole_at_the_backend_of_their_flow() {
    let lab = Lab::new(Topology::default());
    let hosts = lab.backends.iter();
    let _ends: Vec<_> = hosts.clone().map(|host| host.decapsulate()).collect();
    let _web: Vec<_> = hosts
        .clone()
        .map(|host| WebServer::start(host, host.name(), PORT))
        .collect();
    let all = hosts.flat_map(|host| MODES.map(|(.., port)| (host, port)));
    let _servers: Vec<_> = all
        .map(|(host, port)| UdpServer::start(host, host.name(), port))
        .collect();
    let daemon = Daemon::start(
        lab.edge(),
        Settings {
            rest: &tables(&lab),
            ..Settings::default()
        },
    );
    wait_served(&daemon, 2 * MODES.len());
    for (mode, is_mixed, port) in MODES {
        for service in SERVICES {
            lab.client().enter(|| {
                for round in 0..10 {
                    let mut flow = UdpFlow::open((service, port), None).expect("a flow");
                    let short = flow.ask().expect("an answer");
                    // A tunnel's first too long fragment lowers what the client's kernel sends.
                    let long = (0..3).find_map(|_| flow.ask_long(3000).ok());
                    let context = format!("{mode}, {is_mixed}, {service}, {round}");
                    assert_eq!(long, Some(short), "{context}");
                }
            });
        }
    }
    assert_eq!(verdict(&daemon, "fragment_unknown"), 0);
}

#[test]
fn a_fragment_of_which_the_first_is_missing_is_dropped_under_its_own_verdict() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    const LAST: u16 = 370;
    for port in 3_000..3_003 {
        send_syn(lab.client(), port, WEB, LAST);
    }
    wait_until(DEADLINE, "three fragments counted", || {
        verdict(&daemon, "fragment_unknown") == 3
    });
    let shown = daemon.waggle(&["status"]).stdout;
    assert!(shown.contains("fragment_unknown 3"), "{shown}");
}
