//! The real kernel: load, pin, attach, adopt, detach. Needs root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod attachment;
mod clients;
mod contents;
mod host;
mod lock;
mod pins;
mod start;
