//! The figures, for people and for programs.

use std::fmt;

use lb_tests::statistics::{Estimate, median};
use serde_json::{Value, json};

use crate::{measure::Round, rig::Way};

/// Less than this part of the busy time explained, and the figures are in doubt.
const EXPLAINED: f64 = 0.9;

/// What was measured, summed up.
pub(crate) struct Report {
    cpu: usize,
    rounds: usize,
    lines: Vec<Line>,
    ratios: Vec<Ratio>,
}

struct Line {
    way: Way,
    /// CPU time per connection in microseconds.
    whole: f64,
    /// Whole - direct.
    added: Option<Estimate>,
    /// Which part of the CPU's busy time was the lab's.
    share: f64,
}

/// How many times as many connections per CPU second the product makes as another.
struct Ratio {
    other: Way,
    /// Of everything in the lab: the goal's.
    whole: Estimate,
    /// Of what was added.
    added: Estimate,
}

impl Report {
    /// Sums up at least one round.
    pub(crate) fn new(cpu: usize, rounds: &[Round]) -> Self {
        Self {
            cpu,
            rounds: rounds.len(),
            lines: Way::ALL.map(|way| Line::new(way, rounds)).into(),
            ratios: [Way::Haproxy, Way::Nginx]
                .map(|other| Ratio::new(other, rounds))
                .into(),
        }
    }

    /// Everything; times in microseconds per connection.
    pub(crate) fn json(&self) -> Value {
        json!({
            "cpu": self.cpu,
            "rounds": self.rounds,
            "ways": self.lines.iter().map(Line::json).collect::<Vec<_>>(),
            "ratios": self.ratios.iter().map(Ratio::json).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "whole connections on CPU {}, medians of {} rounds with 95 % intervals",
            self.cpu, self.rounds
        )?;
        writeln!(
            f,
            "{:<9}{:>10}{:>9}{:>9} {:<16}{:>9}",
            "", "per CPU s", "us each", "added us", "", "lab's CPU"
        )?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        for ratio in &self.ratios {
            writeln!(f, "{ratio}")?;
        }
        if self.lines.iter().any(|line| line.share < EXPLAINED) {
            writeln!(
                f,
                "in doubt: over {:.0} % of the CPU's busy time was not the lab's. Stop what else runs \
                 on it; on a kernel with CONFIG_IRQ_TIME_ACCOUNTING packets are not in the figures",
                (1.0 - EXPLAINED) * 100.0
            )?;
        }
        Ok(())
    }
}

impl Line {
    fn new(way: Way, rounds: &[Round]) -> Self {
        let [whole, direct] = [way, Way::Direct].map(|way| whole(way, rounds));
        let added = whole
            .iter()
            .zip(&direct)
            .map(|(whole, direct)| whole - direct);
        let added: Vec<f64> = added.collect();
        let share = rounds.iter().map(|round| round[way as usize].share);
        Self {
            way,
            whole: median(whole),
            added: (way != Way::Direct).then(|| Estimate::of(&added)),
            share: median(share.collect()),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.way.name(),
            "connections_per_cpu_second": (1e6 / self.whole).round(),
            "whole": rounded(self.whole),
            "added": self.added.map(interval),
            "lab_share": rounded(self.share),
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (added, interval) = match self.added {
            Some(Estimate { median, low, high }) => {
                (format!("{median:.1}"), format!("[{low:.1}, {high:.1}]"))
            }
            None => ("-".to_owned(), String::new()),
        };
        write!(
            f,
            "{:<9}{:>10.0}{:>9.1}{added:>9} {interval:<16}{:>7.0} %",
            self.way.name(),
            1e6 / self.whole,
            self.whole,
            self.share * 100.0
        )
    }
}

impl Ratio {
    fn new(other: Way, rounds: &[Round]) -> Self {
        let [theirs, ours, direct] =
            [other, Way::Waggle, Way::Direct].map(|way| whole(way, rounds));
        let whole = theirs.iter().zip(&ours).map(|(theirs, ours)| theirs / ours);
        let added = theirs.iter().zip(&ours).zip(&direct);
        let added = added.map(|((theirs, ours), direct)| (theirs - direct) / (ours - direct));
        Self {
            other,
            whole: Estimate::of(&whole.collect::<Vec<_>>()),
            added: Estimate::of(&added.collect::<Vec<_>>()),
        }
    }

    fn json(&self) -> Value {
        json!({
            "other": self.other.name(),
            "whole": interval(self.whole),
            "added": interval(self.added),
        })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            other,
            whole,
            added,
        } = self;
        write!(
            f,
            "waggle / {:<8} {:.2} [{:.2}, {:.2}] connections per CPU second; \
             by what each adds {:.1} [{:.1}, {:.1}]",
            other.name(),
            whole.median,
            whole.low,
            whole.high,
            added.median,
            added.low,
            added.high
        )
    }
}

/// A way's CPU time per connection, for each round.
fn whole(way: Way, rounds: &[Round]) -> Vec<f64> {
    let costs = rounds.iter().map(|round| round[way as usize].microseconds);
    costs.collect()
}

fn interval(estimate: Estimate) -> Value {
    json!({
        "median": rounded(estimate.median),
        "low": rounded(estimate.low),
        "high": rounded(estimate.high),
    })
}

/// To a thousandth: more digits would pretend to be more exact than the clock is.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
