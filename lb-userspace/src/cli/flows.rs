use std::{fmt, net::IpAddr, ops::AddAssign};

use clap::Args;
use lb_common::{FlowState, Target, tick};
use serde::Serialize;

use super::{
    Format,
    columns::{columns, header},
    examples, json,
    names::Names,
    pinned::{Pinned, Read},
};
use crate::{
    dataplane::{FlowCounts, monotonic},
    model::Name,
    refusal::{Refusal, Refused, kernel::no_such_target},
};

/// Count the connections that are remembered, by group, backend and state, and how full the flow table
/// is.
///
/// It is read from the kernel's maps, with or without a daemon. Names are not in there: a daemon tells
/// them, or --config, and what nobody names is shown by its number or address. An entry says to which
/// backend of which group its packets go, and neither the client nor the service; the group is the one
/// that a service names. Entries of backends that were removed are there until they end.
#[derive(Args, Debug)]
#[command(after_long_help = examples(&["waggle flows", "waggle flows --group web --backend a", "waggle flows --config waggle.toml --format json"]))]
pub(super) struct Arguments {
    #[command(flatten)]
    wanted: Wanted,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    #[command(flatten)]
    pinned: Pinned,
}

/// Which entries to count.
#[derive(Args, Debug)]
struct Wanted {
    /// Count only those of this group, by its name or number.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Count only those to this backend, by its name or address.
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
}

/// Live entries.
#[derive(Serialize)]
struct View {
    targets: Vec<Row>,
    /// Of these targets.
    total: Counts,
    /// Of all targets, and how many the table has place for.
    live: u64,
    flow_entries: u32,
}

#[derive(Serialize)]
struct Row {
    target: u16,
    group: Option<Name>,
    group_id: u32,
    backend: Option<Name>,
    address: IpAddr,
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

impl Arguments {
    pub(super) fn run(self) -> Result<String, Refused> {
        let Read {
            kernel,
            tables,
            names,
        } = self.pinned.read()?;
        let live = kernel.flows(tick(monotonic()));
        let none = FlowCounts::default();
        let row = |(id, target)| row(&names, id, target, live.get(&id).unwrap_or(&none));
        let rows = tables.targets().map(row).collect();
        let targets = self.wanted.of(rows)?;
        let mut total = Counts::default();
        targets.iter().for_each(|it| total += it.counts);
        let view = View {
            targets,
            total,
            live: live.values().flatten().sum(),
            flow_entries: kernel.flow_entries(),
        };
        match self.format {
            Format::Json => json(&view),
            Format::Text => Ok(view.to_string()),
        }
    }
}

impl Wanted {
    /// The rows to be shown, by group and backend.
    fn of(&self, mut rows: Vec<Row>) -> Result<Vec<Row>, Refusal> {
        if let Some(group) = &self.group {
            rows.retain(|it| {
                it.group_shown() == *group || format!("{:08x}", it.group_id) == *group
            });
            if rows.is_empty() {
                return Err(no_such_target("group", group));
            }
        }
        if let Some(backend) = &self.backend {
            let is_named = |it: &Row| it.backend.as_ref().is_some_and(|it| it.as_str() == backend);
            rows.retain(|it| is_named(it) || it.address.to_string() == *backend);
            if rows.is_empty() {
                return Err(no_such_target("backend", backend));
            }
        }
        rows.sort_by_key(|it| (it.group_shown(), it.backend.clone(), it.address, it.target));
        Ok(rows)
    }
}

fn row(names: &Names, id: u16, target: &Target, counts: &FlowCounts) -> Row {
    Row {
        target: id,
        group: names.group(target.group).cloned(),
        group_id: target.group,
        backend: names.backend(target).cloned(),
        address: target.address.into(),
        counts: Counts::of(counts),
    }
}

impl Row {
    fn group_shown(&self) -> String {
        let number = || format!("{:08x}", self.group_id);
        self.group.as_ref().map_or_else(number, Name::to_string)
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
        rows.extend(self.targets.iter().map(|it| {
            let backend = it.backend.as_ref().map_or("-", Name::as_str);
            let names = [it.group_shown(), backend.to_owned(), it.address.to_string()];
            names.into_iter().chain(it.counts.cells()).collect()
        }));
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
    use super::*;

    fn row(target: u16, group: Option<&str>, backend: Option<&str>, flows: FlowCounts) -> Row {
        let name = |name: Option<&str>| name.map(|name| name.parse().unwrap());
        Row {
            target,
            group: name(group),
            group_id: 0xbeef,
            backend: name(backend),
            address: [10, 0, 0, target as u8].into(),
            counts: Counts::of(&flows),
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            row(1, Some("web"), Some("b"), [1, 20, 3, 0]),
            row(2, Some("web"), Some("a"), [0; 4]),
            row(3, None, None, [0, 0, 0, 7]),
        ]
    }

    fn kept(group: Option<&str>, backend: Option<&str>) -> Result<Vec<u16>, Refusal> {
        let [group, backend] = [group, backend].map(|it| it.map(str::to_owned));
        let rows = Wanted { group, backend }.of(rows())?;
        Ok(rows.iter().map(|it| it.target).collect())
    }

    #[test]
    fn what_has_no_name_is_asked_for_by_number_and_address() {
        for (group, backend, expected) in [
            (None, None, &[3, 2, 1][..]),
            (Some("web"), None, &[2, 1]),
            (Some("0000beef"), Some("b"), &[1]),
            (None, Some("10.0.0.3"), &[3]),
        ] {
            assert_eq!(kept(group, backend).unwrap(), expected);
        }
        for (group, backend) in [(Some("x"), None), (Some("web"), Some("10.0.0.9"))] {
            assert_eq!(kept(group, backend).unwrap_err().code, "no-such-target");
        }
    }

    #[test]
    fn every_state_has_a_column_and_there_is_a_total() {
        let targets = rows();
        let mut total = Counts::default();
        targets.iter().for_each(|it| total += it.counts);
        let view = View {
            targets,
            total,
            live: 62,
            flow_entries: 124,
        };
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
