use std::net::{Ipv4Addr, Ipv6Addr};

use lb_userspace::model::Mac;

/// A network of hosts around one bridge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Network {
    /// 198.51.100.0/24 and 2001:db8:51::/64: the edges and most others.
    Near,
    /// 192.0.2.0/24 and 2001:db8:192::/64: behind the router.
    Far,
}

impl Network {
    pub(super) fn bridge(self) -> &'static str {
        match self {
            Self::Near => "br0",
            Self::Far => "br1",
        }
    }

    pub(super) fn v4(self, number: u8) -> Ipv4Addr {
        match self {
            Self::Near => Ipv4Addr::new(198, 51, 100, number),
            Self::Far => Ipv4Addr::new(192, 0, 2, number),
        }
    }

    /// The address whose text ends with the number as it is written in decimal.
    pub(super) fn v6(self, number: u8) -> Ipv6Addr {
        let network = match self {
            Self::Near => "2001:db8:51::",
            Self::Far => "2001:db8:192::",
        };
        let text = format!("{network}{number}");
        text.parse().expect("digits are an address's last group")
    }

    /// The MAC address of the host with this number.
    pub(super) fn mac(self, number: u8) -> Mac {
        Mac([2, 0, 0, 0, self as u8, number])
    }
}
