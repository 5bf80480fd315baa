//! Compiles XDP programs, for the build scripts of the packages that carry them.
//!
//! It calls cargo itself: a stable toolchain compiles for BPF only with `RUSTC_BOOTSTRAP` and
//! `-Z build-std`, and the compiler's chatter is worth showing only when it fails.

use std::{env, fs, path::PathBuf, process::Command};

use anyhow::{Context as _, bail, ensure};

const TARGET: &str = "bpfel-unknown-none";

/// Builds the binary `bin` of a package of the workspace and leaves its object in `OUT_DIR/bin`.
/// It is built again when one of `sources` changes, folders as seen from the calling package.
///
/// # Errors
///
/// What is missing, or what the compiler said.
pub(crate) fn object(package: &str, bin: &str, sources: &[&str]) -> anyhow::Result<()> {
    println!("cargo:rerun-if-env-changed=PATH");
    // Dependencies and profile of the program are in none of the sources.
    println!("cargo:rerun-if-changed=../Cargo.toml");
    println!("cargo:rerun-if-changed=../Cargo.lock");
    for source in sources {
        println!("cargo:rerun-if-changed={source}");
    }
    if Command::new("bpf-linker")
        .arg("--version")
        .output()
        .is_err()
    {
        bail!("bpf-linker is missing: run `cargo xtask setup`");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    let target_dir = out.join("bpf");
    let output = Command::new(env::var_os("CARGO").context("cargo sets CARGO")?)
        .args(["build", "--package", package, "--bin", bin, "--release"])
        .args(["--target", TARGET, "-Z", "build-std=core", "--target-dir"])
        .arg(&target_dir)
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            "-Ctarget-cpu=v3\x1f-Cdebuginfo=2\x1f-Clink-arg=--btf",
        )
        .env_remove("RUSTC")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .context("cargo did not start")?;
    ensure!(
        output.status.success(),
        "{bin} does not build; if a component is missing, run `cargo xtask setup`\n{}",
        String::from_utf8_lossy(&output.stderr),
    );
    let object = target_dir.join(TARGET).join("release").join(bin);
    fs::copy(&object, out.join(bin)).with_context(|| object.display().to_string())?;
    Ok(())
}
