//! Both families, both protocols and all ways to forward, through one table of cases.

use std::{io, net::SocketAddr};

use lb_tests::lab::{
    DEADLINE, Daemon, Host, Lab, SERVICES, ServerProcess, Settings, Topology, TunnelEnd, UdpServer,
    WebServer,
    client::{Connection, Tally, UdpFlow, ask_many, connect_many},
    wait_until,
};
use nix::errno::Errno;
use serde_json::Value;

use super::rig::{status, verdict};

const FAMILIES: [&str; 2] = ["v4", "v6"];

/// How packets reach backends, each on a port of its own: `forward`, and whether the backends' addresses are
/// of the other family.
const MODES: [(&str, bool, u16); 6] = [
    ("l2-dsr", false, 80),
    ("ipip", false, 81),
    ("full-nat", false, 82),
    ("ipip", true, 83),
    ("gue", false, 84),
    ("gue", true, 85),
];

/// A service, and how its packets reach backends.
#[derive(Clone, Copy)]
struct Way {
    /// An index into [`FAMILIES`] and [`Host::addresses`].
    family: usize,
    protocol: &'static str,
    mode: &'static str,
    is_mixed: bool,
    port: u16,
}

impl Way {
    /// All with this protocol.
    fn all(protocol: &'static str) -> impl Iterator<Item = Self> {
        let of_mode = move |(mode, is_mixed, port)| {
            [0, 1].map(|family| Self {
                family,
                protocol,
                mode,
                is_mixed,
                port,
            })
        };
        MODES.into_iter().flat_map(of_mode)
    }

    /// The group's name, which both protocols share.
    fn group(self) -> String {
        let mixed = if self.is_mixed { "-mixed" } else { "" };
        format!("{}-{}{mixed}", FAMILIES[self.family], self.mode)
    }

    /// The service's name.
    fn name(self) -> String {
        format!("{}-{}", self.group(), self.protocol)
    }

    fn service(self) -> SocketAddr {
        SocketAddr::new(SERVICES[self.family], self.port)
    }

    /// The family of the backends' addresses.
    fn outer(self) -> usize {
        self.family ^ usize::from(self.is_mixed)
    }

    fn is_tunnel(self) -> bool {
        matches!(self.mode, "ipip" | "gue")
    }

    /// Bytes of the headers around a packet.
    fn growth(self) -> usize {
        let header = [20, 40][self.outer()];
        match self.mode {
            "ipip" => header,
            "gue" => header + 12,
            _ => 0,
        }
    }

    /// Packets of its tunnels that came to these ends.
    fn tunnelled(self, ends: [&TunnelEnd; 2]) -> u64 {
        let packets = ends.map(|end| match self.mode {
            "gue" => end.datagrams(),
            _ => end.packets(),
        });
        packets.map(|it| it[self.outer()][self.family]).iter().sum()
    }

    /// Who has three quarters, and who has one: for tunnels the far one.
    fn backends(self, lab: &Lab) -> [&Host; 2] {
        let second = if self.is_tunnel() {
            &lab.far_backends[0]
        } else {
            &lab.backends[1]
        };
        [&lab.backends[0], second]
    }

    /// Asks from each of `count` source ports.
    #[track_caller]
    fn ask(self, client: &Host, count: u16) -> Tally {
        let tally = match self.protocol {
            "tcp" => connect_many(client, self.service(), count),
            _ => ask_many(client, self.service(), count),
        };
        assert!(
            tally.errors.is_empty(),
            "{}: {:?}",
            self.name(),
            tally.errors
        );
        tally
    }

    /// A flow that `backend` serves.
    #[track_caller]
    fn flow_on(self, client: &Host, backend: &Host) -> Flow {
        let open = || {
            let mut flow = Flow::open(self).expect("a flow");
            (flow.ask().expect("an answer") == backend.name()).then_some(flow)
        };
        client
            .enter(|| (0..100).find_map(|_| open()))
            .unwrap_or_else(|| panic!("{}: none of 100 is on {}", self.name(), backend.name()))
    }

    /// Two backends with weights of 3 and 1, their group, and a service for each protocol.
    fn tables(self, lab: &Lab) -> String {
        let (group, mode, port) = (self.group(), self.mode, self.port);
        let mut text = String::new();
        let mut members = Vec::new();
        for (host, weight) in self.backends(lab).into_iter().zip([3, 1]) {
            let (name, address) = (host.name(), host.addresses()[self.outer()]);
            text += &format!(
                "[[backend]]\nname = \"{name}-{group}\"\naddress = \"{address}\"\n\
                 forward = \"{mode}\"\n"
            );
            members.push(format!(
                "{{ backend = \"{name}-{group}\", weight = {weight} }}"
            ));
        }
        text += &format!(
            "[[group]]\nname = \"{group}\"\nlatency_window = \"500ms\"\nmember = [{}]\n\
             probe = {{ kind = \"http\", interval = \"200ms\", timeout = \"200ms\", health = {{ window = 5, required = 1 }} }}\n",
            members.join(", ")
        );
        for protocol in ["tcp", "udp"] {
            text += &format!(
                "[[service]]\nname = \"{group}-{protocol}\"\naddress = \"{}\"\n\
                 protocol = \"{protocol}\"\nport = {port}\ngroup = \"{group}\"\n",
                SERVICES[self.family]
            );
        }
        text
    }
}

/// Something that goes on.
enum Flow {
    Tcp(Connection),
    Udp(UdpFlow),
}

impl Flow {
    fn open(way: Way) -> io::Result<Self> {
        match way.protocol {
            "tcp" => Connection::open(way.service(), None).map(Self::Tcp),
            _ => UdpFlow::open(way.service(), None).map(Self::Udp),
        }
    }

