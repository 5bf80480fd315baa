//! The one list of metrics.

/// What a metric is, as its `# TYPE` line says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Only grows while the daemon lives.
    Counter,
    /// Goes up and down.
    Gauge,
}

impl Kind {
    /// The word of the text format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A metric: what is said of it once, before its samples.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Description {
    /// Name, with the base unit at its end; `_total` ends those of counters and of nothing else.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it means, in one sentence.
    pub help: &'static str,
    /// The labels of each of its samples.
    pub labels: &'static [&'static str],
}

/// A metric whose samples have `N` labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric<const N: usize>(pub(super) Description);

/// Declares the metrics, each with its help text as the comment.
macro_rules! metrics {
    ($($(#[doc = $help:literal])+ $kind:ident $constant:ident = $name:literal [$($label:literal),*];)+) => {
        $(
            $(#[doc = $help])+
            pub(super) const $constant: Metric<{ <[&str]>::len(&[$($label),*]) }> = Metric(Description {
                name: $name,
                kind: Kind::$kind,
                help: concat!($($help),+).trim_ascii(),
                labels: &[$($label),*],
            });
        )+

        /// Every metric.
        pub const ALL: &[Description] = &[$($constant.0),+];
    };
}

metrics! {
    /// Version of the daemon.
    Gauge BUILD = "waggle_build_info" ["version"];
    /// Name of the edge, each of its interfaces, and how the packet program is attached there: native or generic.
    Gauge EDGE = "waggle_edge_info" ["edge", "interface", "mode"];
    /// Unix time when the daemon started.
    Gauge STARTED = "waggle_start_timestamp_seconds" [];
    /// Unix time of the daemon's last turn, of which there is one every second.
    Gauge HEARTBEAT = "waggle_heartbeat_timestamp_seconds" [];
    /// Whether the packet program is on all interfaces (1 or 0).
    Gauge ATTACHED = "waggle_attached" [];
    /// Whether something that was decided is not in the kernel's tables yet (1 or 0).
    Gauge PENDING = "waggle_tables_pending" [];
    /// Times that the kernel's tables were brought to what was decided: done, waiting for room, or failed.
    Counter APPLIES = "waggle_applies_total" ["result"];
    /// How long the last of them took.
    Gauge APPLY_TIME = "waggle_last_apply_duration_seconds" [];
    /// Times that the state file could not be written.
    Counter STATE_FILE_ERRORS = "waggle_state_file_errors_total" [];

    /// Whether a file that tells where clients are is broken, so that what it said before holds (1 or 0).
    Gauge DATA_FILE_BROKEN = "waggle_data_file_broken" ["file"];

    /// Packets by the way that they left the packet program, since the tables were made.
    Counter PACKETS = "waggle_packets_total" ["verdict"];
    /// Bytes of the frames of these packets.
    Counter BYTES = "waggle_bytes_total" ["verdict"];
    /// Look-ups in the flow table by what became of them, and what was written for them.
    Counter FLOW_EVENTS = "waggle_flow_events_total" ["event"];
    /// Live entries in the flow table, counted at most every ten seconds.
    Gauge FLOWS = "waggle_flow_table_live_entries" [];
    /// Entries that the flow table has place for.
    Gauge FLOW_TABLE_SIZE = "waggle_flow_table_size_entries" [];
    /// Flows to full-nat backends that are translated, counted at most every ten seconds.
    Gauge TRANSLATIONS = "waggle_nat_live_entries" [];
    /// Flows that can be translated at a time.
    Gauge NAT_SIZE = "waggle_nat_size_entries" [];

    /// What a service is.
    Gauge SERVICE = "waggle_service_info" ["service", "address", "protocol", "port", "group"];
    /// Whether the kernel's tables have the service (1 or 0).
    Gauge SERVICE_PUBLISHED = "waggle_service_published" ["service"];
    /// Packets addressed to a service.
    Counter SERVICE_PACKETS = "waggle_service_packets_total" ["service"];
    /// Bytes of the frames of these packets.
    Counter SERVICE_BYTES = "waggle_service_bytes_total" ["service"];
    /// Clients of a service with affinity that are pinned to a backend, counted at most every ten seconds.
    Gauge SERVICE_PINS = "waggle_service_pinned_clients" ["service"];

    /// Whether the group waits for the first probe results of its members (1 or 0).
    Gauge UNDECIDED = "waggle_group_undecided" ["group"];
    /// Whether all members of a decided group are down and its all-down rule is in use (1 or 0).
    Gauge BEST_EFFORT = "waggle_group_best_effort" ["group"];
    /// Whether no member of a decided group may get traffic, so that new flows get no backend (1 or 0).
    Gauge NO_ANSWER = "waggle_group_no_answer" ["group"];
    /// Hash of the group's ring as a label: edges that decide alike have the same.
    Gauge RING_HASH = "waggle_ring_hash" ["group", "hash"];

    /// What the probes say of a member: 1 for one of up, down and checking, 0 for the others.
    Gauge HEALTH = "waggle_member_health" ["group", "backend", "health"];
    /// What the operator wants of a member: 1 for one of enable, drain and disable, 0 for the others.
    Gauge ADMIN = "waggle_member_admin" ["group", "backend", "admin"];
    /// Whether packets can reach a member that is a backend (1 or 0).
    Gauge REACHABLE = "waggle_member_reachable" ["group", "backend"];
    /// A member's part of its group's new flows, from 0 to 1; none while the group is undecided.
    Gauge SHARE = "waggle_member_share_ratio" ["group", "backend"];
    /// Published probe latency of a member; none before its first good probe.
    Gauge LATENCY = "waggle_member_latency_seconds" ["group", "backend"];
    /// Live flow entries of a target, a backend in or within a group that services name, counted at most every ten seconds.
    Gauge TARGET_FLOWS = "waggle_target_live_flows" ["group", "backend"];
    /// Packets forwarded to a target, which is a backend in or within one group that services name.
    Counter TARGET_PACKETS = "waggle_target_packets_total" ["group", "backend"];
    /// Bytes of the frames of these packets.
    Counter TARGET_BYTES = "waggle_target_bytes_total" ["group", "backend"];

    /// Probes by their result: ok, or why not. Groups that share a probe count it once.
    Counter PROBES = "waggle_probes_total" ["address", "port", "kind", "result"];
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_legal_unique_and_say_what_they_are() {
        let mut seen = BTreeSet::new();
        for metric in ALL {
            let name = metric.name;
            assert!(seen.insert(name), "{name} twice");
            assert!(name.starts_with("waggle_"), "{name}");
            let legal = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            assert!(legal(name), "{name}");
            let is_counter = metric.kind == Kind::Counter;
            assert_eq!(name.ends_with("_total"), is_counter, "{name}");
            let labels: BTreeSet<_> = metric.labels.iter().collect();
            assert_eq!(labels.len(), metric.labels.len(), "{name}");
            assert!(labels.iter().all(|label| legal(label)), "{name}");
            assert!(metric.help.ends_with('.'), "{name}: {}", metric.help);
        }
    }
}
