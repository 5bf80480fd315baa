//! Ports that this host uses for connections of its own.

use std::{fs, ops::RangeInclusive, path::Path};

use crate::{
    model::{Forward, Model},
    refusal::{self, Problem},
};

/// A warning if translated flows may get ports that the kernel gives to this host's own connections.
/// Where it does not tell which, there is none.
pub fn own_ports(model: &Model) -> Option<Problem> {
    let setting = |name| fs::read_to_string(Path::new("/proc/sys/net/ipv4").join(name)).ok();
    let range = setting("ip_local_port_range")?;
    let reserved = setting("ip_local_reserved_ports")?;
    warning_for(model, &range, &reserved)
}

/// The same for what the kernel says of its ports and of those that it leaves alone.
pub(super) fn warning_for(model: &Model, range: &str, reserved: &str) -> Option<Problem> {
    let nat = &model.edge.nat;
    let shares = |backend: &crate::model::Backend| {
        backend.forward == Forward::FullNat && nat.source(backend.address).is_none()
    };
    if !model.backends.values().any(shares) {
        return None;
    }
    let (first, last) = range.trim().split_once(char::is_whitespace)?;
    let own = first.parse::<u16>().ok()?..=last.trim().parse().ok()?;
    let reserved: Vec<_> = reserved.trim().split(',').filter_map(ports).collect();
    let is_own = |port: &u16| own.contains(port) && !reserved.iter().any(|it| it.contains(port));
    let port = nat.ports.clone().find(is_own)?;
    let (first, last) = (nat.ports.start(), nat.ports.end());
    Some(refusal::warning::own_ports(port, first, last).at("edge.nat_ports"))
}

/// A port, or the first and the last of some, as the kernel writes them.
fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{parse, tests::with};

    fn warned(edge: &str, backend: &str, range: &str, reserved: &str) -> Option<String> {
        let text = with("[edge]", &format!("[edge]\n{edge}"));
        let address = "address = \"10.0.0.1\"";
        let text = text.replace(address, &format!("{address}\n{backend}"));
        let model = parse(&text).unwrap().model;
        warning_for(&model, range, reserved).map(|warning| warning.to_string())
    }

    #[test]
    fn ports_of_this_host_s_own_are_warned_of_unless_they_are_reserved() {
        const NAT: &str = "forward = \"full-nat\"";
        const WIDE: &str = "nat_ports = \"40000-65535\"";
        const LINUX: &str = "32768\t60999\n";
        let expected = "edge.nat_ports: 40000 is a port that this host may use for its own connections; \
             run `sysctl -w net.ipv4.ip_local_reserved_ports=40000-65535`, or set `edge.nat_source`";
        assert_eq!(warned(WIDE, NAT, LINUX, "\n").as_deref(), Some(expected));
        assert_eq!(warned("", NAT, LINUX, "\n"), None, "the default");
        assert_eq!(warned(WIDE, "", LINUX, "\n"), None, "nothing is translated");
        for (reserved, free) in [
            ("40000-60999\n", true),
            ("40000-50000,50001-60999\n", true),
            ("22,39999-65535\n", true),
            ("40000-50000,50002-60999\n", false),
            ("40000\n", false),
        ] {
            assert_eq!(
                warned(WIDE, NAT, LINUX, reserved).is_none(),
                free,
                "{reserved}"
            );
        }
        let other = format!("{WIDE}\nnat_source = [\"2001:db8::7\"]");
        assert!(
            warned(&other, NAT, LINUX, "").is_some(),
            "of the other family"
        );
        let own = format!("{WIDE}\nnat_source = [\"10.0.0.7\"]");
        assert_eq!(warned(&own, NAT, LINUX, ""), None);
    }

    #[test]
    fn what_the_kernel_says_otherwise_is_no_warning() {
        for range in ["", "x y", "1", "1 70000"] {
            assert_eq!(warned("", "forward = \"full-nat\"", range, "\n"), None);
        }
    }
}
