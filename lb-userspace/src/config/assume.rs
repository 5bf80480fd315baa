//! Assumed observations for `waggle explain --assume`.

use std::{collections::BTreeMap, time::Duration};

use toml::Value;

use super::{
    leaf,
    names::Names,
    raw,
    report::{Report, Wrong},
};
use crate::{
    model::{Admin, Backend, Group, Health, Initial, MemberState, Name, Ramp},
    refusal::{self, Errors},
};

/// What is assumed of backends. One that is not named is up and has no latency.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Assumed {
    /// Health of backends.
    pub health: BTreeMap<Name, Health>,
    /// Latency of backends.
    pub latency: BTreeMap<Name, Duration>,
}

impl Assumed {
    /// The states of a group's members, by what is assumed of backends.
    pub fn states(&self, group: &Group) -> Vec<MemberState> {
        let probe = group.probe.as_ref();
        let state = |backend: &Name| {
            let health = self.health.get(backend).copied().unwrap_or(Health::Up);
            MemberState {
                admin: Admin::Enable,
                unreachable: None,
                health,
                serves_unchecked: probe.is_some_and(|probe| probe.initial == Initial::Checking),
                ramp: Ramp::FULL,
                latency: self.latency.get(backend).copied(),
                why: match health {
                    Health::Checking => "assumed to be checking",
                    Health::Down => "assumed to be down",
                    Health::Up => "assumed to be up",
                }
                .into(),
            }
        };
        let members = group.members.iter();
        members.map(|member| state(member.name())).collect()
    }
}

/// What `text` assumes of `backends`.
///
/// # Errors
/// Every mistake of the text at once.
pub fn parse(text: &str, backends: &BTreeMap<Name, Backend>) -> Result<Assumed, Errors> {
    let report = Report::default();
    let names = Names::new("backend", backends.keys().map(Name::to_string));
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
            .map_err(|_negative| refusal::value::out_of_range(number, WANTED)),
        Value::Float(number) => Duration::try_from_secs_f64(number / 1000.0)
            .map_err(|_unfit| refusal::value::out_of_range(format!("{number:?}"), WANTED)),
        other => Err(leaf::kind(other, WANTED)),
    }
}

fn not_there_yet<T>(_value: &Value) -> Result<T, Wrong> {
    Err(refusal::file::not_there_yet())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{self, tests::GOOD},
        refusal::Problem,
    };

    fn assume(text: &str) -> Result<Assumed, Vec<String>> {
        let backends = config::parse(GOOD).unwrap().model.backends;
        parse(text, &backends)
            .map_err(|Errors(problems)| problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn what_is_named_is_assumed() {
        let text = "[health]\na = \"down\"\nb = \"checking\"\n[latency_ms]\na = 15\nb = 0.25\n";
        let Assumed { health, latency } = assume(text).unwrap();
        assert_eq!([health["a"], health["b"]], [Health::Down, Health::Checking]);
        let expected = [15_000, 250].map(Duration::from_micros);
        assert_eq!([latency["a"], latency["b"]], expected);
        assert_eq!(assume("").unwrap(), Assumed::default());
        assert_eq!(
            assume("[health]\na = \"up\"").unwrap().health["a"],
            Health::Up
        );
        assert_eq!(
            assume("[latency_ms]\na = 0").unwrap().latency["a"],
            Duration::ZERO
        );
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let text = r#"
            pin = { "203.0.113.9" = "b" }
            healt = {}
            [health]
            a = "ok"
            b = "stopped"
            frankfurt = "up"
            "x\n" = "up"
            [latency_ms]
            a = -1
            b = "15ms"
            c = 1
            [client_latency_ms."203.0.113.0/24"]
            westeurope = 20
        "#;
        let expected = [
            r#"health.a: "ok" is unknown; use "up" or "down" or "checking""#,
            "health.b: is not there yet; leave it out",
            r#"health.frankfurt: no backend is named "frankfurt"; known: "a", "b""#,
            r#"health."x\n": no backend is named "x\n"; known: "a", "b""#,
            "latency_ms.a: -1 is out of range; use a number of milliseconds from 0, like 15 or 0.5",
            r#"latency_ms.b: "15ms" is a string; use a number of milliseconds from 0, like 15 or 0.5"#,
            r#"latency_ms.c: no backend is named "c"; did you mean "a"?"#,
            "client_latency_ms: is not there yet; leave it out",
            "pin: is not there yet; leave it out",
            "healt: unknown key; did you mean `health`?",
        ];
        assert_eq!(assume(text).unwrap_err(), expected);
    }

    #[test]
    fn no_number_is_too_odd_for_a_latency() {
        for number in [
            "nan",
            "inf",
            "-inf",
            "-0.1",
            "1e308",
            "-9223372036854775808",
        ] {
            let found = assume(&format!("[latency_ms]\na = {number}")).unwrap_err();
            assert!(
                found.len() == 1 && found[0].contains("out of range"),
                "{found:?}"
            );
        }
        assert!(assume("[latency_ms]\na = 9223372036854775807").is_ok());
        assert_eq!(
            assume("health = 1\nlatency_ms = []").unwrap_err(),
            [
                "health: 1 is an integer; use a table: `health = { .. }`",
                "latency_ms: is an array; use a table: `latency_ms = { .. }`"
            ]
        );
    }
}
