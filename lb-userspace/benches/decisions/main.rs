//! How long it takes to decide anew when the health of a backend changes, and to make the rings that
//! follow. Less than 20 ms are to go into decisions, and less than 1 ms into each ring.
//!
//! It is the time of one core: what other processes do meanwhile does not count.

mod workload;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use lb_userspace::table::{Ring, ring};
use nix::time::{ClockId, clock_gettime};

use self::workload::Workload;

fn one_member_down(criterion: &mut Criterion) {
    let workload = Workload::new();
    let mut benches = criterion.benchmark_group("one member down");
    benches.sample_size(20);
    let mut bench = |name: &str, once: &dyn Fn() -> Duration| {
        benches.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| (0..iterations).map(|_| once()).sum());
        });
    };
    bench("event", &|| event(&workload));
    bench("its 40 rings", &|| rings(&workload));
    bench("decisions", &|| {
        event(&workload).saturating_sub(rings(&workload))
    });
    benches.finish();
}

/// The time of all that the engine does.
fn event(workload: &Workload) -> Duration {
    let (mut engine, flip) = (workload.engine.clone(), workload.flip());
    timed(|| engine.handle(flip, Duration::ZERO))
}

/// The time of the rings among that.
fn rings(workload: &Workload) -> Duration {
    let rings = workload.rings.iter();
    timed(|| -> Vec<Ring> { rings.map(|(group, spread)| ring(group, spread)).collect() })
}

/// The time of this thread that `work` takes. To drop what it gives is not part of it.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let now = || {
        let clock = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        Duration::from(clock.expect("Linux has a clock for each thread"))
    };
    let begin = now();
    let result = std::hint::black_box(work());
    let took = now() - begin;
    drop(result);
    took
}

criterion_group!(benches, one_member_down);
criterion_main!(benches);
