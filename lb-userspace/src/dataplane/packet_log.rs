//! The packet program's log.

use lb_common::VERDICTS;
use log::{Log, Metadata, Record};

/// Hands each line on with the name of its verdict, which the program tells by its number:
/// `1: 192.0.2.1:40000 -> 203.0.113.10:80, target 7`.
#[derive(Debug)]
pub struct PacketLines<F>(pub F);

impl<F: Fn(&str) + Send + Sync> Log for PacketLines<F> {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        (self.0)(&named(&record.args().to_string()));
    }

    fn flush(&self) {}
}

fn named(line: &str) -> String {
    let found = line.split_once(": ").and_then(|(number, rest)| {
        let verdict = VERDICTS.get(number.parse::<usize>().ok()?)?;
        Some(format!("{}: {rest}", verdict.label()))
    });
    found.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gets_the_name_of_its_verdict_and_others_stay() {
        let line = "1: [2001:db8::1]:40000 -> [2001:db8::a]:80, target 7";
        let expected = "forwarded: [2001:db8::1]:40000 -> [2001:db8::a]:80, target 7";
        assert_eq!(named(line), expected);
        for other in ["", "1", "999: x", "x: y", "-1: x"] {
            assert_eq!(named(other), other);
        }
    }
}
