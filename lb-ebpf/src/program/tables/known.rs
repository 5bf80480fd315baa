//! The element of the map TABLES.

use core::ptr;

use lb_common::{
    Address, Control, Exit, FLOW_PASSES, HashKey, IdleTicks, Nat, Port, Row, SERVICE_COUNT,
    ServiceGroup, TARGET_COUNT, Way,
};
use lb_ebpf::{forward::Tunnel, word};

use super::{exit, four_words, maps, one_word};

/// The one element of TABLES, from which everything that a packet of a known flow needs is read.
#[derive(Clone, Copy)]
pub(in super::super) struct Tables(*const lb_common::Tables);

impl Tables {
    /// The element.
    #[inline(always)]
    pub(in super::super) fn open() -> Option<Self> {
        maps::TABLES.get_ptr(0).map(Self)
    }

    #[inline(always)]
    fn control(self) -> *const Control {
        // SAFETY: it is inside the element.
        unsafe { &raw const (*self.0).control }
    }

    /// The keys of the hashes, and how long flows may stay idle.
    #[inline(always)]
    pub(in super::super) fn keys(self) -> Keys {
        let control = self.control();
        // SAFETY: an element of an array is never freed. The flow keys are drawn before the program runs
        // and never change. The ring key changes when a daemon takes over with another one: a packet may
        // then meet words of both, and a new flow go by a slot of neither, to some target of its group.
        // An idle time is one word, which a packet meets either old or new.
        unsafe {
            Keys {
                ring: &(*control).ring_key,
                flows: &(*control).flow_keys,
                idle: &(*control).idle,
            }
        }
    }

    /// Which generation the tables are of.
    #[inline(always)]
    pub(in super::super) fn generation(self) -> u64 {
        // SAFETY: an element of an array is never freed.
        unsafe { ptr::read_volatile(&raw const (*self.control()).generation) }
    }

    /// Which of the two buffers of client prefixes is in use.
    #[inline(always)]
    pub(in super::super) fn clients_in_use(self) -> u32 {
        // SAFETY: an element of an array is never freed.
        unsafe { ptr::read_volatile(&raw const (*self.control()).clients) }
    }

    /// The services that use a port.
    #[inline(always)]
    pub(in super::super) fn port(self, port: u16) -> Port {
        // SAFETY: an element of an array is never freed, and has every port.
        unsafe {
            let ports = (&raw const (*self.0).ports).cast::<Port>();
            ptr::read_volatile(ports.add(word::masked::<{ u16::MAX }>(port.into())))
        }
    }

    /// The service with an id.
    #[inline(always)]
    pub(in super::super) fn service(self, id: u32) -> Service {
        // SAFETY: an element of an array is never freed, and the remainder is inside it.
        let element = unsafe {
            let services = (&raw const (*self.0).services).cast::<lb_common::Service>();
            services.add(id as usize % SERVICE_COUNT)
        };
        Service {
            id,
            element,
            tables: self,
        }
    }

    /// The target with an id.
    #[inline(always)]
    pub(in super::super) fn target(self, id: u16) -> Target {
        // SAFETY: an element of an array is never freed, and the remainder is inside it.
        let element = unsafe {
            let targets = (&raw const (*self.0).targets).cast::<lb_common::Target>();
            targets.add(usize::from(id) % TARGET_COUNT)
        };
        Target { id, element }
    }
}

/// The keys of the hashes, and how long flows may stay idle.
pub(in super::super) struct Keys {
    pub(in super::super) ring: &'static HashKey,
    pub(in super::super) flows: &'static [HashKey; FLOW_PASSES],
    pub(in super::super) idle: &'static IdleTicks,
}

/// A service, of which each part is read where it is needed.
#[derive(Clone, Copy)]
pub(in super::super) struct Service {
    pub(in super::super) id: u32,
    /// What it was found in.
    pub(in super::super) tables: Tables,
    element: *const lb_common::Service,
}

impl Service {
    /// The address that clients use.
    #[inline(always)]
    pub(in super::super) fn address(&self) -> Address {
        // It is what the element begins with.
        Address::of_words(four_words(self.element.cast()))
    }

    /// The group of whoever no rule matches.
    #[inline(always)]
    pub(in super::super) fn group(&self) -> u32 {
        // SAFETY: an element of an array is never freed.
        unsafe { ptr::read_volatile(&raw const (*self.element).group) }
    }

    /// Where its descriptors stand.
    #[inline(always)]
    pub(in super::super) fn row(&self) -> Row {
        // SAFETY: as for the group.
        unsafe { ptr::read_volatile(&raw const (*self.element).row) }
    }

    /// Whether the targets of a group may serve it.
    #[inline(always)]
    pub(in super::super) fn takes(&self, group: u32) -> bool {
        let key = ServiceGroup {
            service: self.id,
            group,
        };
        group == self.group() || maps::SERVICE_GROUPS.get_ptr(key).is_some()
    }
}

/// A target, of which each part is read where it is needed.
#[derive(Clone, Copy)]
pub(in super::super) struct Target {
    pub(in super::super) id: u16,
    element: *const lb_common::Target,
}

impl Target {
    /// How to get there.
    #[inline(always)]
    pub(in super::super) fn way(&self) -> Way<impl Fn(usize) -> u64 + use<>> {
        let words = self.element.cast::<u64>();
        // SAFETY: an element of an array is never freed, and is of aligned words.
        Way::new(move |index| unsafe { ptr::read_volatile(words.add(index)) })
    }

    /// The backend.
    #[inline(always)]
    pub(in super::super) fn address(&self) -> Address {
        // SAFETY: as for the way there.
        let words = unsafe { &raw const (*self.element).address }.cast::<u32>();
        Address::of_words(four_words(words))
    }

    /// What its packets are translated to, if they are.
    #[inline(always)]
    pub(in super::super) fn nat(&self) -> Nat {
        // SAFETY: as for the way there.
        let nat = unsafe { &raw const (*self.element).nat };
        Nat {
            source: Address::of_words(four_words(nat.cast())),
            port: self.port(),
            ..Nat::NONE
        }
    }

    /// How its packets leave, if that is told.
    #[inline(always)]
    pub(in super::super) fn exit(&self) -> Exit {
        // SAFETY: as for the way there.
        exit(unsafe { &raw const (*self.element).exit }.cast())
    }
}

impl Tunnel for Target {
    #[inline(always)]
    fn address_word(&self, index: usize) -> u32 {
        // SAFETY: as for the way there.
        one_word(unsafe { &raw const (*self.element).address }.cast(), index)
    }

    #[inline(always)]
    fn outer_word(&self, index: usize) -> u32 {
        // SAFETY: as for the way there.
        one_word(unsafe { &raw const (*self.element).outer }.cast(), index)
    }

    #[inline(always)]
    fn port(&self) -> [u8; 2] {
        // SAFETY: as for the way there.
        let port = unsafe { &raw const (*self.element).nat.port }.cast::<u16>();
        // SAFETY: an element of an array is never freed, and its words are aligned.
        unsafe { ptr::read_volatile(port) }.to_ne_bytes()
    }
}
