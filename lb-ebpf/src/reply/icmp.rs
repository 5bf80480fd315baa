//! ICMP "communication administratively prohibited", "fragmentation needed" or "time exceeded"
//! (RFC 1812, 5.2.7.1 and 5.3.1; RFC 1191, 4), around the beginning of the packet that it is about.

use network_types::ip::Ipv4Hdr;

use super::{Cause, Reply};
use crate::{
    cursor::Cursor,
    header::{Icmp, UnreachableV4},
    sum::{self, Sum},
    word,
};

/// Bytes before the quoted packet, in the IP packet.
pub(super) const GROWTH: usize = Ipv4Hdr::LEN + size_of::<Icmp>();

/// Bytes of the longest packet (RFC 1812, 4.3.2.3).
const LONGEST: usize = 576;

pub(super) const QUOTE: usize = LONGEST - GROWTH;

const PROTOCOL: u8 = 1;

/// Precedence 6, internetwork control (RFC 1812, 4.3.2.5).
const TOS: u8 = 0xc0;

/// Bytes of the IP packet about one of `quoted` bytes.
#[inline(always)]
pub(super) fn length(quoted: u32) -> u32 {
    GROWTH as u32 + quoted.min(QUOTE as u32)
}

/// Type and code, and the word behind the checksum.
#[inline(always)]
fn header(cause: Cause) -> [u32; 2] {
    match cause {
        Cause::Rejected => [u32::from_ne_bytes([3, 13, 0, 0]), 0],
        Cause::TooBig(mtu) => [u32::from_ne_bytes([3, 4, 0, 0]), u32::from(mtu).to_be()],
        Cause::Expired => [u32::from_ne_bytes([11, 0, 0, 0]), 0],
    }
}

/// Writes it before the packet; `None` if the frame is too short.
#[inline(always)]
pub(super) fn write(cursor: &mut Cursor<'_>, reply: &Reply, quoted: Sum) -> Option<()> {
    let frame: &mut UnreachableV4 = cursor.take()?;
    let [what, rest] = header(reply.cause);
    let sum = quoted.and(Sum::of(&[what, rest]));
    let ip = reply.header_v4(TOS, PROTOCOL, length(reply.length));
    word::put_words::<14, 5, _>(frame, &ip);
    word::put_words::<34, 2, _>(frame, &[what | sum::placed(sum.checksum()), rest]);
    reply.turn(&mut frame.ethernet);
    Some(())
}
