//! Builds frames.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lb_common::{Address, Ports, Protocol, Tuple};

/// TCP flag: the sender has said all it had to say.
pub const FIN: u8 = 1;
/// TCP flag: a connection opens.
pub const SYN: u8 = 2;
/// TCP flag: the connection is over.
pub const RST: u8 = 4;
/// TCP flag: the acknowledgement number counts.
pub const ACK: u8 = 16;

/// An address and a port.
pub type End = (IpAddr, u16);

/// The client of a packet of which nothing else is said.
pub const CLIENT: End = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 40_000);

/// Its destination.
pub const SERVICE: End = (IpAddr::V4(Ipv4Addr::new(203, 0, 113, 10)), 80);

/// The client of an IPv6 packet of which nothing else is said.
pub const CLIENT_V6: End = (IpAddr::V6(v6(0x99, 1)), 40_000);

/// Its destination.
pub const SERVICE_V6: End = (IpAddr::V6(v6(0, 10)), 80);

/// More fragments follow.
pub const MORE_FRAGMENTS: u16 = 0x2000;

/// An address below 2001:db8::/32.
const fn v6(network: u16, host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, network, 0, 0, 0, 0, host)
}

/// Declares the parts of a packet, each with a method that changes it.
macro_rules! parts {
    ($($(#[$doc:meta])+ $part:ident: $ty:ty,)+) => {
        /// A TCP segment or UDP datagram over IP over Ethernet. The version of IP is that of the
        /// destination's address.
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
    /// EtherType, if it is not that of the packet.
    ether_type: Option<u16>,
    /// Bytes of options of IPv4.
    ip_options: usize,
    /// Flags and fragment offset of IPv4.
    fragment: u16,
    /// Extension headers of IPv6: type of the first, and all their bytes.
    extensions: Option<(u8, Vec<u8>)>,
    /// Type of service, or traffic class.
    class: u8,
    /// Flow label of IPv6.
    label: u32,
    /// Time to live, or hop limit.
    ttl: u8,
    /// IP protocol number.
    protocol: Protocol,
    /// Source address and port.
    from: End,
    /// Destination address and port.
    to: End,
    /// TCP flags.
    flags: u8,
    /// Bytes of options.
    tcp_options: usize,
    /// Bytes behind the TCP or UDP header.
    payload: usize,
    /// Length of the frame, where it is padded.
    padded_to: usize,
}

/// A SYN from [`CLIENT`] to [`SERVICE`].
pub fn syn() -> Packet {
    Packet {
        station: [2, 0, 0, 0, 0, 1],
        ether_type: None,
        ip_options: 0,
        fragment: 0,
        extensions: None,
        class: 0,
        label: 0,
        ttl: 64,
        protocol: Protocol::TCP,
        from: CLIENT,
        to: SERVICE,
        flags: SYN,
        tcp_options: 0,
        payload: 0,
        padded_to: 0,
    }
}

/// The same over IPv6.
pub fn syn_v6() -> Packet {
    syn().from(CLIENT_V6).to(SERVICE_V6)
}

/// The first packet of a flow of each protocol over each family.
pub fn first_of_each() -> [Packet; 4] {
    [syn(), syn().udp(), syn_v6(), syn_v6().udp()]
}

/// A packet from the middle of the same connection.
pub fn data() -> Packet {
    syn().flags(ACK)
}

/// A SYN from one of many clients.
pub fn syn_from(client: u32) -> Packet {
    let [a, b, high, low] = client.to_be_bytes();
    let address = Ipv4Addr::new(10, a, b, 1);
    syn().from((address.into(), u16::from_be_bytes([high, low])))
}

impl Packet {
    /// What names its flow.
    pub fn tuple(&self) -> Tuple {
        Tuple {
            client: Address::from(self.from.0),
            service: Address::from(self.to.0),
            ports: Ports::new(self.from.1, self.to.1),
            protocol: self.protocol,
        }
    }

    /// The same packet as a datagram.
    pub fn udp(self) -> Self {
        self.protocol(Protocol::UDP)
    }

    /// The frame.
    pub fn bytes(&self) -> Vec<u8> {
        let mut frame = [self.station, [2, 0, 0, 0, 0, 0xfe]].concat();
        let ether_type = if self.to.0.is_ipv4() { 0x0800 } else { 0x86dd };
        frame.extend(self.ether_type.unwrap_or(ether_type).to_be_bytes());
        match (self.from.0, self.to.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.put_v4(&mut frame, from, to),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.put_v6(&mut frame, from, to),
            ends => panic!("{ends:?} are of two families"),
        }
        let length = frame.len().max(self.padded_to);
        frame.resize(length, 0);
        frame
    }

    fn put_v4(&self, frame: &mut Vec<u8>, from: Ipv4Addr, to: Ipv4Addr) {
        let header = 20 + self.ip_options;
        let payload = self.segment();
        let length = u16::try_from(header + payload.len()).unwrap();
        frame.extend([0x40 | nibble(header / 4), self.class]);
        frame.extend(length.to_be_bytes());
        frame.extend([0x12, 0x34]);
        frame.extend(self.fragment.to_be_bytes());
        frame.extend([self.ttl, self.protocol.0, 0, 0]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        frame.extend(vec![1; self.ip_options]);
        set_ip_checksum(&mut frame[14..]);
        frame.extend(payload);
        self.set_checksum(&mut frame[14 + header..]);
    }

    fn put_v6(&self, frame: &mut Vec<u8>, from: Ipv6Addr, to: Ipv6Addr) {
        let none = (self.protocol.0, Vec::new());
        let (next, extensions) = self.extensions.as_ref().unwrap_or(&none);
        let mut segment = self.segment();
        self.set_checksum(&mut segment);
        let payload = [&extensions[..], &segment].concat();
        let first = 6 << 28 | u32::from(self.class) << 20 | self.label;
        frame.extend(first.to_be_bytes());
        frame.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
        frame.extend([*next, self.ttl]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        frame.extend(payload);
    }

    /// What the IP packet carries: a datagram for UDP, else a TCP segment.
    fn segment(&self) -> Vec<u8> {
        let mut segment = [self.from.1, self.to.1].map(u16::to_be_bytes).concat();
        if self.protocol == Protocol::UDP {
            segment.extend(u16::try_from(8 + self.payload).unwrap().to_be_bytes());
            segment.extend([0, 0]);
        } else {
            let header = 20 + self.tcp_options;
            segment.extend([0, 0, 0, 5, 0, 0, 0, 6]);
            segment.extend([nibble(header / 4) << 4, self.flags, 0xff, 0xff]);
            segment.extend([0, 0, 0, 0]);
            segment.extend(vec![1; self.tcp_options]);
        }
        segment.extend((0_u8..=255).cycle().take(self.payload));
        segment
    }

    /// Computes the checksum of a whole segment or datagram, in which it is 0 (RFC 9293, 3.1; RFC 768).
    fn set_checksum(&self, segment: &mut [u8]) {
        let octets = |end: End| match end.0 {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        let length = u16::try_from(segment.len()).unwrap().to_be_bytes();
        let pseudo = [octets(self.from), octets(self.to), length.to_vec()].concat();
        let padding = &[0][..segment.len() % 2];
        let all = [&pseudo, &[0, self.protocol.0][..], segment, padding].concat();
        let checksum = match (checksum(&all), self.protocol) {
            (0, Protocol::UDP) => u16::MAX,
            (checksum, _) => checksum,
        };
        let at = if self.protocol == Protocol::UDP {
            6
        } else {
            16
        };
        segment[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Computes the checksum of an IPv4 header (RFC 791, 3.1).
pub fn set_ip_checksum(packet: &mut [u8]) {
    let length = usize::from(packet[0] & 15) * 4;
    let header = &mut packet[..length];
    header[10..12].fill(0);
    let checksum = checksum(header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The Internet checksum of an even number of bytes (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.as_chunks().0.iter().copied();
    let sum: u32 = words.map(u16::from_be_bytes).map(u32::from).sum();
    // The first carries can make one more.
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !u16::try_from(folded).unwrap()
}

fn nibble(value: usize) -> u8 {
    u8::try_from(value)
        .ok()
        .filter(|value| *value < 16)
        .unwrap()
}
