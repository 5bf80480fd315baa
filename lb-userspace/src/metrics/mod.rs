//! Metrics for Prometheus, and a status page.
//!
//! `names` is the one list of metrics; `exposition` and `page` make text of a [`Snapshot`]; `ledger`
//! keeps counters from going backwards. All of that is pure. `listener` serves it over HTTP.

mod exposition;
mod ledger;
mod listener;
mod names;
mod page;
mod snapshot;

pub use self::{
    exposition::exposition,
    ledger::Ledger,
    listener::{Scrape, listen, serve},
    names::{ALL, Description, Kind},
    page::page,
    snapshot::{Applies, Endpoint, ProbeResults, Snapshot},
};
