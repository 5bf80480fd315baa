mod classes;
mod formers;
mod rings;
mod rounds;
mod rows;
mod services;
mod targets;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use lb_common::{ServiceKey, Target};

pub use self::{
    formers::{Grace, expire},
    rows::row_length,
    targets::collect,
};
use super::{Change, Tables};
use crate::{
    model::Name,
    refusal::{Refusal, room},
    table::{Image, ServiceSpec, group_id},
};

/// What is to be done so that tables say what an image says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Plan {
    /// In this order.
    pub changes: Vec<Change>,
    /// Whether more is to come: groups were put off whose new rings find no room beside the old ones,
    /// or client prefixes. They will, once the changes are done and [`Tables::release`] was called;
    /// until then whatever the tables say of them and of their services stands.
    pub later: bool,
}

/// The changes that make `tables` say what `image` says.
///
/// Packets pass while they are made, so every prefix of them is sound: a published service's row
/// points to rings whose every slot names a target of a group that may serve the service, every
/// client's class is one that the row has, and nothing that a packet may be looking at is rewritten. Services are withdrawn first and published last; targets
/// come before the rings that name them and leave after them. What is already as it should be is
/// not touched.
///
/// Groups in `image.held`, their services, rows and targets stay as they are. So does a published
/// service whose new group is held, with the group that serves it now, unless `image` has a ring for
/// that one. A service that `image` does not have ends, whatever its group.
///
/// If a published service that tells clients apart must stay, so do all of them and the client
/// prefixes. Meanwhile their rows follow what becomes of the rings that they show, and so do rows for
/// class numbers that are about to end: which classes of the image those clients are of can not be
/// told. A ring of a group is followed there by the one of its new rings that agrees with it in most
/// slots; of several by the first, and so if none has its form.
///
/// The rings of a group move together. If not all new rings fit at once, those come first that a target leaves. Client prefixes that
/// change again before packets have left the buffer that is not in use come later, too.
///
/// A ring that is replaced counts for as long as `grace` says, as far as there is room in the pool: new
/// rings come first. If they find none, no former ring counts any more, and what they stood in is free
/// once packets have left it.
///
/// A ring's slot for a target that `image` does not have becomes 0, which the packet program counts
/// as `no_target`.
///
/// # Errors
///
/// [`DoesNotFit`] if the maps are too small for all of it; then nothing of it is to be done.
pub fn diff(tables: &Tables, image: &Image, grace: Grace) -> Result<Plan, DoesNotFit> {
    let planned = plan(tables, image, grace);
    if planned.is_ok() || tables.formers.is_empty() {
        return planned;
    }
    let mut without = tables.clone();
    without.formers.clear();
    plan(&without, image, Grace::OFF)?;
    // It fits, once packets have left the former rings.
    Ok(Plan {
        changes: expire(tables, Grace::OFF),
        later: true,
    })
}

fn plan(tables: &Tables, image: &Image, mut grace: Grace) -> Result<Plan, DoesNotFit> {
    let mut held: BTreeSet<&Name> = image.held.iter().collect();
    let mut clients_wait = false;
    loop {
        let scope = Scope::new(tables, image, &held, clients_wait);
        let targets = targets::plan(tables, image, &scope)?;
        let wanted = rings::Wanted::new(tables, image, &scope, &targets.ids);
        let classes = classes::plan(tables, image, &scope, &wanted)?;
        let rings = rings::plan(tables, &scope, &wanted)?;
        if !rings.put_off.is_empty() {
            held.extend(rings.put_off);
            grace = Grace::OFF;
            continue;
        }
        let rows = rows::plan(tables, image, &scope, &classes, (&wanted, &rings.places))?;
        let services = services::plan(tables, &scope, &rows.rows)?;
        let renumbered = classes.table.is_some();
        let formers = formers::plan(tables, &scope, &rows, renumbered, grace);
        let mut clients = Vec::new();
        if let Some(table) = classes.table {
            classes::check_size(tables, &table)?;
            if tables.other_buffer_rests() {
                clients_wait = true;
                continue;
            }
            let buffer = 1 - tables.buffer.min(1);
            clients.push(Change::WriteClients { buffer, table });
            clients.push(Change::SelectClients { buffer });
        }
        let changes = [
            formers.forget,
            services.withdraw,
            targets.join,
            services.allow,
            rows.used(rings.write),
            formers.keep,
            rows.point_first,
            services.move_away,
            rows.point,
            clients,
            services.publish,
            targets.leave,
        ];
        return Ok(Plan {
            changes: changes.concat(),
            later: clients_wait || held.len() > image.held.len(),
        });
    }
}

