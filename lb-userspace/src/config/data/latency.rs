//! Latency tables: lines of `prefix,region,ms` (S66).

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use super::lines::{Mistakes, Rows, fields, lines, text};
use crate::{
    config::{clients::clients_of, leaf::shown, report::Wrong},
    model::{Clients, Prefix},
    refusal,
    whereabouts::{LatencyRegion, LatencyRow, Table},
};

/// Reads such lines: a prefix, a range `FROM-TO` or an address; the name of a region; the round-trip
/// time between the two in milliseconds, with decimals if wanted. A first line of just these words is
/// a heading. Times are rounded to the nearest multiple of `quantum`. The row of a client are the lines of the longest prefix that has any: a line for a longer
/// prefix hides all those of a shorter one.
pub(in crate::config) fn read(
    file: &Path,
    bytes: &[u8],
    quantum: Option<Duration>,
) -> Result<Table<Arc<LatencyRow>>, Vec<Wrong>> {
    let text = text(bytes, Mistakes::new(file))?;
    let mut reader = Reader {
        quantum,
        times: Vec::new(),
        regions: HashMap::new(),
    };
    let mut mistakes = Mistakes::new(file);
    for (number, line) in lines(text) {
        if line.eq_ignore_ascii_case("prefix,region,ms") {
            continue;
        }
        if let Err(wrong) = reader.take(number, line) {
            mistakes.at(number, wrong);
        }
    }
    reader.table(mistakes)
}

struct Reader {
    quantum: Option<Duration>,
    /// Times with their lines.
    times: Vec<(Prefix, LatencyRegion, Duration, usize)>,
    /// Regions by their spelling.
    regions: HashMap<String, LatencyRegion>,
}

impl Reader {
    fn take(&mut self, number: usize, line: &str) -> Result<(), Wrong> {
        let fields = fields(line)?;
        let [clients, region, time] = &fields[..] else {
            return Err(refusal::data::bad_columns(fields.len(), "3"));
        };
        let clients = clients_of(clients)?;
        let region = self.region(region)?;
        let time = milliseconds(time)?;
        let time = self.quantum.map_or(time, |quantum| rounded(time, quantum));
        let prefixes = clients.prefixes();
        self.times
            .extend(prefixes.map(|prefix| (prefix, region.clone(), time, number)));
        Ok(())
    }

    fn region(&mut self, name: &str) -> Result<LatencyRegion, Wrong> {
        if let Some(region) = self.regions.get(name) {
            return Ok(region.clone());
        }
        let region =
            LatencyRegion::new(name).ok_or_else(|| refusal::data::bad_region(shown(name)))?;
        self.regions.insert(name.to_owned(), region.clone());
        Ok(region)
    }

    /// Makes rows of the times.
    fn table(mut self, mut mistakes: Mistakes<'_>) -> Result<Table<Arc<LatencyRow>>, Vec<Wrong>> {
        self.times
            .sort_unstable_by(|a, b| (a.0, &a.1, a.3).cmp(&(b.0, &b.1, b.3)));
        for pair in self.times.windows(2) {
            let [(prefix, region, _, first), (.., again)] = pair else {
                continue;
            };
            if (&pair[1].0, &pair[1].1) == (prefix, region) {
                let what = format!("{prefix} to {region}");
                mistakes.at(*again, refusal::data::row_twice(what, first));
            }
        }
        let mut rows = Rows::new(mistakes);
        for times in self.times.chunk_by(|one, next| one.0 == next.0) {
            let row = times
                .iter()
                .map(|(_, region, time, _)| (region.clone(), *time));
            let row: LatencyRow = row.collect();
            let (prefix, _, _, number) = &times[0];
            rows.take(*number, Ok(Some((Clients::from(*prefix), Arc::new(row)))));
        }
        rows.table()
    }
}

/// A time of 0 to 60,000 ms: nothing on earth is farther away.
fn milliseconds(field: &str) -> Result<Duration, Wrong> {
    const MOST: f64 = 60_000.0;
    let digits = field.strip_prefix('-').unwrap_or(field);
    let plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: Option<f64> = field.parse().ok().filter(|_| plain);
    let number = number.ok_or_else(|| refusal::data::bad_milliseconds(shown(field)))?;
    if !(0.0..=MOST).contains(&number) || field.starts_with('-') {
        let wanted = format!("0 to {MOST} ms");
        return Err(refusal::value::out_of_range(shown(field), wanted));
    }
    Ok(Duration::from_secs_f64(number / 1000.0))
}

