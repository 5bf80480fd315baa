//! `cargo xtask deny`

use anyhow::{Result, ensure};

use crate::{setup, shell};

pub(crate) fn run() -> Result<()> {
    ensure!(
        setup::has_program("cargo-deny"),
        "cargo-deny is missing: `cargo install cargo-deny --locked`"
    );
    shell::succeed(&mut shell::cargo([
        "deny", "check", "bans", "licenses", "sources",
    ]))
}
