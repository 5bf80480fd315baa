//! The benchmark of the datapath: what a packet costs in the kernel (BPF_PROG_TEST_RUN), without a
//! network.
//!
//! Three programs take turns on the same packets: the floor, which swaps the MAC addresses and no
//! more; the reference, the same task written plainly with the kernel's own maps; and the product's
//! program as it is shipped, with its counters on. A generator writes another client into the frame
//! before every packet and calls the program by a tail call; its cost is in all three figures. So
//! only differences mean something: added = product - floor, ratio = (product - floor) /
//! (reference - floor). Each is taken within a round, and its median over the rounds is shown with
//! a 95 % bootstrap interval.
//!
//! A run takes longer than its packets do: the kernel waits for all CPUs before and after each.
//!
//! What it can not show: drivers, memory that a network card has just written, several CPUs.

mod columns;
mod measure;
mod report;
mod rig;

use anyhow::bail;
use clap::{Parser, ValueEnum};

use self::{
    columns::{Column, columns},
    measure::{Measured, measure},
    report::Report,
    rig::{Rig, Subject},
};

/// What a packet costs in the kernel: floor, reference and product in turn.
#[derive(Parser)]
#[command(name = "bench")]
struct Args {
    /// How often each program is measured per column; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// 2 rounds of a tenth of the packets: shows that it works, and no more
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// Only columns with one of these words in their name
    #[arg(value_name = "WORD")]
    columns: Vec<String>,
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
    let (rounds, share) = if args.quick {
        (3, 10)
    } else {
        (args.rounds, 1)
    };
    let cpu = lb_tests::datapath::stay_on_one_cpu();
    let columns: Vec<Column> = columns(rounds, share)
        .into_iter()
        .filter(|column| {
            args.columns.is_empty() || args.columns.iter().any(|c| column.name.contains(c))
        })
        .collect();
    let Some(largest) = columns.iter().max_by_key(|column| column.flow_entries) else {
        bail!(
            "no column has one of the words {:?} in its name",
            args.columns
        );
    };
    let rig = Rig::new(largest)?;
    let maps_bytes = [
        rig.maps_bytes(Subject::Product)?,
        rig.maps_bytes(Subject::Reference)?,
    ];
    drop(rig);
    let measured: Vec<Measured> = columns
        .iter()
        .map(|column| {
            eprintln!("measuring {}", column.name);
            measure(column, rounds)
        })
        .collect::<anyhow::Result<_>>()?;
    let report = Report::new(cpu, rounds, maps_bytes, largest.flow_entries, &measured);
    match args.format {
        Format::Json => println!("{:#}", report.json()),
        Format::Text => print!("{report}"),
    }
    Ok(())
}
