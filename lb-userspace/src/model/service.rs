use std::net::{IpAddr, Ipv4Addr};

use lb_common::{Protocol, ServiceKey};

use super::Name;

/// An address, protocol and port that clients use, and the group that serves it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Service {
    /// What it is called.
    pub name: Name,
    /// The address that clients use.
    pub address: Ipv4Addr,
    /// The protocol.
    pub protocol: Protocol,
    /// The port, not 0.
    pub port: u16,
    /// Who serves it.
    pub group: Name,
}

impl Service {
    /// Its key in the kernel's table.
    pub fn key(&self) -> ServiceKey {
        ServiceKey::new(
            IpAddr::V4(self.address).into(),
            self.port.to_be_bytes(),
            self.protocol,
        )
    }
}
