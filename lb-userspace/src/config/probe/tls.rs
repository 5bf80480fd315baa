//! The keys that `https` has beyond those of `http`.

use std::net::IpAddr;

use rustls::pki_types::ServerName;
use toml::Value;

use super::super::{
    authorities::Store,
    leaf::{self, shown},
    raw::Table,
    report::Wrong,
};
use crate::{model::Trust, refusal};

/// The keys that are read here.
pub(super) const KEYS: [&str; 3] = ["sni", "ca_file", "verify"];

/// The name that the certificate must be for. By default that of the host, which is none where it has a
/// mistake.
pub(super) fn server_name(probe: &mut Table<'_>, host: Option<&str>) -> Option<String> {
    if probe.has("sni") {
        return probe.optional("sni", name);
    }
    let name = without_port(host?);
    if is_name(name) {
        return Some(name.to_owned());
    }
    probe.wrong("sni", refusal::probe::no_server_name(shown(name)));
    None
}

/// Whose certificates are good. Who names authorities wants them asked, whatever the default is.
pub(super) fn trust(probe: &mut Table<'_>, store: &Store<'_>, verify: bool) -> Option<Trust> {
    let given = probe.has("ca_file");
    let verify = probe.or("verify", verify || given, leaf::truth);
    if !verify {
        if given {
            let _ = probe.optional("ca_file", leaf::path);
            probe.wrong("ca_file", refusal::probe::unasked_authorities());
        }
        return Some(Trust::Anyone);
    }
    let authorities = if given {
        let read = |value: &Value| store.file(&leaf::path(value)?);
        probe.optional("ca_file", read)
    } else {
        let of_this_host = store.of_this_host();
        of_this_host
            .map_err(|wrong| probe.wrong("ca_file", wrong))
            .ok()
    };
    authorities.map(Trust::Authorities)
}

fn name(value: &Value) -> Result<String, Wrong> {
    const WANTED: &str = "a DNS name like \"www.example.com\", or an address";
    let text = leaf::text(value, WANTED)?;
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(refusal::probe::bad_server_name(shown(text), WANTED))
}

fn is_name(text: &str) -> bool {
    ServerName::try_from(text).is_ok()
}

/// A host less its port, and less the brackets of an address.
fn without_port(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match host.rsplit_once(':') {
        Some((name, _)) if host.parse::<IpAddr>().is_err() => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_loses_its_port() {
        for (host, name) in [
            ("a.example", "a.example"),
            ("a.example:8443", "a.example"),
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:443", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }
}
