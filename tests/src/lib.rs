//! The lab: hosts in network namespaces, with real clients and servers on them. And the packet
//! program alone, for single packets.
//!
//! Everything in here panics when it can not do its work: it serves tests, and a test wants the
//! stack trace.

pub mod datapath;
pub mod lab;
pub mod maps;
pub mod prometheus;
pub mod random;
pub mod rules;
pub mod statistics;

/// The object of `tests/ebpf`: XDP programs for bench, lab and datapath tests.
pub static PROGRAMS: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tests-xdp"));
