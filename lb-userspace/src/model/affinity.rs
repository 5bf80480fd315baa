use std::time::Duration;

use lb_common::Scope;

/// New flows of a client go where its last one went (S9, S19-S24, D90-D93).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Affinity {
    /// How many first bits of an IPv4 address make a client.
    pub v4: u8,
    /// The same of an IPv6 address.
    pub v6: u8,
    /// How long a client may open no flow before it is forgotten, in whole seconds.
    pub idle: Duration,
    /// What the backend must still be for that (R9).
    pub scope: Scope,
}
