use lb_common::Protocol;
use toml::Value;

use super::{
    leaf,
    problem::Wrong,
    raw::{Names, Table},
};
use crate::model::Service;

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
        return Err(Wrong::new("udp is not there yet", "use \"tcp\""));
    }
    leaf::one_of(&[("tcp", Protocol::TCP)])(value)
}
