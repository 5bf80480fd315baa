use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Descriptor, Verdict, abi::abi};

/// What the packet program answers when it is loaded for a proof (`PROOF`): how it decides about a
/// packet, were it the first of its flow. It stands in front of the frame that comes out.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Proof {
    /// Class of the client; 0 if the service has no rows for classes.
    pub class: u32,
    /// Id of the target; 0 if none was chosen.
    pub target: u16,
    /// Place of the packet's verdict in [`crate::VERDICTS`].
    pub verdict: u16,
    /// What stands in the service's row for the class.
    pub ring: Descriptor,
}

impl Proof {
    /// Nothing was decided but the packet's verdict.
    #[inline(always)]
    pub const fn of(verdict: Verdict) -> Self {
        Self {
            class: 0,
            target: 0,
            verdict: verdict as u16,
            ring: Descriptor::NO_ANSWER,
        }
    }

    /// Takes the proof off what came out of the program; the frame is the rest.
    pub fn take(out: &[u8]) -> Option<(Self, &[u8])> {
        Self::read_from_prefix(out).ok()
    }
}

abi! { Proof = 16 align 8 }
