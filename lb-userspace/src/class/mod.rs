//! Client classes: clients that all rules treat alike are one class, and the packet program knows
//! clients by their class only. Pure.
//!
//! Each service's rules give what they do to which prefixes, and other inputs of decisions, as where
//! clients are, which of their choices holds for which addresses; [`partition`] cuts the address spaces by
//! all of them at once.

mod clients;
mod inputs;
mod sweep;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use lb_common::ServiceKey;

pub use self::{
    clients::{Clients, Meanings},
    sweep::{Address, extend, laid, runs},
};
use crate::{
    model::{self, LocationPattern, Model, Region, Route, Rule, Service},
    whereabouts::Whereabouts,
};

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

/// What the clients of a class have in common.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Class {
    /// What each service with rules does for them.
    pub routes: BTreeMap<ServiceKey, Route>,
    /// The locations that rules of services prefer for them.
    pub prefer: BTreeMap<ServiceKey, Vec<LocationPattern>>,
    /// For each further input which of its choices holds for them.
    pub inputs: Vec<usize>,
}

/// Something besides the rules of services that tells clients apart: runs of addresses with the
/// number of one of its choices, in ascending order. Where there is none, before the first, it is 0.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Input {
    /// First addresses of the runs of IPv4, and the choices.
    pub v4: Vec<(u32, usize)>,
    /// The same for IPv6.
    pub v6: Vec<(u128, usize)>,
}

