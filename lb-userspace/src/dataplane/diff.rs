mod rings;
mod rounds;
mod services;
mod targets;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use lb_common::{ServiceKey, Target};

pub use self::targets::collect;
use super::{Change, Tables};
use crate::{
    model::Name,
    table::{Image, group_id},
};

/// What is to be done so that tables say what an image says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Plan {
    /// In this order.
    pub changes: Vec<Change>,
    /// Whether more is to come: groups were put off whose new rings find no room beside the old ones.
    /// They will, once the changes are done and [`Tables::release`] was called; until then whatever
    /// the tables say of them and of their services stands.
    pub later: bool,
}

/// The changes that make `tables` say what `image` says.
///
/// Packets pass while they are made, so every prefix of them is sound: a published service's row
/// points to a ring whose every slot names a target of the service's group, and nothing that a
/// packet may be looking at is rewritten. Services are withdrawn first and published last; targets
/// come before the rings that name them and leave after them. What is already as it should be is
/// not touched.
///
/// Groups in `image.held`, their services, rows and targets stay as they are. So does a published
/// service whose new group is held, with the group that serves it now, unless `image` has a ring for
/// that one. A service that `image` does not have ends, whatever its group.
///
/// If not all new rings fit at once, those come first that a target leaves.
///
/// A ring's slot for a target that `image` does not have becomes 0, which the packet program counts
/// as `no_target`.
///
/// # Errors
///
/// [`DoesNotFit`] if the maps are too small for all of it; then nothing of it is to be done.
pub fn diff(tables: &Tables, image: &Image) -> Result<Plan, DoesNotFit> {
    let mut held: BTreeSet<&Name> = image.held.iter().collect();
    loop {
        let scope = Scope::new(tables, image, &held);
        let targets = targets::plan(tables, image, &scope)?;
        let rings = rings::plan(tables, image, &scope, &targets.ids)?;
        if !rings.put_off.is_empty() {
            held.extend(rings.put_off);
            continue;
        }
        let services = services::plan(tables, &scope, &rings.rows)?;
        let changes = [
            services.withdraw,
            targets.join,
            rings.write,
            rings.point,
            services.publish,
            targets.leave,
        ];
        return Ok(Plan {
            changes: changes.concat(),
            later: held.len() > image.held.len(),
        });
    }
}

/// Why an image can not be put into the maps.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DoesNotFit {
    /// It fits later without any change of settings.
    #[error("no room in map {map} yet: {needed} needed, {size} there; try again {when}")]
    NotYet {
        /// Which map.
        map: &'static str,
        /// Elements needed, with what still is to become free.
        needed: usize,
        /// Elements there.
        size: usize,
        /// When there will be room.
        when: &'static str,
    },
    /// The ring pool is too small.
    #[error(
        "map SLOTS is too small: {needed} slots needed, as new rings stand beside the old ones for a \
         moment, {size} there: raise `edge.ring_slots` to at least {needed}"
    )]
    RingSlots {
        /// Slots needed.
        needed: usize,
        /// Slots there.
        size: usize,
    },
    /// Too many groups.
    #[error(
        "map RINGS is too small: {needed} rows needed, one per group that a service uses, as new ones \
         stand beside the old ones for a moment, {size} there: this size is fixed, so change fewer \
         groups at a time or spread them over several edges"
    )]
    Rows {
        /// Rows needed.
        needed: usize,
        /// Rows there.
        size: usize,
    },
    /// Too many services.
    #[error(
        "map SERVICES is too small: {needed} services, {size} there: this size is fixed, so spread \
         the services over several edges"
    )]
    Services {
        /// Services to be published.
        needed: usize,
        /// Elements there.
        size: usize,
    },
    /// Too many members.
    #[error(
        "map TARGETS is too small: {needed} members of groups, {size} there: this size is fixed, so \
         spread the groups over several edges"
    )]
    Targets {
        /// Members of all groups.
        needed: usize,
        /// Elements there.
        size: usize,
    },
}

/// What of the tables and the image is to be looked at.
struct Scope<'a> {
    /// The services to be published, with their groups.
    services: BTreeMap<ServiceKey, &'a Name>,
    /// The published services that are left alone.
    staying: BTreeSet<ServiceKey>,
    /// The groups that are left alone.
    untouched: BTreeSet<u32>,
    /// The targets that the image has, by group and identity.
    members: BTreeSet<(u32, u64)>,
}

impl<'a> Scope<'a> {
    /// Of these, `held` are left alone.
    fn new(tables: &Tables, image: &'a Image, held: &BTreeSet<&Name>) -> Self {
        let services: BTreeMap<_, _> = image
            .services
            .iter()
            .filter(|(_, spec)| !held.contains(&spec.group))
            .map(|(key, spec)| (*key, &spec.group))
            .collect();
        let staying: BTreeSet<_> = tables
            .services()
            .map(|(key, _)| key)
            .filter(|key| {
                let spec = image.services.get(key);
                spec.is_some_and(|spec| held.contains(&spec.group))
            })
            .collect();
        let decided: BTreeSet<u32> = image
            .rings
            .keys()
            .filter(|group| !held.contains(group))
            .map(group_id)
            .collect();
        let serving = staying.iter().map(|key| tables.services[key].group);
        let untouched = held
            .iter()
            .map(|group| group_id(group))
            .chain(serving.filter(|group| !decided.contains(group)))
            .collect();
        let members = image
            .targets
            .keys()
            .map(|key| (group_id(&key.group), key.hash()))
            .collect();
        Self {
            services,
            staying,
            untouched,
            members,
        }
    }

    /// Whether no group has this target any more.
    fn is_gone(&self, target: &Target) -> bool {
        !self.untouched.contains(&target.group)
            && !self.members.contains(&(target.group, target.identity))
    }
}
