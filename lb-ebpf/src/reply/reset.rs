//! A TCP reset, as from a host on which nothing listens (RFC 9293, 3.10.7.1).

use lb_common::Protocol;
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::Reply;
use crate::{
    cursor::Cursor,
    header::{ResetV4, ResetV6, Tcp},
    load,
    parse::{ACK, FIN, RST, SYN, Segment},
    sum::{self, Sum},
    word,
};

/// Bytes of a whole packet over IPv4.
pub(super) const LENGTH_V4: u32 = (Ipv4Hdr::LEN + size_of::<Tcp>()) as u32;

/// Bytes of a whole packet over IPv6.
pub(super) const LENGTH_V6: u32 = (Ipv6Hdr::LEN + size_of::<Tcp>()) as u32;

const SEGMENT: u32 = size_of::<Tcp>() as u32;

/// What a reset says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reset {
    /// Sequence number.
    sequence: u32,
    /// Acknowledgment number, which counts if the flags say so.
    acknowledgment: u32,
    flags: u8,
}

impl Reset {
    /// In answer to a segment; `None` for a reset.
    ///
    /// All is read first: then there is no pointer into the packet behind headers of any length, and
    /// the verifier goes on from here once.
    #[inline(always)]
    pub(super) fn of(segment: &Segment<'_>) -> Option<Self> {
        let header = &*segment.header;
        let sequence = word::settle(u32::from_be(load!(Tcp, header.sequence as u32)));
        let acknowledged = word::settle(u32::from_be(load!(Tcp, header.acknowledgment as u32)));
        let flags = word::settle(header.flags.into()) as u8;
        let data = word::settle(segment.length - u32::from(header.data_offset >> 4) * 4);
        if flags & RST != 0 {
            return None;
        }
        if flags & ACK != 0 {
            return Some(Self {
                sequence: acknowledged,
                acknowledgment: 0,
                flags: RST,
            });
        }
        let controls = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        Some(Self {
            sequence: 0,
            acknowledgment: sequence.wrapping_add(data).wrapping_add(controls),
            flags: RST | ACK,
        })
    }

    #[inline(always)]
    pub(super) fn write_v4(&self, cursor: &mut Cursor<'_>, reply: &Reply) -> Option<()> {
        let frame: &mut ResetV4 = cursor.take()?;
        let ip = reply.header_v4(0, Protocol::TCP.0, LENGTH_V4);
        word::put_words::<14, 5, _>(frame, &ip);
        word::put_words::<34, 5, _>(frame, &self.segment(reply));
        reply.turn(&mut frame.ethernet);
        Some(())
    }

    #[inline(always)]
    pub(super) fn write_v6(&self, cursor: &mut Cursor<'_>, reply: &Reply) -> Option<()> {
        let frame: &mut ResetV6 = cursor.take()?;
        let ip = reply.header_v6(Protocol::TCP.0, SEGMENT);
        word::put_words::<14, 10, _>(frame, &ip);
        word::put_words::<54, 5, _>(frame, &self.segment(reply));
        reply.turn(&mut frame.ethernet);
        Some(())
    }

    #[inline(always)]
    fn segment(&self, reply: &Reply) -> [u32; 5] {
        let mut words = [
            reply.tuple.ports.reversed(),
            self.sequence.to_be(),
            self.acknowledgment.to_be(),
            u32::from_ne_bytes([0x50, self.flags, 0, 0]),
            0,
        ];
        let sum = reply.pseudo_header(Protocol::TCP.0, SEGMENT);
        words[4] = sum::placed_first(sum.and(Sum::of(&words)).checksum());
        words
    }
}
