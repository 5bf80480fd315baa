//! Edges with more than one interface, in VLANs, or with a backend on themselves.

use std::net::SocketAddr;

use lb_tests::lab::{
    Daemon, Lab, Nginx, SERVICES, Settings, Topology,
    client::{Tally, connect_many},
};
use serde_json::Value;

use super::rig::{status, verdict, wait_served};

/// A service of TCP on this port with one backend that nobody probes. `more` are further settings of the backend.
fn tables(services: &[(usize, u16, &str, &str)]) -> String {
    let mut text = String::new();
    for (family, port, backend, more) in services {
        let address = SERVICES[*family];
        text += &format!(
            "[[backend]]\nname = \"b{port}-{family}\"\naddress = \"{backend}\"\n{more}\n\
             [[group]]\nname = \"g{port}-{family}\"\nprobe = {{ kind = \"none\" }}\n\
             member = [{{ backend = \"b{port}-{family}\" }}]\n\
             [[service]]\nname = \"s{port}-{family}\"\naddress = \"{address}\"\nprotocol = \"tcp\"\n\
             port = {port}\ngroup = \"g{port}-{family}\"\n"
        );
    }
    text
}

#[track_caller]
fn served_by(lab: &Lab, family: usize, port: u16, backend: &str) {
    const CONNECTIONS: u16 = 50;
    let service = SocketAddr::new(SERVICES[family], port);
    let Tally { answers, errors } = connect_many(lab.client(), service, CONNECTIONS);
    assert_eq!(errors, [""; 0], "{service}");
    assert_eq!(answers.get(backend), Some(&CONNECTIONS.into()), "{service}");
}

#[test]
fn backends_behind_another_interface_serve_and_translated_answers_find_back() {
    let lab = Lab::new(Topology::default());
    let (edge, backend) = (lab.edge(), &lab.backends[1]);
    let there = backend.path();
    let there = there.file_name().unwrap().to_str().unwrap();
    edge.ip(&[
        &format!("link add eth1 type veth peer name eth1 netns {there}"),
        "address add 192.0.2.1/24 dev eth1",
        "address add 2001:db8:192::1/64 dev eth1 nodad",
        "link set eth1 up",
    ]);
    edge.run("ethtool -K eth1 tx off");
    backend.ip(&[
        "address add 192.0.2.9/24 dev eth1",
        "address add 2001:db8:192::9/64 dev eth1 nodad",
        "link set eth1 up",
    ]);
    // A veth takes frames from a program on its other end once it has work to do with them.
    backend.run("ethtool -K eth1 tx off gro on");
    backend.sysctl(&[("ipv4/conf/eth1/rp_filter", "0")]);
    let _server = Nginx::start(backend, 80);
    let _other = Nginx::start(backend, 81);
    let nat = "forward = \"full-nat\"";
    let rest = tables(&[
        (0, 80, "192.0.2.9", ""),
        (1, 80, "2001:db8:192::9", ""),
        (0, 81, "192.0.2.9", nat),
        (1, 81, "2001:db8:192::9", nat),
    ]);
    let daemon = Daemon::start(
        edge,
        Settings {
            edge: "interfaces = [\"eth0\", \"eth1\"]",
            rest: &rest,
        },
    );
    wait_served(&daemon, 4);
    for (family, port) in [(0, 80), (1, 80), (0, 81), (1, 81)] {
        served_by(&lab, family, port, "backend-2");
    }
    assert!(verdict(&daemon, "returned") > 200, "answers of full-nat");
    let status = status(&daemon);
    let interfaces = status["edge"]["interfaces"].as_array().unwrap();
    let named: Vec<_> = interfaces.iter().map(|it| &it["name"]).collect();
    assert_eq!(named, ["eth0", "eth1"]);
    let attached = |it: &Value| it["attached"] == true && it["xdp_mode"] == "native";
    assert!(interfaces.iter().all(attached), "{interfaces:?}");
    let said = daemon.waggle(&["status"]).stdout;
    assert!(
        said.contains("on eth0 (native XDP), eth1 (native XDP), pid "),
        "{said}"
    );
    let proof = ["explain", "--service", "s81-0", "--client", "198.51.100.11"];
    let said = daemon.waggle(&proof).stdout;
    assert!(said.contains("proved in the kernel"), "{said}");
}

