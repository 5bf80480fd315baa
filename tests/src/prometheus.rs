//! A strict reader of the Prometheus text format, version 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

/// Labels with their values, in order.
pub type Labels = BTreeMap<String, String>;

/// What a scrape said.
#[derive(Clone, Debug, Default)]
pub struct Scrape {
    families: BTreeMap<String, BTreeMap<Labels, f64>>,
}

impl Scrape {
    /// Reads a text.
    ///
    /// # Panics
    /// At the first thing that is not as it should be: a name or a label that is not legal, a sample
    /// away from its HELP and TYPE, a series twice, a counter that does not end in `_total` or that is
    /// negative, a line without an end.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end");
        let mut scrape = Self::default();
        let mut lines = text.lines().peekable();
        while let Some(help) = lines.next() {
            let (name, words) = described(help, "# HELP ");
            assert!(!words.trim().is_empty(), "{name} has no help");
            let (same, kind) = described(lines.next().expect("a TYPE line"), "# TYPE ");
            assert_eq!(name, same, "TYPE of another metric");
            assert!(matches!(kind, "counter" | "gauge"), "{name} is a {kind}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            let mut series = BTreeMap::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
                let (labels, value) = sample(line, name);
                assert!(kind == "gauge" || value >= 0.0, "{line}");
                let twice = series.insert(labels, value).is_some();
                assert!(!twice, "a series twice: {line}");
            }
            assert!(!series.is_empty(), "{name} has no samples");
            let labels: BTreeSet<Vec<_>> = series.keys().map(|it| it.keys().collect()).collect();
            assert_eq!(labels.len(), 1, "{name} has samples with other labels");
            let twice = scrape.families.insert(name.to_owned(), series).is_some();
            assert!(!twice, "{name} stands in two places");
        }
        scrape
    }

    /// The names of the metrics that are there.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.families.keys().map(String::as_str)
    }

    /// The value of the series with exactly these labels.
    pub fn series(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter();
        let labels: Labels = labels.map(|(l, v)| ((*l).into(), (*v).into())).collect();
        self.families.get(name)?.get(&labels).copied()
    }

    /// The values of one label of a metric.
    pub fn values(&self, name: &str, label: &str) -> BTreeSet<String> {
        let series = self.families.get(name).into_iter().flatten();
        series
            .filter_map(|(it, _)| it.get(label).cloned())
            .collect()
    }

    /// Asserts that no counter has gone backwards since `before`.
    #[track_caller]
    pub fn goes_on_from(&self, before: &Self) {
        let counters = before.families.iter();
        for (name, series) in counters.filter(|(name, _)| name.ends_with("_total")) {
            for (labels, then) in series {
                let now = self.families.get(name).and_then(|it| it.get(labels));
                let backwards = now.is_some_and(|now| now < then);
                assert!(!backwards, "{name}{labels:?}: {then}, then {now:?}");
            }
        }
    }
}

#[track_caller]
fn described<'a>(line: &'a str, what: &str) -> (&'a str, &'a str) {
    let rest = line.strip_prefix(what);
    let rest = rest.unwrap_or_else(|| panic!("no `{what}`: {line}"));
    let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
    assert!(is_name(name, ":"), "{name} is no name");
    (name, words)
}

#[track_caller]
fn sample(line: &str, name: &str) -> (Labels, f64) {
    let rest = line.strip_prefix(name);
    let rest = rest.unwrap_or_else(|| panic!("a sample of another metric than {name}: {line}"));
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest),
        None => (Labels::new(), rest),
    };
    let value = value
        .strip_prefix(' ')
        .unwrap_or_else(|| panic!("no value: {line}"));
    let number: f64 = value
        .parse()
        .unwrap_or_else(|_| panic!("no number: {line}"));
    assert!(number.is_finite() && !value.contains(' '), "{line}");
    (labels, number)
}

/// The labels up to the closing bracket, and what follows that.
#[track_caller]
fn labels(mut rest: &str) -> (Labels, &str) {
    let mut labels = Labels::new();
    loop {
        let (label, quoted) = rest.split_once("=\"").expect("a label");
        assert!(is_name(label, "") && !label.starts_with("__"), "{label}");
        let (value, after) = quoted_value(quoted);
        let twice = labels.insert(label.to_owned(), value).is_some();
        assert!(!twice, "{label} twice");
        match after.split_at_checked(1) {
            Some((",", more)) => rest = more,
            Some(("}", after)) => return (labels, after),
            other => panic!("{other:?} after a label"),
        }
    }
}

/// A value up to its closing quote, and what follows that.
#[track_caller]
fn quoted_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        value.push(match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, c @ ('\\' | '"'))) => c,
                other => panic!("{other:?} after a backslash"),
            },
            c => c,
        });
    }
    panic!("no closing quote: {text}")
}

fn is_name(name: &str, also: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || also.contains(c);
    name.chars().all(legal) && name.starts_with(|c: char| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    const GOOD: &str = "# HELP a_total Some.\n# TYPE a_total counter\na_total{l=\"x\\\"\\\\\\n}\"} 7\n\
                        a_total{l=\"\"} 8\n# HELP b Other.\n# TYPE b gauge\nb -0.5\n";

    #[test]
    fn what_is_said_is_read() {
        let scrape = Scrape::parse(GOOD);
        assert_eq!(scrape.series("a_total", &[("l", "x\"\\\n}")]), Some(7.0));
        assert_eq!(scrape.series("b", &[]), Some(-0.5));
        assert_eq!(scrape.series("a_total", &[]), None);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_refused() {
        for (part, instead) in [
            ("b -0.5\n", "b -0.5"),
            ("# HELP a_total Some.\n", ""),
            ("# TYPE a_total counter\n", ""),
            ("# TYPE a_total counter\n", "# TYPE a_total gauge\n"),
            ("# TYPE b gauge", "# TYPE b counter"),
            ("{l=\"\"}", "{l=\"x\\\"\\\\\\n}\"}"),
            ("{l=\"\"}", "{l=\"\",l=\"\"}"),
            ("{l=\"\"}", "{m=\"\"}"),
            ("{l=\"\"}", "{1=\"\"}"),
            ("{l=\"\"}", "{l=\"\\t\"}"),
            ("{l=\"\"}", "{l=\"}"),
            ("b -0.5\n", ""),
            ("b -0.5", "b x"),
            ("b -0.5", "c 1"),
            ("a_total{l=\"\"} 8", "a_total{l=\"\"} -8"),
            (
                "b -0.5\n",
                "b 1\n# HELP a_total Some.\n# TYPE a_total counter\na_total{l=\"\"} 9\n",
            ),
        ] {
            assert!(GOOD.contains(part), "{part}");
            let text = GOOD.replacen(part, instead, 1);
            let read = catch_unwind(|| Scrape::parse(&text));
            assert!(read.is_err(), "{text}");
        }
    }
}
