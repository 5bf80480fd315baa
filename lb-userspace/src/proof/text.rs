use std::{collections::BTreeMap, fmt};

use super::{Difference, Judgement, Run};

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs { run, differences } => {
                writeln!(f, "NOT SO IN THE KERNEL: {run}")?;
                differences.iter().try_for_each(|it| writeln!(f, "  {it}"))
            }
            Self::Holds(run) => writeln!(f, "proved in the kernel: {run}"),
            Self::Unproven { why } => writeln!(f, "not proved in the kernel: {why}"),
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.backends.is_empty() {
            true => &self.verdicts,
            false => &self.backends,
        };
        write!(f, "{} flows, {}", self.flows, listed(does))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            decided,
            found,
        } = self;
        write!(f, "{what}: decided {decided}; found {found}")
    }
}

/// The counts; of many the largest, and what the others sum up to.
fn listed(counts: &BTreeMap<String, usize>) -> String {
    const MOST: usize = 8;
    let mut counts: Vec<_> = counts.iter().collect();
    let mut rest = Vec::new();
    if counts.len() > MOST {
        counts.sort_by_key(|(_, flows)| std::cmp::Reverse(**flows));
        rest = counts.split_off(MOST - 2);
    }
    let mut texts: Vec<_> = counts
        .iter()
        .map(|(name, flows)| format!("{name} {flows}"))
        .collect();
    if !rest.is_empty() {
        let flows: usize = rest.iter().map(|(_, flows)| **flows).sum();
        texts.push(format!("{} others {flows}", rest.len()));
    }
    texts.join(", ")
}