#[test]
fn a_tagged_uplink_and_backends_in_another_vlan() {
    let mut lab = Lab::new(Topology::default());
    let trunk = lab.trunk(&[("client-1", 100), ("backend-1", 200)]);
    let _servers = [80, 81].map(|port| Nginx::start(&lab.backends[0], port));
    let [v4, v6] = lab.backends[0].addresses().map(|it| it.to_string());
    let vlan = "vlan = 200";
    let nat = "vlan = 200\nforward = \"full-nat\"";
    let rest = tables(&[
        (0, 80, &v4, vlan),
        (1, 80, &v6, vlan),
        (0, 81, &v4, nat),
        (1, 81, &v6, nat),
    ]);
    let daemon = Daemon::start(
        lab.edge(),
        Settings {
            edge: "",
            rest: &rest,
        },
    );
    wait_served(&daemon, 4);
    for family in [0, 1] {
        let (before, _) = (trunk.packets(200), trunk.packets(100));
        served_by(&lab, family, 80, "backend-1");
        assert!(trunk.packets(200) > before + 50, "to the backend");
        let before = [100, 200].map(|vlan| trunk.packets(vlan));
        served_by(&lab, family, 81, "backend-1");
        let after = [100, 200].map(|vlan| trunk.packets(vlan));
        assert!(after[0] > before[0] + 50, "back to the client");
        assert!(after[1] > before[1] + 50, "to the backend");
    }
    assert_eq!(trunk.packets(0), 0, "none without a tag");
}

#[test]
fn a_backend_on_the_edge_itself_takes_its_share() {
    let lab = Lab::new(Topology::default());
    let edge = lab.edge();
    let _here = Nginx::start(edge, 80);
    let _there = Nginx::start(&lab.backends[0], 80);
    edge.ip(&[
        "address add 203.0.113.10/32 dev lo",
        "address add 2001:db8:203::10/128 dev lo nodad",
    ]);
    let mut rest = String::new();
    for (family, (here, there)) in (0..).zip(
        edge.addresses()
            .into_iter()
            .zip(lab.backends[0].addresses()),
    ) {
        rest += &format!(
            "[[backend]]\nname = \"here-{family}\"\naddress = \"{here}\"\n\
             [[backend]]\nname = \"there-{family}\"\naddress = \"{there}\"\n\
             [[group]]\nname = \"web-{family}\"\n\
             member = [{{ backend = \"here-{family}\" }}, {{ backend = \"there-{family}\" }}]\n\
             latency_window = \"500ms\"\n\
             probe = {{ kind = \"http\", interval = \"200ms\", timeout = \"200ms\", health = {{ window = 5, required = 1 }} }}\n\
             [[service]]\nname = \"web-{family}\"\naddress = \"{}\"\nprotocol = \"tcp\"\nport = 80\ngroup = \"web-{family}\"\n",
            SERVICES[family]
        );
    }
    let daemon = Daemon::start(
        edge,
        Settings {
            edge: "",
            rest: &rest,
        },
    );
    wait_served(&daemon, 2);
    for family in [0, 1] {
        let service = SocketAddr::new(SERVICES[family], 80);
        let Tally { answers, errors } = connect_many(lab.client(), service, 400);
        assert_eq!(errors, [""; 0]);
        for name in ["edge-1", "backend-1"] {
            let share = *answers.get(name).unwrap_or(&0);
            assert!((150..=250).contains(&share), "{name}: {answers:?}");
        }
    }
    let explain = ["explain", "--service", "web-0", "--client", "198.51.100.11"];
    let said = daemon.waggle(&explain).stdout;
    assert!(said.contains("proved in the kernel"), "{said}");
}
