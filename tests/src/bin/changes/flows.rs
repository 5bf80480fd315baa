//! Connections, and which of them break.

use lb_common::{Address, Ports, Protocol, Tuple};
use lb_tests::random::Random;

use super::script::Script;

/// One of so many connections loses its entry at some time, or gets none with its SYN.
const ONE_OF: u64 = 100;
/// Behind so many later ones next to none runs.
const MOST_BEHIND: usize = 60_000;
/// Seconds from a SYN to the client's next packet.
const ROUND_TRIP: f64 = 0.05;

/// For each state the former one that is known, and until when.
pub(crate) type Formers = Vec<Option<(usize, f64)>>;

/// The former states when each counts for so many seconds. Of several changes within them the first one's
/// counts.
pub(crate) fn formers(script: &Script, grace: f64) -> Formers {
    let mut formers: Formers = vec![None];
    for state in 1..=script.changes() {
        let now = script.time(state);
        let known = formers[state - 1].filter(|(_, until)| *until > now);
        formers.push(known.or(Some((state - 1, now + grace))));
    }
    formers
}

/// A connection.
pub(crate) struct Flow {
    tuple: Tuple,
    begin: f64,
    end: f64,
    backend: u8,
    /// When its next packet comes after its entry was lost, if it was.
    lost: Option<f64>,
    /// When its second packet comes after its SYN left no entry, if it did not.
    limited: Option<f64>,
}

impl Flow {
    /// The connections of a script, of which `rate` begin each second and whose lengths are exponential.
    pub(crate) fn all(script: &Script, length: f64, rate: f64) -> Vec<Self> {
        let mut random = Random(7);
        let mut begin = -5. * length;
        let mut flows = Vec::new();
        while begin < script.end() {
            begin += exponential(&mut random, 1. / rate);
            flows.push(Self::new(script, begin, length, &mut random));
        }
        flows
    }

    fn new(script: &Script, begin: f64, length: f64, random: &mut Random) -> Self {
        let lasts = exponential(random, length);
        let drawn = random.draw();
        let tuple = Tuple {
            client: Address::of_v4_word(drawn as u32),
            service: Address::v4([203, 0, 113, 10]),
            ports: Ports::new((drawn >> 32) as u16 | 1024, 443),
            protocol: Protocol::TCP,
        };
        let lost = begin + lasts * uniform(random) + exponential(random, 1.);
        let mut one_of = |time| random.draw().is_multiple_of(ONE_OF).then_some(time);
        Self {
            tuple,
            begin,
            end: begin + lasts,
            backend: script.choice(script.at(begin), &tuple),
            lost: one_of(lost),
            limited: one_of(begin + ROUND_TRIP),
        }
    }

    /// Whether it runs at a time, to a backend that lives.
    fn runs(&self, script: &Script, time: f64) -> bool {
        let mut states = script.at(self.begin)..=script.at(time);
        (self.begin..self.end).contains(&time) && states.all(|it| script.lives(it, self.backend))
    }

    /// Whether a packet without an entry breaks it.
    fn breaks(&self, script: &Script, formers: &Formers, time: f64) -> bool {
        let state = script.at(time);
        let former = formers[state].filter(|(_, until)| time < *until);
        let by_former = former.map(|(former, _)| script.choice(former, &self.tuple));
        let by_former = by_former.filter(|backend| script.lives(state, *backend));
        by_former.unwrap_or_else(|| script.choice(state, &self.tuple)) != self.backend
    }
}

/// Connections that break by a change, of a million that run, on the edge where they began: because it
/// lost some of their entries, and because some of their SYNs left none.
pub(crate) fn broken_here(script: &Script, flows: &[Flow], formers: &Formers) -> [f64; 2] {
    let at_a_time: f64 = flows.iter().map(|it| it.end - it.begin).sum::<f64>() / script.end();
    let causes: [fn(&Flow) -> Option<f64>; 2] = [|flow| flow.lost, |flow| flow.limited];
    causes.map(|unknown| {
        let breaks = |flow: &&Flow| {
            let time = unknown(flow).filter(|time| *time > 0.);
            time.is_some_and(|it| flow.runs(script, it) && flow.breaks(script, formers, it))
        };
        let broken = flows.iter().filter(breaks).count();
        1e6 * broken as f64 / at_a_time / script.changes() as f64
    })
}

/// Connections that break, of a million, when all come to another edge: at some time within this part
/// of the time between two changes.
pub(crate) fn broken_there(script: &Script, flows: &[Flow], formers: &Formers, part: f64) -> f64 {
    let mut random = Random(9);
    let (mut running, mut broken) = (0, 0);
    for state in 1..=script.changes() {
        let time = script.time(state) + script.interval * part * uniform(&mut random);
        let begun = flows.partition_point(|flow| flow.begin <= time);
        for flow in flows[..begun].iter().rev().take(MOST_BEHIND) {
            if flow.runs(script, time) {
                running += 1;
                broken += u32::from(flow.breaks(script, formers, time));
            }
        }
    }
    1e6 * f64::from(broken) / f64::from(running)
}

fn uniform(random: &mut Random) -> f64 {
    (random.draw() >> 11) as f64 / (1_u64 << 53) as f64
}

fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * (1. - uniform(random)).ln()
}
