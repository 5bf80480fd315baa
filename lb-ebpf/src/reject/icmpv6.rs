//! ICMPv6 "communication with destination administratively prohibited" (RFC 4443, 3.1), around as
//! much of the packet that it is about as the smallest link takes.

use network_types::ip::Ipv6Hdr;

use super::{
    Rejection,
    sum::{self, Sum},
};
use crate::{
    cursor::Cursor,
    header::{Icmp, UnreachableV6},
    word,
};

/// Bytes before the quoted packet, in the IP packet.
pub(super) const GROWTH: usize = Ipv6Hdr::LEN + size_of::<Icmp>();

/// Bytes of the longest packet (RFC 8200, 5).
const LONGEST: usize = 1280;

pub(super) const QUOTE: usize = LONGEST - GROWTH;

const NEXT: u8 = 58;

/// Bytes of the IP packet about one of `quoted` bytes.
#[inline(always)]
pub(super) fn length(quoted: u32) -> u32 {
    GROWTH as u32 + quoted.min(QUOTE as u32)
}

/// Writes it before the packet; `None` if the frame is too short.
#[inline(always)]
pub(super) fn write(cursor: &mut Cursor<'_>, rejection: &Rejection, quoted: Sum) -> Option<()> {
    let frame: &mut UnreachableV6 = cursor.take()?;
    let header = u32::from_ne_bytes([1, 1, 0, 0]);
    let payload = length(rejection.length) - Ipv6Hdr::LEN as u32;
    let sum = quoted
        .and(Sum::of(&[header]))
        .and(rejection.pseudo_header(NEXT, payload));
    word::put_words::<14, 10, _>(frame, &rejection.header_v6(NEXT, payload));
    word::put_words::<54, 2, _>(frame, &[header | sum::placed(sum.checksum()), 0]);
    rejection.turn(&mut frame.ethernet);
    Some(())
}
