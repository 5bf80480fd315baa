//! Files that tell where clients are, from their content to tables. Each reader tells every mistake of a
//! file with its line, up to a number that someone would mend by hand, and takes the file whole or not
//! at all.

pub(super) mod geography;
pub(super) mod latency;
mod lines;
pub(super) mod mmdb;
pub(super) mod netscaler;
