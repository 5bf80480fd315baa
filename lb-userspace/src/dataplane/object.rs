//! The XDP program's object, as built.

/// The object file; aligned, because aya reads it in place.
pub static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/waggle-xdp"));
