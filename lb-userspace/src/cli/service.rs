//! How commands that read the kernel's tables show a service, and are asked for one.

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, SocketAddr},
};

use lb_common::ServiceKey;
use serde::Serialize;

use super::names::Names;
use crate::{
    model::{Name, family},
    refusal::{Refusal, operator},
};

/// A published service.
#[derive(Debug, Serialize)]
pub(super) struct Service {
    name: Option<Name>,
    address: IpAddr,
    protocol: String,
    port: u16,
}

impl Service {
    pub(super) fn of(key: &ServiceKey, names: &Names) -> Self {
        Self {
            name: names.service(key).cloned(),
            address: key.address.into(),
            protocol: key.protocol.to_string(),
            port: u16::from_be_bytes(key.port),
        }
    }

    /// Whether it is asked for by this: its name, ADDRESS:PORT or ADDRESS:PORT/PROTOCOL.
    pub(super) fn is_called(&self, asked: &str) -> bool {
        let (endpoint, protocol) = (self.endpoint(), &self.protocol);
        self.label() == asked || endpoint == asked || format!("{endpoint}/{protocol}") == asked
    }

    /// Whether packets of this client can come to it.
    pub(super) fn is_reached_by(&self, client: IpAddr) -> bool {
        self.address.is_ipv4() == client.is_ipv4()
    }

    /// Refuses a client whose packets can not come to it.
    pub(super) fn check_client(&self, client: IpAddr) -> Result<(), Refusal> {
        if self.is_reached_by(client) {
            return Ok(());
        }
        let (ours, theirs) = (family(client), family(self.address));
        let label = self.label();
        Err(operator::client_of_other_family(
            client,
            ours,
            label,
            theirs,
            self.address,
        ))
    }

    fn endpoint(&self) -> String {
        SocketAddr::new(self.address, self.port).to_string()
    }

    fn label(&self) -> String {
        self.name
            .as_ref()
            .map_or_else(|| self.endpoint(), Name::to_string)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (endpoint, protocol) = (self.endpoint(), &self.protocol);
        match &self.name {
            Some(name) => write!(f, "service {name}, {endpoint} {protocol}"),
            None => write!(f, "service {endpoint} {protocol}"),
        }
    }
}

/// None of all services is called so.
pub(super) fn none_called<'a>(asked: &str, all: impl Iterator<Item = &'a Service>) -> Refusal {
    let known: BTreeSet<_> = all.map(Service::label).collect();
    operator::no_such_service(asked, listed(known))
}

/// `a, b`, of many the first.
pub(super) fn listed(known: BTreeSet<impl fmt::Display>) -> String {
    const MOST: usize = 16;
    let mut texts: Vec<_> = known.iter().take(MOST).map(ToString::to_string).collect();
    match known.len().saturating_sub(MOST) {
        0 if texts.is_empty() => texts.push("none".to_owned()),
        0 => {}
        more => texts.push(format!("and {more} more")),
    }
    texts.join(", ")
}
