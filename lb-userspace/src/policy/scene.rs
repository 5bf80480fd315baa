//! What a decision is made from.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::MemberIndex;
use crate::{
    model::{Backend, Group, Location, LocationPattern, Member, MemberState, Name, Region, Who},
    whereabouts::LatencyRegion,
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
    /// The regions that clients have latencies to, in order.
    pub regions: &'a [LatencyRegion],
}

impl<'a> Scene<'a> {
    /// Where a member is.
    pub(super) fn location(&self, member: &'a Member) -> Option<&'a Location> {
        match &member.who {
            Who::Backend(name) => self.backends[name].location.as_ref(),
            Who::Group(_) => member.location.as_ref(),
        }
    }

    /// The region of latency tables that a member stands in, by its place among those of the scene.
    pub(super) fn region(&self, member: &Member) -> Option<usize> {
        let region = match &member.who {
            Who::Backend(name) => self.backends[name].region.as_ref(),
            Who::Group(_) => member.region.as_ref(),
        };
        self.regions.binary_search(region?).ok()
    }
}

/// What decides of a client: all clients of a class have the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Client {
    /// Whether its packets are of IPv4, so that its backends must take those.
    pub v4: bool,
    /// For each group the member that its address is mapped to.
    pub members: BTreeMap<Name, MemberIndex>,
    /// The finest region that is known of it.
    pub region: Region,
    /// Where it is, if that is known.
    pub location: Option<Location>,
    /// How far each region of the scene is from it, if that is known; nothing at all if none is.
    pub latencies: Arc<[Option<Duration>]>,
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
            latencies: Arc::default(),
            prefer: Vec::new(),
        }
    }
}
