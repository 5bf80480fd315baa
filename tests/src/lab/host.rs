use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    num::NonZero,
    ops::Deref,
    process::Command,
    thread,
};

use lb_userspace::model::Mac;

use super::{SERVICE, SERVICE_V6, namespace::Namespace, network::Network, process::run};

/// The interface of every host that leads to the switch.
pub const INTERFACE: &str = "eth0";

/// A host: a namespace with an address of each family, one veth away from the switch.
#[derive(Debug)]
pub struct Host {
    name: String,
    network: Network,
    number: u8,
    namespace: Namespace,
}

impl Host {
    /// The host with this number in `network`, behind the port of the switch that is called like
    /// it.
    pub(super) fn new(
        lab: &str,
        name: &str,
        network: Network,
        number: u8,
        switch: &Namespace,
    ) -> Self {
        let namespace = Namespace::new(&format!("{lab}-{name}"));
        let host = Self {
            name: name.to_owned(),
            network,
            number,
            namespace,
        };
        host.connect(switch, name, INTERFACE, network);
        host
    }

    /// Gives it an interface in `network`, behind this port of the switch.
    fn connect(&self, switch: &Namespace, port: &str, interface: &str, network: Network) {
        let (number, bridge) = (self.number, network.bridge());
        switch.ip(&[
            &format!(
                "link add {port} type veth peer name {interface} address {} netns {}",
                network.mac(number),
                self.file_name()
            ),
            &format!("link set {port} master {bridge} up"),
        ]);
        // The offload leaves checksums to be filled in by a device that is not there, and a
        // packet that a program sends on keeps them so.
        self.run(&format!("ethtool -K {interface} tx off"));
        self.sysctl(&[
            // Answers of a service address come from whichever host has it.
            ("ipv4/conf/all/rp_filter", "0"),
            ("ipv4/conf/default/rp_filter", "0"),
            (&format!("ipv4/conf/{interface}/rp_filter"), "0"),
            // What Waggle does not forward, nobody does.
            ("ipv4/ip_forward", "0"),
            ("ipv6/conf/all/forwarding", "0"),
            // An address can be used at once, and nobody asks for routers that are not there.
            ("ipv6/conf/all/accept_dad", "0"),
            (&format!("ipv6/conf/{interface}/accept_dad"), "0"),
            (&format!("ipv6/conf/{interface}/accept_ra"), "0"),
            (&format!("ipv6/conf/{interface}/router_solicitations"), "0"),
        ]);
        self.ip(&[
            &format!("address add {}/24 dev {interface}", network.v4(number)),
            &format!(
                "address add {}/64 dev {interface} nodad",
                network.v6(number)
            ),
            &format!("link set {interface} up"),
        ]);
    }

    /// What it is called: `client-1`, `edge-1`, `backend-1`, `far-client-1`, `far-backend-1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its IPv4 address.
    pub fn address(&self) -> Ipv4Addr {
        self.network.v4(self.number)
    }

    /// Its IPv6 address.
    pub fn address_v6(&self) -> Ipv6Addr {
        self.network.v6(self.number)
    }

    /// Its addresses: IPv4, IPv6.
    pub fn addresses(&self) -> [IpAddr; 2] {
        [self.address().into(), self.address_v6().into()]
    }

    /// The MAC address that its interface was made with.
    pub fn mac(&self) -> Mac {
        self.network.mac(self.number)
    }

    /// Sends packets for the service addresses there.
    pub(super) fn use_service_through(&self, gateway: &Self) {
        self.ip(&[
            &format!("route add 203.0.113.0/24 via {}", gateway.address()),
            &format!("route add 2001:db8:203::/64 via {}", gateway.address_v6()),
        ]);
    }

    /// Sends packets for the far network to the router.
    pub(super) fn reach_far_through(&self, router: &Self) {
        self.ip(&[
            &format!("route add 192.0.2.0/24 via {}", router.address()),
            &format!("route add 2001:db8:192::/64 via {}", router.address_v6()),
        ]);
    }

    /// Makes it the router between its own network and the far one.
    pub(super) fn route_to_far(&self, switch: &Namespace) {
        let port = format!("{}-far", self.name);
        self.connect(switch, &port, "eth1", Network::Far);
        self.sysctl(&[("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")]);
    }

    /// Sends everything to the router, which it is behind.
    pub(super) fn leave_far_through(&self, router: &Self) {
        let number = router.number;
        self.ip(&[
            &format!("route add default via {}", Network::Far.v4(number)),
            &format!("route add default via {}", Network::Far.v6(number)),
        ]);
    }

    /// Takes packets for the service addresses, but tells nobody that it does. For IPv6 nothing
    /// has to be set: a neighbour solicitation is answered only for addresses of the interface
    /// that it came by.
    pub(super) fn serve(&self) {
        self.sysctl(&[
            ("ipv4/conf/all/arp_ignore", "1"),
            ("ipv4/conf/all/arp_announce", "2"),
        ]);
        self.ip(&[
            &format!("address add {SERVICE}/32 dev lo"),
            &format!("address add {SERVICE_V6}/128 dev lo nodad"),
        ]);
        self.receive_on_one_cpu();
    }

    /// Takes packets one after the other, as a card does with those of one flow. A veth takes each on
    /// the CPU that sent it, and while one puts a connection in the place of its request, another
    /// finds neither and resets it: with Linux 6.18 one of some hundred thousand connections.
    fn receive_on_one_cpu(&self) {
        let cpus = thread::available_parallelism().map_or(1, NonZero::get);
        let mask = 1_u64 << (usize::from(self.number) % cpus.min(32));
        let file = format!("/sys/class/net/{INTERFACE}/queues/rx-0/rps_cpus");
        // What belongs to a namespace under /sys is seen there only where that is mounted in it.
        run(Command::new("ip")
            .args(["netns", "exec", self.file_name(), "sh", "-c"])
            .arg(format!("echo {mask:x} > {file}")));
    }
}

impl Deref for Host {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}
