use std::net::IpAddr;

use lb_common::{Protocol, ServiceKey};

use super::{Model, Name};

/// An address, protocol and port that clients use, and the group that serves it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Service {
    /// What it is called.
    pub name: Name,
    /// The address that clients use.
    pub address: IpAddr,
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
        ServiceKey::new(self.address.into(), self.port.to_be_bytes(), self.protocol)
    }
}

/// A service that is not there.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("there is no service `{name}`; there is {known}")]
pub struct NoSuchService {
    name: String,
    known: String,
}

impl Model {
    /// The service of this name.
    ///
    /// # Errors
    ///
    /// There is none; the message names those that there are.
    pub fn service(&self, name: &str) -> Result<&Service, NoSuchService> {
        self.services.get(name).ok_or_else(|| {
            let known: Vec<_> = self.services.keys().map(Name::as_str).collect();
            NoSuchService {
                name: name.into(),
                known: if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                },
            }
        })
    }
}
