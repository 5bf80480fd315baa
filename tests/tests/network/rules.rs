//! Rules per client prefix, from the file to the wire, in both families at once.

use std::net::SocketAddr;

use lb_tests::lab::{
    DEADLINE, Daemon, Host, Lab, Nginx, SERVICES, ServerProcess, Settings, Topology, Traffic,
    WebServer,
    client::{Connection, connect_many},
    wait_until,
};

use super::rig::{PORT, status, verdict};

/// Group N has backend N alone. Near clients have the first, by the service itself.
const GROUPS: [&str; 3] = ["home", "office", "lately"];

/// Everyone behind the router.
const FAR: &str = r#""192.0.2.0/24", "2001:db8:192::/64""#;

/// The only near client.
const NEAR: &str = r#""198.51.100.11", "2001:db8:51::11""#;

/// A client network on each side of the router.
fn lab() -> Lab {
    Lab::new(Topology {
        backends: 3,
        far_clients: 1,
        ..Topology::default()
    })
}

fn services() -> [SocketAddr; 2] {
    SERVICES.map(|address| SocketAddr::new(address, PORT))
}

/// A service of each family with these rules, in which `*` stands for the family, and the groups that
/// they name.
fn tables(lab: &Lab, rules: &str) -> String {
    let mut text = String::new();
    for (i, family) in ["v4", "v6"].into_iter().enumerate() {
        let groups = GROUPS.into_iter().zip(&lab.backends);
        let named = |group: &str| group == "home" || rules.contains(group);
        for (group, host) in groups.filter(|(group, _)| named(group)) {
            // What was frozen is asked for long enough.
            let interval = if group == "lately" { "10s" } else { "200ms" };
            let (name, address) = (host.name(), host.addresses()[i]);
            text += &format!(
                "[[backend]]\nname = \"{name}-{family}\"\naddress = \"{address}\"\n\
                 [[group]]\nname = \"{group}-{family}\"\nmember = [{{ backend = \"{name}-{family}\" }}]\n\
                 probe = {{ kind = \"http\", port = {PORT}, interval = \"{interval}\", timeout = \"{interval}\", health = {{ window = 5, required = 1 }} }}\n"
            );
        }
        let (address, rules) = (SERVICES[i], rules.replace('*', family));
        text += &format!(
            "[[service]]\nname = \"web-{family}\"\naddress = \"{address}\"\nprotocol = \"tcp\"\n\
             port = {PORT}\ngroup = \"home-{family}\"\nrule = [{rules}]\n"
        );
    }
    text
}

fn settings(rest: &str) -> Settings<'_> {
    Settings {
        // Longer than a busy machine takes for what is shown while a group is undecided.
        edge: "startup_grace = \"5m\"",
        rest,
    }
}

#[track_caller]
fn reload(daemon: &Daemon<'_>, lab: &Lab, rules: &str) {
    daemon.configure(settings(&tables(lab, rules)));
    let said = daemon.waggle(&["reload"]);
    assert!(said.ok(), "{said:?}");
    wait_until(DEADLINE, "room for the new tables beside the old", || {
        status(daemon)["pending"].is_null()
    });
}

/// The daemon with these rules, once it serves both families.
fn start<'lab>(lab: &'lab Lab, rules: &str) -> Daemon<'lab> {
    let daemon = Daemon::start(lab.edge(), settings(&tables(lab, rules)));
    wait_until(DEADLINE, "both services", || {
        [0, 1].map(|i| status(&daemon)["services"][i]["published"] == true) == [true; 2]
    });
    daemon
}

/// Who answers new connections from `client`, over IPv4 and over IPv6. All are answered.
#[track_caller]
fn answering(client: &Host) -> [Vec<String>; 2] {
    services().map(|service| {
        let tally = connect_many(client, service, 50);
        assert!(tally.errors.is_empty(), "{service}: {tally:?}");
        tally.answers.into_keys().collect()
    })
}

fn both(name: &str) -> [Vec<String>; 2] {
    [0, 1].map(|_| vec![name.to_owned()])
}

/// Connections of both families that stay open.
fn open(client: &Host) -> Vec<Connection> {
    let all = services().into_iter().cycle().take(20);
    let open = |service| {
        let mut connection = Connection::open(service, None).expect("a connection");
        connection.ask_on("/").expect("an answer");
        connection
    };
    client.enter(|| all.map(open).collect())
}

