use super::kernel::Kernel;
use crate::{
    model::Mac,
    refusal::{
        Refusal,
        host::{no_ethernet, no_interface, no_netlink},
        reason,
    },
};

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
    pub(super) async fn look_up(kernel: &Kernel, name: &str) -> Result<Self, Refusal> {
        let links = kernel.links(name).await;
        let links = links.map_err(|error| no_netlink(reason(&error)))?;
        if let Some(interface) = links.edge {
            return Ok(interface);
        }
        let names: Vec<&str> = links.names.values().map(String::as_str).collect();
        match names.contains(&name) {
            true => Err(no_ethernet(name)),
            false => Err(no_interface(name, names.join(", "))),
        }
    }
}
