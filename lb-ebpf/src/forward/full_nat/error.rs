//! ICMP errors about translated packets: the packet that they quote gets back the addresses and ports that
//! their receiver knows (RFC 5508, REQ-4 and REQ-5), and they themselves come from the other end of that
//! flow.

use lb_common::{Mac, Protocol, Tuple};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use super::{datagram_checksum, last};
use crate::{
    checksum::Change,
    cursor::Cursor,
    forward::{hop, l2_dsr},
    header::{Bytes, Ethernet, FrameV4, FrameV6, Icmp, Udp},
    load,
    parse::{self, Family, Frame, Packet},
    store, word,
};

/// Where an error is to be changed; numbers as in [`super::Place`].
#[derive(Clone, Copy, Debug)]
pub struct Place {
    family: Family,
    /// Bytes of options in front of the message.
    options: u64,
    /// Bytes of options, or of a fragment header, in the packet that is quoted.
    quoted_options: u64,
    /// Whether so much of that packet is quoted that the checksum of TCP is there.
    has_checksum: bool,
}

/// Bytes of options that there may be, and a mask.
const MOST_OPTIONS: u64 = 63;

impl Place {
    /// Of what [`crate::control::error`] found; `None` if it quotes less than eight bytes of what the packet
    /// carried.
    #[inline(always)]
    pub fn of(error: &Packet<'_>) -> Option<Self> {
        let (options, headers) = match &error.frame {
            Frame::V4(frame) => (
                parse::options(frame.ip.vihl)?.into(),
                size_of::<FrameV4>() + size_of::<Icmp>() + Ipv4Hdr::LEN,
            ),
            Frame::V6(_) => (0, size_of::<FrameV6>() + size_of::<Icmp>() + Ipv6Hdr::LEN),
        };
        let at = u64::from(error.payload);
        let quoted_options = at.wrapping_sub(headers as u64 + options);
        let end = size_of::<Ethernet>() as u64 + u64::from(error.flow.ip_length);
        if quoted_options > MOST_OPTIONS || at + 8 > end {
            return None;
        }
        Some(Self {
            family: error.frame.family(),
            options: word::unbounded(options),
            quoted_options: word::unbounded(quoted_options),
            has_checksum: at + 18 <= end,
        })
    }

    /// The bytes, of which the verifier knows how many they are at most.
    #[inline(always)]
    fn between(&self) -> [u16; 2] {
        [self.options, self.quoted_options].map(|bytes| (bytes & MOST_OPTIONS) as u16)
    }
}

/// Makes an error about a packet of the flow `from`, as [`crate::control::error`] has it, one about a
/// packet of the flow `to`, on its way to `next_hop`. `None`, and it must not be sent, if its time to live
/// ends here.
#[inline(always)]
pub fn write(
    cursor: &mut Cursor<'_>,
    place: Place,
    tuples: [&Tuple; 2],
    macs: [Mac; 2],
) -> Option<()> {
    match place.family {
        Family::V4 => v4(cursor, place, tuples, macs),
        Family::V6 => v6(cursor, place, tuples, macs),
    }
}

