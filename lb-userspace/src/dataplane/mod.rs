//! The kernel's tables: what they hold, how they are changed, and the program that reads them.
//!
//! [`Tables`] mirrors the maps, [`diff`] plans changes to them; both are pure. [`Kernel`] does the
//! changes.

mod attach;
mod change;
mod clients;
mod clock;
mod contents;
mod counters;
mod detach;
mod diff;
mod host;
mod interface;
mod kernel;
mod live;
mod lock;
mod look;
mod mapped;
pub mod object;
mod packet_log;
mod parts;
mod pins;
mod pool;
mod prover;
mod start;
mod tables;

pub use self::{
    attach::Attachment,
    change::Change,
    clock::monotonic,
    contents::{ClassContents, Fate, RingContents, ServiceContents},
    counters::Totals,
    detach::{Detached, detach},
    diff::{DoesNotFit, Grace, Plan, collect, diff, expire, row_length},
    host::check_host,
    interface::Mode,
    kernel::Kernel,
    live::{ClientFlow, FlowCounts, Live},
    lock::Lock,
    look::{Left, look},
    mapped::Mapped,
    packet_log::PacketLines,
    parts::{CounterParts, TableParts},
    prover::{Prover, Unasked},
    start::Started,
    tables::{Capacity, Tables},
};
