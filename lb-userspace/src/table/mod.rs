//! Decisions made into tables: which target stands in which slot of which ring, and everything
//! else that the kernel's maps should say. Pure.

mod clients;
mod group;
mod image;
mod key;
mod ring;

pub use self::{
    clients::ClassTable,
    group::{Shares, shares},
    image::{Image, Ring, ServiceSpec, TargetKey, TargetSpec, group_id},
    key::ring_key,
    ring::{DEFAULT_LENGTH, ring, ring_hash, ring_length, slots_hash},
};