/// Why an image can not be put into the maps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DoesNotFit {
    /// It fits later without any change of settings.
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
    RingSlots {
        /// Slots needed.
        needed: usize,
        /// Slots there.
        size: usize,
    },
    /// Too many classes.
    Classes {
        /// Numbers needed.
        needed: usize,
        /// Numbers there are.
        size: usize,
    },
    /// Too many long IPv4 prefixes.
    LongNetworks {
        /// Networks needed.
        needed: usize,
        /// Networks there.
        size: usize,
    },
    /// Too many groups or classes.
    Rows {
        /// Elements needed.
        needed: usize,
        /// Elements there.
        size: usize,
    },
    /// Too many groups for services.
    ServiceGroups {
        /// Pairs needed.
        needed: usize,
        /// Elements there.
        size: usize,
    },
    /// Too many services.
    Services {
        /// Services to be published.
        needed: usize,
        /// Elements there.
        size: usize,
    },
    /// Too many members.
    Targets {
        /// Members of all groups.
        needed: usize,
        /// Elements there.
        size: usize,
    },
    /// Too many IPv6 prefixes.
    V6Prefixes {
        /// Prefixes needed.
        needed: usize,
        /// Elements there.
        size: usize,
    },
}

impl From<DoesNotFit> for Refusal {
    fn from(why: DoesNotFit) -> Self {
        match why {
            DoesNotFit::NotYet {
                map,
                needed,
                size,
                when,
            } => room::no_room_yet(map, needed, size, when),
            DoesNotFit::RingSlots { needed, size } => room::full_ring_pool(needed, size),
            DoesNotFit::Classes { needed, size } => room::full_classes(needed, size),
            DoesNotFit::LongNetworks { needed, size } => room::full_long_prefixes(needed, size),
            DoesNotFit::Rows { needed, size } => room::full_rows(needed, size),
            DoesNotFit::ServiceGroups { needed, size } => room::full_service_groups(needed, size),
            DoesNotFit::Services { needed, size } => room::full_services(needed, size),
            DoesNotFit::Targets { needed, size } => room::full_targets(needed, size),
            DoesNotFit::V6Prefixes { needed, size } => room::full_v6_prefixes(needed, size),
        }
    }
}

/// What of the tables and the image is to be looked at.
struct Scope<'a> {
    /// The services to be published.
    services: BTreeMap<ServiceKey, &'a ServiceSpec>,
    /// The published services that are left alone.
    staying: BTreeSet<ServiceKey>,
    /// Whether all services that tell clients apart, and the client prefixes, are left alone.
    frozen: bool,
    /// The groups that have a ring in the image and are not left alone.
    decided: BTreeMap<u32, &'a Name>,
    /// The groups that serve services which are left alone.
    serving: BTreeSet<u32>,
    /// The groups that are left alone.
    untouched: BTreeSet<u32>,
    /// The targets that the image has, by group and identity.
    members: BTreeSet<(u32, u64)>,
}

impl<'a> Scope<'a> {
    /// Of these, `held` are left alone, and the client prefixes if they wait. What a client prefix
    /// means is one number for all services, so those that tell clients apart change together or not at
    /// all.
    fn new(tables: &Tables, image: &'a Image, held: &BTreeSet<&Name>, clients_wait: bool) -> Self {
        let looks_up = |key: &ServiceKey| {
            let service = tables.services.get(key);
            service.is_some_and(|service| service.row.classes() > 1)
        };
        let is_held = |spec: &ServiceSpec| spec.groups().any(|group| held.contains(group));
        let mut all = image.services.iter();
        let frozen = clients_wait || all.any(|(key, spec)| looks_up(key) && is_held(spec));
        let stays = |key: &ServiceKey, spec: &ServiceSpec| {
            is_held(spec) || (frozen && (spec.by_class || looks_up(key)))
        };
        let (left_alone, services): (BTreeMap<_, _>, BTreeMap<_, _>) = image
            .services
            .iter()
            .map(|(key, spec)| (*key, spec))
            .partition(|(key, spec)| stays(key, spec));
        let published = |key: &ServiceKey| tables.services.contains_key(key);
        let staying: BTreeSet<_> = left_alone.into_keys().filter(published).collect();
        let decided: BTreeMap<u32, &Name> = image
            .rings
            .keys()
            .filter(|group| !held.contains(group))
            .map(|group| (group_id(group), group))
            .collect();
        let serving: BTreeSet<u32> = staying
            .iter()
            .flat_map(|key| serving(tables, key))
            .collect();
        let others = serving.iter().filter(|group| !decided.contains_key(group));
        let untouched = held
            .iter()
            .map(|group| group_id(group))
            .chain(others.copied());
        let untouched = untouched.collect();
        let members = image
            .targets
            .keys()
            .map(|key| (group_id(&key.group), key.hash()))
            .collect();
        Self {
            services,
            staying,
            frozen,
            decided,
            serving,
            untouched,
            members,
        }
    }

    /// The groups whose rings should stand as the image has them.
    fn groups(&self) -> BTreeSet<&'a Name> {
        let published = self.services.values().flat_map(|spec| spec.groups());
        let shown = self
            .serving
            .iter()
            .filter_map(|group| self.decided.get(group));
        published.chain(shown.copied()).collect()
    }

    /// Whether no group has this target any more.
    fn is_gone(&self, target: &Target) -> bool {
        !self.untouched.contains(&target.group)
            && !self.members.contains(&(target.group, target.identity))
    }
}

/// The groups that serve a published service.
fn serving(tables: &Tables, key: &ServiceKey) -> impl Iterator<Item = u32> {
    let service = tables.services[key];
    let rings = tables.rings_of(service.row);
    let groups = rings.filter_map(|ring| tables.group_of(ring));
    std::iter::once(service.group).chain(groups)
}
