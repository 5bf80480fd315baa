//! Packets while the daemon and other CPUs write the tables.

use std::{
    path::Path,
    thread::{self, ScopedJoinHandle},
};

use aya::maps::{Array, Map, MapData};
use lb_common::{
    Bucket, CHUNK, Descriptor, Entry, FlowEvent, FlowState, Target, TargetState, Verdict,
};
use lb_tests::{
    datapath::{
        edge::{self, Edge, GROUP, Settings, WEB, XDP_TX},
        packet::{ACK, FIN, SYN, syn_from},
    },
    lab::{BpfFs, Scratch},
};
use lb_userspace::dataplane::{Change, Kernel};

/// Threads that send, each so many packets.
const SENDERS: u32 = 2;
const PACKETS: u32 = 30_000;

/// More flows than entries, so that the senders write over each other's all the time.
const FLOWS: u32 = 20;
const BUCKETS: u32 = 2;

/// Targets of the service's group.
const IDS: [u16; 4] = [1, 2, 3, 4];

/// A target of another group.
const FOREIGN: u16 = 9;

/// A target in one of its two shapes, whose MAC addresses have no byte in common but the last.
fn target(id: u16, shape: u32) -> Target {
    let backend = u8::try_from(id).expect("ids are small");
    let target = edge::target(backend);
    match shape % 2 {
        0 => target,
        _ => Target {
            next_hop: [6, 1, 1, 1, 3, backend],
            ..target
        },
    }
}

#[test]
fn every_packet_reaches_a_target_of_its_group_whatever_changes_under_it() {
    let scratch = Scratch::new();
    let pins = BpfFs::mount(&scratch);
    let mut edge = Edge::with_web(&Settings {
        buckets: BUCKETS,
        ..Settings::default()
    });
    for id in IDS {
        edge.set_target(id, target(id, 0));
    }
    let foreign = Target {
        group: GROUP + 1,
        ..edge::target(FOREIGN as u8)
    };
    edge.set_target(FOREIGN, foreign);
    edge.pin_maps(&pins.path().join("maps"));
    let mut writer = Writer::open(pins.path());
    thread::scope(|scope| {
        let senders = [(); SENDERS as usize].map(|()| scope.spawn(|| send(&edge)));
        while !senders.iter().all(ScopedJoinHandle::is_finished) {
            writer.turn();
        }
    });
    let sent = u64::from(SENDERS * PACKETS);
    assert_eq!(edge.verdict(Verdict::Forwarded).packets, sent);
    assert_eq!(edge.verdict(Verdict::NoTarget).packets, 0);
    for event in [
        FlowEvent::Hit,
        FlowEvent::Miss,
        FlowEvent::Left,
        FlowEvent::Foreign,
    ] {
        assert_ne!(edge.events(event), 0, "{event:?}: nothing was proven");
    }
    assert!(writer.turns > 100, "{} turns", writer.turns);
}

/// Sends the packets of many connections, and checks what leaves.
fn send(edge: &Edge) {
    let shapes = IDS.map(|id| [target(id, 0), target(id, 1)]);
    let targets = shapes.as_flattened();
    for i in 0..PACKETS {
        let flags = [SYN, ACK, ACK, ACK | FIN][i as usize / FLOWS as usize % 4];
        let frame = syn_from(i % FLOWS).flags(flags).bytes();
        let ran = edge.run(&frame);
        assert_eq!(ran.action, XDP_TX);
        let reached = targets.iter().any(|t| t.next_hop == ran.frame[..6]);
        assert!(reached, "{:x?}", &ran.frame[..6]);
        assert_eq!(ran.frame[6..], edge::forwarded(&frame, &targets[0])[6..]);
    }
}

/// Writes as the daemon does, and into the flow table what other CPUs could.
struct Writer {
    kernel: Kernel,
    flows: Array<MapData, Bucket>,
    turns: u32,
}

impl Writer {
    fn open(pins: &Path) -> Self {
        let flows = MapData::from_pin(pins.join("maps/FLOWS")).expect("the pinned map");
        let mut writer = Self {
            kernel: Kernel::open(pins).expect("the pinned maps"),
            flows: Map::Array(flows).try_into().expect("FLOWS is an array"),
            turns: 0,
        };
        writer.turn();
        writer
    }

    /// Gives the service its other ring, a target many shapes and states, and a bucket other entries.
    fn turn(&mut self) {
        let half = self.turns as usize % 2;
        let slots: Vec<u16> = (0..CHUNK).map(|i| IDS[2 * half + i % 2]).collect();
        let offset = (half * CHUNK) as u32;
        let row = WEB.row.first();
        let descriptor = Descriptor::new(offset, CHUNK as u32);
        self.execute(&Change::WriteSlots { offset, slots });
        self.execute(&Change::PointRow { row, descriptor });
        let id = IDS[self.turns as usize % IDS.len()];
        for shape in 0..100 {
            let states = [TargetState::TAKES_NEW, 0, TargetState::DEAD];
            let target = Target {
                state: TargetState(states[shape as usize % states.len()]),
                epoch: [0, edge::now()][shape as usize / 10 % 2],
                ..target(id, shape)
            };
            self.execute(&Change::SetTarget { id, target });
        }
        self.disturb(self.turns % BUCKETS);
        self.turns += 1;
    }

    fn execute(&mut self, change: &Change) {
        self.kernel.execute(change).expect("the change");
    }

    /// Gives the entries of a bucket targets and lives that are not theirs.
    fn disturb(&mut self, bucket: u32) {
        let Bucket(mut entries) = self.flows.get(&bucket, 0).expect("the bucket");
        let now = edge::now();
        let lives = [
            Entry::life(now, FlowState::ESTABLISHED),
            Entry::life(now.wrapping_sub(1 << 24), FlowState::ESTABLISHED),
            Entry::life(now.wrapping_add(1), FlowState::OPENING),
            u64::MAX,
        ];
        let targets = [1, FOREIGN, 2, 0, 3, 77, 4, u16::MAX];
        for (way, entry) in entries.iter_mut().enumerate() {
            let i = way + self.turns as usize;
            entry.name = entry.name & !0xffff | u64::from(targets[i % targets.len()]);
            entry.life = lives[i / targets.len() % lives.len()];
        }
        self.flows.set(bucket, Bucket(entries), 0).expect("a write");
    }
}
