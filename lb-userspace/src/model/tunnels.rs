use std::net::IpAddr;

use super::Prefix;

/// What is set for all tunnels.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tunnels {
    /// Whether a tunnel counts as a hop: the time to live of what is inside falls by one (RFC 2003, 3.1).
    pub are_hops: bool,
    /// Whether the datagrams of `gue` have a checksum over all that is in them.
    pub have_checksums: bool,
    /// Where outer headers come from, at most one prefix of each family; without one, the address that the
    /// kernel would choose.
    pub sources: Vec<Prefix>,
}

impl Tunnels {
    /// The first address that tunnels to a backend come from, unless the kernel is to choose.
    pub fn source(&self, backend: IpAddr) -> Option<IpAddr> {
        self.prefix(backend.is_ipv4()).map(Prefix::first)
    }

    /// How many more addresses there are than that, for IPv4 and for IPv6; at most 65,535.
    pub fn more_sources(&self) -> [u32; 2] {
        [(true, 32), (false, 128)].map(|(is_v4, width)| {
            let prefix = self.prefix(is_v4);
            prefix.map_or(0, |prefix| (1 << (width - prefix.length())) - 1)
        })
    }

    fn prefix(&self, is_v4: bool) -> Option<Prefix> {
        let mut sources = self.sources.iter().copied();
        sources.find(|it| it.first().is_ipv4() == is_v4)
    }
}
