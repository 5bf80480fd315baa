//! From what is known to the image of the tables.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lb_common::Exit;

use super::{
    Course, Engine, key,
    known::{Basis, Known, Standing},
};
use crate::{
    model::{
        Admin, Backend, Departure, Forward, Group, Health, Initial, Mac, Member, MemberState, Name,
        OnDown, Ramp,
    },
    neighbour::Way,
    policy::{Client, Destination, decide_all},
    probe::History,
    table::{Image, Ring, ServiceSpec, Spread, TargetKey, TargetSpec, affinity, ring, spread},
};

/// What was made for a root group, and what it followed from.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// None: it followed from another configuration, though its rings may be right.
    pub(super) basis: Option<Basis>,
    /// An all-down rule is in use, for some client.
    pub(super) best_effort: bool,
    /// No client may get a backend.
    pub(super) no_answer: bool,
    /// What is behind its rings, one for one.
    spreads: Vec<Spread>,
    /// Everything that some client's flows get.
    used: BTreeSet<Destination>,
}

impl Engine {
    /// The image that follows from what is known now, and what is to be remembered of each root group.
    pub(super) fn compile(&self) -> (Image, BTreeMap<Name, Made>) {
        let known = Known::new(self);
        let mut image = Image {
            clients: self.clients.partition().clone(),
            ..Image::default()
        };
        let mut decisions = BTreeMap::new();
        for service in self.model.services.values() {
            let mut groups = service.groups();
            let spec = ServiceSpec {
                name: service.name.clone(),
                group: service.group.clone(),
                routes: service.rules.iter().map(|it| it.route.clone()).collect(),
                by_class: !service.rules.is_empty()
                    || groups.any(|group| self.clients.tells_apart(group)),
            };
            image.services.insert(service.key(), spec);
        }
        for root in self.model.root_groups() {
            let affinity = affinity(&self.model.groups[root]);
            image
                .affinities
                .extend(affinity.map(|it| (root.clone(), it)));
            if known.undecided(root) {
                image.held.insert(root.clone());
            } else {
                let made = self.made(root, &known, &mut image);
                self.place(root, &known, &made.used, &mut image);
                decisions.insert(root.clone(), made);
            }
        }
        (image, decisions)
    }

    /// Puts the rings of a root group into the image: the last ones, if they follow from the same.
    fn made(&self, root: &Name, known: &Known<'_>, image: &mut Image) -> Made {
        let basis = known.basis(root);
        let last = self.courses.get(root).and_then(|it| it.made.as_ref());
        if let (Some(last), Some(shown)) = (
            last.filter(|it| it.basis.as_ref() == Some(&basis)),
            &self.image,
        ) && let Some(rings) = shown.rings.get(root)
        {
            image.rings.insert(root.clone(), rings.clone());
            let views = shown.views.get(root).cloned();
            image.views.extend(views.map(|views| (root.clone(), views)));
            return last.clone();
        }
        self.decide(root, known, basis, image)
    }

    fn decide(&self, root: &Name, known: &Known<'_>, basis: Basis, image: &mut Image) -> Made {
        let meanings = self.clients.meanings(root);
        let decisions = decide_all(&known.scene(), root, &meanings.clients);
        let mut made = Made {
            basis: Some(basis),
            best_effort: false,
            no_answer: true,
            spreads: Vec::new(),
            used: BTreeSet::new(),
        };
        // Big fractions are dearer to hash than to compare.
        let mut views = BTreeMap::new();
        let view_of = decisions.distinct.iter().map(|decision| {
            made.best_effort |= decision.all().any(|it| it.best_effort);
            made.no_answer &= decision.rows.answer().is_some();
            made.used.extend(decision.rows.destinations().cloned());
            let spread = spread(&self.model.backends, decision);
            *views.entry(spread).or_insert_with_key(|spread| {
                made.spreads.push(spread.clone());
                made.spreads.len() as u32 - 1
            })
        });
        let view_of: Vec<u32> = view_of.collect();
        let rings = made.spreads.iter().map(|spread| self.ring(root, spread));
        let rings = Arc::new(rings.collect());
        image.rings.insert(root.clone(), rings);
        if self.clients.tells_apart(root) {
            let decision_of = meanings.of_class.iter().map(|it| decisions.of_client[*it]);
            let views = decision_of.map(|decision| view_of[decision]);
            image.views.insert(root.clone(), views.collect());
        }
        made
    }

