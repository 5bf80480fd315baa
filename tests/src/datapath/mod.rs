//! The packet program without a network: single packets in, verdicts and packets out
//! (BPF_PROG_TEST_RUN).

#![expect(clippy::unwrap_used, reason = "a test panics, for its stack trace")]

pub mod edge;
pub mod narrow;
pub mod packet;

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

/// Keeps the calling thread on one CPU from now on, and returns which.
pub fn stay_on_one_cpu() -> usize {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let cpu = (0..CpuSet::count())
        .find(|cpu| allowed.is_set(*cpu).unwrap())
        .unwrap();
    let mut one = CpuSet::new();
    one.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
    cpu
}
