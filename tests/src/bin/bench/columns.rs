//! What is measured.

use std::net::Ipv4Addr;

use lb_tests::datapath::{
    edge::{XDP_PASS, XDP_TX},
    packet::{Packet, SERVICE, data, syn},
};

/// New flows in all rounds together: a load of 0.2 for the product, and no eviction for the
/// reference.
const NEW_FLOWS: u32 = 800_000;

/// One kind of traffic.
pub(crate) struct Column {
    /// Its name in the report.
    pub(crate) name: &'static str,
    /// A packet; the generator changes its client.
    pub(crate) packet: Packet,
    /// Clients that take turns, each with one flow.
    pub(crate) clients: u32,
    /// Packets per round and program.
    pub(crate) packets: u32,
    /// What stands in the flow tables before.
    pub(crate) before: Before,
    /// What every program but the floor returns.
    pub(crate) action: u32,
}

/// What stands in the flow tables when the measurement begins.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Before {
    /// The flows that are measured, established.
    Established,
    /// Other flows, in every place there is.
    Full,
    /// Nothing.
    Nothing,
}

impl Column {
    /// Whether the packets are for a service.
    pub(crate) fn is_ours(&self) -> bool {
        self.action == XDP_TX
    }
}

/// All columns, with one `share`th of the packets of a full run.
pub(crate) fn columns(rounds: u32, share: u32) -> Vec<Column> {
    let established = |name, clients| Column {
        name,
        packet: data(),
        clients,
        packets: 300_000 / share,
        before: Before::Established,
        action: XDP_TX,
    };
    let new = |name, before| Column {
        name,
        packet: syn(),
        clients: u32::MAX,
        packets: (NEW_FLOWS / rounds / share).max(1),
        before,
        action: XDP_TX,
    };
    let not_ours = |name, packet| Column {
        name,
        packet,
        clients: 10_000,
        packets: 300_000 / share,
        before: Before::Nothing,
        action: XDP_PASS,
    };
    let other_address = Ipv4Addr::new(203, 0, 113, 11).into();
    vec![
        established("l2-dsr-v4-1", 1),
        established("l2-dsr-v4-10000", 10_000),
        established("l2-dsr-v4-900000", 900_000),
        new("new-flows", Before::Nothing),
        new("new-flows-full-table", Before::Full),
        not_ours("not-ours-port", data().to((SERVICE.0, 81))),
        not_ours("not-ours-address", data().to((other_address, SERVICE.1))),
        not_ours("not-ours-arp", data().ether_type(Some(0x0806))),
    ]
}
