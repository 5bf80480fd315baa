//! What 100 changes of backends break, with and without the ring that stood before: on the same edge, which
//! knows nearly all of its flows, and on a second one that knows none of them.
//!
//! It is a simulation with the product's rings and ring hash, without a kernel:
//! `cargo run --release -p lb-tests --bin changes`.

mod flows;
mod script;

use self::{flows::Flow, script::Script};

/// Mean seconds of a connection.
const LENGTHS: [f64; 2] = [30., 300.];
/// Seconds between two changes.
const INTERVALS: [f64; 3] = [1., 10., 60.];
/// Seconds that a former ring is known; 0 is never.
const GRACES: [f64; 8] = [0., 2., 5., 10., 20., 30., 60., 120.];
/// Connections at a time.
const AT_A_TIME: f64 = 5_000.;
/// Seconds after a change that count as at once.
const AT_ONCE: f64 = 0.05;

fn main() {
    for length in LENGTHS {
        for interval in INTERVALS {
            let script = Script::new(interval, 1);
            let flows = Flow::all(&script, length, AT_A_TIME / length);
            let changes = script.changes();
            println!("\n{changes} changes, one every {interval} s; connections of {length} s");
            println!(
                "broken of a million    same edge: entry lost   SYN limited   second: any time   at once"
            );
            for grace in GRACES {
                report(&script, &flows, grace);
            }
        }
    }
}

fn report(script: &Script, flows: &[Flow], grace: f64) {
    let formers = flows::formers(script, grace);
    let [lost, limited] = flows::broken_here(script, flows, &formers);
    let any = flows::broken_there(script, flows, &formers, 1.);
    let once = flows::broken_there(script, flows, &formers, AT_ONCE / script.interval);
    println!("grace of {grace:>3} s: {lost:>28.0} {limited:>13.0} {any:>18.0} {once:>9.0}");
}
