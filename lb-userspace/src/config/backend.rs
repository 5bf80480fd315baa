use super::{leaf, raw::Table};
use crate::model::{Backend, Forward};

/// Reads a `[[backend]]`.
pub(super) fn read(backend: &mut Table<'_>) -> Option<Backend> {
    let name = backend.required("name", "\"a\"", leaf::name);
    let address = backend.required("address", "\"10.0.1.11\"", leaf::address);
    let modes = [Forward::L2Dsr].map(|mode| (mode.as_str(), mode));
    let forward = backend.or("forward", Forward::L2Dsr, leaf::one_of(&modes));
    Some(Backend {
        name: name?,
        address: address?,
        forward,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::tests::expect;

    #[test]
    fn bad_addresses() {
        expect(
            "address = \"10.0.0.1\"",
            &[
                (
                    "",
                    &["backend[0].address: is missing; add `address = \"10.0.1.11\"`"],
                ),
                (
                    "address = \"web.example\"",
                    &[
                        "backend[0].address: \"web.example\" is no IP address; use an IPv4 address like \"192.0.2.1\"",
                    ],
                ),
                (
                    "address = \"10.0.0.1/32\"",
                    &[
                        "backend[0].address: \"10.0.0.1/32\" is no IP address; use an IPv4 address like \"192.0.2.1\"",
                    ],
                ),
                (
                    "address = \"2001:db8::1\"",
                    &[
                        "backend[0].address: IPv6 is not there yet; use an IPv4 address like \"192.0.2.1\"",
                    ],
                ),
                (
                    "address = \"0.0.0.0\"",
                    &[
                        "backend[0].address: 0.0.0.0 is the unspecified address; use the address of one host",
                    ],
                ),
                (
                    "address = \"224.0.0.1\"",
                    &[
                        "backend[0].address: 224.0.0.1 is a multicast address; use the address of one host",
                    ],
                ),
                (
                    "address = \"255.255.255.255\"",
                    &[
                        "backend[0].address: 255.255.255.255 is the broadcast address; use the address of one host",
                    ],
                ),
                (
                    "address = \"127.0.0.1\"",
                    &[
                        "backend[0].address: 127.0.0.1 is a loopback address; use the address of one host",
                    ],
                ),
                (
                    "address = \"203.0.113.10\"",
                    &[
                        "backend[0].address: 203.0.113.10 is the address of the service \"s\"; use the server's own address",
                    ],
                ),
                (
                    "address = 1",
                    &[
                        "backend[0].address: 1 is an integer; use an IPv4 address like \"192.0.2.1\"",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn bad_forwarding_modes() {
        expect(
            "address = \"10.0.0.1\"",
            &[
                (
                    "address = \"10.0.0.1\"\nforward = \"ipip\"",
                    &["backend[0].forward: \"ipip\" is unknown; use \"l2-dsr\""],
                ),
                (
                    "address = \"10.0.0.1\"\nlocation = \"EU\"",
                    &["backend[0].location: unknown key; known here: name, address, forward"],
                ),
            ],
        );
    }
}
