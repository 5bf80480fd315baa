//! Chooses the target of a flow that has none yet.

use lb_common::{Answer, Descriptor, HashKey, Tuple, Verdict};
use lb_ebpf::{former, parse::Flow};

use super::{
    clients,
    tables::{self, Service, Target},
};

/// What a service has for the class of a client.
pub(super) struct Row {
    pub(super) class: u32,
    pub(super) ring: Descriptor,
    /// Its index in RINGS.
    place: u32,
}

impl Row {
    /// The row for the client of a flow.
    ///
    /// # Errors
    /// [`Verdict::NoTarget`]: the tables contradict each other.
    #[inline(always)]
    pub(super) fn of(tuple: &Tuple, service: &Service) -> Result<Self, Verdict> {
        let row = service.row();
        let classes = row.classes();
        let class = match classes {
            0 | 1 => 0,
            _ => clients::class(service.tables, tuple.client),
        };
        if class >= classes {
            return Err(Verdict::NoTarget);
        }
        let place = row.first() + class;
        let ring = tables::ring(place).ok_or(Verdict::NoTarget)?;
        Ok(Self { class, ring, place })
    }

    /// Whether a packet without an entry may go by the ring before the last change. [`Self::before`] looks
    /// closer.
    #[inline(always)]
    pub(super) fn may_be_older(&self, flow: &Flow) -> bool {
        former::may_be_older(flow) & (tables::former_ring(self.place).until != 0)
    }

    /// The id of the target that the ring before the last change gives to such a packet, if that goes on
    /// with its flows; else 0. Where all of the class meets an answer now, the daemon has taken it out.
    #[inline(always)]
    pub(super) fn before(&self, flow: &Flow, service: &Service, key: &HashKey, now: u32) -> u16 {
        let former = tables::former_ring(self.place);
        if !former::may_be_older(flow) || former.ticks_left(now) == 0 {
            return 0;
        }
        let slot = tables::slot(former.ring.slot(&flow.tuple, key)).unwrap_or(0);
        if Answer::of_slot(slot).is_some() {
            return 0;
        }
        let way = service.tables.target(slot).way();
        match former::may_go_on(&way) && service.takes(way.group()) {
            true => slot,
            false => 0,
        }
    }

    /// The target that the ring gives to a flow: the flow's hash names a slot.
    ///
    /// # Errors
    /// - [`Verdict::NoAnswer`]: there is no ring now.
    /// - [`Verdict::PolicyDropped`], [`Verdict::PolicyPassed`], [`Verdict::Rejected`]: a rule or the
    ///   policy says so, for all of the class or for the slot.
    /// - [`Verdict::NoTarget`]: the tables contradict each other.
    #[inline(always)]
    pub(super) fn choose(
        &self,
        tuple: &Tuple,
        service: &Service,
        key: &HashKey,
    ) -> Result<Target, Verdict> {
        if self.ring == Descriptor::NO_ANSWER {
            return Err(Verdict::NoAnswer);
        }
        if let Some(answer) = self.ring.answer() {
            return Err(verdict(answer));
        }
        let slot = self.ring.slot(tuple, key);
        let id = tables::slot(slot).ok_or(Verdict::NoTarget)?;
        if let Some(answer) = Answer::of_slot(id) {
            return Err(verdict(answer));
        }
        let target = service.tables.target(id);
        let way = target.way();
        if id == 0 || !way.is_used() || !service.takes(way.group()) {
            return Err(Verdict::NoTarget);
        }
        Ok(target)
    }
}

#[inline(always)]
fn verdict(answer: Answer) -> Verdict {
    match answer {
        Answer::REJECT => Verdict::Rejected,
        Answer::PASS => Verdict::PolicyPassed,
        _ => Verdict::PolicyDropped,
    }
}
