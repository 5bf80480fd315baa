use lb_common::Tags;
use toml::Value;

use super::{leaf, raw::Table, report::Wrong, whereabouts};
use crate::{
    model::{Backend, Forward, ProbedAt},
    refusal,
};

/// The port that is registered for GUE (draft-ietf-intarea-gue-09).
const GUE_PORT: u16 = 6080;

/// Reads a `[[backend]]`.
pub(super) fn read(backend: &mut Table<'_>) -> Option<Backend> {
    let name = backend.required("name", "\"a\"", leaf::name);
    let address = backend.required("address", "\"10.0.1.11\"", leaf::address);
    let forward = forward(backend);
    let port = backend.optional("port", leaf::port);
    if port.is_some() && forward != Forward::FullNat {
        backend.wrong("port", refusal::service::port_without_nat(forward.as_str()));
    }
    let vlan = backend.optional("vlan", vlan);
    let location = backend.optional("location", whereabouts::location);
    let region = backend.optional("region", whereabouts::latency_region);
    let probe = backend.table("probe", probed_at).unwrap_or_default();
    Some(Backend {
        name: name?,
        address: address?,
        forward,
        port,
        vlan,
        location,
        region,
        probe,
    })
}

/// How packets reach it.
fn forward(backend: &mut Table<'_>) -> Forward {
    let gue = Forward::Gue { port: GUE_PORT };
    let modes = [Forward::L2Dsr, Forward::Ipip, gue, Forward::FullNat];
    let modes = modes.map(|mode| (mode.as_str(), mode));
    let forward = backend.or("forward", Forward::L2Dsr, leaf::one_of(&modes));
    match backend.optional("gue_port", leaf::port) {
        Some(port) if forward == gue => Forward::Gue { port },
        Some(_) => {
            let wrong = refusal::service::gue_port_without_gue(forward.as_str());
            backend.wrong("gue_port", wrong);
            forward
        }
        None => forward,
    }
}

/// One VLAN, two of which the outer is a provider's, or 0 for none.
fn vlan(value: &Value) -> Result<Tags, Wrong> {
    let bad = || refusal::value::bad_vlan(value);
    let number = |value: &Value| u16::try_from(value.as_integer()?).ok();
    let tag = |ether_type, value| {
        let vlan = number(value).filter(|vlan| (1..=Tags::LAST_VLAN).contains(vlan));
        vlan.map(|vlan| Tags::single(ether_type, vlan))
            .ok_or_else(bad)
    };
    match value.as_array().map(Vec::as_slice) {
        None if number(value) == Some(0) => Ok(Tags::NONE),
        None => tag(Tags::CUSTOMER, value),
        Some([outer, inner]) => {
            let inner = tag(Tags::CUSTOMER, inner)?;
            inner.within(tag(Tags::PROVIDER, outer)?).ok_or_else(bad)
        }
        Some(_) => Err(bad()),
    }
}

fn probed_at(probe: &mut Table<'_>) -> Option<ProbedAt> {
    Some(ProbedAt {
        address: probe.optional("address", leaf::address),
        port: probe.optional("port", leaf::port),
    })
}

#[cfg(test)]
mod tests {
    use crate::{
        config::{
            parse,
            tests::{expect, mistakes, with},
        },
        model::{Forward, ProbedAt},
    };

    const SYNTAX: &str = "use an IP address like \"192.0.2.1\" or \"2001:db8::1\"";
    const GLOBAL: &str = "use a global or unique local address of that host";
    const KIND: &str = "use the address of one host";

    /// Each of these as the address of a backend and of a service: what is wrong, and the mend.
    fn refused(cases: &[(&str, &str, &str)]) {
        for (address, message, mend) in cases {
            for (part, table) in [("10.0.0.1", "backend"), ("203.0.113.10", "service")] {
                let expected = format!("{table}[0].address: {message}; {mend}");
                assert_eq!(mistakes(&with(part, address)), [expected]);
            }
        }
    }

    #[test]
    fn what_is_no_address() {
        for address in [
            "web.example",
            "10.0.0.1:80",
            "10.0.0.0/x",
            "10.0.0/8",
            "010.0.0.1",
            "",
            "[2001:db8::1]:80",
            "[2001:db8::1",
            "2001:db8::1::2",
            "2001:db8::1%",
        ] {
            let message = format!("{address:?} is no IP address");
            refused(&[(address, &message, SYNTAX)]);
        }
        let number = format!("backend[0].address: 1 is an integer; {SYNTAX}");
        assert_eq!(mistakes(&with("\"10.0.0.1\"", "1")), [number]);
    }

    #[test]
    fn addresses_with_something_around_them() {
        let v6 = "use \"2001:db8::1\"";
        refused(&[
            (
                "10.0.0.1/32",
                "\"10.0.0.1/32\" has a prefix length",
                "use \"10.0.0.1\"",
            ),
            (
                "2001:db8::1/64",
                "\"2001:db8::1/64\" has a prefix length",
                v6,
            ),
            ("[2001:db8::1]", "\"[2001:db8::1]\" is in brackets", v6),
            ("2001:db8::1%2", "\"2001:db8::1%2\" names an interface", v6),
            (
                "fe80::1%eth0",
                "\"fe80::1%eth0\" names an interface",
                GLOBAL,
            ),
        ]);
    }

