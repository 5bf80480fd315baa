use std::time::Duration;

use lb_common::{FlowState, IdleTicks, tick};

/// How long a flow is remembered after its last packet, by its state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FlowIdle {
    /// TCP, while only SYNs were seen, or one packet from the middle of a connection.
    pub opening: Duration,
    /// TCP, once the client has sent more.
    pub established: Duration,
    /// TCP, after a FIN or a reset.
    pub closing: Duration,
    /// UDP.
    pub datagram: Duration,
}

impl FlowIdle {
    /// RFC 5382 (REQ-5) wants two hours and four minutes for established connections and four minutes
    /// while one opens or closes, RFC 4787 (REQ-5) two minutes for UDP. They speak of translators, where
    /// a connection ends with its entry; here it goes on where the ring says, most often the same way.
    /// So those that open or close have a minute, which outlasts the pauses between a client's SYNs and
    /// the TIME-WAIT of Linux: in four, connections that have ended would take four times the room.
    pub const DEFAULT: Self = Self {
        opening: Duration::from_secs(60),
        established: Duration::from_secs(7440),
        closing: Duration::from_secs(60),
        datagram: Duration::from_secs(120),
    };

    /// The same as the packet program counts.
    pub fn ticks(&self) -> IdleTicks {
        let mut ticks = [0; FlowState::COUNT];
        for (state, idle) in [
            (FlowState::OPENING, self.opening),
            (FlowState::ESTABLISHED, self.established),
            (FlowState::CLOSING, self.closing),
            (FlowState::DATAGRAM, self.datagram),
        ] {
            let nanoseconds = u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX);
            ticks[usize::from(state.0)] = tick(nanoseconds);
        }
        ticks
    }
}
