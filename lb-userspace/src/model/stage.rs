use std::time::Duration;

use super::Percent;

/// One step of a decision (semantics.md 4.2): it narrows the candidates down, shares traffic between
/// them, or says that there is no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// Keep healthy members (S5); when none is, the all-down rule.
    Available {
        /// What happens when no member is healthy, or too little weight.
        all_down: AllDown,
        /// The part of the members' weight that must be healthy (D95, D103).
        min_healthy_weight: Option<Percent>,
    },
    /// Keep the member that the client's address is mapped to (S93-S97).
    Subnet {
        /// What happens when it is mapped to none.
        on_no_match: NoSubnet,
        /// What happens when that one is not healthy.
        on_unhealthy: UnhealthySubnet,
    },
    /// Keep the member that the client's region is mapped to, or the next coarser one (S77-S88).
    Geo {
        /// What happens when no region is mapped.
        on_no_match: NoRegion,
        /// What happens when the member is not healthy.
        on_unhealthy: UnhealthyRegion,
        /// What happens when the member is stopped.
        on_stopped: StoppedRegion,
    },
    /// Keep the members that fit a rule's preferred locations best (S100-S107).
    Prefer,
    /// Keep the members that are nearest to the client's location (R8).
    Proximity {
        /// What happens when none has anything in common with it.
        on_no_match: NoProximity,
    },
    /// Keep the lowest priority value (S6).
    Priority,
    /// Keep members whose latency is at most the window above the lowest, edge inclusive (S7).
    Latency {
        /// Whose latency.
        source: LatencySource,
        /// 0 keeps only the fastest (S12).
        window: Duration,
    },
    /// Keep so many for each client, chosen by a hash of the client and the member (R12).
    Subset {
        /// How many, at least 1.
        take: u16,
    },
    /// Share traffic (S8).
    Weight {
        /// Whether all get equal parts whatever their weights.
        equal: bool,
        /// What is spread.
        spread: Spread,
    },
}

impl Stage {
    /// Its spelling.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Available { .. } => "available",
            Self::Geo { .. } => "geo",
            Self::Latency { .. } => "latency",
            Self::Prefer => "prefer",
            Self::Priority => "priority",
            Self::Proximity { .. } => "proximity",
            Self::Subnet { .. } => "subnet",
            Self::Subset { .. } => "subset",
            Self::Weight { .. } => "weight",
        }
    }
}

/// What happens when no member is healthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AllDown {
    /// The stages go on as if all were healthy (D37).
    AsIfHealthy,
    /// The backup group decides (D82).
    Backup,
    /// There is no answer (D81).
    NoAnswer,
    /// Equal parts for all enabled members, whatever their priority, latency and weight (S40, R6).
    RoundRobin,
}

/// What happens to clients whose address is mapped to no member.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoSubnet {
    /// All members go on (D51).
    Continue,
    /// The members without addresses go on; without any, there is no answer (S96, S97).
    Fallback,
    /// There is no answer.
    NoAnswer,
}

/// What happens to clients whose member is not healthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnhealthySubnet {
    /// All members go on (D51).
    Continue,
    /// The members without addresses go on; without any, there is no answer (R7).
    Fallback,
    /// There is no answer (D49).
    NoAnswer,
    /// It is used (D51).
    Serve,
}

/// What happens to clients of which no region is mapped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoRegion {
    /// All members go on.
    Continue,
    /// There is no answer (S86).
    NoAnswer,
}

/// What happens to clients whose region's member is not healthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnhealthyRegion {
    /// The next coarser region is looked for.
    Climb,
    /// There is no answer.
    NoAnswer,
    /// It is used (S83, D45).
    Serve,
}

/// What happens to clients whose region's member is stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoppedRegion {
    /// The next coarser region is looked for.
    Climb,
    /// There is no answer (S84).
    NoAnswer,
}

/// What happens to clients that no member has a qualifier in common with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoProximity {
    /// All members go on (D76).
    Continue,
    /// There is no answer.
    NoAnswer,
}

/// Whose latency a stage looks at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LatencySource {
    /// What the table of the client's prefix says of the member's region (S66-S72).
    Client,
    /// What this edge's probes take (S7, S11).
    Probe,
}

/// What a stage `weight` spreads.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Spread {
    /// Clients: all flows of one go the same way (S74, R5).
    Client,
    /// Flows (R11).
    Flow,
}
