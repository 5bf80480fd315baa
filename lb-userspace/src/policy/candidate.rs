//! Members that are in the running.

use std::{borrow::Cow, time::Duration};

use super::{Client, MemberIndex, Scene, nested};
use crate::model::{Admin, Health, Location, Member, MemberState, Name, Ramp, Who};

/// A member that is still in the running.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) index: MemberIndex,
    pub(super) member: &'a Member,
    pub(super) admin: Admin,
    pub(super) unreachable: Option<&'a str>,
    pub(super) standing: Standing,
    /// What stands behind `standing`, for people.
    pub(super) why: Cow<'a, str>,
    /// How much of its weight counts.
    pub(super) ramp: Ramp,
    /// By this edge's probes.
    pub(super) probed: Option<Duration>,
    /// By the table of the client's prefix.
    pub(super) measured: Option<Duration>,
    pub(super) location: Option<&'a Location>,
    /// Whether the client can be sent to it, as far as its address family goes.
    pub(super) suits: bool,
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

    fn of(state: &MemberState) -> Self {
        match state.health {
            Health::Up => Self::Up,
            Health::Checking if state.is_available() => Self::Unchecked,
            Health::Checking => Self::Checking,
            Health::Down => Self::Down,
        }
    }
}

/// Every member of a group.
pub(super) fn all<'a>(scene: &Scene<'a>, group: &Name, client: &Client) -> Vec<Candidate<'a>> {
    let (group, states) = scene.group(group);
    debug_assert_eq!(group.members.len(), states.len());
    let members = group.members.iter().zip(states).enumerate();
    members
        .map(|(index, (member, state))| {
            let mut candidate = Candidate {
                index,
                member,
                admin: state.admin,
                unreachable: None,
                standing: Standing::Up,
                why: Cow::Borrowed(""),
                ramp: state.ramp,
                probed: None,
                measured: measured(scene, member, client),
                location: scene.location(member),
                suits: true,
            };
            match &member.who {
                Who::Backend(name) => {
                    candidate.suits = client.reaches(scene.backends[name].address);
                    candidate.take_health(state);
                }
                Who::Group(name) => {
                    let health = nested::health(scene, name, member.min_healthy, client);
                    candidate.standing = health.standing;
                    candidate.why = Cow::Owned(health.why);
                    candidate.probed = health.latency;
                    candidate.suits = health.suits;
                }
            }
            if member.stopped {
                candidate.standing = Standing::Stopped;
                candidate.why = Cow::Borrowed("stopped in the configuration");
            }
            candidate
        })
        .collect()
}

impl<'a> Candidate<'a> {
    fn take_health(&mut self, state: &'a MemberState) {
        self.unreachable = state.unreachable.as_deref();
        self.probed = state.latency;
        if self.member.always_serve {
            self.why = Cow::Borrowed("always serves");
        } else {
            self.standing = Standing::of(state);
            self.why = Cow::Borrowed(&state.why);
        }
    }

    /// Why it is not available, for people; none if it is.
    pub(super) fn unhealthy(&self) -> Option<String> {
        let standing = match self.standing {
            Standing::Unchecked | Standing::Up => return None,
            Standing::Checking => "no verdict yet",
            Standing::Down => "not healthy",
            Standing::Stopped => "stopped",
        };
        Some(match &*self.why {
            "" => standing.to_owned(),
            why => format!("{standing}: {why}"),
        })
    }
}

fn measured(scene: &Scene<'_>, member: &Member, client: &Client) -> Option<Duration> {
    let region = scene.region(member)?;
    client.latencies.as_ref()?.get(region).copied()
}
