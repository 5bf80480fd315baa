use std::{
    collections::BTreeSet,
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

use lb_common::Protocol;

use crate::refusal::Problem;
use crate::{model::Model, refusal};

/// Each protocol with its tables under `/proc/net` and the state that a socket has there while it
/// takes packets of anybody (`TCP_LISTEN`, `TCP_CLOSE`).
const TABLES: [(Protocol, [&str; 2], &str); 2] = [
    (Protocol::TCP, ["tcp", "tcp6"], "0A"),
    (Protocol::UDP, ["udp", "udp6"], "07"),
];

/// A protocol and an address that somebody listens on.
type Listener = (Protocol, SocketAddr);

/// Warnings about services that something on this host serves too. Where the kernel does not tell
/// what listens, there are none.
pub(super) fn warnings(model: &Model) -> Vec<Problem> {
    match (local_listeners(), local_addresses()) {
        (Ok(listeners), Ok(local)) => warnings_for_listeners(model, &listeners, &local),
        _ => Vec::new(),
    }
}

/// What listens in the network namespace of this thread.
///
/// # Errors
/// When `/proc` can not be read.
fn local_listeners() -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for (protocol, tables, state) in TABLES {
        for table in tables {
            match fs::read_to_string(Path::new("/proc/thread-self/net").join(table)) {
                Ok(table) => listeners.extend(parse(&table, state).map(|at| (protocol, at))),
                // The kernel has no IPv6.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(listeners)
}

/// The addresses of all interfaces in the network namespace of this thread.
///
/// # Errors
/// When the kernel does not tell.
fn local_addresses() -> io::Result<BTreeSet<IpAddr>> {
    let address = |interface: nix::ifaddrs::InterfaceAddress| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
    };
    Ok(nix::ifaddrs::getifaddrs()?.filter_map(address).collect())
}

/// A warning for each service whose clients may mean a listener of the edge itself: they reach the
/// backends instead. A listener on all addresses is meant only by an address in `local`.
pub(super) fn warnings_for_listeners(
    model: &Model,
    listeners: &[Listener],
    local: &BTreeSet<IpAddr>,
) -> Vec<Problem> {
    let services = model.services.values();
    let warning = |service: &crate::model::Service| {
        let address = service.address;
        let (_, listener) = listeners.iter().find(|(protocol, listener)| {
            // One on :: takes IPv4 too, but none on 0.0.0.0 takes IPv6.
            let all = listener.ip().is_unspecified()
                && (listener.is_ipv6() || address.is_ipv4())
                && local.contains(&address);
            *protocol == service.protocol
                && listener.port() == service.port
                && (listener.ip() == address || all)
        })?;
        let warning = refusal::warning::served_here(address, service.port, listener);
        Some(warning.at(format!("service \"{}\"", service.name)))
    };
    services.filter_map(warning).collect()
}

/// The sockets of one state in a table of the format of `/proc/net/tcp` (proc_pid_net(5)).
fn parse(table: &str, wanted: &str) -> impl Iterator<Item = SocketAddr> {
    let listener = move |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let (address, port) = local.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        (state == wanted).then_some(SocketAddr::new(parse_address(address)?, port))
    };
    table.lines().skip(1).filter_map(listener)
}

/// Words of an address in network order, each printed as if it were a number of this machine.
fn parse_address(hex: &str) -> Option<IpAddr> {
    let word = |i: usize| {
        let digits = hex.get(8 * i..8 * (i + 1))?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(octets).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;
    use crate::config;

    const SERVICE: &str = r#"
        edge = { name = "e", interfaces = ["eth0"] }
        backend = [{ name = "a", address = "10.0.0.1" }]
        group = [{ name = "g", member = [{ backend = "a" }], probe = { kind = "none" } }]
        service = [{ name = "web", address = "203.0.113.10", port = 443, protocol = "tcp", group = "g" }]
    "#;

    fn warned(listener: &str, local: &[&str]) -> bool {
        let model = config::parse(SERVICE).unwrap().model;
        let local = local.iter().map(|ip| ip.parse().unwrap()).collect();
        let warnings = warnings_for_listeners(
            &model,
            &[(Protocol::TCP, listener.parse().unwrap())],
            &local,
        );
        !warnings.is_empty()
    }

    #[test]
    fn only_a_listener_that_the_service_s_clients_would_reach_is_warned_of() {
        assert!(warned("203.0.113.10:443", &[]));
        assert!(!warned("203.0.113.10:80", &[]));
        assert!(!warned("203.0.113.11:443", &["203.0.113.10"]));
        assert!(!warned("0.0.0.0:443", &["203.0.113.11"]));
        assert!(warned("0.0.0.0:443", &["203.0.113.11", "203.0.113.10"]));
        assert!(warned("[::]:443", &["203.0.113.10"]));
        assert!(!warned("[::]:80", &["203.0.113.10"]));
    }

    #[test]
    fn a_listener_of_the_other_protocol_or_family_is_no_concern() {
        let udp = SERVICE.replace("\"tcp\"", "\"udp\"");
        let v6 = SERVICE
            .replace("203.0.113.10", "2001:db8::10")
            .replace("10.0.0.1", "2001:db8::1");
        let local = ["203.0.113.10", "2001:db8::10"].map(|it| it.parse().unwrap());
        for (text, protocol, listener, expected) in [
            (SERVICE, Protocol::UDP, "203.0.113.10:443", 0),
            (&udp, Protocol::UDP, "203.0.113.10:443", 1),
            (&udp, Protocol::TCP, "203.0.113.10:443", 0),
            (&v6, Protocol::TCP, "[2001:db8::10]:443", 1),
            (&v6, Protocol::TCP, "[::]:443", 1),
            (&v6, Protocol::TCP, "0.0.0.0:443", 0),
        ] {
            let model = config::parse(text).unwrap().model;
            let listeners = [(protocol, listener.parse().unwrap())];
            let warnings = warnings_for_listeners(&model, &listeners, &local.into());
            assert_eq!(warnings.len(), expected, "{protocol} {listener}");
        }
    }

    #[test]
    fn the_warning_names_the_service_and_the_listener() {
        let model = config::parse(SERVICE).unwrap().model;
        let listener = (Protocol::TCP, "203.0.113.10:443".parse().unwrap());
        let warnings = warnings_for_listeners(&model, &[listener], &BTreeSet::new());
        assert_eq!(
            warnings[0].to_string(),
            "service \"web\": 203.0.113.10 port 443 is also served on this host, by a listener on \
             203.0.113.10:443; stop that listener or use another port: its clients reach the \
             backends now"
        );
    }

    #[test]
    fn listeners_of_this_host_are_found() {
        for address in ["127.0.0.1:0", "[::ffff:127.0.0.1]:0", "0.0.0.0:0"] {
            // A host without IPv6 has none of the second.
            let Ok(socket) = TcpListener::bind(address) else {
                continue;
            };
            let bound = socket.local_addr().unwrap();
            let expected = SocketAddr::new(bound.ip().to_canonical(), bound.port());
            let listeners = local_listeners().unwrap();
            assert!(listeners.contains(&(Protocol::TCP, expected)), "{expected}");
        }
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let expected = (Protocol::UDP, socket.local_addr().unwrap());
        assert!(local_listeners().unwrap().contains(&expected));
        assert!(
            local_addresses()
                .unwrap()
                .contains(&Ipv4Addr::LOCALHOST.into())
        );
    }

    #[test]
    fn a_connection_or_a_damaged_line_is_no_listener() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000\n\
             1: 0100007F:1F91 0100007F:0050 01 00000000\n\
             2: 0100007F1F90 00000000:0000 0A\n\
             3: 0100:1F90 00000000:0000 0A\n\
             4: 0100007F:1F900 00000000:0000 0A\n\
             5: ä100007:1F90 00000000:0000 0A\n\
             6:\n\n";
        let expected = SocketAddr::from((Ipv4Addr::from(0x0100_007f_u32.to_ne_bytes()), 0x1f90));
        assert_eq!(parse(table, "0A").collect::<Vec<_>>(), [expected]);
        assert_eq!(parse("", "0A").count(), 0);
    }
}
