//! What all classes of a service's clients get.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Decision, Destination, RingSummary, Rows, Scene, decide_all, explain::Told};
use crate::{
    class::Clients,
    model::{Name, Prefix, Route, Service, family},
    table::{ClassTable, Ring, Spread, spread},
};

/// What the clients of a service get, by class.
///
/// As JSON it is what `explain --all-classes --format json` prints.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ServiceClasses {
    /// The service.
    pub service: Name,
    /// The family of its address and of its clients: `IPv4` or `IPv6`.
    pub family: String,
    /// A group of the service waits for its first probe results, so this is not in force.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// The classes that have clients of the family, by number; only class 0, with everybody, if the service
    /// does the same for all.
    pub classes: Vec<ClassSummary>,
}

/// What clients of a class get.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ClassSummary {
    /// The number of the class.
    pub class: usize,
    /// How many prefixes tell who is in it: of those that a client is in the longest holds.
    pub prefixes: usize,
    /// One of the largest of them.
    pub sample: String,
    /// The group that decides; none if a rule gives an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Name>,
    /// What becomes of new flows.
    #[serde(flatten)]
    pub told: Told,
    /// The ring that stands for the shares; none where no group decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingSummary>,
}

/// What a group does for clients, and its ring.
type Verdict = (Told, RingSummary);

impl ServiceClasses {
    /// The classes of a service's clients; `clients` are all classes of its configuration, and `ring` makes
    /// the ring of a group.
    pub fn of(
        clients: &Clients,
        scene: &Scene<'_>,
        service: &Service,
        ring: impl Fn(&Name, &Spread) -> Ring,
    ) -> Self {
        let partition = clients.partition();
        let groups: BTreeMap<&Name, _> = service
            .groups()
            .map(|group| (group, Verdicts::of(clients, scene, group, &ring)))
            .collect();
        let summary = |(class, prefixes): (usize, Vec<Prefix>)| {
            let route = partition.classes[class].routes.get(&service.key());
            let leads_to = route.map_or(Ok(&service.group), Route::leads_to);
            let sample = prefixes.iter().min_by_key(|it| it.length())?;
            let (told, ring) = match leads_to {
                Ok(group) => {
                    let (told, ring) = groups.get(group)?.of_class(class);
                    (told.clone(), Some(ring.clone()))
                }
                Err(answer) => (Told::of(&Rows::one(Destination::Answer(answer))), None),
            };
            Some(ClassSummary {
                class,
                prefixes: prefixes.len(),
                sample: sample.to_string(),
                group: leads_to.ok().cloned(),
                told,
                ring,
            })
        };
        let is_v4 = service.address.is_ipv4();
        let mut groups_told = service.groups();
        let by_class =
            !service.rules.is_empty() || groups_told.any(|group| clients.tells_apart(group));
        let classes = if by_class {
            let table = ClassTable::of(partition);
            let of_family = match is_v4 {
                true => table.clients_v4(),
                false => table.clients_v6(),
            };
            let classes = of_family.into_iter();
            classes.map(|(class, it)| (class.into(), it)).collect()
        } else {
            BTreeMap::from([(0, Vec::from_iter(Prefix::around(service.address, 0)))])
        };
        Self {
            service: service.name.clone(),
            family: family(service.address).to_owned(),
            undecided: false,
            classes: classes.into_iter().filter_map(summary).collect(),
        }
    }
}

/// What a group does for all classes.
struct Verdicts {
    /// Each decision once.
    verdicts: Vec<Verdict>,
    /// For each class which of them.
    of_class: Vec<usize>,
}

impl Verdicts {
    fn of(
        clients: &Clients,
        scene: &Scene<'_>,
        group: &Name,
        ring: impl Fn(&Name, &Spread) -> Ring,
    ) -> Self {
        let meanings = clients.meanings(group);
        let decisions = decide_all(scene, group, &meanings.clients);
        let mut rings: Vec<(Spread, RingSummary)> = Vec::new();
        let verdict = |decision: &Decision| {
            let spread = spread(scene.backends, decision);
            let known = rings.iter().find(|(of, _)| *of == spread);
            let summary = known.map(|(_, summary)| summary.clone());
            let summary = summary.unwrap_or_else(|| {
                let made = RingSummary::of(&ring(group, &spread));
                rings.push((spread, made.clone()));
                made
            });
            (Told::of(&decision.rows), summary)
        };
        let of_class = meanings.of_class.iter().map(|it| decisions.of_client[*it]);
        Self {
            of_class: of_class.collect(),
            verdicts: decisions.distinct.iter().map(verdict).collect(),
        }
    }

    fn of_class(&self, class: usize) -> &Verdict {
        &self.verdicts[self.of_class[class]]
    }
}
