//! The live flows of one client with one service.

use std::{fmt, net::IpAddr};

use lb_common::ServiceKey;
use serde::Serialize;

use super::Target;
use crate::{
    cli::{
        columns::{columns, header},
        names::Names,
        service::{Service, none_called},
    },
    dataplane::{ClientFlow, Kernel, Tables},
    refusal::Refusal,
};

/// What a client has.
#[derive(Serialize)]
pub(super) struct View {
    client: IpAddr,
    /// Two, where a port serves both protocols and none is named.
    services: Vec<Flows>,
}

#[derive(Serialize)]
struct Flows {
    #[serde(flatten)]
    service: Service,
    flows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    client_port: u16,
    #[serde(flatten)]
    target: Target,
    state: &'static str,
    /// Seconds since its last packet.
    idle_s: u64,
}

impl View {
    /// Those to these targets at a tick, of the services that are called so.
    pub(super) fn of(
        client: IpAddr,
        service: &str,
        targets: &[Target],
        (kernel, tables, names): (&Kernel, &Tables, &Names),
        now: u32,
    ) -> Result<Self, Refusal> {
        let client = client.to_canonical();
        let called = called(client, service, tables, names)?.into_iter();
        let services = called.map(|(key, service)| {
            let flows = kernel.client_flows(tables, client.into(), &key, now);
            let row = |flow: &ClientFlow| {
                let target = targets.iter().find(|it| it.id == flow.target)?;
                Some(Row::of(flow, target.clone()))
            };
            Flows {
                service,
                flows: flows.iter().filter_map(row).collect(),
            }
        });
        Ok(Self {
            client,
            services: services.collect(),
        })
    }
}

/// The services that are called so, which the client can reach.
fn called(
    client: IpAddr,
    service: &str,
    tables: &Tables,
    names: &Names,
) -> Result<Vec<(ServiceKey, Service)>, Refusal> {
    let shown = |(key, _)| (key, Service::of(&key, names));
    let (called, others): (Vec<_>, Vec<_>) = tables
        .services()
        .map(shown)
        .partition(|(_, it)| it.is_called(service));
    if called.is_empty() {
        return Err(none_called(service, others.iter().map(|(_, it)| it)));
    }
    called
        .into_iter()
        .map(|(key, service)| service.check_client(client).map(|()| (key, service)))
        .collect()
}

impl Row {
    fn of(flow: &ClientFlow, target: Target) -> Self {
        Self {
            client_port: flow.port,
            target,
            state: flow.state.as_str(),
            idle_s: flow.idle.as_secs(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let [group, backend, address] = self.target.cells();
        let (port, state) = (self.client_port.to_string(), self.state.to_owned());
        let idle = format!("{} s", self.idle_s);
        vec![port, group, backend, address, state, idle]
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, it) in self.services.iter().enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            write!(f, "{gap}client {}, {it}", self.client)?;
        }
        Ok(())
    }
}

impl fmt::Display for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.service)?;
        if self.flows.is_empty() {
            return writeln!(f, "  no flow");
        }
        let mut rows = vec![header(&[
            "PORT", "GROUP", "BACKEND", "ADDRESS", "STATE", "IDLE",
        ])];
        rows.extend(self.flows.iter().map(Row::cells));
        f.write_str(&columns(2, &rows))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lb_common::FlowState;

    use super::{super::fixtures::targets, *};
    use crate::cli::fixtures::{model, tables};

    #[test]
    fn a_service_is_asked_for_by_name_or_address_and_must_be_of_the_client_s_family() {
        let model = model();
        let (tables, names) = (tables(&model, None), Names::of_model(&model));
        let found = |client: &str, service: &str| {
            let found = called(client.parse().unwrap(), service, &tables, &names);
            found.map(|all| all.iter().map(|(_, it)| it.to_string()).collect::<Vec<_>>())
        };
        let web = ["service web, 203.0.113.10:80 tcp"];
        for service in ["web", "203.0.113.10:80", "203.0.113.10:80/tcp"] {
            assert_eq!(found("192.0.2.1", service).unwrap(), web, "{service}");
        }
        let dns = ["service dns, [2001:db8:203::10]:53 udp"];
        assert_eq!(found("2001:db8::1", "[2001:db8:203::10]:53").unwrap(), dns);
        for (client, service, code, mend) in [
            ("192.0.2.1", "none", "no-such-service", "there is dns, web"),
            (
                "192.0.2.1",
                "203.0.113.10:80/udp",
                "no-such-service",
                "there is dns, web",
            ),
            (
                "192.0.2.1",
                "dns",
                "client-of-other-family",
                "name an IPv6 client",
            ),
            (
                "2001:db8::1",
                "web",
                "client-of-other-family",
                "name an IPv4 client",
            ),
        ] {
            let refused = found(client, service).unwrap_err();
            assert_eq!((refused.code.as_ref(), refused.mend.as_str()), (code, mend));
        }
    }

    fn view(flows: &[ClientFlow]) -> View {
        let model = model();
        let client = "192.0.2.1".parse().unwrap();
        let (tables, names) = (tables(&model, None), Names::of_model(&model));
        let mut called = called(client, "web", &tables, &names).unwrap();
        let (_, service) = called.remove(0);
        let row = |it: &ClientFlow| Row::of(it, targets()[usize::from(it.target) - 1].clone());
        let flows = flows.iter().map(row).collect();
        View {
            client,
            services: vec![Flows { service, flows }],
        }
    }

    #[test]
    fn every_flow_has_its_port_target_state_and_age() {
        let flow = |port, target, state, seconds| ClientFlow {
            port,
            target,
            state,
            idle: Duration::from_secs(seconds),
        };
        let view = view(&[
            flow(7, 1, FlowState::ESTABLISHED, 0),
            flow(40_000, 3, FlowState::CLOSING, 12),
        ]);
        let expected = "\
client 192.0.2.1, service web, 203.0.113.10:80 tcp
  PORT   GROUP     BACKEND  ADDRESS   STATE        IDLE
  7      web       b        10.0.0.1  established  0 s
  40000  0000beef  -        10.0.0.3  closing      12 s
";
        assert_eq!(view.to_string(), expected);
        let json = serde_json::to_value(&view).unwrap();
        let second = serde_json::json!({
            "client_port": 40_000, "target": 3, "group": null, "group_id": 0xbeef, "backend": null,
            "address": "10.0.0.3", "state": "closing", "idle_s": 12,
        });
        assert_eq!(json["services"][0]["flows"][1], second);
        assert_eq!(json["services"][0]["name"], "web");
    }

    #[test]
    fn a_client_without_flows_is_no_mistake() {
        let view = view(&[]);
        let expected = "client 192.0.2.1, service web, 203.0.113.10:80 tcp\n  no flow\n";
        assert_eq!(view.to_string(), expected);
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["services"][0]["flows"], serde_json::json!([]));
    }
}