    /// Asks once and says who answered.
    fn ask(&mut self) -> io::Result<String> {
        match self {
            Self::Tcp(connection) => Ok(connection.ask_on("/")?.backend),
            Self::Udp(flow) => flow.ask(),
        }
    }
}

/// Two near backends, and a far one that only tunnels lead to.
fn lab() -> Lab {
    Lab::new(Topology {
        far_backends: 1,
        ..Topology::default()
    })
}

/// What serves three quarters of every group.
struct First {
    _web: [WebServer; MODES.len()],
    _udp: [UdpServer; MODES.len()],
    tunnels: TunnelEnd,
}

impl First {
    fn start(lab: &Lab) -> Self {
        let host = &lab.backends[0];
        Self {
            _web: MODES.map(|(.., port)| WebServer::start(host, host.name(), port)),
            _udp: MODES.map(|(.., port)| UdpServer::start(host, host.name(), port)),
            tunnels: host.decapsulate(),
        }
    }
}

/// The servers of the last quarters, which can be killed.
fn start_seconds(lab: &Lab) -> Vec<ServerProcess> {
    let start = |way: Way| {
        let [_, host] = way.backends(lab);
        [ServerProcess::start, ServerProcess::start_udp]
            .map(|start| start(host, host.name(), way.port))
    };
    let families = Way::all("tcp").filter(|way| way.family == 0);
    families.flat_map(start).collect()
}

/// The daemon with all services.
fn start(lab: &Lab) -> Daemon<'_> {
    let rest: String = Way::all("tcp").map(|way| way.tables(lab)).collect();
    Daemon::start(
        lab.edge(),
        Settings {
            rest: &rest,
            ..Settings::default()
        },
    )
}

/// Waits until everything is served and the members of every group, in turn, have this health.
#[track_caller]
fn wait_health(daemon: &Daemon<'_>, health: [&str; 2]) {
    let health = health.map(Value::from);
    wait_until(DEADLINE, &format!("{health:?}"), || {
        let status = status(daemon);
        let list = |name: &str| status[name].as_array().expect("a list").clone();
        list("services").iter().all(|it| it["published"] == true)
            && list("groups")
                .iter()
                .all(|it| [0, 1].map(|i| it["members"][i]["health"].clone()) == health)
    });
}

#[test]
fn every_way_splits_by_weight_and_leaves_the_dead() {
    let lab = lab();
    let first = First::start(&lab);
    let far = lab.far_backends[0].decapsulate();
    let mut seconds = start_seconds(&lab);
    let daemon = start(&lab);
    wait_health(&daemon, ["up", "up"]);
    let shown = daemon.waggle(&["status", "service"]).stdout;
    assert!(shown.contains(" [2001:db8:203::10]:81 "), "{shown}");
    let client = lab.client();
    let ways = || Way::all("tcp").chain(Way::all("udp"));
    for way in ways() {
        let name = way.name();
        let tunnelled = || way.tunnelled([&first.tunnels, &far]);
        let before = tunnelled();
        let tally = way.ask(client, 1_000);
        let share = tally.share(way.backends(&lab)[0].name());
        assert!((share - 0.75).abs() < 0.06, "{name}: {tally:?}");
        assert_eq!(tunnelled() > before, way.is_tunnel(), "{name}");
    }

    let mut on_first: Vec<_> = ways()
        .map(|way| (way, way.flow_on(client, way.backends(&lab)[0])))
        .collect();
    let mut on_second: Vec<_> = Way::all("udp")
        .map(|way| (way, way.flow_on(client, way.backends(&lab)[1])))
        .collect();
    seconds.iter_mut().for_each(ServerProcess::kill9);
    wait_health(&daemon, ["up", "down"]);
    for (way, flow) in on_second.iter_mut().chain(&mut on_first) {
        let (name, living) = (way.name(), way.backends(&lab)[0].name());
        assert_eq!(flow.ask().unwrap(), living, "{name}: {}", daemon.log());
    }
    for way in ways() {
        let tally = way.ask(client, 200);
        assert_eq!(tally.share(way.backends(&lab)[0].name()), 1.0, "{tally:?}");
    }
}

#[test]
fn the_largest_datagram_is_answered_and_one_byte_more_is_too_big() {
    let lab = lab();
    let _first = First::start(&lab);
    let _far = lab.far_backends[0].decapsulate();
    let _seconds = start_seconds(&lab);
    let daemon = start(&lab);
    wait_health(&daemon, ["up", "up"]);
    for way in Way::all("udp") {
        let name = way.name();
        let largest = 1500 - way.growth() - [20, 40][way.family] - 8;
        for backend in way.backends(&lab) {
            let Flow::Udp(mut flow) = way.flow_on(lab.client(), backend) else {
                unreachable!("a way of UDP");
            };
            assert_eq!(flow.ask_long(largest).unwrap(), backend.name(), "{name}");
            if !way.is_tunnel() {
                continue;
            }
            let [too_big, forwarded] = ["too_big", "forwarded"].map(|it| verdict(&daemon, it));
            let told = flow.ask_long(largest + 1).unwrap_err().raw_os_error();
            assert_eq!(told, Some(Errno::EMSGSIZE as i32), "{name}");
            assert_eq!(verdict(&daemon, "too_big"), too_big + 1, "{name}");
            assert_eq!(verdict(&daemon, "forwarded"), forwarded, "{name}");
            // Else the client's kernel cuts the next one itself.
            let family = ["-4", "-6"][way.family];
            lab.client().run(&format!("ip {family} route flush cache"));
        }
    }
}
