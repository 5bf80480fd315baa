//! The XDP program in the kernel: what it does with single packets (BPF_PROG_TEST_RUN). Needs root.

mod agreement;
mod clients;
mod flows;
mod inserts;
mod log;
mod races;
mod stale;
mod verdicts;
