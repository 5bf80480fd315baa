use std::{collections::BTreeMap, fmt, net::IpAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    engine::{AdminChange, View},
    model::Name,
    plan::Plan,
    policy::{Explanation, ServiceClasses},
    refusal::{Problem, Refused},
};

/// Longest request in bytes, the line's end included.
pub const MAX_REQUEST: usize = 64 * 1024;

/// What the command line asks.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Change what a backend or member may do.
    Admin(AdminChange),
    /// Why clients of a service go where they go.
    Explain {
        /// The service.
        service: String,
        /// The client.
        client: IpAddr,
    },
    /// What all classes of a service's clients get.
    ExplainClasses {
        /// The service.
        service: String,
    },
    /// What another configuration would change.
    Plan {
        /// Absolute path of its file.
        path: PathBuf,
    },
    /// Take the configuration from the file again, or from another file.
    Reload {
        /// Absolute path; none for the file that is in use.
        path: Option<PathBuf>,
    },
    /// Everything that is worth knowing.
    Status,
}

/// What the daemon answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// What all classes get.
    Classes(Box<ServiceClasses>),
    /// The change is made; how things stand now, one line each.
    Done(Vec<String>),
    /// The explanation.
    Explained(Box<Explanation>),
    /// What would change.
    Planned(Box<Plan>),
    /// Nothing was done.
    Refused(Refused),
    /// The configuration is in use.
    Reloaded(Reloaded),
    /// The status.
    Status(Box<Status>),
}

/// What a reload changed, one line each.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Reloaded {
    /// `service web added`, `backend a: address 10.0.0.1 -> 10.0.0.2`.
    pub changes: Vec<String>,
    /// What the operator should know or mend.
    pub warnings: Vec<Problem>,
}

/// Everything that `waggle status` shows.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Status {
    /// The edge.
    pub edge: EdgeView,
    /// Services and groups.
    #[serde(flatten)]
    pub view: View,
    /// The files that tell where clients are.
    pub data_files: Vec<DataFileView>,
    /// What keeps the tables from saying what was decided.
    pub pending: Option<Problem>,
    /// What this host does now that the configuration should not meet.
    pub warnings: Vec<Problem>,
    /// Packets by verdict, since the tables were made.
    pub verdicts: BTreeMap<String, u64>,
    /// Look-ups in the flow table by outcome, since the tables were made.
    pub flow_events: BTreeMap<String, u64>,
}

/// A file that tells where clients are.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DataFileView {
    /// The key that names it: `latency.files[0]`.
    pub key: String,
    /// Where it is.
    pub path: PathBuf,
    /// Why what it says now is not in use, but what it said before.
    pub broken: Option<Problem>,
}

/// An interface of the edge.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct InterfaceView {
    /// What it is called.
    pub name: String,
    /// How the program was attached there.
    pub xdp_mode: String,
    /// Whether it still is.
    pub attached: bool,
}

impl fmt::Display for InterfaceView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attached {
            true => write!(f, "{} ({} XDP)", self.name, self.xdp_mode),
            false => write!(f, "{} (NOT ATTACHED: start the daemon anew)", self.name),
        }
    }
}

/// The daemon and its place.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EdgeView {
    /// What it is called.
    pub name: Name,
    /// Whether the program is on all interfaces.
    pub attached: bool,
    /// The interfaces.
    pub interfaces: Vec<InterfaceView>,
    /// Process id of the daemon.
    pub pid: u32,
    /// Seconds since the daemon started.
    pub uptime_s: u64,
    /// Seconds since its last turn, of which there is one every second.
    pub heartbeat_age_s: u64,
    /// The configuration in use.
    pub config: PathBuf,
    /// Where program, link and maps are pinned.
    pub pin_dir: PathBuf,
    /// Live entries in the flow table.
    pub flows: u64,
    /// Entries that the flow table has place for.
    pub flow_entries: u32,
    /// Flows to `full-nat` backends that are translated.
    pub translations: u64,
    /// Flows that can be at a time.
    pub nat_entries: u32,
}
