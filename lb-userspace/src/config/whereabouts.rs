use toml::Value;

use super::{
    leaf::{self, shown},
    report::Wrong,
};
use crate::{model::Location, refusal, whereabouts::LatencyRegion};

/// A location.
pub(super) fn location(value: &Value) -> Result<Location, Wrong> {
    let text = leaf::text(value, "a location like \"Europe.UK\"")?;
    text.parse()
        .map_err(|why| refusal::data::bad_location(shown(text), why))
}

/// A region of latency tables.
pub(super) fn latency_region(value: &Value) -> Result<LatencyRegion, Wrong> {
    let text = leaf::text(value, "the name of a region in latency files")?;
    LatencyRegion::new(text).ok_or_else(|| refusal::data::bad_region(shown(text)))
}
