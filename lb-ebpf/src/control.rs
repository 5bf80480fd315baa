//! ICMP and ICMPv6 messages to a service: errors about its flows, and echo requests.

use lb_common::{Address, Mac, Ports, Protocol, Tuple};
use network_types::ip::{Ipv4Hdr, Ipv6Hdr};

use crate::{
    checksum::Change,
    cursor::Cursor,
    header::{Bytes, Ethernet, Extension, FrameV4, FrameV6, Icmp},
    load,
    parse::{self, Family, Flow, Frame, Packet, Signal},
    reply, word,
};

/// The packet that is an error about one of a service's packets to a client: its flow is that of the
/// client's packets, and what it carries is the TCP or UDP header that it quotes. `None` if the frame, which
/// holds a packet of this family, is none. It writes nothing.
#[inline(always)]
pub fn error<'p>(cursor: &mut Cursor<'p>, family: Family) -> Option<Packet<'p>> {
    let all = cursor.remaining();
    let packet = quoting(cursor, family)?;
    let payload = all - cursor.remaining() - size_of::<Ports>();
    Some(Packet {
        payload: payload as u16,
        ..packet
    })
}

#[inline(always)]
fn quoting<'p>(cursor: &mut Cursor<'p>, family: Family) -> Option<Packet<'p>> {
    match family {
        Family::V4 => {
            let (frame, message, length) = ipv4(cursor)?;
            let service = Address::of_v4_word(load!(FrameV4, frame.ip.dst_addr as u32));
            let tuple = match message.what {
                [3 | 11 | 12, ..] => quoted_v4(cursor)?,
                _ => return None,
            };
            about(service, Frame::V4(frame), tuple, length)
        }
        Family::V6 => {
            let (frame, message, length) = ipv6(cursor)?;
            let service = Address::of_words(load!(FrameV6, frame.ip.dst_addr as quads));
            let tuple = match message.what {
                [1..=4, ..] => quoted_v6(cursor)?,
                _ => return None,
            };
            about(service, Frame::V6(frame), tuple, length)
        }
    }
}

/// Makes of an echo request its answer (RFC 792; RFC 4443, 4.1 and 4.2). `None`, and nothing is changed,
/// if it is none to this station from one host on one station.
#[inline(always)]
pub fn answer_echo(cursor: &mut Cursor<'_>, family: Family, station: Mac) -> Option<()> {
    match family {
        Family::V4 => {
            let (frame, message, _) = ipv4(cursor)?;
            let sender = Address::of_v4_word(load!(FrameV4, frame.ip.src_addr as u32));
            // Options would have to be turned around.
            if frame.ip.vihl != parse::PLAIN || message.what[..2] != [8, 0] {
                return None;
            }
            turn(&mut frame.ethernet, family, sender, station)?;
            turn_v4(frame);
            set_type(message, 0);
        }
        Family::V6 => {
            let (frame, message, _) = ipv6(cursor)?;
            let sender = Address::of_words(load!(FrameV6, frame.ip.src_addr as quads));
            if message.what[..2] != [128, 0] {
                return None;
            }
            turn(&mut frame.ethernet, family, sender, station)?;
            turn_v6(frame);
            set_type(message, 129);
        }
    }
    Some(())
}

/// The headers of a frame with a whole ICMP message, and the bytes of its packet.
#[inline(always)]
fn ipv4<'p>(cursor: &mut Cursor<'p>) -> Option<(&'p mut FrameV4, &'p mut Icmp, usize)> {
    let frame: &mut FrameV4 = cursor.take()?;
    let length = usize::from(u16::from_be(load!(FrameV4, frame.ip.tot_len as u16)));
    let options = parse::options(frame.ip.vihl)?;
    let is_part = load!(FrameV4, frame.ip.frags as u16) & parse::MORE_OR_OFFSET != 0;
    if is_part || length > Ipv4Hdr::LEN + cursor.remaining() {
        return None;
    }
    length.checked_sub(Ipv4Hdr::LEN + usize::from(options) + size_of::<Icmp>())?;
    cursor.skip(options)?;
    Some((frame, cursor.take()?, length))
}

/// The same of one without extension headers.
#[inline(always)]
fn ipv6<'p>(cursor: &mut Cursor<'p>) -> Option<(&'p mut FrameV6, &'p mut Icmp, usize)> {
    let frame: &mut FrameV6 = cursor.take()?;
    let payload = usize::from(u16::from_be(load!(FrameV6, frame.ip.payload_len as u16)));
    let is_plain = frame.ip.vcf[0] >> 4 == 6 && frame.ip.next_hdr == Protocol::ICMPV6.0;
    if !is_plain || payload > cursor.remaining() || payload < size_of::<Icmp>() {
        return None;
    }
    Some((frame, cursor.take()?, Ipv6Hdr::LEN + payload))
}

