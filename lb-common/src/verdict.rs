use core::ops::AddAssign;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{SERVICE_COUNT, TARGET_COUNT, abi::abi};

/// Declares a list of named counters with what each means.
macro_rules! names {
    ($(#[$doc:meta])* $ty:ident, $all:ident, { $($(#[doc = $text:literal])+ $name:ident = $label:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[repr(u32)]
        pub enum $ty { $($(#[doc = $text])+ $name),+ }

        /// All of them, in the order of their numbers, which are indices into the counters' map.
        pub const $all: &[$ty] = &[$($ty::$name),+];

        impl $ty {
            /// The name in metrics, status and documents.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label),+ }
            }

            /// What it means, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($text),+).trim_ascii()),+ }
            }
        }
    };
}

names! {
    /// The ways out of the packet program. Every packet leaves by exactly one.
    Verdict, VERDICTS, {
        /// Passed untouched: not addressed to a service, or in a frame for another host.
        NotOurs = "not_ours",
        /// Sent to a backend.
        Forwarded = "forwarded",
        /// Dropped: a fragment to the address of a service, of a packet whose first fragment was not seen or
        /// not remembered; or a first one without a whole TCP or UDP header.
        FragmentUnknown = "fragment_unknown",
        /// Larger than the way to the backend takes: an ICMP error with its MTU went back.
        TooBig = "too_big",
        /// Dropped: the service's policy has no backend for this client.
        NoAnswer = "no_answer",
        /// Dropped: the backend's next hop has no known MAC address.
        NoNextHop = "no_next_hop",
        /// Dropped: the tables name a target that does not exist, a fault of the daemon.
        NoTarget = "no_target",
        /// Dropped: the driver left no room in front of the packet for an outer header.
        NoHeadroom = "no_headroom",
        /// Its time to live, or hop limit, ended here: an ICMP error went back.
        TtlExpired = "ttl_expired",
        /// Dropped: a rule or the policy of the service says so for this client.
        PolicyDropped = "policy_dropped",
        /// Passed untouched: a rule or the policy of the service says so for this client.
        PolicyPassed = "policy_passed",
        /// Rejected by a rule or the policy of the service: a TCP reset or an ICMP error went back.
        Rejected = "rejected",
        /// Dropped: a reset or an ICMP error was due, but this CPU has sent as many as it may.
        ReplyLimited = "reply_limited",
        /// Dropped: a reset or an ICMP error was due, but nobody may be told: the packet is a reset, or its
        /// sender not one host.
        ReplySilent = "reply_silent",
        /// An ICMP echo request to the address of a service, which was answered.
        EchoAnswered = "echo_answered",
        /// A packet of a `full-nat` backend, which went back to its client as one of the service.
        Returned = "returned",
        /// A segment of a `full-nat` flow that has no translation: a TCP reset went back.
        Untranslated = "untranslated",
        /// Dropped: a new `full-nat` flow found all ports taken that it could have at its backend.
        NoPort = "no_port",
        /// Dropped: a new `full-nat` flow was not translated, because this CPU's insert limit was reached.
        TranslationLimited = "translation_limited",
        /// A TCP reset went back: the backend of the packet's connection is down, and its group ends
        /// connections then.
        BackendDown = "backend_down",
    }
}

names! {
    /// What became of a packet's look-up in the flow table.
    FlowEvent, FLOW_EVENTS, {
        /// An entry was found, and the packet sent by it.
        Hit = "hit",
        /// No live entry was found.
        Miss = "miss",
        /// The entry's target belongs to another group than the service: a false match or an old id, taken as a miss.
        Foreign = "foreign",
        /// The entry's target was left, because it takes no new flow, is dead or was flushed.
        Left = "left",
        /// An entry was written where none was live, or over the flow's own.
        Inserted = "inserted",
        /// An entry was written over a live one of another flow.
        Evicted = "evicted",
        /// No entry was written, because this CPU's insert limit was reached.
        Limited = "limited",
        /// No live entry was found, and the packet went where its client is pinned to.
        Pinned = "pinned",
        /// The client was pinned to the target that its new flow went to.
        PinSet = "pin_set",
        /// The client was not pinned, because this CPU's insert limit was reached.
        PinLimited = "pin_limited",
        /// The entry's target is down, and its group ends connections then: it counts as closing.
        Ended = "ended",
        /// No live entry was found, and the packet, which opened no connection, went by the ring before a change.
        Former = "former",
    }
}

/// A number of packets.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(C)]
pub struct Counter {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}

impl AddAssign for Counter {
    fn add_assign(&mut self, other: Self) {
        self.packets = self.packets.wrapping_add(other.packets);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }
}

/// The packets to a service.
#[derive(
    Clone, Copy, Debug, Default, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq,
)]
#[repr(C)]
pub struct ServiceCounter {
    /// Packets that were sent by the entry of their flow, as most are. They are counted here and to
    /// their target alone: whoever reads adds them to [`FlowEvent::Hit`] and [`Verdict::Forwarded`].
    pub hits: Counter,
    /// All others, whatever became of them.
    pub others: Counter,
}

impl ServiceCounter {
    /// All packets.
    pub fn all(self) -> Counter {
        let mut all = self.hits;
        all += self.others;
        all
    }
}

impl AddAssign for ServiceCounter {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.others += other.others;
    }
}

/// Places for verdicts, and for flow events, in [`Counters`]; a power of two.
pub const NAMED_COUNT: usize = 32;

/// What the program counts on a CPU. Only that CPU adds to it.
#[derive(FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub struct Counters {
    /// Packets by [`Verdict`].
    pub verdicts: [Counter; NAMED_COUNT],
    /// Packets by [`FlowEvent`].
    pub flow_events: [Counter; NAMED_COUNT],
    /// Packets by service id.
    pub services: [ServiceCounter; SERVICE_COUNT],
    /// Packets by target id.
    pub targets: [Counter; TARGET_COUNT],
}

const _: () = assert!(size_of::<Counters>() == 99_328);
const _: () = assert!(VERDICTS.len() <= NAMED_COUNT && FLOW_EVENTS.len() <= NAMED_COUNT);

abi! {
    Counter = 16 align 8,
    ServiceCounter = 32 align 8,
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::BTreeSet;

    use super::*;

    /// A label becomes a part of names in metrics, and a meaning a line of a table.
    fn check(names: impl Iterator<Item = (&'static str, &'static str)>) {
        let mut seen = BTreeSet::new();
        for (label, meaning) in names {
            assert!(seen.insert(label), "{label} twice");
            for word in label.split('_') {
                assert!(!word.is_empty(), "{label}");
                assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{label}");
            }
            let sentence = meaning.strip_suffix('.').unwrap_or_default();
            assert!(
                sentence.starts_with(|c: char| c.is_ascii_uppercase()),
                "{meaning}"
            );
            assert!(!sentence.contains(['.', '\n', '|']), "{meaning}");
        }
    }

    #[test]
    fn every_verdict_has_a_label_of_its_own_and_one_sentence() {
        check(VERDICTS.iter().map(|v| (v.label(), v.meaning())));
    }

    #[test]
    fn every_flow_event_has_a_label_of_its_own_and_one_sentence() {
        check(FLOW_EVENTS.iter().map(|e| (e.label(), e.meaning())));
    }

    #[test]
    fn numbers_are_places_in_the_lists() {
        assert!(VERDICTS.iter().enumerate().all(|(i, v)| *v as usize == i));
        assert!(
            FLOW_EVENTS
                .iter()
                .enumerate()
                .all(|(i, e)| *e as usize == i)
        );
    }
}
