//! `cargo xtask`: set-up, build, demo, tests, bench and checks of Waggle.

mod bench;
mod build;
mod ci;
mod demo;
mod deny;
mod layers;
mod setup;
mod shell;
mod test;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Tasks of the project Waggle")]
enum Task {
    /// Run the benchmark of the datapath, or that of whole connections (root)
    Bench(bench::Args),
    /// Build the workspace, the XDP program included
    Build(build::Args),
    /// Everything a change must pass: setup, fmt, clippy, layers, test
    Ci,
    /// Watch a whole edge work in namespaces of its own (root)
    Demo(demo::Args),
    /// Check duplicate dependencies, licences and sources with cargo-deny
    Deny,
    /// Check that pure code stays pure and unsafe stays where it is reviewed
    Layers,
    /// Find out what building and testing need, and install what is missing
    Setup(setup::Args),
    /// Run every test (root)
    Test(test::Args),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Bench(args) => bench::run(&args),
        Task::Build(args) => build::run(&args),
        Task::Ci => ci::run(),
        Task::Demo(args) => demo::run(&args),
        Task::Deny => deny::run(),
        Task::Layers => layers::run(),
        Task::Setup(args) => setup::run(&args),
        Task::Test(args) => test::run(&args),
    };
    done.map_or_else(|error| shell::exit_code(&error), |()| ExitCode::SUCCESS)
}
