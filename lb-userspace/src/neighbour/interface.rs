use anyhow::{Context as _, bail};

use super::kernel::Kernel;
use crate::model::Mac;

/// An Ethernet interface as it is now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Interface {
    /// The kernel's number for it.
    pub index: u32,
    /// Its address.
    pub mac: Mac,
    /// Largest IP packet that it takes, in bytes.
    pub mtu: u16,
}

impl Interface {
    /// Looks for the interface called `name`.
    pub(super) async fn look_up(kernel: &Kernel, name: &str) -> anyhow::Result<Self> {
        let links = kernel.links(name).await.context("the list of interfaces")?;
        if let Some(interface) = links.edge {
            return Ok(interface);
        }
        let names: Vec<&str> = links.names.values().map(String::as_str).collect();
        if names.contains(&name) {
            bail!("{name} is no Ethernet interface: it has no MAC address");
        }
        bail!(
            "there is no interface {name}; there are: {}",
            names.join(", ")
        );
    }
}
