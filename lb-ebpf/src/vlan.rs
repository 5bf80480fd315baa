//! The VLAN tags of a frame. They are taken off before anything else looks at it, and put on when it leaves.

use lb_common::Tags;

use crate::{
    cursor::Cursor,
    header::{Tagged, TaggedTwice},
    word,
};

/// The frame's tags: as many as it has, up to two. It writes nothing.
#[inline(always)]
pub fn tags(cursor: &mut Cursor<'_>) -> Tags {
    let Some(frame) = cursor.take::<TaggedTwice>() else {
        return Tags::NONE;
    };
    let tag = |word: u32, rest: u32| if is_tag(word) { rest } else { 0 };
    let outer = word::u32::<ADDRESSES, _>(frame);
    let inner = word::u32::<{ ADDRESSES + Tags::BYTES }, _>(frame);
    let outer = tag(outer, outer);
    Tags::of_words([outer, tag(outer, tag(inner, inner))])
}

/// Whether a word begins with the EtherType of a tag.
#[inline(always)]
fn is_tag(word: u32) -> bool {
    const CUSTOMER: u16 = u16::from_ne_bytes(Tags::CUSTOMER);
    const PROVIDER: u16 = u16::from_ne_bytes(Tags::PROVIDER);
    matches!((u32::from_le(word) as u16).to_le(), CUSTOMER | PROVIDER)
}

/// Bytes of both MAC addresses.
const ADDRESSES: usize = 12;

/// Moves the MAC addresses from one byte of a frame to another.
macro_rules! move_addresses {
    ($frame:ident, $from:expr => $to:expr) => {
        let words = [
            word::u32::<{ $from }, _>($frame),
            word::u32::<{ $from + 4 }, _>($frame),
            word::u32::<{ $from + 8 }, _>($frame),
        ];
        word::put_u32::<{ $to }, _>($frame, words[0]);
        word::put_u32::<{ $to + 4 }, _>($frame, words[1]);
        word::put_u32::<{ $to + 8 }, _>($frame, words[2]);
    };
}

/// Moves the MAC addresses over the first `count` tags, so that the frame can begin behind those; `None` if it
/// is too short.
#[inline(always)]
pub fn take_off(cursor: &mut Cursor<'_>, count: usize) -> Option<()> {
    let frame: &mut TaggedTwice = cursor.take()?;
    match count {
        0 => {}
        1 => {
            move_addresses!(frame, 0 => Tags::BYTES);
        }
        _ => {
            move_addresses!(frame, 0 => 2 * Tags::BYTES);
        }
    }
    Some(())
}

/// Puts tags behind the MAC addresses of a frame that has grown by them at its beginning; `None` if it is too
/// short.
#[inline(always)]
pub fn put_on(cursor: &mut Cursor<'_>, tags: Tags) -> Option<()> {
    let [outer, inner] = tags.words();
    match tags.count() {
        0 => {}
        1 => {
            let frame: &mut Tagged = cursor.take()?;
            move_addresses!(frame, Tags::BYTES => 0);
            word::put_u32::<ADDRESSES, _>(frame, outer);
        }
        _ => {
            let frame: &mut TaggedTwice = cursor.take()?;
            move_addresses!(frame, 2 * Tags::BYTES => 0);
            word::put_u32::<ADDRESSES, _>(frame, outer);
            word::put_u32::<{ ADDRESSES + Tags::BYTES }, _>(frame, inner);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{vec, vec::Vec};

    use super::*;

    const ADDRESSED: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    const ONE: [u8; 4] = [0x81, 0, 0xa0, 100];
    const TWO: [u8; 8] = [0x88, 0xa8, 0x0f, 0xfe, 0x81, 0, 0, 1];

    /// A frame of a packet whose bytes count up, with these bytes of tags.
    fn frame(tags: &[u8]) -> Vec<u8> {
        let packet = (0..46).collect::<Vec<u8>>();
        [&ADDRESSED[..], tags, &[8, 0], &packet].concat()
    }

    fn found(frame: &mut [u8]) -> Tags {
        tags(&mut Cursor::from(frame))
    }

    #[test]
    fn up_to_two_tags_of_either_kind_are_found_and_others_are_none() {
        for (bytes, count) in [
            (&[][..], 0),
            (&ONE, 1),
            (&TWO, 2),
            (&[0x88, 0xa8, 0, 7], 1),
            (&[0x81, 0, 0, 7, 0x81, 0, 0, 8], 2),
            (&[0x81, 0, 0, 7, 0x81, 0, 0, 8, 0x81, 0, 0, 9], 2),
            (&[0x81, 1, 0, 7], 0),
            (&[0x91, 0, 0, 7], 0),
            (&[0x00, 0x81, 0, 7], 0),
        ] {
            let found = found(&mut frame(bytes));
            assert_eq!(found.count(), count, "{bytes:?}");
            let words = found.words().map(u32::to_ne_bytes);
            assert_eq!(words.as_flattened()[..4 * count], bytes[..4 * count]);
        }
        for length in 0..22 {
            let mut short = frame(&TWO);
            short.truncate(length);
            assert_eq!(found(&mut short), Tags::NONE, "{length} bytes");
        }
    }

    #[test]
    fn tags_that_were_taken_off_can_be_put_on_again_and_nothing_else_changes() {
        for bytes in [&[][..], &ONE, &TWO] {
            let mut tagged = frame(bytes);
            let tags = found(&mut tagged);
            let before = tagged.clone();
            take_off(&mut Cursor::from(&mut tagged[..]), tags.count()).unwrap();
            let plain = tagged.split_off(bytes.len());
            assert_eq!(plain, frame(&[]));
            let mut grown = [vec![0xa5; bytes.len()], plain].concat();
            put_on(&mut Cursor::from(&mut grown[..]), tags).unwrap();
            assert_eq!(grown, before);
        }
    }

    #[test]
    fn a_frame_that_is_too_short_is_left_alone() {
        let mut short = [7; 17];
        let tags = Tags::single(Tags::CUSTOMER, 1);
        assert_eq!(take_off(&mut Cursor::from(&mut short[..]), 1), None);
        assert_eq!(put_on(&mut Cursor::from(&mut short[..]), tags), None);
        let twice = tags.within(Tags::single(Tags::PROVIDER, 2)).unwrap();
        assert_eq!(put_on(&mut Cursor::from(&mut short[..]), twice), None);
        assert_eq!(short, [7; 17]);
    }
}
