//! Tells the sender of a packet why it does not go on, in the place of the packet itself. One file per
//! kind of reply.

pub mod icmp;
pub mod icmpv6;
pub mod reset;

use lb_common::{Address, Mac, Ports, Protocol, Tuple};

use self::reset::Reset;
use crate::{
    cursor::Cursor,
    header::Ethernet,
    parse::{Family, Packet},
    store,
    sum::{self, Sum},
};

#[cfg(test)]
mod tests;

/// Time to live, or hop limit, of what goes back.
pub(crate) const TTL: u8 = 64;

/// Why a packet goes back to its sender, and not on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cause {
    /// Nobody serves its sender.
    Rejected,
    /// It is longer than the way to its target takes: at most so many bytes.
    TooBig(u16),
    /// Its time to live, or hop limit, ended here.
    Expired,
}

/// A reply to a packet. It holds what the reply needs of the packet, since that has another size when
/// the reply is written over it.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    family: Family,
    tuple: Tuple,
    /// The sender's station and this one.
    stations: [Mac; 2],
    /// Bytes of the packet.
    length: u32,
    cause: Cause,
    /// None: an ICMP error tells it.
    reset: Option<Reset>,
}

/// None yet.
impl Default for Reply {
    #[inline(always)]
    fn default() -> Self {
        let nobody = Address::of_words([0; 4]);
        Self {
            family: Family::V4,
            tuple: Tuple {
                client: nobody,
                service: nobody,
                ports: Ports::of_word(0),
                protocol: Protocol(0),
            },
            stations: [Mac::of_words(0, 0); 2],
            length: 0,
            cause: Cause::Rejected,
            reset: None,
        }
    }
}

impl Reply {
    /// Whether there is one.
    #[inline(always)]
    pub fn is_some(&self) -> bool {
        self.length > 0
    }

    /// For a packet; `None` if nobody may be told: it is a reset that is rejected (RFC 9293, 3.10.7.1),
    /// or its sender is not one host (RFC 1122, 3.2.2; RFC 4443, 2.4 e) on one station.
    #[inline(always)]
    pub fn of(packet: &mut Packet<'_>, cause: Cause) -> Option<Self> {
        let reset = match (&packet.segment, cause) {
            (Some(segment), Cause::Rejected) => Some(Reset::of(segment)?),
            _ => None,
        };
        let ethernet = packet.frame.ethernet();
        let stations = [ethernet.source.mac(), ethernet.destination.mac()];
        let family = packet.frame.family();
        let tuple = packet.flow.tuple;
        if !stations[0].is_unicast() || !is_one_host(family, tuple.client) {
            return None;
        }
        Some(Self {
            family,
            tuple,
            stations,
            length: packet.flow.ip_length,
            cause,
            reset,
        })
    }

    /// Bytes that the frame has to grow by at its beginning: an ICMP error quotes the packet.
    #[inline(always)]
    pub fn growth(&self) -> usize {
        match (&self.reset, self.family) {
            (Some(_), _) => 0,
            (None, Family::V4) => icmp::GROWTH,
            (None, Family::V6) => icmpv6::GROWTH,
        }
    }

    /// Bytes of the frame that goes back, at most those of the packet's with [`Self::growth`].
    #[inline(always)]
    pub fn length(&self) -> u32 {
        let ethernet = size_of::<Ethernet>() as u32;
        ethernet
            + match (&self.reset, self.family) {
                (Some(_), Family::V4) => reset::LENGTH_V4,
                (Some(_), Family::V6) => reset::LENGTH_V6,
                (None, Family::V4) => icmp::length(self.length),
                (None, Family::V6) => icmpv6::length(self.length),
            }
    }

