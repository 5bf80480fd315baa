use std::{fmt, time::Duration};

use super::{AffinitySummary, Explanation, MatchedRule, Outcome, StageSummary};
use crate::model::Name;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "service {}, client {}", self.service, self.client)?;
        if let Some(rule) = &self.rule {
            writeln!(f, "class {}, by {rule}", self.class)?;
        } else if self.class > 0 {
            writeln!(f, "class {}", self.class)?;
        }
        if self.undecided {
            writeln!(
                f,
                "not in force: a group of the service waits for its first probe results; until then \
                 the service stays as it is"
            )?;
        }
        for stages in self.stages.chunk_by(|one, next| one.group == next.group) {
            writeln!(f, "\ngroup {}", stages[0].group)?;
            write_stages(f, stages)?;
        }
        match self.outcome {
            Outcome::Forward => self.write_shares(f),
            Outcome::Drop => self.write_answer(f, "dropped"),
            Outcome::Pass => self.write_answer(f, "left to this host"),
            Outcome::Reject => self.write_answer(f, "rejected"),
        }?;
        match &self.proof {
            Some(proof) => write!(f, "\n{proof}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for MatchedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} of ", self.rule)?;
        match (&self.prefix, &self.location, &self.region) {
            (Some(prefix), ..) => write!(f, "{prefix}: ")?,
            (_, Some(location), _) => write!(f, "location {location}: ")?,
            (.., region) => write!(f, "region {}: ", region.as_deref().unwrap_or("WORLD"))?,
        }
        match (&self.group, &self.answer) {
            (Some(group), _) if self.prefer.is_empty() => write!(f, "group {group}"),
            (Some(group), _) => {
                write!(f, "group {group}, which prefers {}", self.prefer.join(", "))
            }
            (None, Some(answer)) => f.write_str(answer),
            (None, None) => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for AffinitySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            clients,
            idle_s,
            scope,
        } = self;
        let idle = humantime::format_duration(Duration::from_secs(*idle_s));
        write!(
            f,
            "affinity: for {idle}, new flows of {clients} go where the last one went, if that is {scope}"
        )
    }
}

impl Explanation {
    fn write_answer(&self, f: &mut fmt::Formatter<'_>, answer: &str) -> fmt::Result {
        let why = if self.stages.is_empty() {
            ""
        } else {
            "no member may get traffic: "
        };
        writeln!(f, "\n{why}new flows are {answer}")
    }

    fn write_shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nshares")?;
        let rows = self.fractions.iter().zip(self.shares.values());
        let mut rows: Vec<_> = rows
            .map(|((name, fraction), share)| {
                [name.as_str(), fraction, &percent(*share)].map(str::to_owned)
            })
            .collect();
        let answers = self.answers.iter();
        rows.extend(
            answers.map(|(answer, part)| [format!("({answer})"), part.clone(), String::new()]),
        );
        let column = |column: usize| width(rows.iter().map(|row| row[column].as_str()));
        let (names, fractions, percents) = (column(0), column(1), column(2));
        for [name, fraction, percent] in &rows {
            let line = format!("  {name:names$}  {fraction:>fractions$}  {percent:>percents$}");
            writeln!(f, "{}", line.trim_end())?;
        }
        if self.best_effort {
            writeln!(
                f,
                "  too few members of a group are healthy: its all-down rule holds"
            )?;
        }
        if let Some(affinity) = &self.affinity {
            writeln!(f, "\n{affinity}")?;
        }
        writeln!(f, "\nring {}, {} slots", self.ring.hash, self.ring.length)
    }
}

fn write_stages(f: &mut fmt::Formatter<'_>, stages: &[StageSummary]) -> fmt::Result {
    let kept: Vec<_> = stages.iter().map(|it| listed(&it.kept)).collect();
    let removed = stages.iter().flat_map(|it| &it.removed);
    let names = width(stages.iter().map(|it| it.stage.as_str()));
    let keeps = width(kept.iter().map(String::as_str));
    let outs = width(removed.map(|out| out.member.as_str()));
    for (stage, kept) in stages.iter().zip(&kept) {
        let removed =
            (stage.removed.iter()).map(|out| format!("- {:outs$}  {}", out.member, out.why));
        let mut remarks = stage.note.iter().cloned().chain(removed);
        let first = remarks.next().unwrap_or_default();
        let line = format!("  {:names$}  {kept:keeps$}  {first}", stage.stage);
        writeln!(f, "{}", line.trim_end())?;
        for remark in remarks {
            writeln!(f, "  {:names$}  {:keeps$}  {remark}", "", "")?;
        }
    }
    Ok(())
}

/// The names; of a long list the first ones and how many more there are.
fn listed(names: &[Name]) -> String {
    const MOST: usize = 8;
    let shown = if names.len() > MOST {
        MOST - 2
    } else {
        names.len()
    };
    let (shown, rest) = names.split_at(shown);
    let shown: Vec<_> = shown.iter().map(Name::as_str).collect();
    match (shown.len(), rest.len()) {
        (0, _) => "nobody".to_owned(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `30 %`, `11.67 %`: two decimals, without zeros at the end.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.;
    if percent < 0.01 {
        return "<0.01 %".to_owned();
    }
    let text = format!("{percent:.2}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(str::len).max().unwrap_or_default()
}