    #[test]
    fn addresses_that_are_not_one_host_s() {
        refused(&[
            ("0.0.0.0", "0.0.0.0 is the unspecified address", KIND),
            ("224.0.0.1", "224.0.0.1 is a multicast address", KIND),
            (
                "255.255.255.255",
                "255.255.255.255 is the broadcast address",
                KIND,
            ),
            ("127.0.0.1", "127.0.0.1 is a loopback address", KIND),
            ("::", ":: is the unspecified address", KIND),
            ("::1", "::1 is a loopback address", KIND),
            ("ff02::1", "ff02::1 is a multicast address", KIND),
            ("FE80::1", "fe80::1 is a link-local address", GLOBAL),
            (
                "::ffff:10.0.0.1",
                "::ffff:10.0.0.1 is an IPv4 address in the form of an IPv6 one",
                "use \"10.0.0.1\"",
            ),
        ]);
    }

    #[test]
    fn a_backend_has_an_address_of_its_own() {
        let missing = "backend[0].address: is missing; add `address = \"10.0.1.11\"`";
        assert_eq!(mistakes(&with("address = \"10.0.0.1\"", "")), [missing]);
        let service = "backend[0].address: 203.0.113.10 is the address of the service \"s\"; \
            use the server's own address";
        assert_eq!(mistakes(&with("10.0.0.1", "203.0.113.10")), [service]);
    }

    #[test]
    fn datagrams_go_to_the_registered_port_or_to_the_one_that_is_named() {
        let forward = |keys: &str| {
            let text = with("\"10.0.0.1\"", &format!("\"10.0.0.1\"\n{keys}"));
            parse(&text).unwrap().model.backends["a"].forward
        };
        let gue = |port| Forward::Gue { port };
        assert_eq!(forward("forward = \"gue\""), gue(6080));
        let named = "forward = \"gue\"\ngue_port = 4789";
        assert_eq!(forward(named), gue(4789));
    }

    #[test]
    fn a_backend_may_be_probed_elsewhere() {
        let at = |keys: &str| {
            with(
                "\"10.0.0.1\"",
                &format!("\"10.0.0.1\"\nprobe = {{ {keys} }}"),
            )
        };
        let probed = |keys: &str| parse(&at(keys)).unwrap().model.backends["a"].probe;
        let elsewhere = probed("address = \"10.9.9.9\", port = 8080");
        assert_eq!(elsewhere.address, Some([10, 9, 9, 9].into()));
        assert_eq!(elsewhere.port, Some(8080));
        assert_eq!(probed(""), ProbedAt::default());
        for (keys, expected) in [
            ("port = 0", "port: 0 is out of range; use 1 to 65535"),
            (
                "address = \"localhost\"",
                "address: \"localhost\" is no IP address; \
                 use an IP address like \"192.0.2.1\" or \"2001:db8::1\"",
            ),
            (
                "path = \"/\"",
                "path: unknown key; known here: address, port",
            ),
        ] {
            assert_eq!(
                mistakes(&at(keys)),
                [format!("backend[0].probe.{expected}")]
            );
        }
    }

    #[test]
    fn a_backend_may_be_in_a_vlan_or_in_one_within_a_provider_s() {
        let at = |vlan: &str| with("\"10.0.0.1\"", &format!("\"10.0.0.1\"\nvlan = {vlan}"));
        let vlans = |vlan: &str| {
            let tags = parse(&at(vlan)).unwrap().model.backends["a"].vlan;
            tags.map(|tags| tags.vlans().collect::<Vec<_>>())
        };
        assert_eq!(vlans("0"), Some(vec![]));
        assert_eq!(vlans("1"), Some(vec![1]));
        assert_eq!(vlans("4094"), Some(vec![4094]));
        assert_eq!(vlans("[100, 200]"), Some(vec![100, 200]));
        for bad in [
            "4095",
            "-1",
            "65536",
            "[100]",
            "[0, 1]",
            "[1, 0]",
            "[1, 4095]",
            "[1, 2, 3]",
            "[]",
            "\"100\"",
            "1.5",
        ] {
            let found = mistakes(&at(bad));
            let expected = format!(
                "backend[0].vlan: {bad} is no VLAN; use 1 to 4094, 0 for frames without a tag, or two \
                 like `[100, 200]`, the outer first"
            );
            assert_eq!(found, [expected]);
        }
    }

    #[test]
    fn bad_forwarding_modes() {
        expect(
            "address = \"10.0.0.1\"",
            &[
                (
                    "address = \"10.0.0.1\"\nforward = \"gre\"",
                    &[
                        "backend[0].forward: \"gre\" is unknown; use \"l2-dsr\" or \"ipip\" or \"gue\" or \"full-nat\"",
                    ],
                ),
                (
                    "address = \"10.0.0.1\"\nplace = \"EU\"",
                    &[
                        "backend[0].place: unknown key; known here: name, address, forward, gue_port, port, vlan, location, region, probe",
                    ],
                ),
            ],
        );
    }
}
