//! What is measured.

use std::net::Ipv4Addr;

use lb_common::{Exit, TICK_SHIFT, Tags, Target};
use lb_tests::datapath::{
    edge::{self, Through, XDP_PASS, XDP_TX},
    packet::{ACK, Packet, SERVICE, data, syn, syn_v6},
};

use crate::{
    rig::{FLOW_ENTRIES, MANY_FLOW_ENTRIES, Subject},
    stream::Traffic,
};

/// New flows in all rounds together: a load of 0.2 for the product, and no eviction for the
/// reference.
const NEW_FLOWS: u32 = 800_000;

/// New flows per round of a flood: they take longer than a tick, within which the insert limit holds.
const FLOOD: u32 = 1_000_000;

/// Entries that a CPU may write per tick, as the product has it unless it is told otherwise: 500,000 per second.
const INSERT_LIMIT: u32 = ((500_000_u64 << TICK_SHIFT) / 1_000_000_000) as u32;

/// VLAN that packets come in, and another one that they leave in.
const VLAN: u16 = 10;
const OTHER_VLAN: u16 = 200;

/// One kind of traffic, and what it is compared with.
pub(crate) struct Column {
    /// Its name in the report.
    pub(crate) name: String,
    /// The packets that the product gets.
    pub(crate) traffic: Traffic,
    /// What stands beside it.
    pub(crate) baseline: Baseline,
    /// The ratio to the baseline that may not be exceeded.
    pub(crate) goal: Option<f64>,
    /// How the packets come.
    pub(crate) by: By,
    /// How a target is reached.
    pub(crate) through: Through,
    /// Clients that take turns, each with one flow.
    pub(crate) clients: u32,
    /// Entries of the product's flow table.
    pub(crate) flow_entries: u32,
    /// Entries that it may write per tick.
    pub(crate) insert_limit: u32,
    /// Packets per round and program.
    pub(crate) packets: u32,
    /// What stands in the flow tables before.
    pub(crate) before: Before,
    /// What every program but the floor returns.
    pub(crate) action: u32,
}

/// What the product is compared with.
pub(crate) struct Baseline {
    /// What it is in the report.
    pub(crate) name: &'static str,
    pub(crate) subject: Subject,
    pub(crate) traffic: Traffic,
}

/// How packets come to a program.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum By {
    /// By a call, over and over.
    Call,
    /// By a cable, as frames that live.
    Cable,
}

/// What stands in the flow tables when the measurement begins.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Before {
    /// The flows that are measured, established.
    Established,
    /// Other flows: as many new ones were seen as fill every place there is, if they are let.
    Full,
    /// Nothing.
    Nothing,
}

impl Column {
    /// Established flows, beside the reference.
    fn new(name: String, traffic: Traffic, through: Through, clients: u32) -> Self {
        Self {
            goal: Some(goal(&name)),
            name,
            baseline: Baseline {
                name: "reference",
                subject: Subject::Reference,
                traffic: traffic.clone(),
            },
            traffic,
            by: By::Call,
            through,
            clients,
            flow_entries: if clients > FLOW_ENTRIES / 4 {
                MANY_FLOW_ENTRIES
            } else {
                FLOW_ENTRIES
            },
            insert_limit: u32::MAX,
            packets: 300_000,
            before: Before::Established,
            action: XDP_TX,
        }
    }

    /// Whether the packets are for a service.
    pub(crate) fn is_ours(&self) -> bool {
        self.action == XDP_TX
    }
}

