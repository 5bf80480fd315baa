//! Components of the Rust toolchain in use.

use std::{path::PathBuf, process::Command};

use crate::shell;

use super::{Failure, has_program};

/// The root folder of the toolchain in use; `None` when rustc does not run.
pub(super) fn root() -> Option<PathBuf> {
    let root = shell::succeed_silently(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
    Some(PathBuf::from(root.trim()))
}

/// Adds components to the toolchain in use; rustup knows it by what cargo has set.
pub(super) fn add(components: impl Iterator<Item = &'static str>) -> Vec<Failure> {
    components
        .filter_map(|name| {
            println!("install  {name}");
            let why = add_one(name).err()?;
            let what = name.to_owned();
            Some(Failure { what, why })
        })
        .collect()
}

fn add_one(name: &str) -> Result<(), String> {
    if !has_program("rustup") {
        return Err(
            "there is no rustup to add it; a distribution has it as a package of its own (Debian's rustc-web: \
             rust-web-src)"
                .into(),
        );
    }
    shell::succeed_silently(Command::new("rustup").args(["component", "add", name]))
        .map(|_| ())
        .map_err(|error| one_line(&format!("{error:#}")))
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
