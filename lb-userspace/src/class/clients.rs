use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    sync::Arc,
};

use super::{
    Class, Input, Partition,
    inputs::{
        Kind, asks_latency, asks_location, asks_region, latencies, latency_regions, locations,
        maps_addresses, members, regions,
    },
    partition,
};
use crate::{
    model::{Group, Model, Name, Service},
    policy::{self, MemberIndex},
    whereabouts::LatencyRegion,
};

/// The classes of a configuration's clients, and what policies see of each.
///
/// Only what some policy asks for tells clients apart, and of that only what makes a difference to it:
/// regions are those that members are mapped to, locations have the qualifiers that members have, and
/// latencies are those of regions that members stand in (semantics.md 3.3).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Clients {
    partition: Arc<Partition>,
    kinds: Vec<Kind>,
    /// Those that latencies of clients are told to, in order.
    regions: Vec<LatencyRegion>,
    /// The groups that may decide differently for different classes.
    by_class: BTreeSet<Name>,
    /// By root group.
    meanings: BTreeMap<Name, Arc<Meanings>>,
}

/// What all classes mean to a root group. Health makes no difference to it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Meanings {
    /// Each meaning once.
    pub clients: Vec<policy::Client>,
    /// For each class which of them.
    pub of_class: Vec<usize>,
}

impl Clients {
    /// The classes of the clients of a configuration. Groups and backends that it names and does not
    /// have are left out.
    pub fn of(model: &Model) -> Self {
        let groups: Vec<&Group> = model
            .used_groups()
            .into_iter()
            .filter_map(|it| model.groups.get(it))
            .collect();
        let mut inputs = Vec::new();
        let mut kinds = Vec::new();
        let mut add = |(input, kind): (Input, Kind)| {
            inputs.push(input);
            kinds.push(kind);
        };
        if model
            .root_groups()
            .into_iter()
            .any(|root| serves_both(model, root))
        {
            let (v4, v6) = (vec![(0, 1)], Vec::new());
            add((Input { v4, v6 }, Kind::Family));
        }
        for group in groups.iter().filter(|it| maps_addresses(it)) {
            add((members(group), Kind::Members(group.name.clone())));
        }
        if groups.iter().any(|it| asks_region(it)) {
            add(regions(model, &groups));
        }
        if groups.iter().any(|it| asks_location(it)) {
            add(locations(model, &groups));
        }
        let latency_regions = latency_regions(model, &groups);
        if groups.iter().any(|it| asks_latency(it)) {
            add(latencies(model, &latency_regions));
        }
        let mut clients = Self {
            partition: Arc::new(partition(model, &inputs)),
            kinds,
            regions: latency_regions,
            ..Self::default()
        };
        let groups = model.groups.keys();
        let by_class = groups.filter(|group| clients.is_by_class(model, group));
        clients.by_class = by_class.cloned().collect();
        clients.meanings = clients.meanings_of_roots(model);
        clients
    }

    /// The classes.
    pub fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// The regions that latencies of clients are told to, in order.
    pub fn regions(&self) -> &[LatencyRegion] {
        &self.regions
    }

    /// The class of a client.
    pub fn class_of(&self, client: IpAddr) -> usize {
        self.partition.class_of(client)
    }

    /// Whether a group may decide differently for different classes.
    pub fn tells_apart(&self, group: &Name) -> bool {
        self.by_class.contains(group)
    }

    /// What all classes mean to a root group.
    ///
    /// # Panics
    ///
    /// No service names the group.
    pub fn meanings(&self, root: &Name) -> &Meanings {
        &self.meanings[root]
    }

    /// The same for all root groups. Those that ask for the same of classes share it.
    fn meanings_of_roots(&self, model: &Model) -> BTreeMap<Name, Arc<Meanings>> {
        let mut known = HashMap::new();
        let roots = model.root_groups().into_iter();
        let meanings = roots
            .filter(|root| model.groups.contains_key(*root))
            .map(|root| {
                let meanings = || Arc::new(self.meanings_of(model, root));
                let meanings = match self.prefers(model, root).next() {
                    Some(_) => meanings(),
                    None => {
                        let asked = (self.asked_by(model, root), is_v4(model, root));
                        Arc::clone(known.entry(asked).or_insert_with(meanings))
                    }
                };
                (root.clone(), meanings)
            });
        meanings.collect()
    }

