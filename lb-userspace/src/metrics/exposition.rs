//! The Prometheus text format, version 0.0.4.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use lb_common::Counter;

use super::{
    names::{self, Metric},
    snapshot::Snapshot,
};
use crate::{
    engine::{GroupView, MemberView, ServiceView},
    model::{Admin, Health},
};

/// The text for a scrape.
pub fn exposition(snapshot: &Snapshot) -> String {
    let mut text = Text::default();
    daemon(snapshot, &mut text);
    packets(snapshot, &mut text);
    services(snapshot, &mut text);
    groups(&snapshot.status.view.groups, &mut text);
    members(&snapshot.status.view.groups, &mut text);
    targets(snapshot, &mut text);
    probes(snapshot, &mut text);
    text.0
}

fn daemon(snapshot: &Snapshot, text: &mut Text) {
    let edge = &snapshot.status.edge;
    text.one(&names::BUILD, [env!("CARGO_PKG_VERSION")], Value::Count(1));
    let interfaces = edge.interfaces.iter();
    let interfaces = interfaces.map(|it| [edge.name.as_str(), &it.name, &it.xdp_mode]);
    text.family(&names::EDGE, interfaces.map(|it| (it, Value::Count(1))));
    text.one(&names::STARTED, [], Value::Real(snapshot.started));
    text.one(&names::HEARTBEAT, [], Value::Real(snapshot.heartbeat));
    text.one(&names::ATTACHED, [], edge.attached.into());
    let pending = snapshot.status.pending.is_some();
    text.one(&names::PENDING, [], pending.into());
    let applies = &snapshot.applies;
    let results = [
        ("done", applies.done),
        ("failed", applies.failed),
        ("waiting", applies.waiting),
    ];
    let results = results.map(|(result, count)| ([result], Value::Count(count)));
    text.family(&names::APPLIES, results);
    let took = applies.last.map(|took| ([], took.as_secs_f64().into()));
    text.family::<0, &str>(&names::APPLY_TIME, took);
    let errors = Value::Count(snapshot.state_file_errors);
    text.one(&names::STATE_FILE_ERRORS, [], errors);
    // A file may be named more than once.
    let mut files = BTreeMap::new();
    for file in &snapshot.status.data_files {
        *files.entry(&file.path).or_insert(false) |= file.broken.is_some();
    }
    let files = files.into_iter();
    let files = files.map(|(path, broken)| ([path.display().to_string()], broken.into()));
    text.family(&names::DATA_FILE_BROKEN, files);
}

fn packets(snapshot: &Snapshot, text: &mut Text) {
    let verdicts = snapshot.verdicts.iter();
    let verdicts = verdicts.map(|(verdict, counter)| ([verdict.label()], *counter));
    text.counters(&names::PACKETS, &names::BYTES, verdicts);
    let events = snapshot.flow_events.iter();
    let events = events.map(|(event, counter)| ([event.label()], Value::Count(counter.packets)));
    text.family(&names::FLOW_EVENTS, events);
    let edge = &snapshot.status.edge;
    text.one(&names::FLOWS, [], Value::Count(edge.flows));
    let size = Value::Count(edge.flow_entries.into());
    text.one(&names::FLOW_TABLE_SIZE, [], size);
    text.one(&names::TRANSLATIONS, [], Value::Count(edge.translations));
    let size = Value::Count(edge.nat_entries.into());
    text.one(&names::NAT_SIZE, [], size);
}

fn services(snapshot: &Snapshot, text: &mut Text) {
    let services = &snapshot.status.view.services;
    let info = |service: &ServiceView| {
        let labels = [
            service.name.to_string(),
            service.address.to_string(),
            service.protocol.clone(),
            service.port.to_string(),
            service.group.to_string(),
        ];
        (labels, Value::Count(1))
    };
    text.family(&names::SERVICE, services.iter().map(info));
    let published = services.iter();
    let published = published.map(|it| ([it.name.as_str()], it.published.into()));
    text.family(&names::SERVICE_PUBLISHED, published);
    let pins = services.iter();
    let pins = pins.filter_map(|it| Some(([it.name.as_str()], Value::Count(it.pins?))));
    text.family(&names::SERVICE_PINS, pins);
    let counters = snapshot.services.iter();
    let counters = counters.map(|(name, counter)| ([name.as_str()], *counter));
    text.counters(&names::SERVICE_PACKETS, &names::SERVICE_BYTES, counters);
}

