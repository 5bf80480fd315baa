//! Whatever a file holds, it is read or refused.

use proptest::prelude::*;

use super::{GOOD, parse, uncommented};

/// Values of every type, most of them wrong wherever they stand.
const VALUES: [&str; 14] = [
    "0",
    "-1",
    "9223372036854775807",
    "1e308",
    "nan",
    "true",
    "\"\"",
    "\"\\u0000\"",
    "\"0s\"",
    "\"18446744073709551615s 1000ms\"",
    "[]",
    "[[], {}]",
    "{}",
    "1979-05-27",
];

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_damage_to_a_file_panics(
        damages in proptest::collection::vec((0..8000_usize, 0..40_usize, "[ -~\n]{0,20}"), 1..4),
    ) {
        let (mut text, _) = uncommented();
        for (start, length, instead) in damages {
            let start = text.floor_char_boundary(start);
            let end = text.floor_char_boundary(start + length);
            text.replace_range(start..end, &instead);
        }
        let _ = parse(&text);
    }

    #[test]
    fn no_value_of_any_key_panics(values in proptest::collection::vec((0..40_usize, 0..VALUES.len()), 1..6)) {
        let mut lines: Vec<String> = GOOD.lines().map(str::to_owned).collect();
        for (line, value) in values {
            let line = line % lines.len();
            if let Some((key, _)) = lines[line].clone().split_once(" = ") {
                lines[line] = format!("{key} = {}", VALUES[value]);
            }
        }
        let _ = parse(&lines.join("\n"));
    }
}
