use std::{fmt, ops::RangeInclusive, time::Duration};

use lb_common::Answer;

use super::{Affinity, Clients, HealthRule, Location, Name, OnDown, Probe, Region, Share, Stage};
use crate::whereabouts::LatencyRegion;

/// Members that can stand in for each other, and how to choose between them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Group {
    /// What it is called.
    pub name: Name,
    /// Whether it may be used; one that may not counts as stopped in the groups that it is a member of
    /// (D58).
    pub enabled: bool,
    /// The preset that its stages come from.
    pub policy: Policy,
    /// The stages that narrow the members down, in order.
    pub stages: Vec<Stage>,
    /// What becomes of new flows that no member may get (R1).
    pub no_answer: NoAnswer,
    /// The group that takes over by [`NoAnswer::Backup`] or [`AllDown::Backup`](super::AllDown::Backup);
    /// there is one if any of them is used.
    pub backup: Option<Name>,
    /// Whether clients stay with their backends where a service names this group; in other groups it
    /// does not count.
    pub affinity: Option<Affinity>,
    /// What becomes of running flows of backends that are down, where a service names this group; in
    /// other groups it does not count.
    pub on_down: OnDown,
    /// The members, each backend and each group at most once.
    pub members: Vec<Member>,
    /// How its backends are probed; none means that they always count as healthy.
    pub probe: Option<Probe>,
    /// How probe results become health.
    pub health: HealthRule,
    /// How long a member takes to its whole share when it comes back, or is new; 0 is at once (D7).
    pub slow_start: Duration,
}

/// A named list of stages, with the limits of the system that it follows (semantics.md 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// NetScaler's round-trip times.
    DynamicRtt,
    /// Azure Front Door.
    FrontDoor,
    /// Traffic Manager's geographic method.
    Geographic,
    /// Traffic Manager's multivalue method.
    Multivalue,
    /// Traffic Manager's performance method.
    Performance,
    /// Traffic Manager's priority method.
    Priority,
    /// The stages that the configuration lists.
    Stages,
    /// NetScaler's static proximity, with preferred locations.
    StaticProximity,
    /// Traffic Manager's subnet method.
    Subnet,
    /// Traffic Manager's weighted method.
    Weighted,
}

impl Policy {
    /// All presets.
    pub const PRESETS: [Self; 9] = [
        Self::DynamicRtt,
        Self::FrontDoor,
        Self::Geographic,
        Self::Multivalue,
        Self::Performance,
        Self::Priority,
        Self::StaticProximity,
        Self::Subnet,
        Self::Weighted,
    ];

    /// The weights that members may have: that of Front Door and Traffic Manager is 1 to 1000 (S16,
    /// S60), that of NetScaler 1 to 100 (D94). A weight of 0 is for explicit stages.
    pub fn weights(self) -> RangeInclusive<i64> {
        match self {
            Self::Stages => Weight::MIN..=Weight::MAX,
            Self::StaticProximity | Self::DynamicRtt => 1..=100,
            _ => 1..=Weight::MAX,
        }
    }

    /// Its spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DynamicRtt => "dynamic-rtt",
            Self::FrontDoor => "front-door",
            Self::Geographic => "geographic",
            Self::Multivalue => "multivalue",
            Self::Performance => "performance",
            Self::Priority => "priority",
            Self::Stages => "stages",
            Self::StaticProximity => "static-proximity",
            Self::Subnet => "subnet",
            Self::Weighted => "weighted",
        }
    }
}

/// What becomes of new flows that no member may get.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum NoAnswer {
    /// The backup group decides.
    Backup,
    /// They are dropped.
    Drop,
    /// They are left to the host.
    Pass,
    /// Their senders are told.
    Reject,
}

impl NoAnswer {
    /// Its spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Drop => "drop",
            Self::Pass => "pass",
            Self::Reject => "reject",
        }
    }
}

impl From<NoAnswer> for Answer {
    fn from(answer: NoAnswer) -> Self {
        match answer {
            NoAnswer::Drop => Self::DROP,
            NoAnswer::Pass => Self::PASS,
            // The backup group has answered itself.
            NoAnswer::Reject | NoAnswer::Backup => Self::REJECT,
        }
    }
}

