//! The vocabulary: what a checked configuration says, and what is observed. Everything here is
//! valid by construction.

mod backend;
mod changes;
mod clients;
mod edge;
mod geography;
mod group;
mod health;
mod location;
mod name;
mod probe;
mod service;
mod share;
mod trust;

use std::{collections::BTreeMap, sync::Arc};

pub use self::{
    backend::{Backend, Destination, Forward, Identity, Mac, family},
    changes::{changes, needs_restart},
    clients::{Clients, Prefix},
    edge::{Edge, XdpMode},
    geography::{Region, UnknownRegion},
    group::{AllDown, Group, Member, Priority, Stage, Weight},
    health::{Admin, Health, MemberState},
    location::{Fit, InvalidLocation, Location, LocationPattern, Qualifier},
    name::{InvalidName, Name},
    probe::{
        HealthRule, HttpProbe, HttpsProbe, InvalidRule, Method, Probe, ProbeKind, Smoothing,
        StatusRange,
    },
    service::{Route, Rule, Service},
    share::Share,
    trust::{Authorities, Trust},
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
