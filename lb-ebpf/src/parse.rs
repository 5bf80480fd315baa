//! From the bytes of a frame to the flow that it belongs to.

use lb_common::{Address, Protocol, Tuple};
use network_types::{ip::Ipv4Hdr, tcp::TcpHdr};

use crate::{cursor::Cursor, header::Ethernet};

#[cfg(test)]
mod tests;

/// What a packet says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flow {
    /// Which flow it belongs to.
    pub tuple: Tuple,
    /// What it does to its connection.
    pub signal: Signal,
    /// Bytes of the IP packet with its header, without the padding of a short frame.
    pub ip_length: u16,
}

/// What a TCP segment does to its connection (RFC 9293, 3.5 and 3.6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Signal {
    /// SYN without ACK: it opens a new one.
    Open,
    /// FIN: one side has said all it had to say.
    Finish,
    /// RST: it is over.
    Reset,
    /// None of these.
    Data,
}

/// Why a frame has no flow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Skip {
    /// A fragment of a TCP packet: only the first one of a packet has ports.
    Fragment {
        /// Where it goes, possibly to a service.
        destination: Address,
    },
    /// No whole TCP segment over IPv4 to one station. Nothing is said about what it is then.
    NotOurs,
}

/// The flow of an Ethernet frame. It writes nothing.
#[inline(always)]
pub fn flow(cursor: &mut Cursor<'_>) -> Result<Flow, Skip> {
    let ethernet = cursor.take::<Ethernet>().ok_or(Skip::NotOurs)?;
    // TCP has one receiver (RFC 9293, MUST-57). Were such a frame forwarded, each of several edges
    // would send a copy.
    if ethernet.ether_type != Ethernet::IPV4 || ethernet.is_multicast() {
        return Err(Skip::NotOurs);
    }
    ipv4(cursor)
}

#[inline(always)]
fn ipv4(cursor: &mut Cursor<'_>) -> Result<Flow, Skip> {
    let available = cursor.remaining();
    let ip = cursor.take::<Ipv4Hdr>().ok_or(Skip::NotOurs)?;
    let ip_length = u16::from_be_bytes(ip.tot_len);
    let payload = (ip_length as usize).checked_sub(ip.ihl() as usize);
    let options = ip.ihl().checked_sub(Ipv4Hdr::LEN as u8);
    let (Some(payload), Some(options)) = (payload, options) else {
        return Err(Skip::NotOurs);
    };
    if ip.version() != 4 || ip_length as usize > available || ip.proto != Protocol::TCP.0 {
        return Err(Skip::NotOurs);
    }
    let service = Address::v4(ip.dst_addr);
    if is_fragment(ip) {
        return Err(Skip::Fragment {
            destination: service,
        });
    }
    cursor.skip(options.into()).ok_or(Skip::NotOurs)?;
    let tcp = tcp(cursor, payload).ok_or(Skip::NotOurs)?;
    Ok(Flow {
        tuple: Tuple {
            client: Address::v4(ip.src_addr),
            service,
            client_port: tcp.source,
            service_port: tcp.dest,
            protocol: Protocol::TCP,
        },
        signal: signal(tcp),
        ip_length,
    })
}

/// More fragments follow, or this one is not the first.
#[inline(always)]
fn is_fragment(ip: &Ipv4Hdr) -> bool {
    u16::from_be_bytes(ip.frags) & 0x3fff != 0
}

/// The TCP header of a segment of `length` bytes, if it is whole.
#[inline(always)]
fn tcp<'p>(cursor: &mut Cursor<'p>, length: usize) -> Option<&'p TcpHdr> {
    let tcp: &TcpHdr = cursor.take()?;
    let header = tcp.doff() as usize * 4;
    (TcpHdr::LEN..=length).contains(&header).then_some(tcp)
}

#[inline(always)]
fn signal(tcp: &TcpHdr) -> Signal {
    if tcp.rst() != 0 {
        Signal::Reset
    } else if tcp.fin() != 0 {
        Signal::Finish
    } else if tcp.syn() != 0 && tcp.ack() == 0 {
        Signal::Open
    } else {
        Signal::Data
    }
}
