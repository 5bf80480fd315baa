//! What a decision is made from.

use std::{collections::BTreeMap, sync::Arc};

use super::MemberIndex;
use crate::{
    model::{Backend, Group, Location, LocationPattern, Member, MemberState, Name, Region, Who},
    whereabouts::{LatencyRegion, LatencyRow},
};

/// What is known of groups and their members.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The groups; those that a group names are among them, and none is around itself.
    pub groups: &'a BTreeMap<Name, Group>,
    /// The backends that they name.
    pub backends: &'a BTreeMap<Name, Backend>,
    /// What is known of each group's members, in their order. Of members that are groups only `admin`
    /// counts.
    pub states: &'a BTreeMap<Name, Vec<MemberState>>,
}

impl<'a> Scene<'a> {
    /// Where a member is.
    pub(super) fn location(&self, member: &'a Member) -> Option<&'a Location> {
        match &member.who {
            Who::Backend(name) => self.backends[name].location.as_ref(),
            Who::Group(_) => member.location.as_ref(),
        }
    }

    /// The region of latency tables that a member stands in.
    pub(super) fn region(&self, member: &'a Member) -> Option<&'a LatencyRegion> {
        match &member.who {
            Who::Backend(name) => self.backends[name].region.as_ref(),
            Who::Group(_) => member.region.as_ref(),
        }
    }
}

/// What decides of a client: all clients of a class have the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Client {
    /// Whether its packets, and so its backends, are of IPv4.
    pub v4: bool,
    /// For each group the member that its address is mapped to.
    pub members: BTreeMap<Name, MemberIndex>,
    /// The finest region that is known of it.
    pub region: Region,
    /// Where it is, if that is known.
    pub location: Option<Location>,
    /// How far regions are from it, if that is known.
    pub latencies: Option<Arc<LatencyRow>>,
    /// The preferred locations that a rule of the service gives to it; most often none.
    pub prefer: Vec<LocationPattern>,
}

impl Client {
    /// A client of which nothing is known but its family.
    pub fn unknown(v4: bool) -> Self {
        Self {
            v4,
            members: BTreeMap::new(),
            region: Region::World,
            location: None,
            latencies: None,
            prefer: Vec::new(),
        }
    }
}
