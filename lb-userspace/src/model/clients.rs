use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Addresses of one family that share their first bits; the others are 0 in [`Self::first`] and 1 in
/// [`Self::last`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Prefix {
    network: IpAddr,
    length: u8,
}

impl Prefix {
    /// The prefix of `length` bits that `address` is in; none where the family has fewer bits.
    pub fn around(address: IpAddr, length: u8) -> Option<Self> {
        let host = width(address).checked_sub(length)?;
        let network = from_bits(address, bits(address) & !low(host));
        Some(Self { network, length })
    }

    /// Its lowest address.
    pub fn first(self) -> IpAddr {
        self.network
    }

    /// Its highest address.
    pub fn last(self) -> IpAddr {
        let host = width(self.network) - self.length;
        from_bits(self.network, bits(self.network) | low(host))
    }

    /// How many bits its addresses share.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Whether an address is in it.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.network.is_ipv4()
            && (self.network..=self.last()).contains(&address)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.length)
    }
}

impl serde::Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Clients that a rule speaks of: the addresses from one to another of the same family, both
/// included.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clients {
    first: IpAddr,
    last: IpAddr,
}

impl Clients {
    /// The addresses from `first` to `last`; none of two families, or in the wrong order.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        let fits = first.is_ipv4() == last.is_ipv4() && first <= last;
        fits.then_some(Self { first, last })
    }

    /// Their lowest address.
    pub fn first(self) -> IpAddr {
        self.first
    }

    /// Their highest address.
    pub fn last(self) -> IpAddr {
        self.last
    }

    /// The fewest prefixes that together are these addresses, in ascending order.
    pub fn prefixes(self) -> impl Iterator<Item = Prefix> {
        let last = bits(self.last);
        let mut next = Some(bits(self.first));
        std::iter::from_fn(move || {
            let first = next?;
            let host = longest_host(first, last, width(self.first));
            next = (first | low(host)).checked_add(1).filter(|it| *it <= last);
            Prefix::around(from_bits(self.first, first), width(self.first) - host)
        })
    }

    /// The one of [`Self::prefixes`] that an address is in.
    pub fn prefix_of(self, address: IpAddr) -> Option<Prefix> {
        self.prefixes().find(|prefix| prefix.contains(address))
    }
}

impl From<Prefix> for Clients {
    fn from(prefix: Prefix) -> Self {
        let (first, last) = (prefix.first(), prefix.last());
        Self { first, last }
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut prefixes = self.prefixes();
        match (prefixes.next(), prefixes.next()) {
            (Some(prefix), None) => prefix.fmt(f),
            _ => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// The most bits that a prefix which begins at `first` and ends at `last` at the latest leaves open.
fn longest_host(first: u128, last: u128, width: u8) -> u8 {
    let aligned = first.trailing_zeros().min(width.into()) as u8;
    let fits = |host: &u8| (first | low(*host)) <= last;
    (0..=aligned).rev().find(fits).unwrap_or(0)
}

/// Bits of an address.
fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address of these bits in the family of `like`.
fn from_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from_bits(bits as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
    }
}

/// The lowest `count` bits.
fn low(count: u8) -> u128 {
    1_u128
        .checked_shl(count.into())
        .map_or(u128::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(first: &str, last: &str) -> Clients {
        Clients::new(first.parse().unwrap(), last.parse().unwrap()).unwrap()
    }

    fn cover(first: &str, last: &str) -> Vec<String> {
        clients(first, last)
            .prefixes()
            .map(|it| it.to_string())
            .collect()
    }

    #[test]
    fn t220_a_range_is_its_smallest_cover() {
        let range = clients("1.2.3.4", "5.6.7.8");
        let prefixes: Vec<_> = range.prefixes().collect();
        assert_eq!(prefixes.len(), 28);
        let addresses: u64 = prefixes.iter().map(|it| 1 << (32 - it.length())).sum();
        assert_eq!(addresses, 67_372_037);
        assert_eq!(prefixes[0].to_string(), "1.2.3.4/30");
        assert_eq!(prefixes[27].to_string(), "5.6.7.8/32");
        let follows = |pair: &[Prefix]| bits(pair[0].last()) + 1 == bits(pair[1].first());
        assert!(prefixes.windows(2).all(follows));
    }

    #[test]
    fn covers_reach_both_ends_of_the_address_space() {
        assert_eq!(cover("0.0.0.0", "255.255.255.255"), ["0.0.0.0/0"]);
        assert_eq!(
            cover("255.255.255.254", "255.255.255.255"),
            ["255.255.255.254/31"]
        );
        let all = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
        assert_eq!(cover("::", all), ["::/0"]);
        assert_eq!(cover("::1", "::2"), ["::1/128", "::2/128"]);
        assert_eq!(cover("::1", all).len(), 128);
        assert_eq!(cover(all, all), [format!("{all}/128")]);
    }

    #[test]
    fn clients_are_shown_as_the_prefix_that_they_are() {
        assert_eq!(clients("10.0.0.0", "10.0.0.255").to_string(), "10.0.0.0/24");
        assert_eq!(
            clients("10.0.0.0", "10.0.1.9").to_string(),
            "10.0.0.0-10.0.1.9"
        );
        assert_eq!(clients("::1", "::1").to_string(), "::1/128");
    }

    #[test]
    fn a_prefix_holds_its_ends_and_no_other_family() {
        let prefix = Prefix::around("192.0.2.77".parse().unwrap(), 24).unwrap();
        assert_eq!(prefix.to_string(), "192.0.2.0/24");
        for (address, inside) in [
            ("192.0.2.0", true),
            ("192.0.2.255", true),
            ("192.0.3.0", false),
            ("192.0.1.255", false),
            ("::c000:200", false),
        ] {
            assert_eq!(
                prefix.contains(address.parse().unwrap()),
                inside,
                "{address}"
            );
        }
        assert_eq!(Prefix::around("192.0.2.77".parse().unwrap(), 33), None);
        assert_eq!(
            Clients::new("::1".parse().unwrap(), "::".parse().unwrap()),
            None
        );
        assert_eq!(
            Clients::new("1.1.1.1".parse().unwrap(), "::".parse().unwrap()),
            None
        );
    }
}
