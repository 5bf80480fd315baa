//! Every type that crosses the border between Waggle's daemon and its packet program.
//!
//! Addresses and ports stand in network order (IPv4 as IPv4-mapped IPv6), so there is no question
//! of endianness; enumerations cross as transparent integers, so every bit pattern
//! is a value. Each file ends with `abi! { Type = size align n }`, which proves size, alignment and
//! the absence of padding when the crate is compiled.
#![no_std]

mod abi;
mod address;
mod affinity;
mod client;
mod control;
mod cpu;
mod exit;
mod flow;
mod former;
mod fragment;
mod hash;
mod proof;
mod recent;
mod ring;
mod service;
mod tables;
mod target;
mod translation;
mod tuple;
mod verdict;

pub use self::{
    address::Address,
    affinity::{Affinity, Pin, PinKey, RING_HEAD, Scope, member_bit, ring_head},
    client::{CLASSES, CLIENT_BUFFERS, LONG_NETWORKS, LongNetwork, Networks, Place, V6_PREFIXES},
    control::{Control, GENERATION_OFFSET, HEARTBEAT_OFFSET},
    cpu::Cpu,
    exit::{Exit, Station, Tags, Transit},
    flow::{Bucket, Entry, FlowState, IdleTicks, NAT_HOLDS, TICK_SHIFT, WAYS, tick},
    former::FormerRing,
    fragment::{FragmentKey, FragmentRoute},
    hash::{FLOW_PASSES, HashKey},
    proof::Proof,
    recent::{Course, RECENT_SETS, RECENT_WAYS, Recent},
    ring::{Answer, CHUNK, Chunk, Descriptor},
    service::{Port, Protocol, Row, Service, ServiceGroup, ServiceKey},
    tables::{PORT_COUNT, SERVICE_COUNT, TARGET_COUNT, Tables},
    target::{ForwardMode, Mac, Outer, Target, TargetState, Way},
    translation::{NAT_PROBES, Nat, Translation, TranslationKey},
    tuple::{Ports, Tuple},
    verdict::{
        Counter, Counters, FLOW_EVENTS, FlowEvent, NAMED_COUNT, ServiceCounter, VERDICTS, Verdict,
    },
};

/// Version of everything in this crate. A running program whose maps carry another version is
/// never adopted. Raise it with every change of a layout or of a meaning.
pub const ABI_VERSION: u32 = 10;