    /// The sum of what is quoted of the packet, once the frame has grown and was cut to
    /// [`Self::length`]; `None` if the frame is too short.
    #[inline(always)]
    pub fn quoted(&self, cursor: &mut Cursor<'_>) -> Option<Sum> {
        let most = match (&self.reset, self.family) {
            (Some(_), _) => return Some(Sum::default()),
            (None, Family::V4) => icmp::QUOTE,
            (None, Family::V6) => icmpv6::QUOTE,
        };
        cursor.skip((size_of::<Ethernet>() + self.growth()) as u16)?;
        Some(Sum::of_rest(cursor, most))
    }

    /// Writes it over the same frame, given [`Self::quoted`]; `None` if the frame is too short.
    #[inline(always)]
    pub fn write(&self, cursor: &mut Cursor<'_>, quoted: Sum) -> Option<()> {
        match (&self.reset, self.family) {
            (Some(reset), Family::V4) => reset.write_v4(cursor, self),
            (Some(reset), Family::V6) => reset.write_v6(cursor, self),
            (None, Family::V4) => icmp::write(cursor, self, quoted),
            (None, Family::V6) => icmpv6::write(cursor, self, quoted),
        }
    }

    /// Sends the frame back to its sender. What follows stays what it is: a packet of the same family.
    #[inline(always)]
    fn turn(&self, ethernet: &mut Ethernet) {
        let [sender, here] = self.stations;
        ethernet.destination.set(sender);
        ethernet.source.set(here);
        let ether_type = u16::from_ne_bytes(match self.family {
            Family::V4 => Ethernet::IPV4,
            Family::V6 => Ethernet::IPV6,
        });
        store!(Ethernet, ethernet.ether_type as put_u16, ether_type);
    }

    /// The header of an IPv4 packet back to the client. It may not be fragmented, so its
    /// identification may be 0 (RFC 6864, 4.1).
    #[inline(always)]
    fn header_v4(&self, tos: u8, protocol: u8, length: u32) -> [u32; 5] {
        let [high, low] = (length as u16).to_be_bytes();
        let [.., service] = self.tuple.service.words();
        let [.., client] = self.tuple.client.words();
        let mut words = [
            u32::from_ne_bytes([0x45, tos, high, low]),
            u32::from_ne_bytes([0, 0, 0x40, 0]),
            u32::from_ne_bytes([TTL, protocol, 0, 0]),
            service,
            client,
        ];
        words[2] |= sum::placed(Sum::of(&words).checksum());
        words
    }

    /// The header of an IPv6 packet back to the client, with a payload of `length` bytes.
    #[inline(always)]
    fn header_v6(&self, next: u8, length: u32) -> [u32; 10] {
        let [high, low] = (length as u16).to_be_bytes();
        let [a, b, c, d] = self.tuple.service.words();
        let [e, f, g, h] = self.tuple.client.words();
        [
            u32::from_ne_bytes([0x60, 0, 0, 0]),
            u32::from_ne_bytes([high, low, next, TTL]),
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
        ]
    }

    /// The sum of the pseudo-header.
    #[inline(always)]
    fn pseudo_header(&self, next: u8, length: u32) -> Sum {
        let of = |address: Address| match self.family {
            Family::V4 => Sum::of(&address.words()[3..]),
            Family::V6 => Sum::of(&address.words()),
        };
        let ends = of(self.tuple.service).and(of(self.tuple.client));
        Sum::pseudo_header(ends, next, length)
    }
}

/// Whether an address can be that of one host elsewhere.
#[inline(always)]
pub(crate) fn is_one_host(family: Family, address: Address) -> bool {
    let [a, b, c, d] = address.words();
    match family {
        // Not of "this" network, loopback, multicast or reserved, which holds the broadcast address.
        Family::V4 => !matches!(d.to_ne_bytes()[0], 0 | 127 | 224..),
        // Not unspecified, loopback, multicast, or IPv4 in IPv6, which is never sent.
        Family::V6 => {
            let is_local = a | b | c == 0 && u32::from_be(d) <= 1;
            !is_local && !address.is_v4() && a.to_ne_bytes()[0] != 0xff
        }
    }
}
