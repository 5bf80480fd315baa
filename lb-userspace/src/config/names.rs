use std::collections::BTreeSet;

use toml::Value;

use super::{
    leaf::{self, shown},
    report::Wrong,
    spelling::closest,
};
use crate::{model::Name, refusal};

/// The names that exist of one kind of table.
pub(super) struct Names {
    kind: &'static str,
    names: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(kind: &'static str, names: impl Iterator<Item = String>) -> Self {
        let names = names.collect();
        Self { kind, names }
    }

    /// Reads a name that must exist.
    pub(super) fn known(&self, value: &Value) -> Result<Name, Wrong> {
        self.find(leaf::text(value, &format!("the name of a {}", self.kind))?)
    }

    /// `text`, if it is a name that exists.
    pub(super) fn find(&self, text: &str) -> Result<Name, Wrong> {
        let Self { kind, names } = self;
        if names.contains(text) {
            return leaf::name_of(text);
        }
        let known = match closest(text, names.iter().map(String::as_str)) {
            Some(known) => format!("did you mean {}?", shown(known)),
            None if names.is_empty() => format!("there is no {kind}"),
            None => format!("known: {}", some_of(names)),
        };
        Err(refusal::file::unknown_name(kind, shown(text), known))
    }
}

fn some_of(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 10;
    let mut list: Vec<String> = names.iter().take(SHOWN).map(|name| shown(name)).collect();
    if names.len() > SHOWN {
        list.push(format!("and {} more", names.len() - SHOWN));
    }
    list.join(", ")
}
