//! What the loader sets before the program is verified. The verifier knows the values and removes
//! the code that they switch off.

use aya_ebpf::Global;
use lb_ebpf::forward::Tunnels;

use super::maps::DEFAULT_BUCKETS;

/// Number of buckets of the map FLOWS minus 1; the number is a power of two.
#[unsafe(no_mangle)]
pub(super) static FLOW_MASK: Global<u32> = Global::new(DEFAULT_BUCKETS - 1);

/// Flow entries that one CPU may write per tick: about 300,000 per second.
#[unsafe(no_mangle)]
pub(super) static INSERT_LIMIT: Global<u32> = Global::new(20_000);

/// Replies that one CPU may send per tick: about 1,000 per second.
#[unsafe(no_mangle)]
pub(super) static REPLY_LIMIT: Global<u32> = Global::new(68);

/// Whether echo requests to the address of a service are answered; 0 for no.
#[unsafe(no_mangle)]
pub(super) static ANSWER_ECHO: Global<u8> = Global::new(1);

/// First port of the edge that `full-nat` flows have at their backends.
#[unsafe(no_mangle)]
pub(super) static NAT_FIRST_PORT: Global<u32> = Global::new(61_000);

/// Number of these ports.
#[unsafe(no_mangle)]
pub(super) static NAT_PORT_COUNT: Global<u32> = Global::new(4_536);

/// Hops that a tunnel is for the packets in it, 1 or 0.
#[unsafe(no_mangle)]
static TUNNEL_HOPS: Global<u8> = Global::new(1);

/// Whether datagrams of `gue` have a checksum; 0 for no.
#[unsafe(no_mangle)]
pub(super) static TUNNEL_CHECKSUM: Global<u8> = Global::new(0);

/// How many more addresses than that of the edge outer headers come from.
#[unsafe(no_mangle)]
static MORE_SOURCES_V4: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static MORE_SOURCES_V6: Global<u32> = Global::new(0);

/// What is set for tunnels.
#[inline(always)]
pub(super) fn tunnels() -> Tunnels {
    Tunnels {
        hops: TUNNEL_HOPS.load(),
        more_sources: [MORE_SOURCES_V4.load(), MORE_SOURCES_V6.load()],
    }
}

/// Whether the program only tells how it decides; 0 for no.
#[unsafe(no_mangle)]
pub(super) static PROOF: Global<u8> = Global::new(0);

/// Whether every packet of a service is logged; 0 for no.
#[unsafe(no_mangle)]
pub(super) static PACKET_LOG: Global<u8> = Global::new(0);
