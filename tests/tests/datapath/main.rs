//! The XDP program in the kernel: what it does with single packets (BPF_PROG_TEST_RUN). Needs root.

mod affinity;
mod agreement;
mod answers;
mod classes;
mod clients;
mod control;
mod families;
mod floods;
mod flows;
mod formers;
mod fragments;
mod full_nat;
mod fuzz;
mod inserts;
mod log;
mod on_down;
mod pinned;
mod proof;
mod races;
mod recent;
mod rows;
mod stale;
mod tunnel_end;
mod tunnels;
mod verdicts;
mod vlan;
