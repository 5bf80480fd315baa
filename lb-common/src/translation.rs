use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Address, Entry, Exit, FlowState, IdleTicks, Mac, Ports, Protocol, Tuple, abi::abi};

/// The end of a [`crate::Target`]: what its packets are translated to, if they are.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Nat {
    /// The edge's address that packets to the backend come from.
    pub source: Address,
    /// The backend's port, network order; 0 for that of the service.
    pub port: [u8; 2],
    /// Always 0.
    pub reserved: [u8; 14],
}

impl Nat {
    /// Of targets whose packets keep their addresses.
    pub const NONE: Self = Self {
        source: Address::v6([0; 16]),
        port: [0; 2],
        reserved: [0; 14],
    };
}

/// Key of the map TRANSLATIONS: a translated flow, as the packets of its backend have it.
///
/// It serves both directions. A packet from the backend carries it; and a client's flow is asked for
/// under the few ports that its hash names (up to [`NAT_PROBES`]). So what belongs together
/// can not be given up by halves.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Hash, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct TranslationKey {
    backend: Address,
    edge: Address,
    ports: u32,
    protocol: u32,
}

/// Ports of the edge that a flow may have at its backend; when all are taken, it gets none.
pub const NAT_PROBES: u32 = 8;

impl TranslationKey {
    /// Of a flow whose packets, on their way to the backend, have this tuple: its client is the edge.
    #[inline(always)]
    pub const fn there(tuple: &Tuple) -> Self {
        Self {
            backend: tuple.service,
            edge: tuple.client,
            ports: tuple.ports.reversed(),
            protocol: tuple.protocol.0 as u32,
        }
    }

    /// Of a flow whose packets, on their way back from the backend, have this tuple: its service is the
    /// edge.
    #[inline(always)]
    pub const fn back(tuple: &Tuple) -> Self {
        Self {
            backend: tuple.client,
            edge: tuple.service,
            ports: tuple.ports.word(),
            protocol: tuple.protocol.0 as u32,
        }
    }

    /// The edge's port.
    #[inline(always)]
    pub const fn port(&self) -> u16 {
        Ports::of_word(self.ports).service()
    }
}

/// Element of the map TRANSLATIONS: the flow as its client knows it. The packet program alone writes it,
/// word by word.
#[derive(Clone, Copy, Debug, Eq, FromBytes, Immutable, IntoBytes, KnownLayout, PartialEq)]
#[repr(C)]
pub struct Translation {
    /// The client.
    pub client: Address,
    /// The service.
    pub service: Address,
    /// Ports of the client's packets (32 bits, low), id of the target (16 bits, high).
    pub place: u64,
    /// As [`Entry::life`].
    pub life: u64,
    /// Where the client's packets come from, which is where those to it go.
    pub station: u64,
    /// How they leave.
    pub exit: Exit,
    /// Always 0.
    pub reserved: [u8; 4],
}

impl Translation {
    /// Of a flow that goes to `target`.
    #[inline(always)]
    pub const fn new(tuple: &Tuple, target: u16, life: u64, (station, exit): (Mac, Exit)) -> Self {
        Self {
            client: tuple.client,
            service: tuple.service,
            place: (target as u64) << 48 | tuple.ports.word() as u64,
            life,
            station: station.number(),
            exit,
            reserved: [0; 4],
        }
    }

    /// Whether it is of this flow; protocol and target stand in the key.
    #[inline(always)]
    pub const fn is_of(&self, tuple: &Tuple) -> bool {
        self.place as u32 == tuple.ports.word()
            && self.client.is(tuple.client)
            && self.service.is(tuple.service)
    }

    /// The tuple of the packets to the client: they come from the service.
    #[inline(always)]
    pub const fn back(&self, protocol: Protocol) -> Tuple {
        Tuple {
            client: self.service,
            service: self.client,
            ports: Ports::of_word(Ports::of_word(self.place as u32).reversed()),
            protocol,
        }
    }

    /// Id of the target.
    #[inline(always)]
    pub const fn target(&self) -> u16 {
        (self.place >> 48) as u16
    }

    /// How far the flow has come.
    #[inline(always)]
    pub const fn state(&self) -> FlowState {
        self.entry().state()
    }

    /// Whether it was not idle for too long.
    #[inline(always)]
    pub fn is_live(&self, now: u32, idle: &IdleTicks) -> bool {
        self.entry().is_live(now, idle)
    }

    /// What the flow table would have of it.
    #[inline(always)]
    const fn entry(&self) -> Entry {
        Entry {
            name: u64::MAX,
            life: self.life,
        }
    }
}

abi! {
    Nat = 32 align 4,
    TranslationKey = 40 align 4,
    Translation = 72 align 8,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(client: u8, service: u8, ports: Ports) -> Tuple {
        Tuple {
            client: Address::v4([192, 0, 2, client]),
            service: Address::v4([203, 0, 113, service]),
            ports,
            protocol: Protocol::UDP,
        }
    }

    #[test]
    fn both_directions_have_one_key() {
        let there = tuple(1, 9, Ports::new(61_000, 80));
        let back = Tuple {
            client: there.service,
            service: there.client,
            ports: Ports::new(80, 61_000),
            protocol: there.protocol,
        };
        let key = TranslationKey::there(&there);
        assert_eq!(key, TranslationKey::back(&back));
        assert_ne!(key, TranslationKey::back(&there));
        assert_eq!(key.port(), 61_000);
    }

    #[test]
    fn a_translation_knows_its_flow_and_the_way_back() {
        let flow = tuple(1, 10, Ports::new(4711, 443));
        let mac = Mac::of_words(1, 2);
        let life = Entry::life(7, FlowState::ESTABLISHED);
        let exit = Exit {
            interface: 3,
            ..Exit::SAME
        };
        let translation = Translation::new(&flow, u16::MAX, life, (mac, exit));
        assert!(translation.is_of(&flow));
        for other in [
            tuple(2, 10, flow.ports),
            tuple(1, 11, flow.ports),
            tuple(1, 10, Ports::new(4711, 444)),
            tuple(1, 10, Ports::new(4712, 443)),
        ] {
            assert!(!translation.is_of(&other));
        }
        assert_eq!(translation.target(), u16::MAX);
        assert_eq!(translation.state(), FlowState::ESTABLISHED);
        assert_eq!(
            (translation.station, translation.exit),
            (mac.number(), exit)
        );
        let back = translation.back(Protocol::UDP);
        assert_eq!((back.client, back.service), (flow.service, flow.client));
        assert_eq!(back.ports, Ports::new(443, 4711));
        let idle = [0, 5, 0, 0];
        assert!(translation.is_live(12, &idle) && !translation.is_live(13, &idle));
    }
}
