//! Texts of one entry per line.

use std::{borrow::Cow, hash::Hash, path::Path, str};

use crate::{
    config::report::Wrong,
    model::Clients,
    refusal,
    whereabouts::{Table, Twice},
};

/// What is wrong with a file, line by line. Few mistakes are told one by one: in a file of the wrong
/// format each of a million lines is one.
pub(super) struct Mistakes<'p> {
    file: &'p Path,
    told: Vec<Wrong>,
    untold: usize,
}

impl<'p> Mistakes<'p> {
    const MOST: usize = 20;

    pub(super) fn new(file: &'p Path) -> Self {
        Self {
            file,
            told: Vec::new(),
            untold: 0,
        }
    }

    /// Something is wrong with a line; the first is 1.
    pub(super) fn at(&mut self, line: usize, wrong: Wrong) {
        if self.told.len() < Self::MOST {
            let place = format!("{} line {line}", self.file.display());
            self.told.push(wrong.after(&place));
        } else {
            self.untold += 1;
        }
    }

    /// Something is wrong with the file as a whole.
    pub(super) fn whole(self, wrong: Wrong) -> Vec<Wrong> {
        vec![wrong.after(&self.file.display().to_string())]
    }

    fn verdict<T>(mut self, value: T) -> Result<T, Vec<Wrong>> {
        if self.untold > 0 {
            self.told.push(refusal::data::more_mistakes(
                self.file.display(),
                self.untold,
            ));
        }
        match self.told.is_empty() {
            true => Ok(value),
            false => Err(self.told),
        }
    }
}

/// The text of a file.
pub(super) fn text<'b>(bytes: &'b [u8], mut mistakes: Mistakes<'_>) -> Result<&'b str, Vec<Wrong>> {
    let text = str::from_utf8(bytes).or_else(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        mistakes.at(line, refusal::data::no_text());
        mistakes.verdict("")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The lines of a text that are not blank and no comment, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The fields of a line, which commas separate. One in double quotes may hold commas, and quotes twice
/// (RFC 4180, but for line breaks).
pub(super) fn fields(line: &str) -> Result<Vec<Cow<'_, str>>, Wrong> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => in_quotes(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (field, after) = rest.split_at(end);
                if field.contains('"') {
                    return Err(refusal::data::stray_quote());
                }
                (Cow::Borrowed(field.trim()), after)
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(fields),
        }
    }
}

/// The field that ends with the next single quote, and what stands behind it.
fn in_quotes(text: &str) -> Result<(Cow<'_, str>, &str), Wrong> {
    let mut from = 0;
    let end = loop {
        let quote = text[from..].find('"');
        let quote = from + quote.ok_or_else(refusal::data::stray_quote)?;
        if !text[quote + 1..].starts_with('"') {
            break quote;
        }
        from = quote + 2;
    };
    let after = text[end + 1..].trim_start();
    if !after.is_empty() && !after.starts_with(',') {
        return Err(refusal::data::stray_quote());
    }
    let field = text[..end].trim();
    let field = match field.contains('"') {
        true => Cow::Owned(field.replace("\"\"", "\"")),
        false => Cow::Borrowed(field),
    };
    Ok((field, after))
}

/// Entries with the lines that they stand in.
pub(super) struct Rows<'p, T> {
    entries: Vec<(Clients, T)>,
    lines: Vec<usize>,
    mistakes: Mistakes<'p>,
}

impl<'p, T: Clone + Eq + Hash> Rows<'p, T> {
    pub(super) fn new(mistakes: Mistakes<'p>) -> Self {
        Self {
            entries: Vec::new(),
            lines: Vec::new(),
            mistakes,
        }
    }

    /// Takes the entry of a line, if it says anything, or what is wrong with it.
    pub(super) fn take(&mut self, line: usize, entry: Result<Option<(Clients, T)>, Wrong>) {
        match entry {
            Ok(Some(entry)) => {
                self.entries.push(entry);
                self.lines.push(line);
            }
            Ok(None) => {}
            Err(wrong) => self.mistakes.at(line, wrong),
        }
    }

    /// The table of all entries, if nothing is wrong.
    pub(super) fn table(self) -> Result<Table<T>, Vec<Wrong>> {
        let Self {
            entries,
            lines,
            mut mistakes,
        } = self;
        let table = Table::new(&entries).unwrap_or_else(|all| {
            for Twice {
                prefix,
                first,
                again,
            } in all
            {
                let wrong = refusal::data::row_twice(prefix, lines[first]);
                mistakes.at(lines[again], wrong);
            }
            Table::default()
        });
        if entries.is_empty() && mistakes.told.is_empty() {
            return Err(mistakes.whole(refusal::data::empty_data()));
        }
        mistakes.verdict(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_and_without_quotes() {
        for (line, expected) in [
            ("a,b", vec!["a", "b"]),
            (" a , \"b, c\" ,", vec!["a", "b, c", ""]),
            ("\"a \"\"b\"\"\",c", vec!["a \"b\"", "c"]),
            ("\"\"", vec![""]),
            (",", vec!["", ""]),
        ] {
            assert_eq!(fields(line).unwrap(), expected, "{line}");
        }
        for line in ["\"a", "\"a\"b,c", "a\"b\"", "a,\"b\"\""] {
            assert_eq!(fields(line).unwrap_err().code, "stray-quote", "{line}");
        }
    }

    #[test]
    fn lines_have_their_numbers_in_the_file() {
        let text = "a\r\n\n  # no\n b \n";
        assert_eq!(lines(text).collect::<Vec<_>>(), [(1, "a"), (4, "b")]);
    }

    #[test]
    fn a_text_that_is_not_in_utf8_is_told_by_its_line() {
        let wrong = text(b"a\nb\n\xff\xfe\n", Mistakes::new(Path::new("f"))).unwrap_err();
        assert_eq!(wrong.len(), 1);
        assert_eq!(wrong[0].code, "no-text");
        assert!(wrong[0].message.starts_with("f line 3: "), "{}", wrong[0]);
        let text = text("\u{feff}a".as_bytes(), Mistakes::new(Path::new("f")));
        assert_eq!(text.unwrap(), "a");
    }

    #[test]
    fn of_many_mistakes_the_first_are_told() {
        let mut mistakes = Mistakes::new(Path::new("f"));
        for line in 1..=1000 {
            mistakes.at(line, refusal::data::stray_quote());
        }
        let told = mistakes.verdict(()).unwrap_err();
        assert_eq!(told.len(), 21);
        assert!(told[19].message.starts_with("f line 20: "));
        assert_eq!(told[20].code, "more-mistakes");
        assert!(told[20].message.contains("980"), "{}", told[20]);
    }
}
