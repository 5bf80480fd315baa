//! Assumed observations for `waggle explain --assume`.

use std::{collections::BTreeMap, time::Duration};

use toml::Value;

use super::{
    Errors, leaf,
    problem::{Report, Wrong},
    raw::{self, Names},
};
use crate::model::{Backend, Health, Name};

/// What is assumed of backends. One that is not named is up and has no latency.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Assumed {
    /// Health of backends.
    pub health: BTreeMap<Name, Health>,
    /// Latency of backends.
    pub latency: BTreeMap<Name, Duration>,
}

/// What `text` assumes of `backends`.
///
/// # Errors
/// Every mistake of the text at once.
pub fn parse(text: &str, backends: &BTreeMap<Name, Backend>) -> Result<Assumed, Errors> {
    let report = Report::default();
    let names = Names::new("backend", backends.keys());
    let assumed = raw::document(text, &report, |root| {
        let health = root.map("health", |name| names.find(name), health);
        let latency = root.map("latency_ms", |name| names.find(name), milliseconds);
        for later in ["client_latency_ms", "pin"] {
            root.optional(later, not_there_yet::<()>);
        }
        Some(Assumed {
            health: health.into_iter().collect(),
            latency: latency.into_iter().collect(),
        })
    });
    report.verdict(assumed)
}

fn health(value: &Value) -> Result<Health, Wrong> {
    if value.as_str() == Some("stopped") {
        return not_there_yet(value);
    }
    let words = [
        ("up", Health::Up),
        ("down", Health::Down),
        ("checking", Health::Checking),
    ];
    leaf::one_of(&words)(value)
}

fn milliseconds(value: &Value) -> Result<Duration, Wrong> {
    const WANTED: &str = "a number of milliseconds from 0, like 15 or 0.5";
    match value {
        Value::Integer(number) => u64::try_from(*number)
            .map(Duration::from_millis)
            .map_err(|_negative| leaf::out_of_range(number, WANTED)),
        Value::Float(number) => Duration::try_from_secs_f64(number / 1000.0)
            .map_err(|_unfit| leaf::out_of_range(format!("{number:?}"), WANTED)),
        other => Err(leaf::kind(other, WANTED)),
    }
}

fn not_there_yet<T>(_value: &Value) -> Result<T, Wrong> {
    Err(Wrong::new("is not there yet", "leave it out"))
}
