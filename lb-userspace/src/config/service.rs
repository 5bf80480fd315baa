use lb_common::Protocol;
use toml::Value;

use super::{leaf, names::Names, problem::Wrong, raw::Table};
use crate::{model::Service, refusal};

/// Reads a `[[service]]`.
pub(super) fn read(service: &mut Table<'_>, groups: &Names) -> Option<Service> {
    let name = service.required("name", "\"web\"", leaf::name);
    let address = service.required("address", "\"203.0.113.10\"", leaf::address);
    let protocol = service.required("protocol", "\"tcp\"", protocol);
    let port = service.required("port", "443", leaf::port);
    let group = service.required("group", "\"web\"", |value| groups.known(value));
    Some(Service {
        name: name?,
        address: address?,
        protocol: protocol?,
        port: port?,
        group: group?,
    })
}

fn protocol(value: &Value) -> Result<Protocol, Wrong> {
    if value.as_str() == Some("udp") {
        return Err(refusal::service::no_udp());
    }
    leaf::one_of(&[("tcp", Protocol::TCP)])(value)
}

#[cfg(test)]
mod tests {
    use crate::config::tests::{expect, mistakes, with};

    #[test]
    fn bad_services() {
        expect(
            "port = 80",
            &[
                (
                    "port = 0",
                    &["service[0].port: 0 is out of range; use 1 to 65535"],
                ),
                (
                    "port = 65536",
                    &["service[0].port: 65536 is out of range; use 1 to 65535"],
                ),
                (
                    "port = -1",
                    &["service[0].port: -1 is out of range; use 1 to 65535"],
                ),
            ],
        );
        expect(
            "protocol = \"tcp\"",
            &[
                (
                    "",
                    &["service[0].protocol: is missing; add `protocol = \"tcp\"`"],
                ),
                (
                    "protocol = \"udp\"",
                    &["service[0].protocol: udp is not there yet; use \"tcp\""],
                ),
                (
                    "protocol = \"TCP\"",
                    &["service[0].protocol: \"TCP\" is unknown; use \"tcp\""],
                ),
            ],
        );
        expect(
            "group = \"g\"",
            &[
                (
                    "group = \"backend-servers\"",
                    &["service[0].group: no group is named \"backend-servers\"; known: \"g\""],
                ),
                (
                    "group = 3",
                    &["service[0].group: 3 is an integer; use the name of a group"],
                ),
            ],
        );
    }

    #[test]
    fn the_same_address_protocol_and_port_twice() {
        let again = "group = \"g\"\n[[service]]\nname = \"t\"\naddress = \"203.0.113.10\"\n\
            protocol = \"tcp\"\nport = 80\ngroup = \"g\"";
        let expected = "service[1].port: 203.0.113.10 port 80 tcp is the service \"s\" already; \
            remove one of them, or use another port";
        assert_eq!(mistakes(&with("group = \"g\"", again)), [expected]);
        // Another port is another service, but then the group's probe has no single default.
        let other = mistakes(&with("group = \"g\"", &again.replace("80", "81")));
        let expected = "group[0].probe.port: is missing, and the group's services have several: \
            80, 81; add `port = 80`";
        assert_eq!(other, [expected]);
    }

    #[test]
    fn a_name_twice() {
        let again = "group = \"g\"\n[[service]]\nname = \"s\"\naddress = \"203.0.113.11\"\n\
            protocol = \"tcp\"\nport = 80\ngroup = \"g\"";
        let expected =
            "service[1].name: \"s\" is also the name of service[0]; give each its own name";
        assert_eq!(mistakes(&with("group = \"g\"", again)), [expected]);
    }
}
