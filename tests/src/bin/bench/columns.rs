//! What is measured.

use std::net::Ipv4Addr;

use lb_common::Target;
use lb_tests::datapath::{
    edge::{self, XDP_PASS, XDP_TX},
    packet::{ACK, Packet, SERVICE, data, syn, syn_v6},
};

use crate::rig::{FLOW_ENTRIES, MANY_FLOW_ENTRIES};

/// New flows in all rounds together: a load of 0.2 for the product, and no eviction for the
/// reference.
const NEW_FLOWS: u32 = 800_000;

/// One kind of traffic.
pub(crate) struct Column {
    /// Its name in the report.
    pub(crate) name: &'static str,
    /// A packet to the service, with which a flow begins.
    pub(crate) first: Packet,
    /// The packet that is measured; the generator changes its client.
    pub(crate) packet: Packet,
    /// How a target is reached.
    pub(crate) through: fn(Target) -> Target,
    /// Clients that take turns, each with one flow.
    pub(crate) clients: u32,
    /// Entries of the product's flow table.
    pub(crate) flow_entries: u32,
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

/// Columns of established flows: name, first packet, how a target is reached, number of flows. In all tunnels
/// the reference puts one header of the packet's own family around it.
type Established = (&'static str, fn() -> Packet, fn(Target) -> Target, u32);

const ESTABLISHED: [Established; 21] = [
    ("ipip-v4-1", syn, edge::through_v4, 1),
    ("ipip-v4-10000", syn, edge::through_v4, 10_000),
    ("ipip-v4-900000", syn, edge::through_v4, 900_000),
    ("l2-dsr-v4-1", syn, direct, 1),
    ("l2-dsr-v4-10000", syn, direct, 10_000),
    ("l2-dsr-v4-900000", syn, direct, 900_000),
    ("ipip-v6-1", syn_v6, edge::through_v6, 1),
    ("ipip-v6-10000", syn_v6, edge::through_v6, 10_000),
    ("4in6-1", syn, edge::through_v6, 1),
    ("4in6-10000", syn, edge::through_v6, 10_000),
    ("6in4-1", syn_v6, edge::through_v4, 1),
    ("6in4-10000", syn_v6, edge::through_v4, 10_000),
    ("gue-v4-1", syn, edge::gue_v4, 1),
    ("gue-v4-10000", syn, edge::gue_v4, 10_000),
    ("gue-v6-1", syn_v6, edge::gue_v6, 1),
    ("gue-v6-10000", syn_v6, edge::gue_v6, 10_000),
    ("l2-dsr-v6-1", syn_v6, direct, 1),
    ("l2-dsr-v6-10000", syn_v6, direct, 10_000),
    ("full-nat-v4-1", syn, edge::translated_v4, 1),
    ("full-nat-v4-10000", syn, edge::translated_v4, 10_000),
    ("full-nat-v6-1", syn_v6, edge::translated_v6, 1),
];

fn direct(target: Target) -> Target {
    target
}

/// All columns, with one `share`th of the packets of a full run.
pub(crate) fn columns(rounds: u32, share: u32) -> Vec<Column> {
    let established = ESTABLISHED.map(|(name, first, through, clients)| Column {
        name,
        first: first(),
        packet: first().flags(ACK),
        through,
        clients,
        flow_entries: if clients > FLOW_ENTRIES / 4 {
            MANY_FLOW_ENTRIES
        } else {
            FLOW_ENTRIES
        },
        packets: 300_000 / share,
        before: Before::Established,
        action: XDP_TX,
    });
    let new = |name, before| Column {
        name,
        first: syn(),
        packet: syn(),
        through: direct,
        clients: u32::MAX,
        flow_entries: MANY_FLOW_ENTRIES,
        packets: (NEW_FLOWS / rounds / share).max(1),
        before,
        action: XDP_TX,
    };
    let not_ours = |name, packet| Column {
        name,
        first: syn(),
        packet,
        through: direct,
        clients: 10_000,
        flow_entries: FLOW_ENTRIES,
        packets: 300_000 / share,
        before: Before::Nothing,
        action: XDP_PASS,
    };
    let other_address = Ipv4Addr::new(203, 0, 113, 11).into();
    let others = [
        new("new-flows", Before::Nothing),
        new("new-flows-full-table", Before::Full),
        not_ours("not-ours-port", data().to((SERVICE.0, 81))),
        not_ours("not-ours-address", data().to((other_address, SERVICE.1))),
        not_ours("not-ours-arp", data().ether_type(Some(0x0806))),
    ];
    established.into_iter().chain(others).collect()
}
