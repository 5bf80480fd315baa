//! ICMPv6 "communication with destination administratively prohibited", "packet too big" or "hop limit
//! exceeded" (RFC 4443, 3.1 to 3.3), around as much of the packet that it is about as the smallest link
//! takes.

use network_types::ip::Ipv6Hdr;

use super::{Cause, Reply};
use crate::{
    cursor::Cursor,
    header::{Icmp, UnreachableV6},
    sum::{self, Sum},
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

/// Type and code, and the word behind the checksum.
#[inline(always)]
fn header(cause: Cause) -> [u32; 2] {
    match cause {
        Cause::Rejected => [u32::from_ne_bytes([1, 1, 0, 0]), 0],
        Cause::TooBig(mtu) => [u32::from_ne_bytes([2, 0, 0, 0]), u32::from(mtu).to_be()],
        Cause::Expired => [u32::from_ne_bytes([3, 0, 0, 0]), 0],
    }
}

/// Writes it before the packet; `None` if the frame is too short.
#[inline(always)]
pub(super) fn write(cursor: &mut Cursor<'_>, reply: &Reply, quoted: Sum) -> Option<()> {
    let frame: &mut UnreachableV6 = cursor.take()?;
    let [what, rest] = header(reply.cause);
    let payload = length(reply.length) - Ipv6Hdr::LEN as u32;
    let sum = quoted
        .and(Sum::of(&[what, rest]))
        .and(reply.pseudo_header(NEXT, payload));
    word::put_words::<14, 10, _>(frame, &reply.header_v6(NEXT, payload));
    word::put_words::<54, 2, _>(frame, &[what | sum::placed(sum.checksum()), rest]);
    reply.turn(&mut frame.ethernet);
    Some(())
}