impl Default for Partition {
    /// One class: nothing tells clients apart.
    fn default() -> Self {
        Self {
            v4: vec![(0, 0)],
            v6: vec![(0, 0)],
            classes: vec![Class::default()],
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

    /// The fewest prefixes that are the clients of all classes but 0, none within another.
    pub fn prefixes(&self) -> usize {
        let v4 = |bits: u128| Ipv4Addr::from_bits(bits as u32).into();
        let v6 = |bits: u128| Ipv6Addr::from_bits(bits).into();
        prefixes_of(&self.v4, u32::MAX, v4) + prefixes_of(&self.v6, u128::MAX, v6)
    }
}

/// The prefixes of runs of other classes than 0, up to the highest address.
fn prefixes_of<A: Address + Into<u128>>(
    runs: &[(A, usize)],
    highest: A,
    address: impl Fn(u128) -> IpAddr,
) -> usize {
    let others = runs.iter().enumerate().filter(|(_, (_, class))| *class > 0);
    let clients = others.filter_map(|(run, (first, _))| {
        let next = runs.get(run + 1);
        let last = next.map_or(highest.into(), |(next, _)| (*next).into() - 1);
        model::Clients::new(address((*first).into()), address(last))
    });
    clients.map(|it| it.prefixes().count()).sum()
}

fn class_at<A: Ord>(runs: &[(A, usize)], address: A) -> usize {
    let next = runs.partition_point(|(first, _)| *first <= address);
    runs[next - 1].1
}

/// The classes of the clients of all services: those that all rules and `inputs` treat alike. Class 0
/// is that of clients whom no rule matches and for whom every input says 0.
pub fn partition(model: &Model, inputs: &[Input]) -> Partition {
    let with_rules = || model.services.values().filter(|it| !it.rules.is_empty());
    let services: BTreeMap<ServiceKey, Rules> = with_rules()
        .map(|service| (service.key(), Rules::of(service, &model.whereabouts)))
        .collect();
    let mut numbers = Numbers::new(services.len() + inputs.len());
    let v4 = services.values().map(|rules| rules.v4.clone());
    let v4 = numbers.runs(v4.chain(inputs.iter().map(|input| input.v4.clone())));
    let v6 = services.values().map(|rules| rules.v6.clone());
    let v6 = numbers.runs(v6.chain(inputs.iter().map(|input| input.v6.clone())));
    let class = |choices: &Vec<usize>| Class {
        routes: services
            .iter()
            .zip(choices)
            .map(|((key, rules), choice)| (*key, rules.choices[*choice].0.clone()))
            .collect(),
        prefer: services
            .iter()
            .zip(choices)
            .map(|((key, rules), choice)| (*key, rules.choices[*choice].1.clone()))
            .filter(|(_, prefer)| !prefer.is_empty())
            .collect(),
        inputs: choices[services.len()..].to_vec(),
    };
    Partition {
        v4,
        v6,
        classes: numbers.in_order().iter().map(class).collect(),
    }
}

/// What the rules of one service say.
struct Rules {
    /// What becomes of clients, each once; first where no rule matches.
    choices: Vec<(Route, Vec<LocationPattern>)>,
    /// Runs of addresses with indices into `choices`.
    v4: Vec<(u32, usize)>,
    /// The same for IPv6.
    v6: Vec<(u128, usize)>,
}

impl Rules {
    fn of(service: &Service, whereabouts: &Whereabouts) -> Self {
        let mut choices = vec![(Route::Group(service.group.clone()), Vec::new())];
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        // By the number of a rule, counted from 1: which of the choices it is.
        let mut meaning = vec![0];
        for (rule, number) in service.rules.iter().zip(1..) {
            let choice = (rule.route.clone(), rule.prefer.clone());
            let known = choices.iter().position(|it| *it == choice);
            meaning.push(known.unwrap_or(choices.len()));
            if known.is_none() {
                choices.push(choice);
            }
            for prefix in rule.clients().iter().flat_map(|it| it.prefixes()) {
                match prefix.first() {
                    IpAddr::V4(_) => v4.push((prefix, number)),
                    IpAddr::V6(_) => v6.push((prefix, number)),
                }
            }
        }
        let first = |holds: &dyn Fn(&Rule) -> bool| {
            let place = service.rules.iter().position(holds);
            place.map_or(0, |place| place + 1)
        };
        let regions = whereabouts.regions();
        let by_region: Vec<usize> = std::iter::once(&Region::World)
            .chain(regions.values())
            .map(|region| first(&|rule| rule.region(*region).is_some()))
            .collect();
        let locations = whereabouts.locations().values().iter();
        let by_location = locations.map(|place| first(&|rule| rule.location(place).is_some()));
        let by_location: Vec<usize> = std::iter::once(0).chain(by_location).collect();
        let choose = |[address, region, location]: [usize; 3]| {
            let place = [by_region[region], by_location[location]];
            let place = place.into_iter().filter(|rule| *rule > 0).min();
            meaning[Some(address)
                .filter(|rule| *rule > 0)
                .or(place)
                .unwrap_or(0)]
        };
        let (places, regions) = (whereabouts.locations(), whereabouts.regions());
        Self {
            v4: laid([&runs(&v4), regions.v4(), places.v4()], choose),
            v6: laid([&runs(&v6), regions.v6(), places.v6()], choose),
            choices,
        }
    }
}

/// Gives each tuple of choices, one per service with rules and input, its number.
struct Numbers(HashMap<Vec<usize>, usize>);

impl Numbers {
    fn new(sources: usize) -> Self {
        Self(HashMap::from([(vec![0; sources], 0)]))
    }

    /// Lays the runs of all sources of choices over each other.
    fn runs<A: Address>(
        &mut self,
        sources: impl Iterator<Item = Vec<(A, usize)>>,
    ) -> Vec<(A, usize)> {
        let runs = sources.enumerate().flat_map(|(source, runs)| {
            runs.into_iter()
                .map(move |(first, choice)| (first, source, choice))
        });
        let mut borders: Vec<_> = runs.collect();
        borders.sort_unstable();
        let sources = self.0.keys().next().map_or(0, Vec::len);
        let mut choices = vec![0; sources];
        let mut all = vec![(A::ZERO, self.number(&choices))];
        for together in borders.chunk_by(|one, next| one.0 == next.0) {
            for (_, source, choice) in together {
                choices[*source] = *choice;
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
