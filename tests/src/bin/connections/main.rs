//! The benchmark of whole connections: what one costs in CPU time, with the product between client
//! and backend and with two proxies in its place.
//!
//! A client, an edge, a host for the proxies and two backends stand in one lab, on one CPU. In each
//! round `wrk` opens short connections (connect, ask, answer, close) on four ways in turn: direct,
//! where the client's kernel spreads them over the backends; through haproxy and through nginx
//! `stream`; and through the product.
//!
//! The time is that of all processes of the lab together, in the scheduler's nanoseconds: the
//! kernel handles a packet while it runs for the process that sent it, so nobody's share can be
//! told apart, but the sum is exact, and what else runs on the machine is not in it. Client and
//! backends do the same on every way, so what a way costs more than direct is the balancer's:
//!
//! - whole = CPU time per connection of everything,
//! - added = whole - direct, taken within a round.
//!
//! The goal (1.5 times as many connections per CPU second) is judged by the ratio of the whole:
//! it is the harder one, for client and backends stand on both sides of it.
//!
//! What it can not show: network cards, several CPUs, long connections.

mod measure;
mod proxy;
mod report;
mod rig;

use clap::{Parser, ValueEnum};
use lb_tests::{
    datapath::stay_on_one_cpu,
    lab::{Lab, Topology},
};

use self::{report::Report, rig::Rig};

/// What a whole connection costs: direct, through haproxy, nginx and the product in turn.
#[derive(Parser)]
#[command(name = "connections")]
struct Args {
    /// How often each way is measured, for 0.4 s each; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// 2 rounds: shows that it works, and no more
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// How the figures are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Text,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    proxy::require()?;
    let rounds = if args.quick { 2 } else { args.rounds };
    // All that is started from here on stays on it, too.
    let cpu = stay_on_one_cpu();
    let lab = Lab::new(Topology {
        clients: 2,
        ..Topology::default()
    });
    let rig = Rig::new(&lab);
    let rounds = measure::measure(&rig, cpu, rounds)?;
    drop(rig);
    let report = Report::new(cpu, &rounds);
    match args.format {
        Format::Json => println!("{:#}", report.json()),
        Format::Text => print!("{report}"),
    }
    Ok(())
}
