//! Who gets which of some places, so that few change hands when somebody comes or leaves.

use std::hint::select_unpredictable;

use sha2::{Digest, Sha256};

/// Who wants places.
pub(super) struct Entrant {
    /// It chooses the order in which places are tried.
    pub(super) seed: (u64, u64),
    /// How many places it gets.
    pub(super) quota: usize,
    /// The inverse of its speed, below 2^59.
    pub(super) interval: u64,
}

/// Steps of the fastest in a turn: so many are as good as one, and take less time to compare.
const TURN: u64 = 8;

/// Nobody has it yet.
const FREE: u16 = u16::MAX;

/// The number of the entrant that gets each of `length` places, a prime number. The quotas must sum to
/// it.
///
/// Each entrant goes over all places in an order of its own and takes each free one until it has its
/// quota. All go at once, by turns as long as a few steps of the fastest. A step takes a time of
/// interval / places it has not seen: the mean gaps between sorted draws from an exponential
/// distribution.
pub(super) fn race(entrants: &[Entrant], length: usize) -> Vec<u16> {
    let mut places = vec![FREE; length];
    let mut lanes = lanes(entrants, length);
    let mut now = 0;
    while let Some(step) = lanes.iter().map(|lane| lane.clock.pause).min() {
        let until = now + TURN * step;
        now = u64::MAX;
        lanes.retain_mut(|lane| {
            lane.run(until, &mut places);
            now = now.min(lane.clock.time);
            !lane.walkers.is_empty()
        });
    }
    places
}

/// Entrants of one speed, in their order: equal shares, the usual case, need no comparing of times.
struct Lane {
    clock: Clock,
    walkers: Vec<Walker>,
}

/// When walkers of one speed go.
struct Clock {
    interval: u64,
    /// Places that the walkers have not looked at: as many for each.
    unseen: u64,
    /// The time of their next step.
    time: u64,
    /// The time that a step takes now.
    pause: u64,
}

fn lanes(entrants: &[Entrant], length: usize) -> Vec<Lane> {
    let mut order: Vec<usize> = (0..entrants.len()).collect();
    order.sort_by_key(|entrant| entrants[*entrant].interval);
    let same = |one: &usize, next: &usize| entrants[*one].interval == entrants[*next].interval;
    let lane = |members: &[usize]| {
        let interval = entrants[members[0]].interval;
        let members = members.iter().filter(|it| entrants[**it].quota > 0);
        Lane {
            clock: Clock {
                interval,
                unseen: length as u64,
                time: interval / length as u64,
                pause: interval / length as u64,
            },
            walkers: members
                .map(|it| Walker::new(*it, &entrants[*it], length))
                .collect(),
        }
    };
    let lanes = order.chunk_by(same).map(lane);
    lanes.filter(|lane| !lane.walkers.is_empty()).collect()
}

impl Lane {
    /// Goes on until then, or until all have what they should.
    fn run(&mut self, until: u64, places: &mut [u16]) {
        // Where no two shares are equal all are alone, and the loop below takes a third longer.
        if let [alone] = &mut self.walkers[..] {
            while self.clock.time < until && alone.quota > 0 {
                alone.step(places);
                self.clock.step();
            }
            self.walkers.retain(|walker| walker.quota > 0);
            return;
        }
        while self.clock.time < until && !self.walkers.is_empty() {
            let mut arrived = false;
            for walker in &mut self.walkers {
                walker.step(places);
                arrived |= walker.quota == 0;
            }
            if arrived {
                self.walkers.retain(|walker| walker.quota > 0);
            }
            self.clock.step();
        }
    }
}

impl Clock {
    fn step(&mut self) {
        /// Steps between two looks at how long one takes.
        const STEADY: u64 = 16;
        self.unseen -= 1;
        self.time += self.pause;
        // Whoever has seen every place has all that it should have.
        if self.unseen.is_multiple_of(STEADY) && self.unseen > 0 {
            self.pause = self.interval / self.unseen;
        }
    }
}

/// An entrant on its way over the places `place`, `place + skip`, ... modulo their number.
struct Walker {
    entrant: u16,
    place: usize,
    skip: usize,
    /// Places that it still has to take.
    quota: usize,
}

impl Walker {
    fn new(number: usize, entrant: &Entrant, length: usize) -> Self {
        let number = u16::try_from(number).ok().filter(|it| *it != FREE);
        let length = length as u64;
        Self {
            entrant: number.expect("at most 65,535 race"),
            place: (entrant.seed.0 % length) as usize,
            skip: (1 + entrant.seed.1 % (length - 1)) as usize,
            quota: entrant.quota,
        }
    }

    fn step(&mut self, places: &mut [u16]) {
        // Whether it is free can not be foreseen, and a branch that is taken wrongly costs more than all else.
        let place = &mut places[self.place];
        let free = *place == FREE;
        *place = select_unpredictable(free, self.entrant, *place);
        self.quota -= usize::from(free);
        self.place += self.skip;
        if self.place >= places.len() {
            self.place -= places.len();
        }
    }
}

/// Two numbers that a hash gives.
pub(super) fn first_words(hash: Sha256) -> (u64, u64) {
    let digest: [u8; 32] = hash.finalize().into();
    let (words, _) = digest.as_chunks();
    (u64::from_be_bytes(words[0]), u64::from_be_bytes(words[1]))
}

/// Another number, by which near ones are far apart (the finalizer of SplitMix64).
pub(super) fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
