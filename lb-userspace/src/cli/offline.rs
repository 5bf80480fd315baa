//! A configuration without a daemon, with assumed observations.

use std::{collections::BTreeMap, path::Path};

use crate::{
    class::Clients,
    config::{
        self, Checked,
        assume::{self, Assumed},
    },
    model::{Backend, MemberState, Model, Name},
    plan::Side,
    policy::Scene,
    refusal::Refused,
};

/// A configuration, with what is assumed of its members.
pub(super) struct Offline {
    pub(super) model: Model,
    pub(super) clients: Clients,
    states: BTreeMap<Name, Vec<MemberState>>,
}

impl Offline {
    /// The configuration of a file, with what another file assumes; without one all are up.
    pub(super) fn load(path: &Path, assume: Option<&Path>) -> Result<Self, Refused> {
        let checked = config::load(path)?;
        let assumed = assumed(assume, &checked.model.backends)?;
        Ok(Self::new(checked, &assumed))
    }

    pub(super) fn new(checked: Checked, assumed: &Assumed) -> Self {
        let Checked { model, clients, .. } = checked;
        let groups = model.groups.iter();
        Self {
            states: groups
                .map(|(name, group)| (name.clone(), assumed.states(group)))
                .collect(),
            model,
            clients,
        }
    }

    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            groups: &self.model.groups,
            backends: &self.model.backends,
            states: &self.states,
            regions: self.clients.regions(),
        }
    }

    pub(super) fn side(&self) -> Side<'_> {
        Side {
            model: &self.model,
            clients: &self.clients,
            scene: self.scene(),
        }
    }
}

/// What a file assumes of these backends.
pub(super) fn assumed(
    path: Option<&Path>,
    backends: &BTreeMap<Name, Backend>,
) -> Result<Assumed, Refused> {
    let Some(path) = path else {
        return Ok(Assumed::default());
    };
    let assumed = assume::parse(&config::text(path)?, backends);
    assumed.map_err(|errors| Refused::file(path, errors))
}
