//! Generic UDP Encapsulation (draft-ietf-intarea-gue-09, variant 0) without options: a header of UDP and one
//! of four bytes in front of the packet, as Linux takes them off (`ip fou add port 6080 gue`).

use lb_common::Protocol;

use crate::{
    cursor::Cursor,
    header::{Bytes, FrameV4, FrameV6, Udp},
    load,
    parse::Family,
    store,
    sum::Sum,
    word,
};

/// Bytes of both headers.
pub(super) const LENGTH: usize = 12;

/// The source port of a flow's datagrams, one of 49152 to 65535: by it routers and network cards spread the
/// flows of a tunnel.
#[inline(always)]
pub(super) fn source_port(label: u32) -> u32 {
    0xc000 | label & 0x3fff
}

/// Writes both headers of a datagram of so many bytes; `protocol` says what is in it. `None` if the frame is
/// too short.
///
/// There is no checksum, over IPv6 either (RFC 6935, RFC 6936), unless [`Datagram`] puts it in.
#[inline(always)]
pub(super) fn write(
    cursor: &mut Cursor<'_>,
    [source, length]: [u32; 2],
    [c, d]: [u8; 2],
    protocol: u8,
) -> Option<()> {
    let headers: &mut Bytes<LENGTH> = cursor.take()?;
    let [a, b] = (source as u16).to_be_bytes();
    let [high, low] = (length as u16).to_be_bytes();
    let words = [[a, b, c, d], [high, low, 0, 0], [0, protocol, 0, 0]];
    word::put_words::<0, 3, _>(headers, &words.map(u32::from_ne_bytes));
    Some(())
}

/// Most bytes of a datagram that gets a checksum: more than a frame in one page has.
const MOST: usize = 3584;

/// A datagram that [`write`] wrote, which is to get a checksum.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Bytes in front of it.
    start: u16,
    length: u16,
    /// Of the addresses in front of it.
    ends: Sum,
}

impl Datagram {
    /// The datagram in a frame; `None` if there is none, or it is too long.
    #[inline(always)]
    pub fn of(cursor: &mut Cursor<'_>, outer: Family) -> Option<Self> {
        let (start, ends) = match outer {
            Family::V4 => {
                let frame: &mut FrameV4 = cursor.take()?;
                let ends = [
                    load!(FrameV4, frame.ip.src_addr as u32),
                    load!(FrameV4, frame.ip.dst_addr as u32),
                ];
                (size_of::<FrameV4>(), Sum::of(&ends))
            }
            Family::V6 => {
                let frame: &mut FrameV6 = cursor.take()?;
                let source = load!(FrameV6, frame.ip.src_addr as quads);
                let destination = load!(FrameV6, frame.ip.dst_addr as quads);
                let ends = Sum::of(&source).and(Sum::of(&destination));
                (size_of::<FrameV6>(), ends)
            }
        };
        let udp: &mut Udp = cursor.take()?;
        let length = u16::from_be(load!(Udp, udp.length as u16));
        (usize::from(length) <= MOST).then_some(Self {
            start: start as u16,
            length,
            ends,
        })
    }

    /// Bytes of the frame that ends with it: what stands behind it is in no checksum.
    #[inline(always)]
    pub fn frame(&self) -> u32 {
        u32::from(self.start) + u32::from(self.length)
    }

    /// Its checksum, in a frame that ends with it (RFC 768; RFC 8200, 8.1), as it stands in memory.
    #[inline(always)]
    pub fn checksum(&self, cursor: &mut Cursor<'_>) -> Option<u16> {
        cursor.skip(self.start)?;
        let header = Sum::pseudo_header(self.ends, Protocol::UDP.0, self.length.into());
        match Sum::of_rest(cursor, MOST).and(header).checksum() {
            // That would stand for none.
            0 => Some(u16::MAX),
            checksum => Some(checksum),
        }
    }

    /// Puts it in.
    #[inline(always)]
    pub fn write(&self, cursor: &mut Cursor<'_>, checksum: u16) -> Option<()> {
        cursor.skip(self.start)?;
        let udp: &mut Udp = cursor.take()?;
        store!(Udp, udp.checksum as put_u16, checksum);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram over IPv4 from no address to none, with `last` as its last bytes.
    fn frame(last: &[u8]) -> ([u8; 48], usize) {
        let mut frame = [0; 48];
        let length = 8 + last.len();
        frame[34 + 5] = length as u8;
        frame[42..42 + last.len()].copy_from_slice(last);
        (frame, 34 + length)
    }

    fn checksum(last: &[u8]) -> Option<u16> {
        let (mut frame, end) = frame(last);
        let datagram = Datagram::of(&mut Cursor::from(&mut frame[..]), Family::V4)?;
        assert_eq!(datagram.frame(), end as u32);
        let checksum = datagram.checksum(&mut Cursor::from(&mut frame[..end]))?;
        let before = frame;
        datagram.write(&mut Cursor::from(&mut frame[..]), checksum)?;
        assert_eq!(frame[40..42], checksum.to_ne_bytes());
        assert_eq!((&frame[..40], &frame[42..]), (&before[..40], &before[42..]));
        Some(u16::from_be_bytes([frame[40], frame[41]]))
    }

    #[test]
    fn a_checksum_is_never_0_which_stands_for_none() {
        // Protocol 17 and, twice, the length.
        let rest = 17 + 2 * 10;
        assert_eq!(checksum(&[0, 0]), Some(!rest));
        assert_eq!(checksum(&(!rest).to_be_bytes()), Some(0xffff));
        assert_eq!(checksum(&(!rest - 1).to_be_bytes()), Some(1));
    }

    #[test]
    fn a_datagram_that_is_too_long_gets_none() {
        let (mut frame, _) = frame(&[]);
        for (length, is_summed) in [(MOST, true), (MOST + 1, false), (0xffff, false)] {
            frame[38..40].copy_from_slice(&(length as u16).to_be_bytes());
            let found = Datagram::of(&mut Cursor::from(&mut frame[..]), Family::V4);
            assert_eq!(found.is_some(), is_summed, "{length}");
        }
    }
}
