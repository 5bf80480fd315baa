//! The vocabulary: what a checked configuration says, and what is observed. Everything here is
//! valid by construction.

mod affinity;
mod backend;
mod changes;
mod clients;
mod departure;
mod edge;
mod flow_idle;
mod geography;
mod group;
mod health;
mod health_rule;
mod location;
mod name;
mod on_down;
mod probe;
mod probe_defaults;
mod ramp;
mod service;
mod share;
mod stage;
mod trust;
mod tunnels;

use std::{collections::BTreeMap, sync::Arc};

pub use self::{
    affinity::Affinity,
    backend::{Backend, Destination, Forward, Identity, Mac, ProbedAt, family},
    changes::{changes, needs_restart},
    clients::{Clients, Prefix},
    departure::Departure,
    edge::{Edge, Nat, XdpMode},
    flow_idle::FlowIdle,
    geography::{Region, UnknownRegion},
    group::{Group, Member, MinHealthy, NoAnswer, Percent, Policy, Priority, Weight, Who},
    health::{Admin, Health, MemberState},
    health_rule::{BurstRule, ConsecutiveRule, HealthRule, InvalidRule, LeakyRule, WindowRule},
    location::{Fit, InvalidLocation, Location, LocationPattern, Qualifier},
    name::{InvalidName, Name},
    on_down::{OnDown, TcpOnDown, UdpOnDown},
    probe::{HttpProbe, HttpsProbe, Initial, Method, Probe, ProbeKind, Smoothing, StatusRange},
    probe_defaults::{ProbeDefaults, ProbeLimits, TRAFFIC_MANAGER_FALL, traffic_manager_timeouts},
    ramp::Ramp,
    service::{Match, Route, Rule, Service, When},
    share::Share,
    stage::{
        AllDown, LatencySource, NoProximity, NoRegion, NoSubnet, Spread, Stage, StoppedRegion,
        UnhealthyRegion, UnhealthySubnet,
    },
    trust::{Authorities, Trust},
    tunnels::Tunnels,
};
use crate::whereabouts::Whereabouts;

/// A checked configuration: every name that it uses exists in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Model {
    /// This edge.
    pub edge: Edge,
    /// All backends.
    pub backends: BTreeMap<Name, Backend>,
    /// All groups.
    pub groups: BTreeMap<Name, Group>,
    /// All services.
    pub services: BTreeMap<Name, Service>,
    /// Where clients are.
    pub whereabouts: Arc<Whereabouts>,
}
