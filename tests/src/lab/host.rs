use std::{net::Ipv4Addr, ops::Deref};

use lb_userspace::model::Mac;

use super::namespace::Namespace;

/// The interface of every host that leads to the switch.
pub const INTERFACE: &str = "eth0";

/// A host: a namespace with an address, one veth away from the switch.
#[derive(Debug)]
pub struct Host {
    name: String,
    number: u8,
    namespace: Namespace,
}

impl Host {
    /// The host with the address 198.51.100.`number`, behind the port of the switch that is
    /// called like it.
    pub(super) fn new(lab: &str, name: &str, number: u8, switch: &Namespace) -> Self {
        let namespace = Namespace::new(&format!("{lab}-{name}"));
        let host = Self {
            name: name.to_owned(),
            number,
            namespace,
        };
        switch.ip(&[
            &format!(
                "link add {name} type veth peer name {INTERFACE} address {} netns {lab}-{name}",
                host.mac()
            ),
            &format!("link set {name} master br0 up"),
        ]);
        // The offload leaves checksums to be filled in by a device that is not there, and a
        // packet that a program sends on keeps them so.
        host.run(&format!("ethtool -K {INTERFACE} tx off"));
        host.sysctl(&[
            // Answers of a service address come from whichever host has it.
            ("ipv4/conf/all/rp_filter", "0"),
            ("ipv4/conf/default/rp_filter", "0"),
            ("ipv4/conf/eth0/rp_filter", "0"),
            // What Waggle does not forward, nobody does.
            ("ipv4/ip_forward", "0"),
        ]);
        host.ip(&[
            &format!("address add {}/24 dev {INTERFACE}", host.address()),
            &format!("link set {INTERFACE} up"),
        ]);
        host
    }

    /// What it is called: `client-1`, `edge-1`, `backend-1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 51, 100, self.number)
    }

    /// The MAC address that its interface was made with.
    pub fn mac(&self) -> Mac {
        Mac([2, 0, 0, 0, 0, self.number])
    }

    /// Takes packets for `address`, but tells nobody that it does.
    pub(super) fn serve(&self, address: Ipv4Addr) {
        self.sysctl(&[
            ("ipv4/conf/all/arp_ignore", "1"),
            ("ipv4/conf/all/arp_announce", "2"),
        ]);
        self.ip(&[&format!("address add {address}/32 dev lo")]);
    }
}

impl Deref for Host {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}
