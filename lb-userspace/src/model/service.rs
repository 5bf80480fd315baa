use std::{collections::BTreeSet, fmt, net::IpAddr};

use lb_common::{Protocol, ServiceKey};

use super::{Clients, Group, Location, LocationPattern, Model, Name, NoAnswer, Prefix, Region};
use crate::{
    refusal::{Refusal, operator},
    whereabouts::Whereabouts,
};

/// An address, protocol and port that clients use, and the group that serves it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Service {
    /// What it is called.
    pub name: Name,
    /// The address that clients use.
    pub address: IpAddr,
    /// The protocol.
    pub protocol: Protocol,
    /// The port, not 0.
    pub port: u16,
    /// Who serves it, where no rule says otherwise.
    pub group: Name,
    /// What certain clients get instead. No prefix stands in two rules, and of those that a client is
    /// in the longest holds.
    pub rules: Vec<Rule>,
}

/// What certain clients of a service get.
///
/// Of a service's rules one holds for a client: among those that name its address that with the longest
/// prefix, and if there is none the first of those that name its location or region.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Which clients.
    pub when: When,
    /// What becomes of their new flows.
    pub route: Route,
    /// The locations that are preferred for them, the best first (S102).
    pub prefer: Vec<LocationPattern>,
}

/// Which clients a rule speaks of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum When {
    /// Those with these addresses, at least one.
    Clients(Vec<Clients>),
    /// Those in these regions, or in regions within them, at least one.
    Geo(Vec<Region>),
    /// Those whose location matches this (S101).
    Location(LocationPattern),
}

/// Why a rule holds for a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Match {
    /// It is in this prefix, the longest of all rules.
    Prefix(Prefix),
    /// It is in this region.
    Region(Region),
    /// Its location matches this.
    Location(LocationPattern),
}

impl Rule {
    /// The addresses that it names, if it names addresses.
    pub fn clients(&self) -> &[Clients] {
        match &self.when {
            When::Clients(clients) => clients,
            When::Geo(_) | When::Location(_) => &[],
        }
    }

    /// Whether it speaks of a region: of that, or of one around it. It tells which.
    pub fn region(&self, region: Region) -> Option<Region> {
        match &self.when {
            When::Geo(regions) => region.chain().find(|it| regions.contains(it)),
            When::Clients(_) | When::Location(_) => None,
        }
    }

    /// The pattern that a location matches, if the rule speaks of it.
    pub fn location(&self, location: &Location) -> Option<&LocationPattern> {
        match &self.when {
            When::Location(pattern) => Some(pattern).filter(|it| it.matches(location)),
            When::Clients(_) | When::Geo(_) => None,
        }
    }
}

/// What becomes of new flows of a client.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Route {
    /// They are dropped.
    Drop,
    /// They go to this group.
    Group(Name),
    /// They are left to the host.
    Pass,
    /// Their sender is told that nobody serves them: a TCP reset, or an ICMP error.
    Reject,
}

impl Service {
    /// Its key in the kernel's table.
    pub fn key(&self) -> ServiceKey {
        ServiceKey::new(self.address.into(), self.port.to_be_bytes(), self.protocol)
    }

    /// The groups that serve some of its clients, each once; its own first.
    pub fn groups(&self) -> impl Iterator<Item = &Name> {
        let routes = self.rules.iter().map(|rule| &rule.route);
        let of_rules: BTreeSet<_> = routes.filter_map(Route::group).collect();
        let others = of_rules.into_iter().filter(|group| **group != self.group);
        std::iter::once(&self.group).chain(others)
    }

    /// The rule that holds for a client, if one does: its place in [`Self::rules`], and why.
    pub fn rule_for(&self, client: IpAddr, whereabouts: &Whereabouts) -> Option<(usize, Match)> {
        let rules = || self.rules.iter().enumerate();
        let matches = rules().flat_map(|(place, rule)| {
            let prefixes = rule.clients().iter();
            prefixes.filter_map(move |clients| Some((place, clients.prefix_of(client)?)))
        });
        let longest = matches.max_by_key(|(_, prefix)| prefix.length());
        if let Some((place, prefix)) = longest {
            return Some((place, Match::Prefix(prefix)));
        }
        let region = whereabouts.region(client);
        let location = whereabouts.location(client);
        rules().find_map(|(place, rule)| {
            let by_region = || Some(Match::Region(rule.region(region)?));
            let by_location = || Some(Match::Location(rule.location(location?)?.clone()));
            Some((place, by_region().or_else(by_location)?))
        })
    }

    /// What a client's new flows get.
    pub fn route_for(&self, client: IpAddr, whereabouts: &Whereabouts) -> Route {
        match self.rule_for(client, whereabouts) {
            Some((rule, _)) => self.rules[rule].route.clone(),
            None => Route::Group(self.group.clone()),
        }
    }
}

impl Route {
    /// The group that it sends flows to, or else the answer that it gives.
    ///
    /// # Errors
    ///
    /// It names no group; the answer is never [`NoAnswer::Backup`].
    pub fn leads_to(&self) -> Result<&Name, NoAnswer> {
        match self {
            Self::Drop => Err(NoAnswer::Drop),
            Self::Group(group) => Ok(group),
            Self::Pass => Err(NoAnswer::Pass),
            Self::Reject => Err(NoAnswer::Reject),
        }
    }

    /// The group that it sends flows to, if any.
    pub fn group(&self) -> Option<&Name> {
        self.leads_to().ok()
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop => f.write_str("drop"),
            Self::Group(group) => write!(f, "group {group}"),
            Self::Pass => f.write_str("pass"),
            Self::Reject => f.write_str("reject"),
        }
    }
}

impl Model {
    /// A group and all groups that it may hand flows to, itself or through others.
    pub fn within<'a>(&'a self, group: &'a Name) -> BTreeSet<&'a Name> {
        let mut found = BTreeSet::from([group]);
        let mut open = vec![group];
        while let Some(next) = open.pop() {
            let inner = self.groups.get(next).into_iter().flat_map(Group::groups);
            open.extend(inner.filter(|it| found.insert(it)));
        }
        found
    }

    /// The backends that a group may send flows to, itself or through others.
    pub fn backends_within<'a>(&'a self, group: &'a Name) -> BTreeSet<&'a Name> {
        let within = self.within(group).into_iter();
        let groups = within.filter_map(|it| self.groups.get(it));
        groups
            .flat_map(|it| it.backends().map(|(.., backend)| backend))
            .collect()
    }

    /// The groups that services and their rules name.
    pub fn root_groups(&self) -> BTreeSet<&Name> {
        self.services.values().flat_map(Service::groups).collect()
    }

    /// The groups that serve services, themselves or within others.
    pub fn used_groups(&self) -> BTreeSet<&Name> {
        let roots = self.root_groups().into_iter();
        roots.flat_map(|group| self.within(group)).collect()
    }

    /// The service of this name.
    ///
    /// # Errors
    ///
    /// There is none; the message names those that there are.
    pub fn service(&self, name: &str) -> Result<&Service, Refusal> {
        self.services.get(name).ok_or_else(|| {
            let known: Vec<_> = self.services.keys().map(Name::as_str).collect();
            let known = match known.as_slice() {
                [] => "none".to_owned(),
                known => known.join(", "),
            };
            operator::no_such_service(name, known)
        })
    }
}
