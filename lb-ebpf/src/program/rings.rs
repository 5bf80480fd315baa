//! Chooses the target of a flow that has none yet.

use lb_common::{Descriptor, HashKey, Service, Target, Tuple, Verdict};

use super::tables;

/// The target that the service's ring gives to a flow, with its id.
///
/// # Errors
/// - [`Verdict::NoAnswer`]: the service has no ring now.
/// - [`Verdict::NoTarget`]: the tables contradict each other.
#[inline(always)]
pub(super) fn choose(
    tuple: &Tuple,
    service: &Service,
    key: &HashKey,
) -> Result<(u16, Target), Verdict> {
    let ring = tables::ring(service.row).ok_or(Verdict::NoTarget)?;
    if ring == Descriptor::NO_ANSWER {
        return Err(Verdict::NoAnswer);
    }
    let id = tables::slot(ring.slot(tuple.hash(key))).ok_or(Verdict::NoTarget)?;
    let target = tables::target(id).ok_or(Verdict::NoTarget)?;
    if id == 0 || target.identity == 0 || target.group != service.group {
        return Err(Verdict::NoTarget);
    }
    Ok((id, target))
}