fn groups(groups: &[GroupView], text: &mut Text) {
    let name = |group: &GroupView| [group.name.to_string()];
    let undecided = groups.iter().map(|it| (name(it), it.undecided.into()));
    text.family(&names::UNDECIDED, undecided);
    // What would be decided without the data that is missing is no alarm.
    let decided = || groups.iter().filter(|group| !group.undecided);
    let best_effort = decided().map(|it| (name(it), it.best_effort.into()));
    text.family(&names::BEST_EFFORT, best_effort);
    let no_answer = decided().map(|it| (name(it), it.no_answer.into()));
    text.family(&names::NO_ANSWER, no_answer);
    let hashes = groups.iter().filter_map(|group| {
        let labels = [group.name.as_str(), group.ring_hash.as_deref()?];
        Some((labels, Value::Count(1)))
    });
    text.family(&names::RING_HASH, hashes);
}

fn members(groups: &[GroupView], text: &mut Text) {
    let all = || {
        let of = |group| move |member| (group, member);
        groups
            .iter()
            .flat_map(move |it| it.members.iter().map(of(it)))
    };
    let labels = |(group, member): (&GroupView, &MemberView)| {
        [group.name.to_string(), member.backend.to_string()]
    };
    let with = |it, state: &str| {
        let [group, backend] = labels(it);
        [group, backend, state.to_owned()]
    };
    let healths = [
        ("checking", Health::Checking),
        ("down", Health::Down),
        ("up", Health::Up),
    ];
    let health = all().flat_map(|it| {
        healths.map(|(word, health)| (with(it, word), (it.1.health == health).into()))
    });
    text.family(&names::HEALTH, health);
    let admins = [
        ("disable", Admin::Disable),
        ("drain", Admin::Drain),
        ("enable", Admin::Enable),
    ];
    let admin = all()
        .flat_map(|it| admins.map(|(word, admin)| (with(it, word), (it.1.admin == admin).into())));
    text.family(&names::ADMIN, admin);
    let backends = all().filter(|(_, member)| !member.is_group);
    let reachable = backends.map(|it| (labels(it), it.1.unreachable.is_none().into()));
    text.family(&names::REACHABLE, reachable);
    let decided = all().filter(|(group, _)| !group.undecided);
    let share = decided.map(|it| (labels(it), it.1.share_value.into()));
    text.family(&names::SHARE, share);
    let latency = all().filter_map(|it| Some((labels(it), (it.1.latency_ms? / 1e3).into())));
    text.family(&names::LATENCY, latency);
}

fn targets(snapshot: &Snapshot, text: &mut Text) {
    let flows = snapshot.flows.iter();
    let flows = flows.map(|((group, backend), flows)| {
        ([group.as_str(), backend.as_str()], Value::Count(*flows))
    });
    text.family(&names::TARGET_FLOWS, flows);
    let counters = snapshot.targets.iter();
    let counters =
        counters.map(|((group, backend), counter)| ([group.as_str(), backend.as_str()], *counter));
    text.counters(&names::TARGET_PACKETS, &names::TARGET_BYTES, counters);
}

fn probes(snapshot: &Snapshot, text: &mut Text) {
    let results = snapshot.probes.iter().flat_map(|(endpoint, results)| {
        results.iter().map(|(result, count)| {
            let labels = [
                endpoint.address.to_string(),
                endpoint.port.to_string(),
                endpoint.kind.to_owned(),
                result.to_owned(),
            ];
            (labels, Value::Count(count))
        })
    });
    text.family(&names::PROBES, results);
}