    fn meanings_of(&self, model: &Model, root: &Name) -> Meanings {
        let classes = &self.partition.classes;
        let asked = self.asked_by(model, root);
        let mut known = HashMap::new();
        let mut meanings = Meanings::default();
        for class in classes {
            let choices: Vec<usize> = asked.iter().map(|input| class.inputs[*input]).collect();
            let prefer = self.prefer(model, root, class);
            let meaning = *known.entry((choices, prefer)).or_insert_with_key(|_| {
                meanings.clients.push(self.client_of(model, root, class));
                meanings.clients.len() - 1
            });
            meanings.of_class.push(meaning);
        }
        meanings
    }

    fn is_by_class(&self, model: &Model, group: &Name) -> bool {
        !self.asked_by(model, group).is_empty() || self.prefers(model, group).next().is_some()
    }

    /// What a class means to a root group.
    pub fn client(&self, model: &Model, root: &Name, class: usize) -> policy::Client {
        self.client_of(model, root, &self.partition.classes[class])
    }

    fn client_of(&self, model: &Model, root: &Name, class: &Class) -> policy::Client {
        let mut client = policy::Client::unknown(is_v4(model, root));
        client.prefer = self.prefer(model, root, class);
        for (kind, choice) in self.kinds.iter().zip(&class.inputs) {
            match kind {
                Kind::Family if serves_both(model, root) => client.v4 = *choice == 1,
                Kind::Family => {}
                Kind::Location(places) => client.location = places[*choice].clone(),
                Kind::Members(group) => {
                    let member: Option<MemberIndex> = choice.checked_sub(1);
                    client
                        .members
                        .extend(member.map(|member| (group.clone(), member)));
                }
                Kind::Latency(rows) => client.latencies = rows[*choice].clone(),
                Kind::Region(regions) => client.region = regions[*choice],
            }
        }
        client
    }

    /// The locations that a rule prefers for a class. The configuration check sees to it that no other
    /// service uses a group for whose clients one does.
    fn prefer(
        &self,
        model: &Model,
        root: &Name,
        class: &Class,
    ) -> Vec<crate::model::LocationPattern> {
        if class.prefer.is_empty() {
            return Vec::new();
        }
        let mut services = services_of(model, root);
        let prefer = services.find_map(|service| {
            let key = service.key();
            let route = class.routes.get(&key)?;
            class
                .prefer
                .get(&key)
                .filter(|_| route.group() == Some(root))
        });
        prefer.cloned().unwrap_or_default()
    }

    fn prefers<'a>(&'a self, model: &'a Model, root: &'a Name) -> impl Iterator<Item = &'a Class> {
        let classes = self.partition.classes.iter();
        classes.filter(|class| !self.prefer(model, root, class).is_empty())
    }

    /// The inputs that a group, or one within it, asks for.
    fn asked_by(&self, model: &Model, root: &Name) -> Vec<usize> {
        let within: Vec<&Group> = model
            .within(root)
            .into_iter()
            .filter_map(|it| model.groups.get(it))
            .collect();
        let asks = |kind: &Kind| match kind {
            Kind::Family => serves_both(model, root),
            Kind::Location(_) => within.iter().any(|it| asks_location(it)),
            Kind::Members(name) => within.iter().any(|it| it.name == *name),
            Kind::Latency(_) => within.iter().any(|it| asks_latency(it)),
            Kind::Region(_) => within.iter().any(|it| asks_region(it)),
        };
        let kinds = self.kinds.iter().enumerate();
        kinds
            .filter(|(_, kind)| asks(kind))
            .map(|(input, _)| input)
            .collect()
    }
}

fn services_of<'a>(model: &'a Model, root: &'a Name) -> impl Iterator<Item = &'a Service> {
    let leads = |service: &Service| {
        let mut routes = service.rules.iter().map(|rule| rule.route.group());
        service.group == *root || routes.any(|group| group == Some(root))
    };
    model.services.values().filter(move |it| leads(it))
}

/// Whether no clients of IPv6 come to a group.
fn is_v4(model: &Model, root: &Name) -> bool {
    services_of(model, root).all(|it| it.address.is_ipv4())
}

/// Whether clients of both families come to a group.
fn serves_both(model: &Model, root: &Name) -> bool {
    let families: BTreeSet<bool> = services_of(model, root)
        .map(|it| it.address.is_ipv4())
        .collect();
    families.len() > 1
}