/// An error to `service`, if it quotes one of its packets.
#[inline(always)]
fn about<'p>(
    service: Address,
    frame: Frame<'p>,
    tuple: Tuple,
    length: usize,
) -> Option<Packet<'p>> {
    if !tuple.service.is(service) {
        return None;
    }
    Some(Packet {
        frame,
        flow: Flow {
            tuple,
            signal: Signal::Data,
            ip_length: length as u32,
        },
        segment: None,
        payload: 0,
    })
}

/// The flow of a quoted packet from a service, as the client's packets have it. No more is sure to be
/// there than eight bytes behind its IP header (RFC 792).
#[inline(always)]
fn quoted_v4(cursor: &mut Cursor<'_>) -> Option<Tuple> {
    let ip: &mut Ipv4Hdr = cursor.take()?;
    let options = parse::options(ip.vihl)?;
    if load!(Ipv4Hdr, ip.frags as u16) & parse::OFFSET != 0 {
        return None;
    }
    cursor.skip(options)?;
    Some(Tuple {
        client: Address::of_v4_word(load!(Ipv4Hdr, ip.dst_addr as u32)),
        service: Address::of_v4_word(load!(Ipv4Hdr, ip.src_addr as u32)),
        ports: ports(cursor)?,
        protocol: Protocol(ip.proto),
    })
}

/// The same of IPv6, where the packet may be the first fragment of another; other extension headers are
/// not what hosts send.
#[inline(always)]
fn quoted_v6(cursor: &mut Cursor<'_>) -> Option<Tuple> {
    let ip: &mut Ipv6Hdr = cursor.take()?;
    let client = Address::of_words(load!(Ipv6Hdr, ip.dst_addr as quads));
    let service = Address::of_words(load!(Ipv6Hdr, ip.src_addr as quads));
    let mut protocol = Protocol(ip.next_hdr);
    if protocol == Protocol::FRAGMENT {
        let fragment: &mut Extension = cursor.take()?;
        if load!(Extension, fragment.fragment as u16) & parse::OFFSET_V6 != 0 {
            return None;
        }
        protocol = Protocol(fragment.next);
    }
    Some(Tuple {
        client,
        service,
        ports: ports(cursor)?,
        protocol,
    })
}

/// The ports of the way back.
#[inline(always)]
fn ports(cursor: &mut Cursor<'_>) -> Option<Ports> {
    let ports: &mut Bytes<4> = cursor.take()?;
    let there = Ports::of_word(load!(Bytes<4>, ports.all as u32));
    Some(Ports::of_word(there.reversed()))
}

/// Sends a frame for `station` back to its sender; `None` if it is for another one, or the sender is not
/// one host on one station.
#[inline(always)]
fn turn(ethernet: &mut Ethernet, family: Family, sender: Address, station: Mac) -> Option<()> {
    let [here, there] = [ethernet.destination.mac(), ethernet.source.mac()];
    if here != station || !there.is_unicast() || !reply::is_one_host(family, sender) {
        return None;
    }
    ethernet.destination.set(there);
    ethernet.source.set(here);
    Some(())
}

/// Addresses that change places leave every sum as it is.
#[inline(always)]
fn turn_v4(frame: &mut FrameV4) {
    let (from, to) = (frame.ip.src_addr, frame.ip.dst_addr);
    (frame.ip.src_addr, frame.ip.dst_addr) = (to, from);
    let [ttl, protocol] = [frame.ip.ttl, frame.ip.proto];
    frame.ip.check = changed(frame.ip.check, [ttl, protocol], [reply::TTL, protocol]);
    frame.ip.ttl = reply::TTL;
}

#[inline(always)]
fn turn_v6(frame: &mut FrameV6) {
    let from = load!(FrameV6, frame.ip.src_addr as quads);
    let to = load!(FrameV6, frame.ip.dst_addr as quads);
    const SOURCE: usize = core::mem::offset_of!(FrameV6, ip.src_addr);
    word::put_words::<SOURCE, 4, _>(frame, &to);
    word::put_words::<{ SOURCE + 16 }, 4, _>(frame, &from);
    frame.ip.hop_limit = reply::TTL;
}

#[inline(always)]
fn set_type(message: &mut Icmp, what: u8) {
    let [before, code, a, b] = message.what;
    let [a, b] = changed([a, b], [before, code], [what, code]);
    message.what = [what, code, a, b];
}

/// A checksum after one word that it covers has changed.
#[inline(always)]
fn changed(checksum: [u8; 2], before: [u8; 2], after: [u8; 2]) -> [u8; 2] {
    let [before, after] = [before, after].map(|word| u16::from_ne_bytes(word).into());
    let change = Change::default().word(before, after);
    change.apply(u16::from_ne_bytes(checksum)).to_ne_bytes()
}
