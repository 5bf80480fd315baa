//! ICMP "communication administratively prohibited" (RFC 1812, 5.2.7.1), around the beginning of the
//! packet that it is about.

use network_types::ip::Ipv4Hdr;

use super::{
    Rejection,
    sum::{self, Sum},
};
use crate::{
    cursor::Cursor,
    header::{Icmp, UnreachableV4},
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

/// Writes it before the packet; `None` if the frame is too short.
#[inline(always)]
pub(super) fn write(cursor: &mut Cursor<'_>, rejection: &Rejection, quoted: Sum) -> Option<()> {
    let frame: &mut UnreachableV4 = cursor.take()?;
    let header = u32::from_ne_bytes([3, 13, 0, 0]);
    let sum = quoted.and(Sum::of(&[header]));
    let ip = rejection.header_v4(TOS, PROTOCOL, length(rejection.length));
    word::put_words::<14, 5, _>(frame, &ip);
    word::put_words::<34, 2, _>(frame, &[header | sum::placed(sum.checksum()), 0]);
    rejection.turn(&mut frame.ethernet);
    Some(())
}
