//! `cargo xtask ci`

use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::{demo, layers, setup, shell, test};

/// Runs the steps in order; the first that fails is the last.
pub(crate) fn run() -> Result<()> {
    step("setup", || setup::run(&setup::Args::default()))?;
    step("fmt", || {
        shell::succeed(&mut shell::cargo(["fmt", "--all", "--check"]))
    })?;
    step("clippy (host)", clippy_on_the_host)?;
    step("clippy (BPF)", clippy_on_the_xdp_programs)?;
    step("layers", layers::run)?;
    step("demo", || demo::run(&demo::Args::default()))?;
    let summary = step("test", || test::everything(&[]))?;
    println!("{summary}");
    Ok(())
}

fn clippy_on_the_host() -> Result<()> {
    let clippy = ["clippy", "--quiet", "--workspace", "--all-targets"];
    shell::succeed(shell::cargo(clippy).args(["--", "-D", "warnings"]))
}

fn clippy_on_the_xdp_programs() -> Result<()> {
    let clippy = ["clippy", "--quiet", "--bins"];
    shell::succeed(
        shell::cargo(clippy)
            .args(["--package", "lb-ebpf", "--package", "lb-tests-ebpf"])
            .args(["--target", "bpfel-unknown-none", "-Z", "build-std=core"])
            // Its own folder: these flags would throw away what the others have built.
            .args(["--target-dir", "target/bpf-clippy"])
            .args(["--", "-D", "warnings"])
            .env("RUSTC_BOOTSTRAP", "1")
            // As `lb-userspace/build/xdp.rs` builds them: the packet code needs 32-bit registers.
            .env("RUSTFLAGS", "-Ctarget-cpu=v3"),
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "shows how long a step took; decides nothing"
)]
fn step<T>(name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("== {name}");
    let start = Instant::now();
    let done = work().context(name)?;
    println!("== {name}: {:.1} s\n", start.elapsed().as_secs_f64());
    Ok(done)
}
