//! How long it takes to build a ring: of the two usual lengths, over 50 backends.

use std::net::{IpAddr, Ipv4Addr};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lb_userspace::{
    model::{Forward, Identity, Share},
    table::{Destination, Shares, Spread, ring},
};

/// The flows of 50 backends by these weights.
fn flows(weight: impl Fn(u32) -> u64) -> Spread {
    let sum: u64 = (0..50).map(&weight).sum();
    let share = |number| {
        let identity = Identity {
            address: IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number)),
            forward: Forward::L2Dsr,
            port: None,
        };
        let destination = Destination::Backend(identity);
        (destination, Share::new(weight(number).into(), sum.into()))
    };
    Spread::Flows((0..50).map(share).collect::<Shares>())
}

fn rings(criterion: &mut Criterion) {
    let group = "web".parse().expect("a name");
    let mut benches = criterion.benchmark_group("ring");
    let kinds = [
        ("equal", flows(|_| 50)),
        ("different weights", flows(|number| 20 + u64::from(number))),
        (
            "weights 1 to 20",
            flows(|number| 1 + u64::from(number % 20)),
        ),
        (
            "one of 1 per mille",
            flows(|number| if number == 0 { 1 } else { 50 }),
        ),
    ];
    for (kind, spread) in kinds {
        let length = ring(&group, &spread).slots.len();
        let id = BenchmarkId::new(kind, length);
        benches.bench_with_input(id, &spread, |bencher, spread| {
            bencher.iter(|| ring(&group, spread));
        });
    }
    benches.finish();
}

criterion_group!(benches, rings);
criterion_main!(benches);
