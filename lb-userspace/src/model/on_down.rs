/// What becomes of the running flows of a backend that is down, which D41 leaves where they are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OnDown {
    /// Of TCP.
    pub tcp: TcpOnDown,
    /// Of UDP.
    pub udp: UdpOnDown,
}

impl OnDown {
    /// TCP has connections to lose, which a backend that is back goes on with; UDP has none. It is also
    /// what becomes of the flows of a backend that is disabled: that is an order, and not a failure.
    pub const DEFAULT: Self = Self {
        tcp: TcpOnDown::Keep,
        udp: UdpOnDown::Reselect,
    };
}

/// What becomes of running TCP flows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TcpOnDown {
    /// They stay.
    Keep,
    /// The next packet of each counts as that of a new flow.
    Reselect,
    /// The next packet of each is answered by a reset.
    Reset,
}

/// What becomes of running UDP flows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UdpOnDown {
    /// They stay.
    Keep,
    /// The next packet of each counts as that of a new flow.
    Reselect,
}