/// Asks once on each, and shows that `backend` has it.
#[track_caller]
fn all_on(connections: &mut [Connection], backend: &str) {
    for connection in connections {
        let answer = connection.ask_on("/").expect("an answer");
        assert_eq!(answer.backend, backend);
    }
}

/// New connections all the time, of both families.
fn traffic(client: &Host) -> [Traffic; 2] {
    services().map(|service| Traffic::start(client, service))
}

/// What `explain` says of the client of each family.
fn explained(daemon: &Daemon<'_>, client: &Host) -> [String; 2] {
    let [v4, v6] = client.addresses().map(|address| address.to_string());
    [("web-v4", v4), ("web-v6", v6)].map(|(service, client)| {
        let explain = ["explain", "--service", service, "--client", &client];
        daemon.waggle(&explain).stdout
    })
}

#[test]
fn a_client_network_moves_under_traffic_once_its_new_group_is_decided() {
    let lab = lab();
    let (near, far) = (lab.client(), &lab.far_clients[0]);
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let lately = ServerProcess::start(&lab.backends[2], "backend-3", PORT);
    let gets = |group| format!("{{ clients = [{FAR}], group = \"{group}-*\" }}");
    let daemon = start(&lab, &gets("office"));
    assert_eq!(answering(near), both("backend-1"));
    assert_eq!(answering(far), both("backend-2"));
    let mut running = [open(near), open(far)];
    let all_traffic = [traffic(near), traffic(far)];

    lately.freeze();
    reload(&daemon, &lab, &gets("lately"));
    let prefixes = ["192.0.2.0/24", "2001:db8:192::/64"];
    for ((text, prefix), family) in explained(&daemon, far)
        .iter()
        .zip(prefixes)
        .zip(["v4", "v6"])
    {
        let rule = format!("class 1, by rule 0 of {prefix}: group lately-{family}\nnot in force");
        assert!(text.contains(&rule), "{text}");
    }
    assert_eq!(answering(far), both("backend-2"), "it is not decided yet");
    assert_eq!(answering(near), both("backend-1"));

    lately.thaw();
    wait_until(DEADLINE, "the network has moved", || {
        answering(far) == both("backend-3")
    });
    assert_eq!(answering(near), both("backend-1"));
    all_on(&mut running[0], "backend-1");
    all_on(&mut running[1], "backend-2");
    for record in all_traffic.into_iter().flatten().map(Traffic::stop) {
        assert!(record.answers().values().sum::<usize>() > 100);
        assert_eq!(record.errors(), Vec::<&str>::new());
    }
    for text in explained(&daemon, far) {
        assert!(!text.contains("not in force"), "{text}");
    }
}

#[test]
fn a_rule_drops_new_flows_or_leaves_them_to_the_host() {
    let lab = lab();
    let (near, far, edge) = (lab.client(), &lab.far_clients[0], lab.edge());
    let _servers = [0, 1].map(|i| Nginx::start(&lab.backends[i], PORT));
    let _own = WebServer::start(edge, "edge", PORT);
    edge.ip(&SERVICES
        .map(|it| format!("address add {it} dev lo"))
        .each_ref()
        .map(String::as_str));
    let daemon = start(&lab, "");
    assert_eq!(answering(far), both("backend-1"));
    let mut running = [open(near), open(far)];

    let pass = format!("{{ clients = [{FAR}], answer = \"pass\" }}");
    reload(&daemon, &lab, &pass);
    assert_eq!(answering(far), both("edge"));
    assert_eq!(answering(near), both("backend-1"));
    for text in explained(&daemon, far) {
        assert!(text.contains("new flows are left to this host"), "{text}");
    }

    let drop = format!("{pass}, {{ clients = [{NEAR}], answer = \"drop\" }}");
    reload(&daemon, &lab, &drop);
    for service in services() {
        let dropped = verdict(&daemon, "policy_dropped");
        let asked = near.outcome(&format!("curl -s --connect-timeout 0.3 http://{service}/"));
        assert_eq!(
            asked.status,
            Some(28),
            "curl's number for no answer in time: {asked:?}"
        );
        assert!(verdict(&daemon, "policy_dropped") > dropped, "{service}");
    }
    for text in explained(&daemon, near) {
        assert!(text.contains("new flows are dropped"), "{text}");
    }
    assert_eq!(answering(far), both("edge"));
    for connections in &mut running {
        all_on(connections, "backend-1");
    }
    assert_eq!(verdict(&daemon, "no_target"), 0);

    reload(&daemon, &lab, "");
    for client in [near, far] {
        assert_eq!(answering(client), both("backend-1"));
    }
}