#[inline(always)]
fn v4(
    cursor: &mut Cursor<'_>,
    place: Place,
    [from, to]: [&Tuple; 2],
    [next_hop, source]: [Mac; 2],
) -> Option<()> {
    let [options, quoted_options] = place.between();
    let frame: &mut FrameV4 = cursor.take()?;
    cursor.skip(options)?;
    let message: &mut Icmp = cursor.take()?;
    let quoted: &mut Ipv4Hdr = cursor.take()?;
    hop::take(&mut Frame::V4(&mut *frame), 1)?;
    l2_dsr::write(&mut frame.ethernet, next_hop, source);

    let outer = Change::default()
        .word(load!(FrameV4, frame.ip.src_addr as u32), last(to.client))
        .word(last(from.service), last(to.service));
    let checksum = outer.apply(load!(FrameV4, frame.ip.check as u16));
    store!(FrameV4, frame.ip.src_addr as put_u32, last(to.client));
    store!(FrameV4, frame.ip.dst_addr as put_u32, last(to.service));
    store!(FrameV4, frame.ip.check as put_u16, checksum);

    let addresses = Change::default()
        .word(last(from.service), last(to.service))
        .word(last(from.client), last(to.client));
    let before = load!(Ipv4Hdr, quoted.check as u16);
    let after = addresses.apply(before);
    store!(Ipv4Hdr, quoted.src_addr as put_u32, last(to.service));
    store!(Ipv4Hdr, quoted.dst_addr as put_u32, last(to.client));
    store!(Ipv4Hdr, quoted.check as put_u16, after);

    cursor.skip(quoted_options)?;
    let change = change_ports(cursor, place, [from, to], addresses)?;
    set_checksum(message, change.word(before.into(), after.into()));
    Some(())
}

#[inline(always)]
fn v6(
    cursor: &mut Cursor<'_>,
    place: Place,
    [from, to]: [&Tuple; 2],
    [next_hop, source]: [Mac; 2],
) -> Option<()> {
    let [_, quoted_options] = place.between();
    let frame: &mut FrameV6 = cursor.take()?;
    let message: &mut Icmp = cursor.take()?;
    let quoted: &mut Ipv6Hdr = cursor.take()?;
    hop::take(&mut Frame::V6(&mut *frame), 1)?;
    l2_dsr::write(&mut frame.ethernet, next_hop, source);

    const SOURCE: usize = core::mem::offset_of!(Ipv6Hdr, src_addr);
    const OUTER: usize = core::mem::offset_of!(FrameV6, ip.src_addr);
    let [client, service] = [to.client.words(), to.service.words()];
    let sender = load!(FrameV6, frame.ip.src_addr as quads);
    word::put_words::<OUTER, 4, _>(frame, &client);
    word::put_words::<{ OUTER + 16 }, 4, _>(frame, &service);
    word::put_words::<SOURCE, 4, _>(quoted, &service);
    word::put_words::<{ SOURCE + 16 }, 4, _>(quoted, &client);

    let addresses = Change::default()
        .quads(from.service.words(), service)
        .quads(from.client.words(), client);
    cursor.skip(quoted_options)?;
    // The sum goes over the outer addresses too (RFC 4443, 2.3).
    let change = change_ports(cursor, place, [from, to], addresses)?
        .quads(sender, client)
        .quads(from.service.words(), service);
    set_checksum(message, change);
    Some(())
}

#[inline(always)]
fn set_checksum(message: &mut Icmp, change: Change) {
    let [what, code, a, b] = message.what;
    let [a, b] = change.apply(u16::from_ne_bytes([a, b])).to_ne_bytes();
    message.what = [what, code, a, b];
}

/// Changes ports and checksum of what is quoted of the packet's TCP or UDP header, and returns what changes
/// by that and by the `addresses` in front of it.
#[inline(always)]
fn change_ports(
    cursor: &mut Cursor<'_>,
    place: Place,
    [from, to]: [&Tuple; 2],
    addresses: Change,
) -> Option<Change> {
    // So much is sure to be there (RFC 792).
    let start: &mut Udp = cursor.take()?;
    let change = addresses.word(from.ports.reversed(), to.ports.reversed());
    store!(Udp, start.ports as put_u32, to.ports.reversed());
    if from.protocol == Protocol::UDP {
        let checksum = load!(Udp, start.checksum as u16);
        let changed = datagram_checksum(checksum, change);
        store!(Udp, start.checksum as put_u16, changed);
        return Some(change.word(checksum.into(), changed.into()));
    }
    if !place.has_checksum {
        return Some(change);
    }
    let more: &mut Bytes<10> = cursor.take()?;
    let checksum = word::u16::<8, _>(more);
    let changed = change.apply(checksum);
    word::put_u16::<8, _>(more, changed);
    Some(change.word(checksum.into(), changed.into()))
}
