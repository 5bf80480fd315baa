//! Measures one column.

use anyhow::ensure;
use lb_tests::datapath::{edge::XDP_TX, packet::Packet};

use crate::{
    columns::{Before, By, Column},
    rig::{REFERENCE_ENTRIES, Rig, Subject},
    stream::{Stream, Traffic},
};

/// What was measured of a column.
pub(crate) struct Measured {
    /// Every round.
    pub(crate) rounds: Vec<Round>,
    /// Which part of the product's packets found the entry of their flow; nothing for packets that look none
    /// up.
    pub(crate) hit_rate: Option<f64>,
    /// The same of the reference's, if it is the baseline.
    pub(crate) reference_hit_rate: Option<f64>,
    /// Which part of the product's flow table was in use at the end.
    pub(crate) load: f64,
}

/// Nanoseconds per packet, the generator's included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) floor: f64,
    pub(crate) baseline: f64,
    pub(crate) product: f64,
}

/// Measures a column with programs that are loaded anew for it.
pub(crate) fn measure(column: &Column, rounds: u32) -> anyhow::Result<Measured> {
    let mut rig = Rig::new(column)?;
    prepare(&mut rig, column)?;
    let hits = rig.hits();
    let misses = rig.reference_misses()?;
    let baseline = &column.baseline;
    let mut floor = Lane::new(Subject::Floor, &column.traffic, column);
    let mut other = Lane::new(baseline.subject, &baseline.traffic, column);
    let mut product = Lane::new(Subject::Product, &column.traffic, column);
    let rounds: Vec<Round> = (0..rounds)
        .map(|round| {
            let floor = floor.run(&mut rig, column)?;
            // Who comes later finds other things in the caches.
            let mut run = |lane: &mut Lane| lane.run(&mut rig, column);
            let (baseline, product) = if round % 2 == 0 {
                (run(&mut other)?, run(&mut product)?)
            } else {
                let product = run(&mut product)?;
                (run(&mut other)?, product)
            };
            Ok(Round {
                floor,
                baseline,
                product,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    let packets = f64::from(column.packets) * rounds.len() as f64;
    let has_reference = baseline.subject == Subject::Reference;
    let of_product = packets * if has_reference { 1.0 } else { 2.0 };
    let hits = (rig.hits() - hits) as f64 / of_product;
    let misses = (rig.reference_misses()? - misses) as f64 / packets;
    Ok(Measured {
        rounds,
        hit_rate: column.is_ours().then_some(hits),
        reference_hit_rate: (column.is_ours() && has_reference).then_some(1.0 - misses),
        load: rig.inserted() as f64 / f64::from(column.flow_entries),
    })
}

/// A program and its place in the stream of packets.
struct Lane {
    subject: Subject,
    stream: Stream,
}

impl Lane {
    fn new(subject: Subject, traffic: &Traffic, column: &Column) -> Self {
        let stream = Stream::new(&traffic.packet, traffic.vlan, column.clients);
        let stream = match column.before {
            Before::Established => stream.mixed(),
            Before::Full | Before::Nothing => stream,
        };
        Self { subject, stream }
    }

    /// Nanoseconds per packet.
    fn run(&mut self, rig: &mut Rig, column: &Column) -> anyhow::Result<f64> {
        let (subject, stream) = (self.subject, &mut self.stream);
        let ran = match column.by {
            By::Cable => rig.send(subject, stream, column.packets)?,
            By::Call => rig.call(subject, stream, column.packets)?,
        };
        let expected = match subject {
            Subject::Floor => XDP_TX,
            _ => column.action,
        };
        ensure!(
            ran.action == expected,
            "{}: {subject:?} returned {}, not {expected}",
            column.name,
            ran.action
        );
        Ok(ran.nanoseconds)
    }
}

/// Brings the flow tables into the state that the column begins with.
fn prepare(rig: &mut Rig, column: &Column) -> anyhow::Result<()> {
    match column.before {
        Before::Nothing => {}
        Before::Established => {
            // A SYN and one more packet make a flow established.
            establish(rig, column, |traffic| &traffic.first)?;
            establish(rig, column, |traffic| &traffic.packet)?;
        }
        Before::Full => {
            // With half as many flows again as places, nine buckets in ten are full.
            for (subject, places) in [
                (Subject::Reference, REFERENCE_ENTRIES),
                (Subject::Product, column.flow_entries),
            ] {
                let stream = Stream::new(&column.traffic.packet, None, column.clients);
                let mut stream = stream.starting_with(1 << 31);
                rig.call(subject, &mut stream, places / 2 * 3)?;
            }
        }
    }
    Ok(())
}

/// Sends one packet of every flow to baseline and product. Where they share a table they take many turns, since in
/// a bucket those who come first are found first.
fn establish(
    rig: &mut Rig,
    column: &Column,
    packet: fn(&Traffic) -> &Packet,
) -> anyhow::Result<()> {
    let lane = |subject, traffic: &Traffic| {
        let stream = Stream::new(packet(traffic), traffic.vlan, column.clients);
        Lane { subject, stream }
    };
    let baseline = &column.baseline;
    let mut lanes = [
        lane(baseline.subject, &baseline.traffic),
        lane(Subject::Product, &column.traffic),
    ];
    let turns = match baseline.subject {
        Subject::Product => 32,
        Subject::Floor | Subject::Reference => 1,
    };
    let mut left = column.clients;
    while left > 0 {
        let packets = column.clients.div_ceil(turns).min(left);
        for Lane { subject, stream } in &mut lanes {
            rig.call(*subject, stream, packets)?;
        }
        left -= packets;
    }
    Ok(())
}
