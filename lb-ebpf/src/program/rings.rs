//! Chooses the target of a flow that has none yet.

use lb_common::{Descriptor, HashKey, Service, Target, Tuple, Verdict};

use super::{clients, tables};

/// The target that the service gives to a flow, with its id: the client's class names a ring, and the
/// flow's hash a slot of it.
///
/// # Errors
/// - [`Verdict::NoAnswer`]: there is no ring now.
/// - [`Verdict::RuleDropped`], [`Verdict::RulePassed`]: a rule of the service says so.
/// - [`Verdict::NoTarget`]: the tables contradict each other.
#[inline(always)]
pub(super) fn choose(
    tuple: &Tuple,
    service: &Service,
    key: &HashKey,
) -> Result<(u16, Target), Verdict> {
    let ring = ring(tuple, service)?;
    let id = tables::slot(ring.slot(tuple.hash(key))).ok_or(Verdict::NoTarget)?;
    let target = tables::target(id).ok_or(Verdict::NoTarget)?;
    if id == 0 || target.identity == 0 || !tables::serves(target.group, service) {
        return Err(Verdict::NoTarget);
    }
    Ok((id, target))
}

#[inline(always)]
fn ring(tuple: &Tuple, service: &Service) -> Result<Descriptor, Verdict> {
    let classes = service.row.classes();
    let class = match classes {
        0 | 1 => 0,
        _ => clients::class(tuple.client),
    };
    if class >= classes {
        return Err(Verdict::NoTarget);
    }
    let ring = tables::ring(service.row.first() + class).ok_or(Verdict::NoTarget)?;
    match ring {
        Descriptor::NO_ANSWER => Err(Verdict::NoAnswer),
        Descriptor::DROP => Err(Verdict::RuleDropped),
        Descriptor::PASS => Err(Verdict::RulePassed),
        ring => Ok(ring),
    }
}
