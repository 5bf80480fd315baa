//! Packet code that runs in the kernel and, for tests, on the host: it touches nothing but the
//! bytes and values that it is given.
#![no_std]
#![cfg_attr(target_arch = "bpf", feature(asm_experimental_arch))]

pub mod budget;
pub mod checksum;
pub mod control;
pub mod cursor;
pub mod entry;
pub mod former;
pub mod forward;
pub mod fragment;
pub mod header;
pub mod parse;
pub mod pin;
pub mod reply;
pub mod sum;
pub mod vlan;
pub mod word;

#[cfg(test)]
mod samples;
