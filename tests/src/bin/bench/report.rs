//! The figures, for people and for programs.

use std::fmt;

use lb_tests::statistics::{Estimate, median};
use serde_json::{Value, json};

use crate::{
    columns::{By, Column},
    measure::{Measured, Round},
    rig::REFERENCE_ENTRIES,
};

/// What was measured, summed up.
pub(crate) struct Report {
    cpu: usize,
    rounds: u32,
    /// Memory of the product's maps and of the reference's.
    maps_bytes: [u64; 2],
    /// Entries of the product's flow table when that was taken.
    flow_entries: u32,
    lines: Vec<Line>,
}

struct Line {
    name: String,
    baseline_name: &'static str,
    /// Medians in nanoseconds per packet, the generator's included.
    floor: f64,
    baseline: f64,
    product: f64,
    /// Product - floor.
    added: Estimate,
    /// (Product - floor) / (baseline - floor), for packets of a service.
    ratio: Option<Estimate>,
    /// What the ratio may be at most.
    goal: Option<f64>,
    /// Whether the packets came by a cable.
    is_live: bool,
    hit_rate: Option<f64>,
    reference_hit_rate: Option<f64>,
    load: f64,
}

impl Report {
    /// Sums the columns up; each has a round at least.
    pub(crate) fn new(
        cpu: usize,
        rounds: u32,
        maps_bytes: [u64; 2],
        flow_entries: u32,
        columns: &[(Column, Measured)],
    ) -> Self {
        let lines = columns.iter();
        Self {
            cpu,
            rounds,
            maps_bytes,
            flow_entries,
            lines: lines.map(|(column, of)| Line::new(column, of)).collect(),
        }
    }

    /// Everything; times in nanoseconds per packet. `low` and `high` are the ratio's interval.
    pub(crate) fn json(&self) -> Value {
        let [maps_bytes, reference_maps_bytes] = self.maps_bytes;
        json!({
            "cpu": self.cpu,
            "rounds": self.rounds,
            "columns": self.lines.iter().map(Line::json).collect::<Vec<_>>(),
            "flow_entries": self.flow_entries,
            "maps_bytes": maps_bytes,
            "reference_flow_entries": REFERENCE_ENTRIES,
            "reference_maps_bytes": reference_maps_bytes,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "ns per packet on CPU {}, medians of {} rounds with 95 % intervals; \
             a goal holds if the whole interval does",
            self.cpu, self.rounds
        )?;
        for (i, line) in self.lines.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| self.lines[i].baseline_name);
            if before != Some(line.baseline_name) {
                heading(f, line.baseline_name)?;
            }
            writeln!(f, "{line}")?;
        }
        self.write_rates(f)?;
        let [product, reference] = self
            .maps_bytes
            .map(|bytes| bytes as f64 / f64::from(1 << 20));
        writeln!(
            f,
            "product: {} flow entries, all maps {product:.1} MiB; \
             reference: {REFERENCE_ENTRIES} flow entries, all maps {reference:.1} MiB",
            self.flow_entries
        )
    }
}

impl Report {
    /// What went through the cables.
    fn write_rates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = self.lines.iter().filter(|line| line.is_live);
        for (i, line) in live.enumerate() {
            if i == 0 {
                let [floor, reference, product] = ["floor", "reference", "product"];
                writeln!(
                    f,
                    "\n{:<26}{floor:>8}{reference:>11}{product:>9}",
                    "live, Mpps"
                )?;
            }
            let [floor, baseline, product] = line.rates();
            writeln!(
                f,
                "{:<26}{floor:>8.2}{baseline:>11.2}{product:>9.2}",
                line.name
            )?;
        }
        writeln!(f)
    }
}

fn heading(f: &mut fmt::Formatter<'_>, baseline: &str) -> fmt::Result {
    writeln!(f, "\nbeside: {baseline}")?;
    writeln!(
        f,
        "{:<26}{:>8}{:>11}{:>9}{:>9} {:<16}{:>7} {:<14}{:>6} {:<7}{:>8}{:>11}{:>7}",
        "",
        "floor",
        "beside",
        "product",
        "added",
        "",
        "ratio",
        "",
        "goal",
        "",
        "hits",
        "ref. hits",
        "load"
    )
}

impl Line {
    fn new(column: &Column, measured: &Measured) -> Self {
        let rounds = &measured.rounds;
        let each = |figure: fn(&Round) -> f64| rounds.iter().map(figure).collect::<Vec<_>>();
        let ratio = || each(|round| (round.product - round.floor) / (round.baseline - round.floor));
        Self {
            name: column.name.clone(),
            baseline_name: column.baseline.name,
            floor: median(each(|round| round.floor)),
            baseline: median(each(|round| round.baseline)),
            product: median(each(|round| round.product)),
            added: Estimate::of(&each(|round| round.product - round.floor)),
            ratio: column.is_ours().then(|| Estimate::of(&ratio())),
            goal: column.goal,
            is_live: column.by == By::Cable,
            hit_rate: measured.hit_rate,
            reference_hit_rate: measured.reference_hit_rate,
            load: measured.load,
        }
    }

    /// Whether the goal holds, as sure as the interval is.
    fn holds(&self) -> Option<bool> {
        Some(self.ratio?.high <= self.goal?)
    }

    /// Million packets per second that floor, baseline and product let through.
    fn rates(&self) -> [f64; 3] {
        [self.floor, self.baseline, self.product].map(|nanoseconds| 1e3 / nanoseconds)
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "baseline_name": self.baseline_name,
            "floor": rounded(self.floor),
            "baseline": rounded(self.baseline),
            "product": rounded(self.product),
            "added": rounded(self.added.median),
            "added_low": rounded(self.added.low),
            "added_high": rounded(self.added.high),
            "ratio": self.ratio.map(|ratio| rounded(ratio.median)),
            "low": self.ratio.map(|ratio| rounded(ratio.low)),
            "high": self.ratio.map(|ratio| rounded(ratio.high)),
            "goal": self.goal,
            "holds": self.holds(),
            "mpps": self.is_live.then(|| self.rates().map(rounded)),
            "hit_rate": self.hit_rate,
            "reference_hit_rate": self.reference_hit_rate,
            "load": self.load,
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            floor,
            baseline,
            product,
            added,
            ..
        } = self;
        write!(
            f,
            "{name:<26}{floor:>8.1}{baseline:>11.1}{product:>9.1}{:>9.1} ",
            added.median
        )?;
        write!(
            f,
            "{:<16}",
            format!("[{:.1}, {:.1}]", added.low, added.high)
        )?;
        match self.ratio {
            Some(ratio) => {
                let interval = format!("[{:.2}, {:.2}]", ratio.low, ratio.high);
                write!(f, "{:>7.2} {interval:<14}", ratio.median)?;
            }
            None => write!(f, "{:>7} {:<14}", "-", "")?,
        }
        let goal = self.goal.map_or("-".to_owned(), |goal| goal.to_string());
        let holds = match self.holds() {
            Some(true) => "holds",
            Some(false) => "misses",
            None => "",
        };
        write!(f, "{goal:>6} {holds:<7}")?;
        let rate =
            |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.2}%", rate * 100.0));
        let (hits, reference) = (rate(self.hit_rate), rate(self.reference_hit_rate));
        write!(f, "{hits:>8}{reference:>11}{:>6.1}%", self.load * 100.0)
    }
}

/// To a thousandth: more digits would pretend to be more exact than the clock is.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
