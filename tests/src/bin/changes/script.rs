//! Which backends there are, and the rings that follow.

use std::net::{IpAddr, Ipv4Addr};

use lb_common::{Descriptor, HashKey, Tuple};
use lb_tests::random::Random;
use lb_userspace::{
    model::{Forward, Identity, Name, Share},
    table::{Destination, Shares, Spread, ring, ring_key},
};

const BACKENDS: usize = 50;
const CHANGES: usize = 100;
const WEIGHT: u64 = 50;

/// What becomes of a backend.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Health {
    /// It is gone, and its connections with it.
    Dead,
    /// It takes no new connections.
    Drains,
    Up,
}

/// A hundred changes, one after the other at equal times, each with its ring.
pub(crate) struct Script {
    /// Seconds between two changes.
    pub(crate) interval: f64,
    key: HashKey,
    /// The state before the first change, and after each.
    states: Vec<State>,
}

struct State {
    health: [Health; BACKENDS],
    weights: [u64; BACKENDS],
    /// By slot, which backend.
    ring: Vec<u8>,
}

impl Script {
    pub(crate) fn new(interval: f64, seed: u64) -> Self {
        let mut random = Random(seed);
        let group = "web".parse().expect("a name");
        let mut states = vec![State::new(
            &group,
            [Health::Up; BACKENDS],
            [WEIGHT; BACKENDS],
        )];
        for _ in 0..CHANGES {
            let last = &states[states.len() - 1];
            let next = last.changed(&group, &mut random);
            states.push(next);
        }
        Self {
            interval,
            key: ring_key("waggle"),
            states,
        }
    }

    pub(crate) fn changes(&self) -> usize {
        self.states.len() - 1
    }

    /// Seconds from the beginning to the last change's end.
    pub(crate) fn end(&self) -> f64 {
        self.time(self.states.len())
    }

    /// When the state with this number began.
    pub(crate) fn time(&self, state: usize) -> f64 {
        state as f64 * self.interval
    }

    /// The number of the state at a time.
    pub(crate) fn at(&self, time: f64) -> usize {
        ((time / self.interval).max(0.) as usize).min(self.changes())
    }

    /// The backend that the ring of a state gives to a flow.
    pub(crate) fn choice(&self, state: usize, flow: &Tuple) -> u8 {
        let ring = &self.states[state].ring;
        let length = u32::try_from(ring.len()).expect("a ring fits its descriptor");
        ring[Descriptor::new(0, length).slot(flow, &self.key) as usize]
    }

    /// Whether a backend goes on in a state.
    pub(crate) fn lives(&self, state: usize, backend: u8) -> bool {
        self.states[state].health[usize::from(backend)] != Health::Dead
    }
}

impl State {
    fn new(group: &Name, health: [Health; BACKENDS], weights: [u64; BACKENDS]) -> Self {
        let share = |backend: usize| {
            let weight = match health[backend] {
                Health::Up => weights[backend],
                Health::Dead | Health::Drains => 0,
            };
            (destination(backend), Share::from_integer(weight.into()))
        };
        let shares: Shares = (0..BACKENDS).map(share).collect();
        let ring = ring(group, &Spread::Flows(shares));
        let backend = |slot: &u16| {
            let target = ring.targets[usize::from(*slot)].identity;
            let same = |it: &usize| destination(*it).identity() == Some(target);
            (0..BACKENDS).find(same).map(|it| it as u8)
        };
        let targets: Vec<u8> = (0..ring.targets.len() as u16)
            .map(|slot| backend(&slot).expect("a backend"))
            .collect();
        let slots = ring.slots.iter().map(|slot| targets[usize::from(*slot)]);
        Self {
            health,
            weights,
            ring: slots.collect(),
        }
    }

    /// A third each: one leaves, one that left comes back, one changes its weight.
    fn changed(&self, group: &Name, random: &mut Random) -> Self {
        let (mut health, mut weights) = (self.health, self.weights);
        let up = |it: &usize| self.health[*it] == Health::Up;
        let (there, away): (Vec<_>, Vec<_>) = (0..BACKENDS).partition(up);
        let mut one_of = |backends: &[usize]| backends[random.draw() as usize % backends.len()];
        let backend = one_of(&there);
        match one_of(&[0, 1, 2]) {
            0 => health[backend] = [Health::Dead, Health::Drains][one_of(&[0, 1])],
            1 if !away.is_empty() => health[one_of(&away)] = Health::Up,
            _ => weights[backend] = one_of(&[25, 75, 100]) as u64,
        }
        Self::new(group, health, weights)
    }
}

fn destination(backend: usize) -> Destination {
    Destination::Backend(Identity {
        address: IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + backend as u32)),
        forward: Forward::L2Dsr,
        port: None,
    })
}
