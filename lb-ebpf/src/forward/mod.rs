//! Sends a packet on to its target. One file per mode.

pub mod hop;
pub mod l2_dsr;

use lb_common::{ForwardMode, Target, Verdict};

use crate::{cursor::Cursor, header::Ethernet};

/// Rewrites the frame at `cursor`, which holds an IP packet of `ip_length` bytes, so that the
/// interface sends it to `target`.
///
/// # Errors
/// Why it can not be sent; the frame is as it was.
#[inline(always)]
pub fn write(cursor: &mut Cursor<'_>, ip_length: u16, target: &Target) -> Result<(), Verdict> {
    if target.next_hop == [0; 6] || target.source == [0; 6] {
        return Err(Verdict::NoNextHop);
    }
    let ethernet: &mut Ethernet = cursor.take().ok_or(Verdict::NotOurs)?;
    // A promiscuous interface, a bridge's port or a switch that floods also shows frames for others,
    // who would serve the same packet. Packets leave by the interface that they arrive at.
    if ethernet.destination != target.source {
        return Err(Verdict::NotOurs);
    }
    if ip_length > target.mtu {
        return Err(Verdict::TooBig);
    }
    match target.forward {
        ForwardMode::L2_DSR => l2_dsr::write(ethernet, cursor, target),
        _ => Err(Verdict::NoTarget),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    const TARGET: Target = Target {
        next_hop: [2, 0, 0, 0, 0, 9],
        mtu: 1500,
        source: [2, 0, 0, 0, 0, 1],
        forward: ForwardMode::L2_DSR,
        ..Target::FREE
    };

    fn write_to(frame: &mut [u8], ip_length: u16, target: &Target) -> Result<(), Verdict> {
        write(&mut Cursor::from(frame), ip_length, target)
    }

    #[test]
    fn l2_dsr_changes_the_mac_addresses_and_the_hop_and_nothing_else() {
        for (name, mut frame) in samples::valid() {
            let mut expected = frame.clone();
            expected[..6].copy_from_slice(&TARGET.next_hop);
            expected[6..12].copy_from_slice(&TARGET.source);
            hop::take(Cursor::from(&mut expected[14..]).take().unwrap()).unwrap();
            assert_eq!(write_to(&mut frame, 40, &TARGET), Ok(()), "{name}");
            assert_eq!(frame, expected, "{name}");
        }
    }

    #[test]
    fn a_frame_cut_inside_the_headers_is_left_alone() {
        for (name, frame) in samples::valid() {
            for length in 0..=frame.len() {
                let mut cut = frame[..length].to_vec();
                let written = write_to(&mut cut, 40, &TARGET);
                assert_eq!(written.is_ok(), length >= 34, "{name} cut at {length}");
                if written.is_err() {
                    assert_eq!(cut, frame[..length], "{name} cut at {length}");
                }
            }
        }
    }

    #[test]
    fn the_mtu_is_the_largest_packet_that_is_sent() {
        for (length, expected) in [(1500, Ok(())), (1501, Err(Verdict::TooBig))] {
            let mut frame = samples::syn();
            assert_eq!(write_to(&mut frame, length, &TARGET), expected);
        }
    }

    #[test]
    fn a_refused_frame_is_left_alone_under_its_own_verdict() {
        let unresolved = Target {
            next_hop: [0; 6],
            ..TARGET
        };
        let no_source = Target {
            source: [0; 6],
            ..TARGET
        };
        let unknown_mode = Target {
            forward: ForwardMode(77),
            ..TARGET
        };
        for (target, length, verdict) in [
            (unresolved, 40, Verdict::NoNextHop),
            (unresolved, 9000, Verdict::NoNextHop),
            (no_source, 40, Verdict::NoNextHop),
            (TARGET, 9000, Verdict::TooBig),
            (unknown_mode, 40, Verdict::NoTarget),
            (Target::FREE, 40, Verdict::NoNextHop),
        ] {
            let mut frame = samples::syn();
            assert_eq!(write_to(&mut frame, length, &target), Err(verdict));
            assert_eq!(frame, samples::syn());
        }
    }

    #[test]
    fn a_frame_for_another_station_is_not_ours_whatever_its_packet_is() {
        for byte in 0..6 {
            for (length, ttl) in [(40, 64), (9000, 64), (40, 1)] {
                let mut frame = samples::syn();
                frame[byte] ^= 4;
                frame[22] = ttl;
                let before = frame.clone();
                let written = write_to(&mut frame, length, &TARGET);
                assert_eq!(written, Err(Verdict::NotOurs), "byte {byte}");
                assert_eq!(frame, before, "byte {byte}");
            }
        }
    }

    #[test]
    fn a_packet_whose_time_to_live_ends_here_is_left_alone() {
        for ttl in [0, 1] {
            let mut frame = samples::syn();
            frame[22] = ttl;
            let before = frame.clone();
            let written = write_to(&mut frame, 40, &TARGET);
            assert_eq!(written, Err(Verdict::TtlExpired));
            assert_eq!(frame, before);
        }
    }
}
