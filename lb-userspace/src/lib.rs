//! Waggle's daemon and command line.
//!
//! `model`, `refusal`, `policy`, `plan`, `table`, `dataplane::diff`, `whereabouts` and `engine` are pure: they know
//! no clock, no I/O and no kernel. `daemon` is the one place where events come in and effects go out.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![deny(unsafe_code)]

mod accept;
pub mod class;
pub mod cli;
pub mod config;
pub mod control;
pub mod daemon;
pub mod dataplane;
pub mod engine;
pub mod metrics;
pub mod model;
pub mod neighbour;
pub mod plan;
pub mod policy;
pub mod probe;
pub mod proof;
pub mod refusal;
pub mod table;
pub mod whereabouts;
