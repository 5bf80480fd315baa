//! A decision held against what the packet program in the kernel does for 1,000 flows. Pure.

mod chance;
mod frame;
mod judge;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use lb_common::{Address, Descriptor, HashKey, Ports, Proof, ServiceKey, Target, Tuple};
use serde::{Deserialize, Serialize};

pub use self::{frame::frame, judge::judge};
use crate::{
    model::{Identity, Name},
    policy::Explanation,
    refusal::{Refusal, kernel},
    table::Ring,
};

/// Flows that the program is asked about.
pub const FLOWS: u16 = 1000;

/// Whether the packet program in the kernel does what was decided.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Judgement {
    /// It does something else.
    Differs {
        /// What it does.
        #[serde(flatten)]
        run: Run,
        /// Where that is not what was decided, at least one.
        differences: Vec<Difference>,
    },
    /// It does.
    Holds(Run),
    /// Nobody knows: the program was not asked, or there is nothing to hold its answers against.
    Unproven {
        /// The reason.
        why: String,
    },
}

impl Judgement {
    /// That the program does something else, if it does.
    pub fn refusal(&self) -> Option<Refusal> {
        let Self::Differs { differences, .. } = self else {
            return None;
        };
        let waits = differences.iter().any(|it| it.what == Difference::TABLES);
        Some(match waits {
            true => kernel::not_yet_as_decided(),
            false => kernel::not_as_decided(),
        })
    }
}

/// What the packet program does with the flows of a client.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Run {
    /// How many flows it was asked about, each from another port of the client.
    pub flows: usize,
    /// The client's class by its number in the kernel's tables, which is not the configuration's.
    pub class: u32,
    /// Hash of the ring that it goes by, if it goes by one, as elsewhere: of the backends in its
    /// slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<String>,
    /// Flows by the backend that they go to.
    pub backends: BTreeMap<String, usize>,
    /// Flows by how the program ends with them.
    pub verdicts: BTreeMap<String, usize>,
}

/// One thing that the program does not as was decided.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// What it is about: `class`, `ring`, `flows`, `tables`.
    pub what: String,
    /// What was decided.
    pub decided: String,
    /// What the kernel has or does.
    pub found: String,
}

impl Difference {
    /// What it is about if the tables are not all written.
    const TABLES: &str = "tables";
}

/// What was decided, and what the daemon wrote of it.
pub struct Decided<'a> {
    /// The decision.
    pub explanation: &'a Explanation,
    /// The ring of the client's group; an empty one if a rule answers instead.
    pub ring: &'a Ring,
    /// The key of the ring hash.
    pub key: HashKey,
    /// The names of the backends.
    pub backends: &'a BTreeMap<Identity, Name>,
    /// Class number and descriptor that the client should find; none: the service is not published.
    pub row: Option<(u32, Descriptor)>,
    /// The targets as they were written.
    pub targets: &'a BTreeMap<u16, Target>,
    /// Why not all that was decided is in the tables yet, if it is not.
    pub pending: Option<&'a str>,
}

/// What the kernel has and does.
pub struct Found {
    /// The program's answers, flow by flow.
    pub answers: Vec<Proof>,
    /// The target ids in the slots of the ring that it named.
    pub slots: Vec<u16>,
    /// The targets that these slots and the answers name.
    pub targets: BTreeMap<u16, Target>,
}

/// The flows of a client to a service that the program is asked about: their ports are spread over
/// all from 1,024 up, at uneven distances.
pub fn flows(service: &ServiceKey, client: Address) -> Vec<Tuple> {
    const APART: u32 = 64;
    let port = |i: u32| 1024 + i * APART + i * (i + 1) / 2 % APART;
    (0..FLOWS.into())
        .map(|i| Tuple {
            client,
            service: service.address,
            ports: Ports::new(port(i) as u16, u16::from_be_bytes(service.port)),
            protocol: service.protocol,
        })
        .collect()
}
