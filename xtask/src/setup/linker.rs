//! bpf-linker: turns what rustc makes of the XDP program into a BPF object.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::shell;

use super::apt;

/// The version that is installed; a newer one that is there does as well.
pub(super) const VERSION: &str = "0.13.0";

/// What it is built with: an LLVM at least as new as that of rustc (1.95: LLVM 22).
pub(super) const LIBRARIES: [&str; 4] = [
    "libpolly-22-dev",
    "libzstd-dev",
    "llvm-22-dev",
    "zlib1g-dev",
];

const LLVM: &str = "/usr/lib/llvm-22";

/// Whether a linker that is new enough runs.
pub(super) fn is_there() -> bool {
    shell::succeed_silently(Command::new("bpf-linker").arg("--version"))
        .is_ok_and(|said| is_new_enough(&said))
}

/// Builds and installs it.
pub(super) fn install() -> Result<()> {
    for library in LIBRARIES {
        ensure!(
            apt::is_installed(library),
            "it is built with {library}, which is missing; a prebuilt bpf-linker {VERSION} on the PATH does as well"
        );
    }
    println!("install  bpf-linker {VERSION} (it is compiled: a minute or two)");
    let mut install = shell::cargo(["install", "bpf-linker", "--version", VERSION, "--locked"]);
    install
        .args(["--quiet", "--no-default-features", "--features", "llvm-22"])
        .env("LLVM_PREFIX", LLVM)
        .env("LLVM_SYS_221_PREFIX", LLVM);
    shell::succeed(&mut install)?;
    ensure!(
        is_there(),
        "cargo installed it, but `bpf-linker --version` does not run: is cargo's bin folder on the PATH?"
    );
    Ok(())
}

/// Reads `bpf-linker 0.13.0`.
fn is_new_enough(said: &str) -> bool {
    let minor = |version: &str| -> Option<(u32, u32)> {
        let mut numbers = version.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    let there = said.split_whitespace().nth(1).and_then(minor);
    there.is_some() && there >= minor(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_linker_or_none_is_not_enough() {
        for said in [
            "bpf-linker 0.13.0\n",
            "bpf-linker 0.13.4",
            "bpf-linker 0.14.0-rc1",
            "bpf-linker 1.0.0",
        ] {
            assert!(is_new_enough(said), "{said}");
        }
        for said in [
            "bpf-linker 0.12.9",
            "bpf-linker",
            "",
            "bpf-linker version",
            "bpf-linker 0",
        ] {
            assert!(!is_new_enough(said), "{said}");
        }
    }
}
