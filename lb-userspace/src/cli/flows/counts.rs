//! Live entries of the flow table, counted by target and state.

use std::{fmt, ops::AddAssign};

use lb_common::FlowState;
use serde::Serialize;

use super::Target;
use crate::{
    cli::columns::{columns, header},
    dataplane::{FlowCounts, Kernel},
};

/// How many there are.
#[derive(Serialize)]
pub(super) struct View {
    targets: Vec<Row>,
    /// Of these targets.
    total: Counts,
    /// Of all targets, and how many the table has place for.
    live: u64,
    flow_entries: u32,
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    target: Target,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Counts {
    opening: u64,
    established: u64,
    closing: u64,
    datagram: u64,
    all: u64,
}

impl View {
    /// Those of these targets at a tick.
    pub(super) fn of(targets: Vec<Target>, kernel: &Kernel, now: u32) -> Self {
        let live = kernel.flows(now);
        let row = |target: Target| Row {
            counts: live.get(&target.id).map(Counts::of).unwrap_or_default(),
            target,
        };
        let rows = targets.into_iter().map(row).collect();
        Self::new(rows, live.values().flatten().sum(), kernel.flow_entries())
    }

    fn new(targets: Vec<Row>, live: u64, flow_entries: u32) -> Self {
        let mut total = Counts::default();
        targets.iter().for_each(|it| total += it.counts);
        Self {
            targets,
            total,
            live,
            flow_entries,
        }
    }
}

impl Counts {
    fn of(counts: &FlowCounts) -> Self {
        let count = |state: FlowState| counts[usize::from(state.0)];
        Self {
            opening: count(FlowState::OPENING),
            established: count(FlowState::ESTABLISHED),
            closing: count(FlowState::CLOSING),
            datagram: count(FlowState::DATAGRAM),
            all: counts.iter().sum(),
        }
    }

    fn cells(self) -> impl Iterator<Item = String> {
        let Self {
            opening,
            established,
            closing,
            datagram,
            all,
        } = self;
        let counts = [opening, established, closing, datagram, all];
        counts.into_iter().map(|count| count.to_string())
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.opening += other.opening;
        self.established += other.established;
        self.closing += other.closing;
        self.datagram += other.datagram;
        self.all += other.all;
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![header(&[
            "GROUP",
            "BACKEND",
            "ADDRESS",
            "OPENING",
            "ESTABLISHED",
            "CLOSING",
            "DATAGRAM",
            "ALL",
        ])];
        let row = |it: &Row| it.target.cells().into_iter().chain(it.counts.cells());
        rows.extend(self.targets.iter().map(|it| row(it).collect()));
        let total = ["total", "", ""].map(str::to_owned).into_iter();
        rows.push(total.chain(self.total.cells()).collect());
        let (live, places) = (self.live, self.flow_entries);
        let fill = live as f64 / f64::from(places) * 100.0;
        write!(f, "{}", columns(0, &rows))?;
        writeln!(f, "\n{live} of {places} flow entries live ({fill:.1} %)")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixtures::targets, *};

    #[test]
    fn every_state_has_a_column_and_there_is_a_total() {
        let flows = [[1, 20, 3, 0], [0; 4], [0, 0, 0, 7]];
        let rows = targets()
            .into_iter()
            .zip(&flows)
            .map(|(target, flows)| Row {
                target,
                counts: Counts::of(flows),
            });
        let view = View::new(rows.collect(), 62, 124);
        let expected = "\
GROUP     BACKEND  ADDRESS   OPENING  ESTABLISHED  CLOSING  DATAGRAM  ALL
web       b        10.0.0.1  1        20           3        0         24
web       a        10.0.0.2  0        0            0        0         0
0000beef  -        10.0.0.3  0        0            0        7         7
total                        1        20           3        7         31

62 of 124 flow entries live (50.0 %)
";
        assert_eq!(view.to_string(), expected);
    }
}
