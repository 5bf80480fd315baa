use std::net::{IpAddr, Ipv4Addr};

use lb_common::{Protocol, ServiceKey};

use super::{Model, Name};
use crate::refusal::{Refusal, operator};

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

impl Model {
    /// The service of this name.
    ///
    /// # Errors
    ///
    /// There is none; the message names those that there are.
    pub fn service(&self, name: &str) -> Result<&Service, Refusal> {
        self.services.get(name).ok_or_else(|| {
            let known: Vec<_> = self.services.keys().map(Name::as_str).collect();
            let known = match known.as_slice() {
                [] => "none".to_owned(),
                known => known.join(", "),
            };
            operator::no_such_service(name, known)
        })
    }
}