/// The nearest multiple of `quantum`, the greater one of two.
fn rounded(time: Duration, quantum: Duration) -> Duration {
    let (time, quantum) = (time.as_nanos(), quantum.as_nanos());
    Duration::from_nanos_u128((time + quantum / 2) / quantum * quantum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, quantum: Option<Duration>) -> Table<Arc<LatencyRow>> {
        read(Path::new("rtt.csv"), text.as_bytes(), quantum).unwrap()
    }

    fn wrong(text: &str) -> Vec<String> {
        let wrong = read(Path::new("rtt.csv"), text.as_bytes(), None).unwrap_err();
        wrong.iter().map(Wrong::to_string).collect()
    }

    #[test]
    fn the_row_of_a_client_is_that_of_the_longest_prefix() {
        let text = "Prefix,Region,MS\n\
            203.0.113.0/24,we,20\n\
            203.0.113.0/24,US,90.25\n\
            # nearer to the other\n\
            203.0.113.128/25,us,0\n\
            2001:db8::-2001:db8::2,\"ea\",60000\n";
        let table = table(text, None);
        let row = |client: &str| {
            let row = table.at(client.parse().unwrap());
            row.map(|row| {
                let times = row.iter();
                let times = times.map(|(region, time)| format!("{region} {time:?}"));
                times.collect::<Vec<_>>().join(", ")
            })
        };
        assert_eq!(row("203.0.113.9").as_deref(), Some("us 90.25ms, we 20ms"));
        assert_eq!(row("203.0.113.200").as_deref(), Some("us 0ns"));
        assert_eq!(row("203.0.114.0"), None);
        assert_eq!(row("2001:db8::2").as_deref(), Some("ea 60s"));
        assert_eq!(row("2001:db8::3"), None);
    }

    #[test]
    fn equal_rows_are_one_value() {
        let text = "192.0.2.0/25,we,20\n192.0.2.128/25,WE,20.0\n";
        let table = table(text, None);
        assert_eq!(table.values().len(), 1);
        assert_eq!(table.v4().len(), 3, "neighbours with one row are one run");
    }

    #[test]
    fn times_are_the_nearest_multiples_of_the_quantum() {
        let five = Duration::from_millis(5);
        for (ms, expected) in [
            ("0", 0),
            ("2.499999", 0),
            ("2.5", 5),
            ("7.4", 5),
            ("12.5", 15),
            ("60000", 60_000),
        ] {
            let table = table(&format!("192.0.2.0/24,we,{ms}\n"), Some(five));
            let row = table.values()[0].values().copied();
            let expected = Duration::from_millis(expected);
            assert_eq!(row.collect::<Vec<_>>(), [expected], "{ms} ms");
        }
    }

    #[test]
    fn rows_that_a_quantum_makes_equal_are_one_value() {
        let text =
            "192.0.2.0/25,we,20\n192.0.2.0/25,us,91\n192.0.2.128/25,we,18\n192.0.2.128/25,us,90\n";
        let values = |quantum| table(text, quantum).values().len();
        assert_eq!(values(None), 2);
        assert_eq!(values(Some(Duration::from_millis(5))), 1);
    }

    #[test]
    fn all_mistakes_of_a_file_come_with_their_lines() {
        let text = "192.0.2.0/24,we,-3\n\
            192.0.2.0/24,we,60001\n\
            192.0.2.0/24,we,fast\n\
            192.0.2.0/24,we,1e3\n\
            192.0.2.0/24,we,NaN\n\
            192.0.2.0/24,we,-0\n\
            192.0.2.0/24,we,\n\
            192.0.2.0/24,,7\n\
            192.0.2.7/24,we,7\n\
            192.0.2.9-192.0.2.1,we,7\n\
            192.0.2.0/24,we\n\
            192.0.2.0/24,we,7\n\
            192.0.2.0-192.0.2.255,WE,8\n";
        let range = "is out of range; use 0 to 60000 ms";
        let number = "is no number; use milliseconds, like 12 or 3.5";
        assert_eq!(
            wrong(text),
            [
                format!("rtt.csv line 1: \"-3\" {range}"),
                format!("rtt.csv line 2: \"60001\" {range}"),
                format!("rtt.csv line 3: \"fast\" {number}"),
                format!("rtt.csv line 4: \"1e3\" {number}"),
                format!("rtt.csv line 5: \"NaN\" {number}"),
                format!("rtt.csv line 6: \"-0\" {range}"),
                format!("rtt.csv line 7: \"\" {number}"),
                "rtt.csv line 8: \"\" is no name of a region; use the name that the latency files have".to_owned(),
                "rtt.csv line 9: \"192.0.2.7/24\" has bits beyond its length; use \"192.0.2.0/24\"".to_owned(),
                "rtt.csv line 10: \"192.0.2.9-192.0.2.1\" ends before it begins; use \"192.0.2.1-192.0.2.9\"".to_owned(),
                "rtt.csv line 11: has 2 fields; use 3".to_owned(),
                "rtt.csv line 13: 192.0.2.0/24 to we is in line 12 too; leave it to one of them".to_owned(),
            ]
        );
    }
}