    /// The ring for this spread: one of the last ones, if it is the same.
    pub(super) fn ring(&self, group: &Name, spread: &Spread) -> Ring {
        let made = self.courses.get(group).and_then(|it| it.made.as_ref());
        let last = made.and_then(|made| made.spreads.iter().position(|it| it == spread));
        let rings = self.image.as_ref().and_then(|image| image.rings.get(group));
        match rings.zip(last).and_then(|(rings, last)| rings.get(last)) {
            Some(last) => last.clone(),
            None => ring(group, spread),
        }
    }

    /// A client of class 0: nothing is known of it, or nobody asks.
    pub(super) fn unknown_client(&self, root: &Name) -> Client {
        self.clients.client(&self.model, root, 0)
    }

    /// The group with the operator's weights and switches in place of the file's.
    pub(super) fn with_overrides(&self, group: &Group) -> Group {
        let mut group = group.clone();
        for member in &mut group.members {
            member.enabled |= self.admin.admin(&group.name, member) != Admin::Disable;
            if let Some(weight) = self.admin.weight(&group.name, member.name()) {
                member.weight = weight;
            }
        }
        group
    }

    /// What is known of each member of a group.
    pub(super) fn states(&self, group: &Group) -> Vec<MemberState> {
        group
            .members
            .iter()
            .map(|member| self.state(group, member))
            .collect()
    }

    /// Whether a member's backend should be probed for this group.
    pub(super) fn probed(&self, group: &Name, backend: &Name) -> bool {
        let members = &self.model.groups[group].members;
        members
            .iter()
            .filter(|member| member.backend() == Some(backend))
            .any(|member| self.admin.admin(group, member) != Admin::Disable)
    }

    /// Whether a group must wait for its first verdicts: the all-down rule speaks of decided groups
    /// only. A group that has been decided goes on as long as one member may serve; one that serves from
    /// an earlier daemon's tables waits beyond the grace, since what it has is better than a guess.
    pub(super) fn undecided(&self, group: &Group, states: &[MemberState]) -> bool {
        let takes_part = |state: &MemberState| state.admin != Admin::Disable;
        let unknown = Course::default();
        let course = self.courses.get(&group.name).unwrap_or(&unknown);
        let waited = self.now.saturating_sub(course.since);
        let in_use =
            |state: &MemberState| state.admin == Admin::Enable && state.unreachable.is_none();
        if course.decided && states.iter().any(|it| in_use(it) && it.is_available()) {
            return false;
        }
        let is_in_grace = waited < self.model.edge.startup_grace;
        let awaits_verdict = |(place, member, backend): (usize, &Member, &Name)| {
            let history = self.history(group, member);
            match self.way(backend) {
                // Without its way a member is no member, and that is known in a moment.
                None => true,
                Some(_) if !is_in_grace && !course.stands => false,
                Some(Way::Refused(_)) => false,
                Some(Way::Open { .. }) => {
                    // What an earlier daemon left in the tables is better than a guess here too.
                    let may_guess = course.decided || !course.stands;
                    let guesses = states[place].serves_unchecked && may_guess;
                    !guesses && history.is_some_and(|it| !it.decided())
                }
                // A next hop that does not answer needs no probe to be told from one that is asked,
                // and who is not probed has only its answer to wait for.
                Some(Way::Unresolved(_)) => match history {
                    Some(history) => history.health() != Health::Down,
                    None => is_in_grace && !course.decided,
                },
            }
        };
        let mut members = group.backends();
        members.any(|it| takes_part(&states[it.0]) && awaits_verdict(it))
    }

