//! The benchmark of the datapath: what a packet costs in the kernel (BPF_PROG_TEST_RUN).
//!
//! Three programs take turns on the same packets: the floor, which swaps the MAC addresses and no
//! more; the reference, the same task written plainly with the kernel's own maps; and the product's
//! program as it is shipped, with its counters on. A generator writes the next client's headers into the frame
//! before every packet and calls the program by a tail call; its cost is in all three figures. So
//! only differences mean something: added = product - floor, ratio = (product - floor) /
//! (reference - floor). Each is taken within a round, and its median over the rounds is shown with
//! a 95 % bootstrap interval.
//!
//! What the reference does not know is beside something else: UDP beside the product's own TCP, and packets with
//! a VLAN tag beside the reference's packets without one. A flood of new flows goes beyond the insert limit
//! that the product has unless it is told otherwise; both tables have seen enough of it to be full.
//!
//! Live packets are sent by the generator through a virtual cable to the program and come back: what the kernel
//! does for a frame, a ring and a poll on each way, is in all three figures, too.
//!
//! The time is that of the thread, the only one here. A kernel that keeps the time of soft interrupts apart
//! (CONFIG_IRQ_TIME_ACCOUNTING) would hide the live programs. A run takes longer than its packets do: the
//! kernel waits for all CPUs before and after each.
//!
//! What it can not show: drivers, memory that a network card has just written, several CPUs; and targets behind
//! another interface, since a call only says that a frame is to go there, and the rest is the kernel's.

mod columns;
mod measure;
mod report;
mod rig;
mod stream;
mod wire;

use anyhow::{Context as _, bail};
use clap::{Parser, ValueEnum};
use nix::time::{ClockId, clock_gettime};

use self::{
    columns::{Column, columns},
    measure::{Measured, measure},
    report::Report,
    rig::{Rig, Subject},
};

/// What a packet costs in the kernel: floor, reference and product in turn.
///
/// Columns are named after the mode, the family of IP and the number of flows: `ipip-v4-10000`. Others end with
/// `-udp`, or begin with `vlan-off-` (packets come with a tag and leave without), `vlan-other-` (they leave in
/// another VLAN), `new-flows`, `not-ours-`, or `live-` (through a virtual cable, in a network namespace that goes
/// with the process).
///
/// A ratio is (product - floor) / (baseline - floor). The baseline is the reference, a balancer written plainly
/// with the kernel's own maps; for UDP it is the product's own TCP, and packets with a tag stand beside the
/// reference's without. A goal `holds` if the upper end of the ratio's interval is no more than the goal; there is
/// none where the baseline does less.
///
/// A column takes about six seconds with 21 rounds, and all of them six or seven minutes. Nothing is
/// left behind, however the process ends.
#[derive(Parser)]
#[command(name = "bench")]
struct Args {
    /// How often each program is measured per column; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// 3 rounds of a tenth of the packets: shows that it works, and no more
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// Only print the names of the columns
    #[arg(long)]
    list: bool,
    /// Only columns with one of these names, or with a word in their name that is none
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
    let columns = chosen(columns(rounds, share), &args.columns);
    if args.list {
        columns
            .iter()
            .for_each(|column| println!("{}", column.name));
        return Ok(());
    }
    let Some(largest) = columns.iter().max_by_key(|column| column.flow_entries) else {
        bail!(
            "no column has one of the words {:?} in its name",
            args.columns
        );
    };
    let cpu = lb_tests::datapath::stay_on_one_cpu();
    let rig = Rig::new(largest)?;
    let maps_bytes = [
        rig.maps_bytes(Subject::Product)?,
        rig.maps_bytes(Subject::Reference)?,
    ];
    drop(rig);
    let flow_entries = largest.flow_entries;
    let measured = all(columns, rounds)?;
    let report = Report::new(cpu, rounds, maps_bytes, flow_entries, &measured);
    match args.format {
        Format::Json => println!("{:#}", report.json()),
        Format::Text => print!("{report}"),
    }
    Ok(())
}

/// Those that the words name; all if there are none.
fn chosen(mut columns: Vec<Column>, words: &[String]) -> Vec<Column> {
    let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
    let chooses = |word: &String, name: &String| match names.contains(word) {
        true => name == word,
        false => name.contains(word),
    };
    columns
        .retain(|column| words.is_empty() || words.iter().any(|word| chooses(word, &column.name)));
    columns
}

/// Measures one after the other, and tells of it.
fn all(columns: Vec<Column>, rounds: u32) -> anyhow::Result<Vec<(Column, Measured)>> {
    let count = columns.len();
    let start = seconds()?;
    let mut all = Vec::new();
    for (i, column) in columns.into_iter().enumerate() {
        eprintln!("[{}/{count}] {}", i + 1, column.name);
        let measured = measure(&column, rounds).with_context(|| column.name.clone())?;
        all.push((column, measured));
    }
    eprintln!("{count} columns took {} s", seconds()? - start);
    Ok(all)
}

/// Seconds since the machine started.
fn seconds() -> anyhow::Result<i64> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.tv_sec())
}
