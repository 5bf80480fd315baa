//! Measures one column.

use anyhow::ensure;
use lb_tests::datapath::edge::XDP_TX;

use crate::{
    columns::{Before, Column},
    rig::{REFERENCE_ENTRIES, Rig, Stream, Subject},
};

/// A column with what was measured.
pub(crate) struct Measured {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether a ratio means something.
    pub(crate) is_ours: bool,
    /// Every round.
    pub(crate) rounds: Vec<Round>,
    /// Which part of the product's packets, and of the reference's, found the entry of their flow;
    /// nothing for packets that look none up.
    pub(crate) hit_rates: Option<[f64; 2]>,
    /// Which part of the product's flow table was in use at the end.
    pub(crate) load: f64,
}

/// Nanoseconds per packet, the generator's included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) floor: f64,
    pub(crate) reference: f64,
    pub(crate) product: f64,
}

/// Measures a column with programs that are loaded anew for it.
pub(crate) fn measure(column: &Column, rounds: u32) -> anyhow::Result<Measured> {
    let rig = Rig::new(column)?;
    prepare(&rig, column)?;
    let hits = rig.hits();
    let misses = rig.reference_misses()?;
    let lane = |subject| Lane {
        subject,
        stream: Stream::new(&column.packet, column.clients),
    };
    let mut floor = lane(Subject::Floor);
    let mut reference = lane(Subject::Reference);
    let mut product = lane(Subject::Product);
    let rounds: Vec<Round> = (0..rounds)
        .map(|_| {
            Ok(Round {
                floor: floor.run(&rig, column)?,
                reference: reference.run(&rig, column)?,
                product: product.run(&rig, column)?,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    let packets = f64::from(column.packets) * rounds.len() as f64;
    let hits = (rig.hits() - hits) as f64 / packets;
    let misses = (rig.reference_misses()? - misses) as f64 / packets;
    Ok(Measured {
        name: column.name,
        is_ours: column.is_ours(),
        rounds,
        hit_rates: column.is_ours().then_some([hits, 1.0 - misses]),
        load: rig.inserted() as f64 / f64::from(column.flow_entries),
    })
}

/// A program and its place in the stream of packets.
struct Lane {
    subject: Subject,
    stream: Stream,
}

impl Lane {
    /// Nanoseconds per packet.
    fn run(&mut self, rig: &Rig, column: &Column) -> anyhow::Result<f64> {
        let ran = rig.run(self.subject, &mut self.stream, column.packets)?;
        let expected = match self.subject {
            Subject::Floor => XDP_TX,
            _ => column.action,
        };
        ensure!(
            ran.action == expected,
            "{}: {:?} returned {}, not {expected}",
            column.name,
            self.subject,
            ran.action
        );
        Ok(ran.nanoseconds)
    }
}

/// Brings both flow tables into the state that the column begins with.
fn prepare(rig: &Rig, column: &Column) -> anyhow::Result<()> {
    match column.before {
        Before::Nothing => {}
        Before::Established => {
            // A SYN and one more packet make a flow established.
            for packet in [&column.first, &column.packet] {
                for subject in [Subject::Reference, Subject::Product] {
                    let mut stream = Stream::new(packet, column.clients);
                    rig.run(subject, &mut stream, column.clients)?;
                }
            }
        }
        Before::Full => {
            // With half as many flows again as places, nine buckets in ten are full.
            for (subject, places) in [
                (Subject::Reference, REFERENCE_ENTRIES),
                (Subject::Product, column.flow_entries),
            ] {
                let mut stream = Stream::new(&column.packet, column.clients).starting_with(1 << 31);
                rig.run(subject, &mut stream, places / 2 * 3)?;
            }
        }
    }
    Ok(())
}
