//! The real kernel: load, pin, attach, adopt, detach. Needs root.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod contents;
mod host;
mod pins;
mod start;
