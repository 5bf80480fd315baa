//! Frames with little room in front of them.

use aya::{Ebpf, EbpfLoader, maps::ProgramArray, programs::Xdp};

use super::edge::{Edge, Ran};
use crate::PROGRAMS;

/// Bytes that a frame must have at least, and comes back with unless its program changes that.
pub const LENGTH: usize = 128;

/// Runs an edge's program for a frame that has room in front of it for an IPv4 header and no more.
pub fn run(edge: &Edge, frame: &[u8]) -> Ran {
    let mut object = EbpfLoader::new().btf(None).load(PROGRAMS).unwrap();
    let narrow: &mut Xdp = object.program_mut("narrow").unwrap().try_into().unwrap();
    narrow.load().unwrap();
    let next = object.take_map("NARROWED").unwrap();
    let mut next = ProgramArray::try_from(next).unwrap();
    next.set(0, edge.program().fd().unwrap(), 0).unwrap();
    Ran::of(program(&object), frame)
}

fn program(object: &Ebpf) -> &Xdp {
    object.program("narrow").unwrap().try_into().unwrap()
}