    /// What is known of a member of a group, but for [the words for people](Self::why).
    pub(super) fn state(&self, group: &Group, member: &Member) -> MemberState {
        let Some(backend) = member.backend() else {
            return self.state_of_group(group, member);
        };
        let probe = group.probe.as_ref();
        let key = key(&self.model, group, member);
        let of_stream = key.as_ref().and_then(|key| self.histories.get(key));
        let history = of_stream.and_then(|it| it.get(&group.name));
        MemberState {
            admin: self.admin.admin(&group.name, member),
            unreachable: match self.way(backend) {
                Some(Way::Open { .. }) => None,
                Some(other) => Some(other.to_string()),
                None => Some("the way to it is not known yet".into()),
            },
            health: history.map_or(Health::Up, History::health),
            serves_unchecked: probe.is_some_and(|probe| probe.initial == Initial::Checking),
            ramp: self.ramp(group, backend),
            latency: key.and_then(|key| self.latencies.get(&key)?.get(&group.name)?.published()),
            why: String::new(),
        }
    }

    /// What stands behind the health of a member of a group, for people; of one that is a group its members
    /// say that.
    pub(super) fn why(&self, group: &Group, member: &Member) -> String {
        let Some(backend) = member.backend() else {
            return String::new();
        };
        let history = self.history(group, member);
        let mut why = history.map_or_else(|| "not probed".into(), History::why);
        if history.is_some_and(|it| it.health() != Health::Up)
            && let Some(key) = key(&self.model, group, member)
            && let Some(failure) = self.failures.get(&key)
        {
            why = format!("{why}; last failure: {failure}");
        }
        let ramp = self.ramp(group, backend);
        if ramp != Ramp::FULL {
            why = format!("{why}; starts slowly: {ramp} of its weight counts");
        }
        why
    }

    /// Of a group only the overrides are known here; its health is that of its members.
    fn state_of_group(&self, group: &Group, member: &Member) -> MemberState {
        MemberState {
            admin: self.admin.admin(&group.name, member),
            unreachable: None,
            health: Health::Up,
            serves_unchecked: false,
            ramp: Ramp::FULL,
            latency: None,
            why: String::new(),
        }
    }

    pub(super) fn history(&self, group: &Group, member: &Member) -> Option<&History> {
        let of_stream = self.histories.get(&key(&self.model, group, member)?)?;
        of_stream.get(&group.name)
    }

    pub(super) fn way(&self, backend: &Name) -> Option<&Way> {
        self.ways.get(&self.model.backends[backend].destination())
    }

    /// Puts a root group's targets into the image.
    fn place(
        &self,
        root: &Name,
        known: &Known<'_>,
        used: &BTreeSet<Destination>,
        image: &mut Image,
    ) {
        for (name, standing) in known.backends_within(root) {
            let takes_new = used.contains(&Destination::Backend(name.clone()));
            let backend = &self.model.backends[name];
            let target = TargetSpec {
                takes_new,
                dead: match standing {
                    _ if takes_new => None,
                    Standing::Serves => None,
                    Standing::Down => Some(self.model.groups[root].on_down),
                    Standing::Disabled => Some(OnDown::DEFAULT),
                },
                ..self.forwarding(backend)
            };
            let key = TargetKey {
                group: root.clone(),
                identity: backend.identity(),
            };
            image.targets.insert(key, target);
        }
    }

    /// How packets reach a backend, in a target that is not used yet.
    fn forwarding(&self, backend: &Backend) -> TargetSpec {
        let mut spec = TargetSpec {
            next_hop: None,
            source: Mac([0; 6]),
            edge_address: None,
            mtu: 0,
            departure: Departure::AS_IT_CAME,
            takes_new: false,
            dead: None,
        };
        // Running flows are better sent the way that was than nowhere.
        if let Some(Way::Open {
            next_hop,
            source,
            edge_address,
            mtu,
            departure,
        }) = self.open_ways.get(&backend.destination())
        {
            let header = backend
                .forward
                .growth_from_edge(backend.address)
                .unwrap_or(0);
            spec.next_hop = Some(*next_hop);
            spec.source = *source;
            spec.departure = match (*departure, backend.vlan) {
                (Departure::Out(exit), Some(tags)) => Departure::Out(Exit { tags, ..exit }),
                (departure, _) => departure,
            };
            let ours = match backend.forward {
                Forward::FullNat => self.model.edge.nat.source(backend.address),
                Forward::Gue { .. } | Forward::Ipip => {
                    self.model.edge.tunnels.source(backend.address)
                }
                Forward::L2Dsr => None,
            };
            spec.edge_address = ours.or(*edge_address);
            spec.mtu = mtu.saturating_sub(header);
        }
        spec
    }
}
