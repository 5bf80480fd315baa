//! The figures, for people and for programs.

use std::fmt;

use lb_tests::statistics::{Estimate, median};
use serde_json::{Value, json};

use crate::{
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
    name: &'static str,
    /// Medians in nanoseconds per packet, the generator's included.
    floor: f64,
    reference: f64,
    product: f64,
    /// Product - floor.
    added: Estimate,
    /// (Product - floor) / (reference - floor), for packets of a service.
    ratio: Option<Estimate>,
    hit_rates: Option<[f64; 2]>,
    load: f64,
}

impl Report {
    /// Sums the columns up; each has a round at least.
    pub(crate) fn new(
        cpu: usize,
        rounds: u32,
        maps_bytes: [u64; 2],
        flow_entries: u32,
        columns: &[Measured],
    ) -> Self {
        Self {
            cpu,
            rounds,
            maps_bytes,
            flow_entries,
            lines: columns.iter().map(Line::new).collect(),
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
            "ns per packet on CPU {}, medians of {} rounds with 95 % intervals",
            self.cpu, self.rounds
        )?;
        writeln!(
            f,
            "{:<22}{:>8}{:>11}{:>9}{:>9} {:<16}{:>7} {:<14}{:>8}{:>11}{:>7}",
            "",
            "floor",
            "reference",
            "product",
            "added",
            "",
            "ratio",
            "",
            "hits",
            "ref. hits",
            "load"
        )?;
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
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

impl Line {
    fn new(column: &Measured) -> Self {
        let each = |figure: fn(&Round) -> f64| column.rounds.iter().map(figure).collect::<Vec<_>>();
        let ratio =
            || each(|round| (round.product - round.floor) / (round.reference - round.floor));
        Self {
            name: column.name,
            floor: median(each(|round| round.floor)),
            reference: median(each(|round| round.reference)),
            product: median(each(|round| round.product)),
            added: Estimate::of(&each(|round| round.product - round.floor)),
            ratio: column.is_ours.then(|| Estimate::of(&ratio())),
            hit_rates: column.hit_rates,
            load: column.load,
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "floor": rounded(self.floor),
            "reference": rounded(self.reference),
            "product": rounded(self.product),
            "added": rounded(self.added.median),
            "added_low": rounded(self.added.low),
            "added_high": rounded(self.added.high),
            "ratio": self.ratio.map(|ratio| rounded(ratio.median)),
            "low": self.ratio.map(|ratio| rounded(ratio.low)),
            "high": self.ratio.map(|ratio| rounded(ratio.high)),
            "hit_rate": self.hit_rates.map(|[product, _]| product),
            "reference_hit_rate": self.hit_rates.map(|[_, reference]| reference),
            "load": self.load,
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            floor,
            reference,
            product,
            added,
            ..
        } = self;
        write!(
            f,
            "{name:<22}{floor:>8.1}{reference:>11.1}{product:>9.1}{:>9.1} ",
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
        match self.hit_rates.map(|rates| rates.map(|rate| rate * 100.0)) {
            Some([product, reference]) => write!(f, "{product:>7.2}%{reference:>10.2}%")?,
            None => write!(f, "{:>8}{:>11}", "-", "-")?,
        }
        write!(f, "{:>6.1}%", self.load * 100.0)
    }
}

/// To a thousandth: more digits would pretend to be more exact than the clock is.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
