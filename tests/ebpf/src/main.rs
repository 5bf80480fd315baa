//! The XDP programs of bench and lab. On the host it is an empty `main`, so that the whole
//! workspace builds there.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod program;

#[cfg(not(target_arch = "bpf"))]
fn main() {}
