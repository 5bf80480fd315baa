use lb_common::IdleTicks;
use lb_userspace::model::FlowIdle;

/// What is set when the program is loaded.
pub struct Settings {
    /// Buckets of the flow table, a power of two.
    pub buckets: u32,
    /// How long entries may stay idle.
    pub idle: IdleTicks,
    /// Entries that a CPU may write per tick.
    pub insert_limit: u32,
    /// Packets that a CPU may reject per tick.
    pub reply_limit: u32,
    /// First and number of the ports of translated flows.
    pub nat_ports: [u32; 2],
    /// Hops that a tunnel is for the packets in it.
    pub tunnel_hops: u8,
    /// Whether datagrams of tunnels have a checksum.
    pub tunnel_checksum: bool,
    /// How many more addresses outer headers come from, for IPv4 and for IPv6.
    pub more_sources: [u32; 2],
    /// Whether echo requests are answered.
    pub answer_echo: bool,
    /// Whether every packet of a service is logged.
    pub packet_log: bool,
    /// Whether the program only tells how it decides.
    pub proof: bool,
    /// What the flow table's secret is drawn from.
    pub secret: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            buckets: 64,
            idle: FlowIdle::DEFAULT.ticks(),
            insert_limit: u32::MAX,
            reply_limit: u32::MAX,
            nat_ports: [61_000, 4096],
            tunnel_hops: 1,
            tunnel_checksum: false,
            more_sources: [0; 2],
            answer_echo: true,
            packet_log: false,
            proof: false,
            secret: 1,
        }
    }
}
