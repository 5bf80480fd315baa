use std::{collections::BTreeMap, time::Duration};

use aya::maps::MapData;
use lb_common::{Bucket, Counter, Entry, FlowEvent, FlowState, ServiceCounter, Verdict, WAYS};
use lb_userspace::{
    dataplane::{Change, CounterParts, Kernel, collect, object::cpus},
    model::{Edge, FlowIdle},
    table::Image,
};

use crate::host::{Host, array, image, show, start};

#[test]
fn what_is_executed_is_read_back() {
    let host = Host::new();
    let mut kernel = start(&host.edge()).kernel;
    let mut tables = kernel.read_tables().unwrap();
    for backends in [&[1, 2, 3][..], &[2], &[], &[4, 5, 6, 7]] {
        show(&mut kernel, &mut tables, &image(backends));
        assert_eq!(kernel.read_tables().unwrap(), tables, "{backends:?}");
    }
    show(&mut kernel, &mut tables, &Image::default());
    let gone = collect(&tables, &Image::default(), &Default::default());
    assert_eq!(gone.len(), 7);
    for change in gone {
        kernel.execute(&change).unwrap();
        tables.apply(&change);
    }
    assert_eq!(kernel.read_tables().unwrap(), tables);
    assert_eq!(tables.services().count() + tables.targets().count(), 0);
}

#[test]
fn counters_are_summed_over_cpus_and_end_with_their_service() {
    let host = Host::new();
    let edge = host.edge();
    let mut kernel = start(&edge).kernel;
    let mut tables = kernel.read_tables().unwrap();
    show(&mut kernel, &mut tables, &image(&[1]));
    let data = MapData::from_pin(edge.pin_dir.join("maps/CPUS")).unwrap();
    let counters = CounterParts::of_cpus(&data).unwrap();
    let cpus = cpus().unwrap();
    assert_eq!(counters.len(), cpus as usize);
    let seen = Counter {
        packets: 3,
        bytes: 200,
    };
    let of_service = ServiceCounter {
        hits: seen,
        others: seen,
    };
    for cpu in &counters {
        cpu.verdicts.store(Verdict::Forwarded as u32, &seen);
        cpu.targets.store(1, &seen);
        cpu.services.store(1, &of_service);
    }
    let times = |times: u64| Counter {
        packets: 3 * times * u64::from(cpus),
        bytes: 200 * times * u64::from(cpus),
    };
    let totals = kernel.counters(&tables);
    // What was sent by an entry of the flow table is counted by service alone.
    assert_eq!(totals.flow_events[&FlowEvent::Hit], times(1));
    assert_eq!(totals.verdicts[&Verdict::Forwarded], times(2));
    assert_eq!(totals.targets, BTreeMap::from([(1, times(1))]));
    let of = |id| tables.services().find(|(_, s)| s.id == id).unwrap().0;
    assert_eq!(totals.services[&of(1)], times(2));
    assert_eq!(totals.services[&of(0)], Counter::default());

    for change in [
        Change::RemoveService { key: of(1) },
        Change::FreeTarget { id: 1 },
    ] {
        kernel.execute(&change).unwrap();
        kernel.execute(&change).unwrap();
    }
    let totals = kernel.counters(&tables);
    assert_eq!(totals.services[&of(1)], Counter::default());
    assert_eq!(totals.targets[&1], Counter::default());
    assert_eq!(totals.flow_events[&FlowEvent::Hit], times(1));
    assert_eq!(totals.verdicts[&Verdict::Forwarded], times(2));
}

#[test]
fn live_flow_entries_name_their_targets() {
    let host = Host::new();
    let edge = host.edge();
    let kernel = start(&edge).kernel;
    assert_eq!(kernel.named(1000), BTreeMap::new());
    let entry = |target, last_seen| Entry {
        name: Entry::name(7, 8, target),
        life: Entry::life(last_seen, FlowState::CLOSING),
    };
    let mut bucket = Bucket([Entry::default(); WAYS]);
    (bucket.0[0], bucket.0[3], bucket.0[7]) = (entry(5, 900), entry(5, 1000), entry(6, 20));
    let mut flows = array::<Bucket>(&edge, "FLOWS");
    flows.set(127, bucket, 0).unwrap();
    flows.set(0, Bucket([entry(9, 1000); WAYS]), 0).unwrap();
    assert_eq!(kernel.named(1000), BTreeMap::from([(5, 2), (9, 8)]));
    assert_eq!(kernel.flows(1000)[&9], [0, 0, 8, 0], "by state");
    assert_eq!(kernel.named(900), BTreeMap::from([(5, 2), (6, 1), (9, 8)]));
    let closing = |closing| FlowIdle {
        closing,
        ..FlowIdle::DEFAULT
    };
    kernel.set_idle(closing(Duration::from_secs(1)).ticks());
    assert_eq!(kernel.named(1000), BTreeMap::from([(5, 1), (9, 8)]));
    // A command without a daemon goes by what the program goes by, and a new daemon sets it anew.
    let left = Kernel::open(&edge.pin_dir).unwrap();
    assert_eq!(left.named(1000), kernel.named(1000));
    drop(kernel);
    let flow_idle = closing(Duration::from_secs(70));
    let kernel = start(&Edge { flow_idle, ..edge }).kernel;
    assert_eq!(kernel.idle(), flow_idle.ticks());
    assert_eq!(kernel.named(1000), BTreeMap::from([(5, 2), (6, 1), (9, 8)]));
}