/// Established flows: name, first packet, how a target is reached, number of flows. In all tunnels
/// the reference puts one header of the packet's own family around it.
type Established = (&'static str, fn() -> Packet, Through, u32);

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

/// The same of packets that come in a VLAN: and leave untagged, or in another one.
const IN_VLANS: [Established; 8] = [
    ("vlan-off-l2-dsr-v4-1", syn, direct, 1),
    ("vlan-off-l2-dsr-v4-10000", syn, direct, 10_000),
    ("vlan-off-ipip-v4-10000", syn, edge::through_v4, 10_000),
    ("vlan-off-l2-dsr-v6-10000", syn_v6, direct, 10_000),
    ("vlan-other-l2-dsr-v4-1", syn, tagged, 1),
    ("vlan-other-l2-dsr-v4-10000", syn, tagged, 10_000),
    ("vlan-other-ipip-v4-10000", syn, tagged_v4, 10_000),
    ("vlan-other-l2-dsr-v6-10000", syn_v6, tagged, 10_000),
];

/// The same of packets that come by a cable.
const LIVE: [Established; 6] = [
    ("live-ipip-v4-1", syn, edge::through_v4, 1),
    ("live-ipip-v4-10000", syn, edge::through_v4, 10_000),
    ("live-ipip-v4-900000", syn, edge::through_v4, 900_000),
    ("live-l2-dsr-v4-1", syn, direct, 1),
    ("live-l2-dsr-v4-10000", syn, direct, 10_000),
    ("live-l2-dsr-v4-900000", syn, direct, 900_000),
];

fn direct(target: Target) -> Target {
    target
}

fn tagged(target: Target) -> Target {
    let tags = Tags::single(Tags::CUSTOMER, OTHER_VLAN);
    Target {
        forward: target.forward.elsewhere(),
        exit: Exit { tags, ..Exit::SAME },
        ..target
    }
}

fn tagged_v4(target: Target) -> Target {
    tagged(edge::through_v4(target))
}

/// All columns, with one `share`th of the packets of a full run.
pub(crate) fn columns(rounds: u32, share: u32) -> Vec<Column> {
    let mut columns = Vec::new();
    columns.extend(ESTABLISHED.map(over_tcp));
    columns.extend(ESTABLISHED.map(over_udp));
    columns.extend(IN_VLANS.map(in_vlan));
    columns.extend(new_flows(rounds));
    columns.extend(not_ours());
    columns.extend(LIVE.map(|column| Column {
        by: By::Cable,
        ..over_tcp(column)
    }));
    for column in &mut columns {
        column.packets = (column.packets / share).max(1);
    }
    columns
}

/// Connections that have begun.
fn connections(first: Packet) -> Traffic {
    Traffic {
        packet: first.clone().flags(ACK),
        first,
        vlan: None,
    }
}

fn over_tcp((name, first, through, clients): Established) -> Column {
    Column::new(name.to_owned(), connections(first()), through, clients)
}

/// What established flows should cost at most: of most packets much less than the reference's, of others no more.
fn goal(name: &str) -> f64 {
    match name.trim_start_matches("live-") {
        "ipip-v4-1" | "ipip-v4-900000" => 0.55,
        "ipip-v4-10000" => 0.65,
        "l2-dsr-v4-1" => 0.35,
        "l2-dsr-v4-10000" => 0.60,
        "l2-dsr-v4-900000" => 0.50,
        name if name.starts_with("full-nat") => 0.9,
        _ => 1.0,
    }
}

/// Beside what the product does with the same over TCP, since the reference knows nothing else.
fn over_udp((name, first, through, clients): Established) -> Column {
    let datagram = first().udp();
    let traffic = Traffic {
        first: datagram.clone(),
        packet: datagram,
        vlan: None,
    };
    let column = Column::new(format!("{name}-udp"), traffic, through, clients);
    Column {
        baseline: Baseline {
            name: "product, TCP",
            subject: Subject::Product,
            traffic: connections(first()),
        },
        goal: Some(1.05),
        // The flows of both stand in it.
        flow_entries: match column.flow_entries {
            MANY_FLOW_ENTRIES => 2 * MANY_FLOW_ENTRIES,
            few => few,
        },
        ..column
    }
}

/// Beside what the reference does with the same packets without a tag, since it knows none; so there is no goal.
fn in_vlan((name, first, through, clients): Established) -> Column {
    let mut column = Column::new(name.to_owned(), connections(first()), through, clients);
    column.traffic.vlan = Some(VLAN);
    column.baseline.name = "reference, untagged";
    column.goal = None;
    column
}

fn new_flows(rounds: u32) -> [Column; 3] {
    let new = |name: &str| {
        let traffic = Traffic {
            first: syn(),
            packet: syn(),
            vlan: None,
        };
        Column {
            flow_entries: MANY_FLOW_ENTRIES,
            packets: NEW_FLOWS / rounds,
            before: Before::Nothing,
            ..Column::new(name.to_owned(), traffic, direct, u32::MAX)
        }
    };
    [
        new("new-flows"),
        Column {
            before: Before::Full,
            ..new("new-flows-full-table")
        },
        Column {
            goal: Some(0.45),
            insert_limit: INSERT_LIMIT,
            packets: FLOOD,
            before: Before::Full,
            ..new("new-flows-flood")
        },
    ]
}

fn not_ours() -> [Column; 4] {
    let not_ours = |name: &str, packet, vlan| {
        let traffic = Traffic {
            first: syn(),
            packet,
            vlan,
        };
        Column {
            before: Before::Nothing,
            action: XDP_PASS,
            goal: None,
            ..Column::new(name.to_owned(), traffic, direct, 10_000)
        }
    };
    let other_address = Ipv4Addr::new(203, 0, 113, 11).into();
    let other_port = data().to((SERVICE.0, 81));
    [
        not_ours("not-ours-port", other_port.clone(), None),
        not_ours(
            "not-ours-address",
            data().to((other_address, SERVICE.1)),
            None,
        ),
        not_ours("not-ours-arp", data().ether_type(Some(0x0806)), None),
        not_ours("not-ours-vlan", other_port, Some(VLAN)),
    ]
}
