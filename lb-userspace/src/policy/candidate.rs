//! Members that are in the running.

use std::{borrow::Cow, fmt, time::Duration};

use super::{Client, MemberIndex};
use crate::model::{Admin, Backend, Health, Location, Member, MemberState, Ramp};

/// A member of a group, as it stands for all clients.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) index: MemberIndex,
    pub(super) member: &'a Member,
    /// It may get new flows, as far as switches, weight and way go.
    pub(super) takes_part: bool,
    pub(super) admin: Admin,
    pub(super) unreachable: Option<&'a str>,
    pub(super) standing: Standing,
    /// What stands behind `standing`, for people.
    pub(super) why: Cow<'a, str>,
    /// How much of its weight counts.
    pub(super) ramp: Ramp,
    /// Its latency by this edge's probes.
    pub(super) probed: Option<Duration>,
    /// The place of its region among those of the scene.
    pub(super) region: Option<usize>,
    pub(super) location: Option<&'a Location>,
    pub(super) families: Families,
}

/// How a member stands with its health.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    /// It may not get traffic under any rule, though it may be the one that a client is mapped to.
    Stopped,
    /// It is not healthy.
    Down,
    /// Nothing is known yet, so it gets no traffic.
    Checking,
    /// Nothing is known yet, and it gets traffic.
    Unchecked,
    /// It is healthy.
    Up,
}

impl Standing {
    /// Whether it may get traffic without any special rule.
    pub(super) fn is_available(self) -> bool {
        matches!(self, Self::Unchecked | Self::Up)
    }

    pub(super) fn of(state: &MemberState) -> Self {
        match state.health {
            Health::Up => Self::Up,
            Health::Checking if state.is_available() => Self::Unchecked,
            Health::Checking => Self::Checking,
            Health::Down => Self::Down,
        }
    }
}

/// The address families of whom a member can serve.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Families {
    pub(super) v4: bool,
    pub(super) v6: bool,
}

impl Families {
    pub(super) fn of(backend: &Backend) -> Self {
        Self {
            v4: backend.takes(true),
            v6: backend.takes(false),
        }
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self {
            v4: self.v4 || other.v4,
            v6: self.v6 || other.v6,
        }
    }

    pub(super) fn suit(self, client: &Client) -> bool {
        if client.v4 { self.v4 } else { self.v6 }
    }
}

impl Candidate<'_> {
    pub(super) fn is_available(&self) -> bool {
        self.standing.is_available()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.standing == Standing::Stopped
    }

    /// Why it is not available, for people.
    pub(super) fn trouble(&self) -> impl fmt::Display {
        let standing = match self.standing {
            Standing::Unchecked | Standing::Up => "available",
            Standing::Checking => "no verdict yet",
            Standing::Down => "not healthy",
            Standing::Stopped => "stopped",
        };
        fmt::from_fn(move |f| match &*self.why {
            "" => f.write_str(standing),
            why => write!(f, "{standing}: {why}"),
        })
    }
}
