//! Entries that are no longer, or not quite, what they say.

use lb_common::{
    Bucket, Entry, FlowEvent, FlowState, IdleTicks, Row, Service, Target, TargetState, WAYS,
};
use lb_tests::datapath::{
    edge::{self, Edge, GROUP, Settings, WEB},
    packet::{ACK, SERVICE, SYN, data, syn},
};

/// An edge whose one entry sends the default flow to target 1, while new flows go to target 2.
/// Returns the entry with its bucket.
fn with_entry() -> (Edge, u32, Entry) {
    with_entry_on(&Settings::default())
}

/// The same with other settings.
pub(crate) fn with_entry_on(settings: &Settings) -> (Edge, u32, Entry) {
    let mut edge = Edge::with_web(settings);
    assert_eq!(edge.backend(&syn()), Some(1));
    edge.set_target(2, edge::target(2));
    edge.set_ring(WEB.row, 200, &[2; 10]);
    let (bucket, entry) = edge.only_entry();
    (edge, bucket, entry)
}

/// A bucket with nothing but this entry.
pub(crate) fn bucket_with(way: usize, entry: Entry) -> Bucket {
    let mut bucket = Bucket([Entry::default(); WAYS]);
    bucket.0[way] = entry;
    bucket
}

#[test]
fn an_entry_holds_in_every_way_until_its_state_was_idle_for_too_long() {
    // The clock goes on between this test and the program.
    const SOON: u32 = 100;
    const IDLE: IdleTicks = [200, 4000, 300, 1000];
    let (mut edge, bucket, entry) = with_entry_on(&Settings {
        idle: IDLE,
        ..Settings::default()
    });
    for (state, idle) in (0..).map(FlowState).zip(IDLE) {
        for way in 0..WAYS {
            for (age, backend) in [(0, 1), (idle - SOON, 1), (idle + 1, 2)] {
                let life = Entry::life(edge::now().wrapping_sub(age), state);
                edge.set_bucket(bucket, bucket_with(way, Entry { life, ..entry }));
                let sent_to = edge.backend(&data());
                assert_eq!(sent_to, Some(backend), "{state:?}, {way}, after {age}");
            }
        }
    }
    let entries = (FlowState::COUNT * WAYS) as u64;
    assert_eq!(edge.events(FlowEvent::Hit), 2 * entries);
    assert_eq!(edge.events(FlowEvent::Miss), 1 + entries);
}

#[test]
fn an_expired_entry_is_written_over_where_it_stands() {
    let (mut edge, bucket, entry) = with_entry();
    let life = Entry::life(edge::now().wrapping_sub(1 << 20), FlowState::ESTABLISHED);
    edge.set_bucket(bucket, bucket_with(4, Entry { life, ..entry }));
    assert_eq!(edge.backend(&syn()), Some(2));
    let (_, fresh) = edge.only_entry();
    assert_eq!(fresh.target(), 2);
    assert!(Entry::same_flow(fresh.name, entry.name));
}

#[test]
fn an_epoch_flushes_a_target() {
    let (mut edge, bucket, entry) = with_entry();
    let seen = edge::now().wrapping_sub(100);
    let life = Entry::life(seen, FlowState::ESTABLISHED);
    for (epoch, backend) in [(0, 1), (seen, 1), (seen + 1, 2)] {
        edge.set_bucket(bucket, bucket_with(0, Entry { life, ..entry }));
        edge.set_target(
            1,
            Target {
                epoch,
                ..edge::target(1)
            },
        );
        let packet = data();
        assert_eq!(
            edge.backend(&packet),
            Some(backend),
            "epoch {epoch}, seen {seen}"
        );
    }
    assert_eq!(edge.events(FlowEvent::Left), 1);
    assert_eq!(edge.events(FlowEvent::Hit), 2);
}

#[test]
fn an_entry_to_a_target_of_another_group_is_a_miss_with_its_own_counter() {
    let (mut edge, bucket, entry) = with_entry();
    let other = Target {
        group: GROUP + 1,
        ..edge::target(1)
    };
    for (name, target) in [("other group", other), ("free id", Target::FREE)] {
        edge.set_bucket(bucket, bucket_with(0, entry));
        edge.set_target(1, target);
        let before = edge.events(FlowEvent::Foreign);
        assert_eq!(edge.backend(&data()), Some(2), "{name}");
        assert_eq!(edge.events(FlowEvent::Foreign), before + 1, "{name}");
        assert_eq!(edge.only_entry().1.target(), 2, "{name}");
    }
}

#[test]
fn a_full_bucket_gives_up_one_entry_and_counts_it() {
    let (mut edge, bucket, entry) = with_entry();
    let now = edge::now();
    let others: [Entry; WAYS] = std::array::from_fn(|way| Entry {
        name: entry.name ^ (way as u64 + 1) << 16,
        life: Entry::life(now.wrapping_sub(way as u32), FlowState::ESTABLISHED),
    });
    edge.set_bucket(bucket, Bucket(others));
    let inserted = edge.events(FlowEvent::Inserted);
    assert_eq!(edge.backend(&syn()), Some(2));
    assert_eq!(edge.events(FlowEvent::Evicted), 1);
    assert_eq!(edge.events(FlowEvent::Inserted), inserted);
    let names: Vec<u64> = edge.entries().iter().map(|(_, entry)| entry.name).collect();
    let mut expected = others.map(|other| other.name);
    expected[7] = Entry {
        name: entry.name & !0xffff | 2,
        life: 0,
    }
    .name;
    assert_eq!(names, expected, "the oldest gives way");
}

/// A reader may meet the name of one entry beside the life of another, and an id may have gone to
/// another group since. Whatever stands there, the packet reaches a target of its own service.
#[test]
fn a_torn_entry_never_reaches_a_target_of_another_group() {
    let (mut edge, bucket, entry) = with_entry();
    let other = Service {
        group: GROUP + 1,
        id: 6,
        row: Row::new(4, 1),
        ..WEB
    };
    let elsewhere = syn().to((SERVICE.0, 443));
    edge.publish(&elsewhere, other);
    edge.set_target(
        9,
        Target {
            group: other.group,
            ..edge::target(9)
        },
    );
    edge.set_ring(other.row, 300, &[9; 10]);
    assert_eq!(edge.backend(&elsewhere), Some(9));
    let to_9 = entry.name & !0xffff | 9;
    let to_nothing = entry.name & !0xffff;
    let behind_the_table = entry.name | 0xffff;
    let now = edge::now();
    let lives = [
        entry.life,
        Entry::life(now, FlowState::CLOSING),
        Entry::life(now.wrapping_add(1), FlowState::ESTABLISHED),
        Entry::life(now.wrapping_sub(1 << 30), FlowState::ESTABLISHED),
        Entry::life(now, FlowState(0xff)),
        0,
        u64::MAX,
    ];
    edge.set_target(
        3,
        Target {
            state: TargetState(0),
            ..edge::target(3)
        },
    );
    for name in [
        entry.name,
        to_9,
        to_nothing,
        behind_the_table,
        0,
        1,
        u64::MAX,
    ] {
        for life in lives {
            for flags in [SYN, ACK] {
                edge.set_bucket(bucket, Bucket([Entry { name, life }; WAYS]));
                let backend = edge.backend(&syn().flags(flags));
                assert!(
                    matches!(backend, Some(1 | 2)),
                    "{name:#x} {life:#x}: {backend:?}"
                );
            }
        }
    }
}
