//! Next hop and MAC address of every backend, kept fresh.
//!
//! `way` decides, from what the kernel says of routes, links and neighbours, how packets reach a
//! backend; `kernel` asks it (rtnetlink(7)); `watcher` does so whenever something changes, and
//! makes the kernel resolve what it does not know yet.

mod kernel;
mod links;
mod watcher;
mod way;

pub use self::{watcher::Neighbours, way::Way};
