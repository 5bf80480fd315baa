//! Decisions made into tables: which target stands in which slot of which ring, and everything
//! else that the kernel's maps should say. Pure.

mod clients;
mod group;
mod hash;
mod image;
mod key;
mod race;
mod ring;
mod rows;
mod spread;
mod weights;

pub use self::{
    clients::ClassTable,
    group::{affinity, spread},
    hash::{ring_hash, rings_hash, slots_hash},
    image::{Image, Ring, Served, ServiceSpec, TargetKey, TargetSpec, group_id},
    key::ring_key,
    ring::{DEFAULT_LENGTH, ring, ring_length},
    rows::rows_length,
    spread::{Destination, Shares, Spread},
};
