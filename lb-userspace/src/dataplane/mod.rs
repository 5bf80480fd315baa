//! The kernel's tables: what they hold, how they are changed, and the program that reads them.
//!
//! [`Tables`] mirrors the maps, [`diff`] plans changes to them; both are pure. [`Kernel`] does the
//! changes.

mod change;
mod diff;
pub mod object;
mod pool;
mod tables;

pub use self::{
    change::Change,
    diff::{DoesNotFit, collect, diff},
    tables::{Capacity, Tables},
};
