//! Frames with little room in front of them.

use aya::{
    Ebpf, EbpfLoader,
    maps::{MapData, ProgramArray},
    programs::Xdp,
};

use super::edge::{Edge, Ran};
use crate::PROGRAMS;

/// The program of an edge behind one that leaves a frame room for an IPv4 header and no more.
pub struct Narrow {
    object: Ebpf,
    next: ProgramArray<MapData>,
}

impl Narrow {
    /// Bytes that a frame must have at least, and comes back with unless its program changes that.
    pub const LENGTH: usize = 128;

    /// Loads it.
    pub fn load() -> Self {
        let mut object = EbpfLoader::new().btf(None).load(PROGRAMS).unwrap();
        let program: &mut Xdp = object.program_mut("narrow").unwrap().try_into().unwrap();
        program.load().unwrap();
        let next = object.take_map("NARROWED").unwrap();
        let next = next.try_into().unwrap();
        Self { object, next }
    }

    /// Runs the edge's program for a frame.
    pub fn run(&mut self, edge: &Edge, frame: &[u8]) -> Ran {
        let next = edge.program().fd().unwrap();
        self.next.set(0, next, 0).unwrap();
        let program = self.object.program("narrow").unwrap();
        Ran::of(program.try_into().unwrap(), frame)
    }
}