/// What a sample says.
enum Value {
    /// Exact beyond what a float holds.
    Count(u64),
    Real(f64),
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Count(truth.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Real(number) => number.fmt(f),
        }
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    /// All samples of a metric, which stand together; nothing if there is none.
    fn family<const N: usize, S: AsRef<str>>(
        &mut self,
        Metric(metric): &Metric<N>,
        samples: impl IntoIterator<Item = ([S; N], Value)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        let (name, kind) = (metric.name, metric.kind.as_str());
        self.line(format_args!("# HELP {name} {}", metric.help));
        self.line(format_args!("# TYPE {name} {kind}"));
        for (labels, value) in samples {
            let labels = metric.labels.iter().zip(&labels);
            let labels = labels.map(|(label, is)| format!("{label}=\"{}\"", Escaped(is.as_ref())));
            match labels.collect::<Vec<_>>().join(",") {
                none if none.is_empty() => self.line(format_args!("{name} {value}")),
                labels => self.line(format_args!("{name}{{{labels}}} {value}")),
            }
        }
    }

    fn one<const N: usize>(&mut self, metric: &Metric<N>, labels: [&str; N], value: Value) {
        self.family(metric, [(labels, value)]);
    }

    /// A metric of packets, and one of their bytes.
    fn counters<'a, const N: usize>(
        &mut self,
        packets: &Metric<N>,
        bytes: &Metric<N>,
        counters: impl Iterator<Item = ([&'a str; N], Counter)> + Clone,
    ) {
        let count =
            |(labels, counter): ([&'a str; N], Counter)| (labels, Value::Count(counter.packets));
        self.family(packets, counters.clone().map(count));
        let count =
            |(labels, counter): ([&'a str; N], Counter)| (labels, Value::Count(counter.bytes));
        self.family(bytes, counters.map(count));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = writeln!(self.0, "{line}");
    }
}

/// A label's value as it stands between quotes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::nested;

    /// The samples of a metric that have these labels, without its name.
    fn samples<const N: usize>(Metric(metric): &Metric<N>, labels: &str) -> Vec<String> {
        let (views, mut text) = (nested(), Text::default());
        groups(&views, &mut text);
        members(&views, &mut text);
        let lines = text.0.lines();
        let samples = lines.filter_map(|line| line.strip_prefix(metric.name));
        let with_labels = samples.filter(|sample| sample.contains(labels));
        with_labels.map(str::to_owned).collect()
    }

    #[test]
    fn a_group_in_a_group_has_health_and_share_and_no_way() {
        let inner = "group=\"web\",backend=\"inner\"";
        assert_eq!(
            samples(&names::HEALTH, inner),
            [
                "{group=\"web\",backend=\"inner\",health=\"checking\"} 0",
                "{group=\"web\",backend=\"inner\",health=\"down\"} 0",
                "{group=\"web\",backend=\"inner\",health=\"up\"} 1",
            ]
        );
        let share = "{group=\"web\",backend=\"inner\"} 0.75";
        assert_eq!(samples(&names::SHARE, inner), [share]);
        assert_eq!(samples(&names::REACHABLE, inner), [""; 0]);
        assert_eq!(samples(&names::REACHABLE, "group=\"web\"").len(), 1);
    }

    #[test]
    fn a_group_that_decides_by_client_has_the_shares_of_unknown_clients() {
        assert_eq!(
            samples(&names::SHARE, "group=\"inner\""),
            [
                "{group=\"inner\",backend=\"a\"} 0",
                "{group=\"inner\",backend=\"b\"} 1",
            ]
        );
    }

    #[test]
    fn a_group_that_no_service_names_has_no_ring() {
        assert_eq!(samples(&names::RING_HASH, "group=\"inner\""), [""; 0]);
        assert_eq!(samples(&names::RING_HASH, "group=\"web\"").len(), 1);
    }

    #[test]
    fn what_ends_a_label_is_escaped() {
        let mut text = Text::default();
        text.one(&names::BUILD, ["a\"b\\c\nd"], Value::Count(u64::MAX));
        let sample = "waggle_build_info{version=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n";
        assert!(text.0.ends_with(sample), "{}", text.0);
    }

    #[test]
    fn a_metric_without_samples_is_absent() {
        let mut text = Text::default();
        text.family::<2, &str>(&names::LATENCY, []);
        assert_eq!(text.0, "");
        text.family(&names::LATENCY, [(["g", "b"], Value::Real(0.0015))]);
        let (_, sample) = text.0.rsplit_once("gauge\n").unwrap();
        assert_eq!(
            sample,
            "waggle_member_latency_seconds{group=\"g\",backend=\"b\"} 0.0015\n"
        );
    }
}
