//! The kernel's tables: what they hold, how they are changed, and the program that reads them.
//!
//! [`Tables`] mirrors the maps, [`diff`] plans changes to them; both are pure. [`Kernel`] does the
//! changes.

mod attach;
mod change;
mod clients;
mod clock;
mod contents;
mod detach;
mod diff;
mod host;
mod interface;
mod kernel;
mod lock;
mod look;
mod mapped;
pub mod object;
mod pins;
mod pool;
mod prover;
mod start;
mod tables;

pub use self::{
    attach::{AttachError, Attachment},
    change::Change,
    clock::monotonic,
    contents::{ClassContents, Fate, RingContents, ServiceContents},
    detach::{DetachError, Detached, detach},
    diff::{DoesNotFit, Plan, collect, diff, row_length},
    host::{HostError, check_host},
    interface::Mode,
    kernel::{Kernel, KernelError, Totals},
    lock::{Lock, LockError},
    look::{Left, LookError, look},
    pins::PinsError,
    prover::{Prover, ProverError},
    start::{StartError, Started},
    tables::{Capacity, Tables},
};
