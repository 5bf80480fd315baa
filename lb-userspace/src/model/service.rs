use std::{collections::BTreeSet, fmt, net::IpAddr};

use lb_common::{Protocol, ServiceKey};

use super::{Clients, Model, Name, Prefix};
use crate::refusal::{Refusal, operator};

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
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// Which clients, at least one.
    pub clients: Vec<Clients>,
    /// What becomes of their new flows.
    pub route: Route,
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

    /// The rule that holds for a client, if one does: its place in [`Self::rules`], and the longest
    /// prefix of the service's rules that the client is in.
    pub fn rule_for(&self, client: IpAddr) -> Option<(usize, Prefix)> {
        let rules = self.rules.iter().enumerate();
        let matches = rules.flat_map(|(place, rule)| {
            let prefixes = rule.clients.iter();
            prefixes.filter_map(move |clients| Some((place, clients.prefix_of(client)?)))
        });
        matches.max_by_key(|(_, prefix)| prefix.length())
    }

    /// What a client's new flows get.
    pub fn route_for(&self, client: IpAddr) -> Route {
        match self.rule_for(client) {
            Some((rule, _)) => self.rules[rule].route.clone(),
            None => Route::Group(self.group.clone()),
        }
    }
}

impl Route {
    /// The group that it sends flows to, if any.
    pub fn group(&self) -> Option<&Name> {
        match self {
            Self::Group(group) => Some(group),
            Self::Drop | Self::Pass | Self::Reject => None,
        }
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
