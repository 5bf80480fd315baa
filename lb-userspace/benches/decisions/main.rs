//! How long it takes to decide anew when the health of a backend changes, and to make the rings that
//! follow. Less than 20 ms are to go into decisions, and less than 1 ms into each ring.

mod workload;

use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use lb_userspace::table::{Ring, ring};

use self::workload::Workload;

fn event(criterion: &mut Criterion) {
    let workload = Workload::new();
    let mut benches = criterion.benchmark_group("one member down");
    benches.sample_size(20);
    benches.bench_function("event", |bencher| {
        let begun = || (workload.engine.clone(), workload.flip());
        bencher.iter_batched(
            begun,
            |(mut engine, flip)| {
                let effects = engine.handle(flip, Duration::ZERO);
                (engine, effects)
            },
            BatchSize::PerIteration,
        );
    });
    benches.bench_function("its 40 rings", |bencher| {
        bencher.iter_with_large_drop(|| rings(&workload));
    });
    benches.bench_function("decisions", |bencher| {
        bencher.iter_custom(|iterations| (0..iterations).map(|_| decisions(&workload)).sum());
    });
    benches.finish();
}

fn rings(workload: &Workload) -> Vec<Ring> {
    let rings = workload.rings.iter();
    rings.map(|(group, spread)| ring(group, spread)).collect()
}

/// What an event takes beyond its rings.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn decisions(workload: &Workload) -> Duration {
    let (mut engine, flip) = (workload.engine.clone(), workload.flip());
    let begin = Instant::now();
    let effects = engine.handle(flip, Duration::ZERO);
    let event = begin.elapsed();
    let begin = Instant::now();
    let rings = rings(workload);
    let made = begin.elapsed();
    drop((effects, rings));
    event.saturating_sub(made)
}

criterion_group!(benches, event);
criterion_main!(benches);
