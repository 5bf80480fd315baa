//! The XDP program in the kernel: what it does with single packets (BPF_PROG_TEST_RUN). Needs root.

#![expect(clippy::unwrap_used, reason = "a test panics, for its stack trace")]

mod agreement;
mod edge;
mod flows;
mod inserts;
mod log;
mod packet;
mod races;
mod stale;
mod verdicts;
