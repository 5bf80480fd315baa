//! Builds frames.

use std::net::Ipv4Addr;

use lb_common::{Address, Protocol, Tuple};

/// TCP flag: the sender has said all it had to say.
pub const FIN: u8 = 1;
/// TCP flag: a connection opens.
pub const SYN: u8 = 2;
/// TCP flag: the connection is over.
pub const RST: u8 = 4;
/// TCP flag: the acknowledgement number counts.
pub const ACK: u8 = 16;

/// The client of a packet of which nothing else is said.
pub const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 40_000);

/// Its destination.
pub const SERVICE: (Ipv4Addr, u16) = (Ipv4Addr::new(203, 0, 113, 10), 80);

/// More fragments follow.
pub const MORE_FRAGMENTS: u16 = 0x2000;

/// Declares the parts of a packet, each with a method that changes it.
macro_rules! parts {
    ($($(#[$doc:meta])+ $part:ident: $ty:ty,)+) => {
        /// A TCP segment over IPv4 over Ethernet.
        #[derive(Clone)]
        pub struct Packet { $($part: $ty,)+ }

        impl Packet {
            $($(#[$doc])+ pub fn $part(mut self, $part: $ty) -> Self {
                self.$part = $part;
                self
            })+
        }
    };
}

parts! {
    /// MAC address that the frame is for.
    station: [u8; 6],
    /// EtherType.
    ether_type: u16,
    /// Bytes of options.
    ip_options: usize,
    /// IP flags and fragment offset.
    fragment: u16,
    /// Time to live.
    ttl: u8,
    /// IP protocol number.
    protocol: u8,
    /// Source address and port.
    from: (Ipv4Addr, u16),
    /// Destination address and port.
    to: (Ipv4Addr, u16),
    /// TCP flags.
    flags: u8,
    /// Bytes of options.
    tcp_options: usize,
    /// Bytes behind the TCP header.
    payload: usize,
    /// Length of the frame, where it is padded.
    padded_to: usize,
}

/// A SYN from [`CLIENT`] to [`SERVICE`].
pub fn syn() -> Packet {
    Packet {
        station: [2, 0, 0, 0, 0, 1],
        ether_type: 0x0800,
        ip_options: 0,
        fragment: 0,
        ttl: 64,
        protocol: Protocol::TCP.0,
        from: CLIENT,
        to: SERVICE,
        flags: SYN,
        tcp_options: 0,
        payload: 0,
        padded_to: 0,
    }
}

/// A packet from the middle of the same connection.
pub fn data() -> Packet {
    syn().flags(ACK)
}

/// A SYN from one of many clients.
pub fn syn_from(client: u32) -> Packet {
    let [a, b, high, low] = client.to_be_bytes();
    let address = Ipv4Addr::new(10, a, b, 1);
    syn().from((address, u16::from_be_bytes([high, low])))
}

impl Packet {
    /// What names its flow.
    pub fn tuple(&self) -> Tuple {
        Tuple {
            client: Address::from(self.from.0),
            service: Address::from(self.to.0),
            client_port: self.from.1.to_be_bytes(),
            service_port: self.to.1.to_be_bytes(),
            protocol: Protocol(self.protocol),
        }
    }

    /// The frame.
    pub fn bytes(&self) -> Vec<u8> {
        let ip_header = 20 + self.ip_options;
        let tcp_header = 20 + self.tcp_options;
        let length = u16::try_from(ip_header + tcp_header + self.payload).unwrap();
        let mut frame = [self.station, [2, 0, 0, 0, 0, 0xfe]].concat();
        frame.extend(self.ether_type.to_be_bytes());
        frame.extend([0x40 | nibble(ip_header / 4), 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([0x12, 0x34]);
        frame.extend(self.fragment.to_be_bytes());
        frame.extend([self.ttl, self.protocol, 0, 0]);
        frame.extend(self.from.0.octets());
        frame.extend(self.to.0.octets());
        frame.extend(vec![1; self.ip_options]);
        set_ip_checksum(&mut frame);
        frame.extend(self.from.1.to_be_bytes());
        frame.extend(self.to.1.to_be_bytes());
        frame.extend([0, 0, 0, 5, 0, 0, 0, 6]);
        frame.extend([nibble(tcp_header / 4) << 4, self.flags, 0xff, 0xff]);
        frame.extend([0x5a, 0x5a, 0, 0]);
        frame.extend(vec![1; self.tcp_options]);
        frame.extend((0_u8..=255).cycle().take(self.payload));
        let length = frame.len().max(self.padded_to);
        frame.resize(length, 0);
        frame
    }
}

/// Computes the checksum of a frame's IP header (RFC 791, 3.1).
pub(crate) fn set_ip_checksum(frame: &mut [u8]) {
    let length = usize::from(frame[14] & 15) * 4;
    let header = &mut frame[14..14 + length];
    header[10..12].fill(0);
    let words = header.as_chunks().0.iter().copied();
    let sum: u32 = words.map(u16::from_be_bytes).map(u32::from).sum();
    // The first carries can make one more.
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let checksum = !u16::try_from(folded).unwrap();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

fn nibble(value: usize) -> u8 {
    u8::try_from(value)
        .ok()
        .filter(|value| *value < 16)
        .unwrap()
}
