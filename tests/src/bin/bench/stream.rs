//! What the generator makes (`tests/ebpf/src/program/generator.rs`).

use std::array;

use lb_common::Tags;
use lb_tests::datapath::packet::Packet;

/// A kind of packets.
#[derive(Clone)]
pub(crate) struct Traffic {
    /// With which a flow begins.
    pub(crate) first: Packet,
    /// Those that are measured.
    pub(crate) packet: Packet,
    /// The VLAN that they come in.
    pub(crate) vlan: Option<u16>,
}

/// Bytes behind the TCP or UDP header.
const PAYLOAD: usize = 42;

/// Words of an element of the map STREAM.
pub(crate) const WORDS: usize = 22;

/// From one client to the next when they are mixed: a prime number, with which all have their turn.
const STEP: u32 = 7919;

/// The next packet of many clients that take turns. It goes on where the last run ended.
#[derive(Clone)]
pub(crate) struct Stream {
    frame: Vec<u8>,
    next: u32,
    clients: u32,
    step: u32,
    tag: u32,
    is_v6: bool,
}

impl Stream {
    /// Packets like this one from so many clients.
    pub(crate) fn new(packet: &Packet, vlan: Option<u16>, clients: u32) -> Self {
        let mut frame = packet.clone().payload(PAYLOAD).bytes();
        let tag = vlan.map_or(0, |vlan| Tags::single(Tags::CUSTOMER, vlan).words()[0]);
        if vlan.is_some() {
            frame.splice(12..12, tag.to_ne_bytes());
        }
        Self {
            frame,
            next: 0,
            clients,
            step: 1 % clients,
            tag,
            is_v6: !packet.tuple().service.is_v4(),
        }
    }

    /// The same packets, but this client is the next.
    pub(crate) fn starting_with(self, client: u32) -> Self {
        Self {
            next: client,
            ..self
        }
    }

    /// The same packets, but not in the order in which these clients came first: a map whose elements stand in
    /// memory in that order would profit from it, and clients do not keep to it.
    pub(crate) fn mixed(self) -> Self {
        Self {
            step: STEP % self.clients,
            ..self
        }
    }

    /// So many packets were made.
    pub(crate) fn advance(&mut self, packets: u32) {
        let next = u64::from(self.next) + u64::from(packets) * u64::from(self.step);
        self.next = (next % u64::from(self.clients)) as u32;
    }

    /// A frame, that of any client.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// The element of the map STREAM.
    pub(crate) fn words(&self) -> [u32; WORDS] {
        let frame = &self.frame;
        let packet = if self.tag == 0 { 14 } else { 18 };
        let header = if self.is_v6 { 40 } else { 20 };
        let half = |at: usize| u32::from(u16::from_ne_bytes([frame[at], frame[at + 1]]));
        let word = |at: usize| half(at) | half(at + 2) << 16;
        let [a, b, c, d, e, f, g, h, i, j] = array::from_fn(|i| word(packet + 4 * i));
        let length = u32::try_from(frame.len()).expect("frames are short");
        let ports = half(packet + header + 2) << 16;
        let (ether_type, is_v6) = (half(packet - 2), u32::from(self.is_v6));
        let macs = [word(0), half(4), word(6), half(10)];
        let [to, to_end, from, from_end] = macs;
        [
            self.next,
            self.clients,
            self.step,
            length,
            to,
            to_end,
            from,
            from_end,
            self.tag,
            ether_type,
            ports,
            is_v6,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            i,
            j,
        ]
    }
}