/// A backend or a group in a group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Member {
    /// Who it is.
    pub who: Who,
    /// Whether the configuration lets it take part.
    pub enabled: bool,
    /// Whether it is stopped: it takes part in the matching of regions, and never gets traffic (R14).
    pub stopped: bool,
    /// Whether it counts as healthy whatever the probes say (D39).
    pub always_serve: bool,
    /// Lower is preferred.
    pub priority: Priority,
    /// Its part of the traffic, relative to the others'.
    pub weight: Weight,
    /// The clients that a stage `subnet` sends to it; none makes it the fallback (S96).
    pub clients: Vec<Clients>,
    /// The regions that a stage `geo` sends to it.
    pub geo: Vec<Region>,
    /// Where it is, if it is a group: backends have locations of their own.
    pub location: Option<Location>,
    /// The region of latency tables that it stands in, if it is a group (S73).
    pub region: Option<LatencyRegion>,
    /// How many of its members must be healthy, if it is a group, for it to count as healthy (D57, D60).
    pub min_healthy: MinHealthy,
}

/// Who a member is.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Who {
    /// A backend.
    Backend(Name),
    /// A group.
    Group(Name),
}

impl Who {
    /// The name of either.
    pub fn name(&self) -> &Name {
        match self {
            Self::Backend(name) | Self::Group(name) => name,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

/// How many members of a nested group must be healthy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MinHealthy {
    /// Of all.
    pub all: u32,
    /// Of the backends that can serve clients of IPv4.
    pub v4: u32,
    /// Of the backends that can serve clients of IPv6.
    pub v6: u32,
}

impl Default for MinHealthy {
    /// One, of whichever family.
    fn default() -> Self {
        Self {
            all: 1,
            v4: 0,
            v6: 0,
        }
    }
}

impl Member {
    /// A member with the defaults.
    pub fn new(who: Who) -> Self {
        Self {
            who,
            enabled: true,
            stopped: false,
            always_serve: false,
            priority: Priority::default(),
            weight: Weight::ONE,
            clients: Vec::new(),
            geo: Vec::new(),
            location: None,
            region: None,
            min_healthy: MinHealthy::default(),
        }
    }

    /// The name of the backend or group.
    pub fn name(&self) -> &Name {
        self.who.name()
    }

    /// The backend, if it is one.
    pub fn backend(&self) -> Option<&Name> {
        match &self.who {
            Who::Backend(name) => Some(name),
            Who::Group(_) => None,
        }
    }

    /// The group, if it is one.
    pub fn group(&self) -> Option<&Name> {
        match &self.who {
            Who::Backend(_) => None,
            Who::Group(name) => Some(name),
        }
    }
}

impl Group {
    /// The members that are backends, with their places and names.
    pub fn backends(&self) -> impl Iterator<Item = (usize, &Member, &Name)> {
        let members = self.members.iter().enumerate();
        members.filter_map(|(index, member)| Some((index, member, member.backend()?)))
    }

    /// The groups that it may hand flows to: members and backup.
    pub fn groups(&self) -> impl Iterator<Item = &Name> {
        self.members
            .iter()
            .filter_map(Member::group)
            .chain(&self.backup)
    }
}

/// Rank of a member, 1 to 1000.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Priority(u16);

impl Priority {
    /// Lowest value (S15, S57).
    pub const MIN: i64 = 1;
    /// Highest value (S57).
    pub const MAX: i64 = 1000;

    /// `value`, if it is in range.
    pub fn new(value: i64) -> Option<Self> {
        let value = u16::try_from(value).ok()?;
        (1..=1000).contains(&value).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> u16 {
        self.0
    }
}

impl Default for Priority {
    /// 1 (S13).
    fn default() -> Self {
        Self(1)
    }
}

/// Relative part of the traffic, 0 to 1000; 0 is none.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Weight(u16);

impl Weight {
    /// Lowest value.
    pub const MIN: i64 = 0;
    /// Highest value (S16, S60).
    pub const MAX: i64 = 1000;
    /// The default of all but Front Door (S61, D94).
    pub const ONE: Self = Self(1);
    /// The default of Front Door (S16).
    pub const FRONT_DOOR: Self = Self(50);

    /// `value`, if it is in range.
    pub fn new(value: i64) -> Option<Self> {
        let value = u16::try_from(value).ok()?;
        (value <= 1000).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> u16 {
        self.0
    }
}

/// A part of a whole in per cent, 1 to 100.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Percent(u8);

impl Percent {
    /// `value` per cent, if it is in range.
    pub fn new(value: i64) -> Option<Self> {
        let value = u8::try_from(value).ok()?;
        (1..=100).contains(&value).then_some(Self(value))
    }

    /// The number.
    pub fn value(self) -> u8 {
        self.0
    }

    /// The same as a fraction.
    pub fn share(self) -> Share {
        Share::new(self.0.into(), 100.into())
    }
}
