use std::collections::BTreeMap;

use toml::Value;

use super::{
    leaf::{kind, shown},
    names::Names,
    report::{Report, Wrong},
    spelling::closest,
};
use crate::refusal;

/// A table of the file that is being read. It knows where it stands, reports what is wrong with
/// what it is asked for, and at the end reports the keys that nobody asked for.
///
/// Reading goes on after a mistake, with a default or without the value: what comes out is thrown
/// away then.
pub(super) struct Table<'r> {
    path: String,
    entries: toml::Table,
    asked: Vec<&'static str>,
    report: &'r Report,
}

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Found<T> {
    pub(super) path: String,
    pub(super) value: T,
}

/// Reads a whole text with `read`.
pub(super) fn document<T>(
    text: &str,
    report: &Report,
    read: impl FnOnce(&mut Table<'_>) -> Option<T>,
) -> Option<T> {
    match text.parse() {
        Ok(entries) => Table::new(String::new(), entries, report).read(read),
        Err(error) => {
            let error = first_error(text, error);
            let message = error.message().split_whitespace().collect::<Vec<_>>();
            let wrong = refusal::file::no_toml(message.join(" "));
            report.add(position(text, start(&error)), wrong);
            None
        }
    }
}

impl<'r> Table<'r> {
    fn new(path: String, entries: toml::Table, report: &'r Report) -> Self {
        Self {
            path,
            entries,
            asked: Vec::new(),
            report,
        }
    }

    /// Reports something wrong with `key`, or with the place where it should be.
    pub(super) fn wrong(&self, key: &str, wrong: Wrong) {
        self.report.add(self.at(key), wrong);
    }

    /// Reports something wrong at a place that was found earlier.
    pub(super) fn wrong_at(&self, path: String, wrong: Wrong) {
        self.report.add(path, wrong);
    }

    /// How many tables the list `key` has, before it is read.
    pub(super) fn length(&self, key: &str) -> usize {
        let list = self.entries.get(key).and_then(Value::as_array);
        list.map_or(0, Vec::len)
    }

    /// The value of `key`, before it is read.
    pub(super) fn peek(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// Reports `key` unless it is there and not an empty list.
    pub(super) fn require(&self, key: &str, mend: &str) {
        match self.entries.get(key) {
            None => self.wrong(key, refusal::file::missing_key(mend)),
            Some(Value::Array(list)) if list.is_empty() => {
                self.wrong(key, refusal::file::empty_list(mend));
            }
            Some(_) => {}
        }
    }

    /// The value of `key`. `example` is shown when it is missing.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        example: &str,
        read: impl FnOnce(&Value) -> Result<T, Wrong>,
    ) -> Option<T> {
        self.require(key, &format!("add `{key} = {example}`"));
        self.optional(key, read)
    }

    /// The value of `key`, or `default`.
    pub(super) fn or<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Value) -> Result<T, Wrong>,
    ) -> T {
        self.optional(key, read).unwrap_or(default)
    }

    /// The value of `key`, or `default`; where it has a mistake `most`, so that what it bounds is
    /// not reported as well.
    pub(super) fn bound<T>(
        &mut self,
        key: &'static str,
        default: T,
        most: T,
        read: impl FnOnce(&Value) -> Result<T, Wrong>,
    ) -> T {
        let absent = if self.has(key) { most } else { default };
        self.or(key, absent, read)
    }

    /// Whether `key` is there and was not read yet.
    pub(super) fn has(&mut self, key: &'static str) -> bool {
        self.ask(key);
        self.entries.contains_key(key)
    }

    /// The value of `key`, if it is there.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value) -> Result<T, Wrong>,
    ) -> Option<T> {
        let value = self.take(key)?;
        read(&value).map_err(|wrong| self.wrong(key, wrong)).ok()
    }

    /// The values of the list `key`, if it is there.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Value) -> Result<T, Wrong>,
    ) -> Option<Vec<T>> {
        let values = self.elements(key, "a list, like `[\"..\"]`")?;
        let read = |found: Found<Value>| match read(&found.value) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.report.add(found.path, wrong);
                None
            }
        };
        Some(values.into_iter().filter_map(read).collect())
    }

    /// What `read` makes of the table `key`, if it is there.
    pub(super) fn table<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Table<'_>) -> Option<T>,
    ) -> Option<T> {
        let value = self.take(key)?;
        let wanted = format!("a table: `{key} = {{ .. }}`");
        self.enter(self.at(key), value, &wanted, read)
    }

    /// What `read` makes of each table in the list `key`.
    pub(super) fn tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Table<'_>) -> Option<T>,
    ) -> Vec<Found<T>> {
        let wanted = format!("a list of tables: `[[{key}]]` or `{key} = [{{ .. }}]`");
        let mut tables = Vec::new();
        for Found { path, value } in self.elements(key, &wanted).unwrap_or_default() {
            if let Some(value) = self.enter(path.clone(), value, "a table: `{ .. }`", &mut read) {
                tables.push(Found { path, value });
            }
        }
        tables
    }

    /// What `text` makes of each text in the list `key`, and `table` of each table.
    pub(super) fn texts_or_tables<T>(
        &mut self,
        key: &'static str,
        wanted: &str,
        text: impl Fn(&str) -> Result<T, Wrong>,
        mut table: impl FnMut(&mut Table<'_>) -> Option<T>,
    ) -> Vec<Found<T>> {
        let mut values = Vec::new();
        let list = "a list, like `[\"..\"]`";
        for Found { path, value } in self.elements(key, list).unwrap_or_default() {
            let found = match &value {
                Value::String(found) => text(found)
                    .map_err(|wrong| self.report.add(&path, wrong))
                    .ok(),
                _ => self.enter(path.clone(), value, wanted, &mut table),
            };
            values.extend(found.map(|value| Found { path, value }));
        }
        values
    }

    /// The entries of the table `key`, whose keys the operator chooses.
    pub(super) fn map<K, V>(
        &mut self,
        key: &'static str,
        name: impl Fn(&str) -> Result<K, Wrong>,
        read: impl Fn(&Value) -> Result<V, Wrong>,
    ) -> Vec<(K, V)> {
        let entries = self.table(key, |table| Some(std::mem::take(&mut table.entries)));
        let path = self.at(key);
        let pair = |(key, value): (String, Value)| {
            let pair = name(&key).and_then(|name| Ok((name, read(&value)?)));
            pair.map_err(|wrong| self.report.add(join(&path, &key), wrong))
                .ok()
        };
        entries.into_iter().flatten().filter_map(pair).collect()
    }

    /// The names in the list of tables `key`, ahead of reading it: tables may name each other in
    /// any order, and a table with a mistake still has a name.
    pub(super) fn names(&self, key: &'static str) -> Names {
        let list = self.entries.get(key).and_then(Value::as_array);
        let mut places: BTreeMap<String, String> = BTreeMap::new();
        for (i, table) in list.into_iter().flatten().enumerate() {
            let Some(name) = table.get("name").and_then(Value::as_str) else {
                continue;
            };
            let place = format!("{key}[{i}]");
            if let Some(first) = places.get(name) {
                let wrong = refusal::file::taken_name(shown(name), first);
                self.report.add(join(&place, "name"), wrong);
            } else {
                places.insert(name.to_owned(), place);
            }
        }
        Names::new(key, places.into_keys())
    }

    /// Reports each of `keys` that is there as `wrong`: it means nothing in this table.
    pub(super) fn refuse(&mut self, keys: &[&str], wrong: &Wrong) {
        for key in keys {
            if self.entries.remove(*key).is_some() {
                self.wrong(key, wrong.clone());
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.ask(key);
        self.entries.remove(key)
    }

    fn ask(&mut self, key: &'static str) {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
    }

    fn elements(&mut self, key: &'static str, wanted: &str) -> Option<Vec<Found<Value>>> {
        let path = self.at(key);
        match self.take(key)? {
            Value::Array(list) => {
                let place = |(i, value)| Found {
                    path: format!("{path}[{i}]"),
                    value,
                };
                Some(list.into_iter().enumerate().map(place).collect())
            }
            other => {
                self.report.add(path, kind(&other, wanted));
                None
            }
        }
    }

    fn enter<T>(
        &self,
        path: String,
        value: Value,
        wanted: &str,
        read: impl FnOnce(&mut Table<'_>) -> Option<T>,
    ) -> Option<T> {
        match value {
            Value::Table(entries) => Table::new(path, entries, self.report).read(read),
            other => {
                self.report.add(path, kind(&other, wanted));
                None
            }
        }
    }

    fn read<T>(mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let value = read(&mut self);
        for key in self.entries.keys() {
            let known = match closest(key, self.asked.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("known here: {}", self.asked.join(", ")),
            };
            self.wrong(key, refusal::file::unknown_key(known));
        }
        value
    }

    fn at(&self, key: &str) -> String {
        join(&self.path, key)
    }
}

/// `key` below `path`; quoted where TOML would need it.
fn join(path: &str, key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let key = if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        shown(key)
    };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

/// The mistake that stands first in a text that is not TOML: the parser goes on after a mistake, and
/// may tell of a later one first.
fn first_error(text: &str, error: toml::de::Error) -> toml::de::Error {
    let (_, errors) = toml::de::DeTable::parse_recoverable(text);
    let earlier = |first, other| match start(&other) < start(&first) {
        true => other,
        false => first,
    };
    errors.into_iter().fold(error, earlier)
}

fn start(error: &toml::de::Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

fn position(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("line {line}, column {column}")
}
