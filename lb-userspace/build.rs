//! Builds the XDP program and leaves its object in `OUT_DIR/waggle-xdp`.
//!
//! It calls cargo itself: a stable toolchain compiles for BPF only with `RUSTC_BOOTSTRAP` and
//! `-Z build-std`, and the compiler's chatter is worth showing only when it fails.

use std::{env, fs, path::PathBuf, process::Command};

use anyhow::{Context as _, bail, ensure};

const TARGET: &str = "bpfel-unknown-none";

fn main() -> anyhow::Result<()> {
    println!("cargo:rerun-if-env-changed=PATH");
    for path in ["lb-ebpf", "lb-common", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed=../{path}");
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
        .args(["build", "--package", "lb-ebpf", "--bins", "--release"])
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
        "the XDP program does not build; if a component is missing, run `cargo xtask setup`\n{}",
        String::from_utf8_lossy(&output.stderr),
    );
    let object = target_dir.join(TARGET).join("release/waggle-xdp");
    fs::copy(&object, out.join("waggle-xdp")).with_context(|| object.display().to_string())?;
    Ok(())
}
