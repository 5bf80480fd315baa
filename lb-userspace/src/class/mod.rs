//! Client classes: clients that all rules treat alike are one class, and the packet program knows
//! clients by their class only. Pure.
//!
//! A kind of rule gives, per service, what it does to which prefixes; [`partition`] cuts the address
//! spaces by all of them at once.

mod sweep;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use lb_common::ServiceKey;

pub use self::sweep::{Address, extend, runs};
use crate::model::{Model, Prefix, Route, Service};

/// The most classes that there may be: a class is a number of 15 bits in the kernel's tables.
pub const MOST_CLASSES: usize = (1 << 15) - 1;

/// Both address spaces, cut into runs of addresses of one class.
///
/// Runs stand in ascending order; the first begins at address 0, each ends where the next begins,
/// and neighbours differ. Classes are numbered in the order of their first addresses, IPv4 first,
/// after class 0: equal rules give equal partitions, whatever order they are written in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Partition {
    /// First addresses of the runs of IPv4, and their classes.
    pub v4: Vec<(u32, usize)>,
    /// The same for IPv6.
    pub v6: Vec<(u128, usize)>,
    /// The classes. The first holds where no rule matches, be it nowhere.
    pub classes: Vec<Class>,
}

/// What each service with rules does for the clients of a class.
pub type Class = BTreeMap<ServiceKey, Route>;

impl Default for Partition {
    /// One class: no service has rules.
    fn default() -> Self {
        Self {
            v4: vec![(0, 0)],
            v6: vec![(0, 0)],
            classes: vec![Class::new()],
        }
    }
}

impl Partition {
    /// The class of a client.
    pub fn class_of(&self, client: IpAddr) -> usize {
        match client.to_canonical() {
            IpAddr::V4(v4) => class_at(&self.v4, v4.to_bits()),
            IpAddr::V6(v6) => class_at(&self.v6, v6.to_bits()),
        }
    }
}

fn class_at<A: Ord>(runs: &[(A, usize)], address: A) -> usize {
    let next = runs.partition_point(|(first, _)| *first <= address);
    runs[next - 1].1
}

/// The classes of the clients of all services.
pub fn partition(model: &Model) -> Partition {
    let with_rules = || model.services.values().filter(|it| !it.rules.is_empty());
    let services: BTreeMap<ServiceKey, Inputs> = with_rules()
        .map(|service| (service.key(), Inputs::of(service)))
        .collect();
    let mut numbers = Numbers::new(services.len());
    let v4 = numbers.runs(services.values().map(|inputs| runs(&inputs.v4)));
    let v6 = numbers.runs(services.values().map(|inputs| runs(&inputs.v6)));
    let route = |((key, inputs), choice): ((&ServiceKey, &Inputs), &usize)| {
        (*key, inputs.routes[*choice].clone())
    };
    let class = |choices: &Vec<usize>| services.iter().zip(choices).map(route).collect();
    Partition {
        v4,
        v6,
        classes: numbers.in_order().iter().map(class).collect(),
    }
}

/// What the rules of one service say.
struct Inputs {
    /// What becomes of clients, each once; first where no rule matches.
    routes: Vec<Route>,
    /// Prefixes with indices into `routes`.
    v4: Vec<(Prefix, usize)>,
    /// The same for IPv6.
    v6: Vec<(Prefix, usize)>,
}

impl Inputs {
    fn of(service: &Service) -> Self {
        let mut inputs = Self {
            routes: vec![Route::Group(service.group.clone())],
            v4: Vec::new(),
            v6: Vec::new(),
        };
        for rule in &service.rules {
            let known = inputs.routes.iter().position(|it| *it == rule.route);
            let choice = known.unwrap_or(inputs.routes.len());
            if known.is_none() {
                inputs.routes.push(rule.route.clone());
            }
            for prefix in rule.clients.iter().flat_map(|it| it.prefixes()) {
                match prefix.first() {
                    IpAddr::V4(_) => inputs.v4.push((prefix, choice)),
                    IpAddr::V6(_) => inputs.v6.push((prefix, choice)),
                }
            }
        }
        inputs
    }
}

/// Gives each tuple of choices, one per service, its number.
struct Numbers(HashMap<Vec<usize>, usize>);

impl Numbers {
    fn new(services: usize) -> Self {
        Self(HashMap::from([(vec![0; services], 0)]))
    }

    /// Lays the runs of all services over each other.
    fn runs<A: Address>(
        &mut self,
        services: impl Iterator<Item = Vec<(A, usize)>>,
    ) -> Vec<(A, usize)> {
        let runs = services.enumerate().flat_map(|(service, runs)| {
            runs.into_iter()
                .map(move |(first, choice)| (first, service, choice))
        });
        let mut borders: Vec<_> = runs.collect();
        borders.sort_unstable();
        let services = self.0.keys().next().map_or(0, Vec::len);
        let mut choices = vec![0; services];
        let mut all = vec![(A::ZERO, self.number(&choices))];
        for together in borders.chunk_by(|one, next| one.0 == next.0) {
            for (_, service, choice) in together {
                choices[*service] = *choice;
            }
            extend(&mut all, (together[0].0, self.number(&choices)));
        }
        all
    }

    fn number(&mut self, choices: &[usize]) -> usize {
        let next = self.0.len();
        if let Some(number) = self.0.get(choices) {
            return *number;
        }
        self.0.insert(choices.to_vec(), next);
        next
    }

    fn in_order(self) -> Vec<Vec<usize>> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        all.into_iter().map(|(choices, _)| choices).collect()
    }
}
