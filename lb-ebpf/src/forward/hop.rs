//! A packet's time to live, or hop limit. It ends a loop of edges, as that of routers.

use crate::{header::FrameV4, load, parse::Frame, store};

/// Whether a packet's time to live ends within so many hops.
#[inline(always)]
pub(super) fn ends(frame: &Frame<'_>, hops: u8) -> bool {
    match frame {
        Frame::V4(frame) => frame.ip.ttl <= hops,
        Frame::V6(frame) => frame.ip.hop_limit <= hops,
    }
}

/// Takes hops, one or none, off the time to live (RFC 1812, 5.3.1; RFC 8200, 3); `None` if it ends here, and
/// then nothing is changed. (A number, lest the verifier goes the rest once for each case.)
#[inline(always)]
pub fn take(frame: &mut Frame<'_>, hops: u8) -> Option<()> {
    if ends(frame, hops) {
        return None;
    }
    match frame {
        Frame::V4(frame) => take_v4(frame, hops),
        Frame::V6(frame) => frame.ip.hop_limit -= hops,
    }
    Some(())
}

#[inline(always)]
fn take_v4(frame: &mut FrameV4, hops: u8) {
    const HOP: u32 = 0x0100_u16.to_be() as u32;
    frame.ip.ttl -= hops;
    // The checksum gains what the header loses, and a carry comes round (RFC 1141): less than any change takes.
    let checksum = u32::from(load!(FrameV4, frame.ip.check as u16)) + HOP * u32::from(hops);
    let checksum = checksum + ((checksum + 1) >> 16);
    store!(FrameV4, frame.ip.check as put_u16, checksum as u16);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cursor::Cursor;

    /// The checksum of a header in which it is 0.
    pub(in super::super) fn checksum(header: &[u8]) -> [u8; 2] {
        let words = header.as_chunks().0.iter().copied();
        let mut sum: u32 = words.map(u16::from_be_bytes).map(u32::from).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!(sum as u16)).to_be_bytes()
    }

    /// A header with this identification and time to live, and its checksum.
    fn header(id: u16, ttl: u8) -> [u8; 20] {
        let [high, low] = id.to_be_bytes();
        let [a, b, c, d] = [192, 0, 2, 1];
        let [e, f, g, h] = [203, 0, 113, 10];
        let mut header = [
            0x45, 0, 0, 40, high, low, 0x40, 0, ttl, 6, 0, 0, a, b, c, d, e, f, g, h,
        ];
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum);
        header
    }

    fn taken(header: [u8; 20]) -> Option<[u8; 20]> {
        let mut frame = [7; 34];
        frame[14..].copy_from_slice(&header);
        let before = frame;
        let taken = take(
            &mut Frame::V4(Cursor::from(&mut frame[..]).take().unwrap()),
            1,
        );
        assert!(taken.is_some() || frame == before);
        assert_eq!(frame[..14], before[..14]);
        taken.map(|()| *frame.last_chunk().unwrap())
    }

    #[test]
    fn every_hop_limit_falls_by_one_and_none_to_zero() {
        for limit in 0..=u8::MAX {
            let mut frame: [u8; 54] = core::array::from_fn(|i| i as u8);
            frame[21] = limit;
            let mut expected = frame;
            expected[21] = if limit > 1 { limit - 1 } else { limit };
            let taken = take(
                &mut Frame::V6(Cursor::from(&mut frame[..]).take().unwrap()),
                1,
            );
            assert_eq!(taken.is_some(), limit > 1);
            assert_eq!(frame, expected);
        }
    }

    #[test]
    fn every_time_to_live_falls_by_one_and_none_to_zero() {
        for ttl in 0..=u8::MAX {
            for id in (0..=u16::MAX).step_by(251) {
                let expected = (ttl > 1).then(|| header(id, ttl - 1));
                assert_eq!(taken(header(id, ttl)), expected, "TTL {ttl}, id {id}");
            }
        }
    }

    #[test]
    fn every_checksum_becomes_what_it_would_be_if_computed_anew() {
        let mut seen = [false; 1 << 16];
        for id in 0..=u16::MAX {
            let after = taken(header(id, 64)).unwrap();
            assert_eq!(after, header(id, 63), "id {id}");
            seen[usize::from(u16::from_be_bytes([after[10], after[11]]))] = true;
        }
        // A header is never all zero, so its checksum is never 0xffff.
        assert_eq!(seen.iter().filter(|seen| !**seen).count(), 1);
        assert!(!seen[0xffff]);
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut wrong = header(7, 64);
        wrong[10] ^= 1;
        assert_ne!(taken(wrong), Some(header(7, 63)));
    }
}
