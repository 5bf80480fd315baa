use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use lb_common::{Affinity, Answer, Descriptor, ServiceKey};
use sha2::{Digest, Sha256};

use super::spread::Destination;
use crate::{
    class::Partition,
    model::{Departure, Identity, Mac, Name, OnDown, Route},
};

/// What the kernel's maps should say, without the ids and places that they happen to use there:
/// images of equal inputs are equal on every host and after every restart.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Image {
    /// The services to be published. One of whose groups one is held stays as the maps have it, be it
    /// not at all, or with other groups.
    pub services: BTreeMap<ServiceKey, ServiceSpec>,
    /// The distinct rings of each group that a published service uses, in the order of the first classes
    /// of [`Self::clients`] that have them; at least one. Images share those of groups that stay as they are.
    pub rings: BTreeMap<Name, Arc<Vec<Ring>>>,
    /// How the clients of those groups are pinned; none of those that are not in here.
    pub affinities: BTreeMap<Name, Affinity>,
    /// For a group that decides by class, which of its rings each class of [`Self::clients`] has. All
    /// classes have the first of a group that is not in here.
    pub views: BTreeMap<Name, Vec<u32>>,
    /// The memberships of those groups.
    pub targets: BTreeMap<TargetKey, TargetSpec>,
    /// The classes of clients by the rules of all services.
    pub clients: Arc<Partition>,
    /// Groups without a decision yet: whatever the maps say of them and of their services stands.
    pub held: BTreeSet<Name>,
}

impl Image {
    /// Which of its rings a group has for a class of [`Self::clients`].
    pub fn view(&self, group: &Name, class: usize) -> usize {
        let views = self.views.get(group);
        let view = views.and_then(|views| views.get(class));
        view.map_or(0, |view| *view as usize)
    }

    /// The ring that a group has for a class of [`Self::clients`]; none if it is not decided.
    pub fn ring(&self, group: &Name, class: usize) -> Option<&Ring> {
        self.rings.get(group)?.get(self.view(group, class))
    }

    /// What new flows of a class of [`Self::clients`] meet at a service; none if that is not there.
    pub fn answer(&self, service: &ServiceKey, class: usize) -> Option<Served<'_>> {
        let spec = self.services.get(service)?;
        let route = self.clients.classes.get(class)?.routes.get(service);
        Some(match route.map_or(Ok(&spec.group), Route::leads_to) {
            Ok(group) => Served::Group(group),
            Err(answer) => Served::Answer(answer.into()),
        })
    }
}

/// What new flows meet at a service.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Served<'a> {
    /// A rule says this.
    Answer(Answer),
    /// This group serves them: [`Image::ring`] has its ring.
    Group(&'a Name),
}

/// A published service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceSpec {
    /// What it is called.
    pub name: Name,
    /// The group that serves it where no rule matches.
    pub group: Name,
    /// What its rules give to the clients that they match; [`Image::clients`] says to which. None: it
    /// has no rules.
    pub routes: BTreeSet<Route>,
    /// Whether clients are told apart: it has rules, or a group of it decides by class.
    pub by_class: bool,
}

impl ServiceSpec {
    /// Every group that serves some of its clients; its own first, and maybe once more.
    pub fn groups(&self) -> impl Iterator<Item = &Name> {
        let of_rules = self.routes.iter().filter_map(Route::group);
        std::iter::once(&self.group).chain(of_rules)
    }
}

/// Names a target: one membership of a backend in a group.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TargetKey {
    /// The group.
    pub group: Name,
    /// The backend.
    pub identity: Identity,
}

impl TargetKey {
    /// The number that finds the target in the kernel's table again; never 0.
    pub fn hash(&self) -> u64 {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(self.group.as_str())
            .chain_update([0])
            .chain_update(self.identity.bytes())
            .finalize()
            .into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        u64::from_be_bytes([a, b, c, d, e, f, g, h]).max(1)
    }
}

/// What the packet program must know of a target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TargetSpec {
    /// MAC address of the next hop, once it is known.
    pub next_hop: Option<Mac>,
    /// MAC address of the interface that packets leave by.
    pub source: Mac,
    /// Source of the outer header, for a mode that makes one.
    pub edge_address: Option<IpAddr>,
    /// Largest IP packet that the way out takes, as it comes from the client: without the outer
    /// header.
    pub mtu: u16,
    /// Where the frames go.
    pub departure: Departure,
    /// It stands in the group's ring.
    pub takes_new: bool,
    /// It is dead, and this becomes of its flows.
    pub dead: Option<OnDown>,
}

/// A ring of slots over some targets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ring {
    /// The targets, in the order of their identities.
    pub targets: Vec<TargetKey>,
    /// For each slot an index into `targets`, or [`Answer::slot`]. Empty: the policy has no answer. Images
    /// share the slots of rings that stay as they are.
    pub slots: Arc<[u16]>,
    /// Slots of a row, which a client chooses; 0 where there is but one row.
    pub columns: u32,
}

impl Ring {
    /// Where what is in a slot leads; none if it is no target of the ring.
    pub fn destination(&self, slot: u16) -> Option<Destination> {
        if let Some(answer) = Answer::of_slot(slot) {
            return Some(Destination::Answer(answer));
        }
        let target = self.targets.get(usize::from(slot))?;
        Some(Destination::Backend(target.identity))
    }

    /// Where the ring stands if it begins at slot `offset` of the pool.
    pub fn at(&self, offset: u32) -> Descriptor {
        Descriptor::in_rows(offset, self.slots.len() as u32, self.columns)
    }
}

/// The number that stands for a group in the kernel's tables, the same on every host. The
/// configuration check refuses two groups that share one.
pub fn group_id(name: &Name) -> u32 {
    let digest: [u8; 32] = Sha256::digest(name.as_str()).into();
    let [a, b, c, d, ..] = digest;
    // A free target is of no group.
    u32::from_be_bytes([a, b, c, d]).max(1)
}
