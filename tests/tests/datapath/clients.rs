//! Client prefixes: what the program makes of them, and what a longest match says.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use aya::maps::{
    MapData,
    lpm_trie::{Key, LpmTrie},
};
use lb_common::{Address, Descriptor, Row, Service};
use lb_tests::{
    datapath::{
        edge::{self, Edge, Settings, WEB},
        packet::syn,
    },
    lab::{BpfFs, Scratch},
    random::Random,
    rules,
};
use lb_userspace::{
    class::partition,
    dataplane::{Change, Kernel},
    model::{Prefix, Route},
    table::ClassTable,
};

/// BPF_F_NO_PREALLOC, without which the kernel makes no LPM trie.
const NO_PREALLOC: u32 = 1;

/// Groups besides the one where no rule matches; as many as a frame's last byte tells apart.
const GROUPS: u64 = 200;

/// Prefixes with numbers of groups; most are no longer than /24, as in the internet's table.
fn random_prefixes(random: &mut Random) -> BTreeMap<Prefix, u64> {
    let mut prefixes = BTreeMap::new();
    while prefixes.len() < 100_000 {
        let bits = random.draw();
        let length = match bits % 64 {
            0..4 => 25 + bits / 64 % 8,
            4..8 => 8 + bits / 64 % 8,
            _ => 16 + bits / 64 % 9,
        };
        let address = Ipv4Addr::from_bits((bits >> 32) as u32);
        let prefix = Prefix::around(address.into(), length as u8).unwrap();
        prefixes.insert(prefix, 1 + random.draw() % GROUPS);
    }
    prefixes
}

/// Where the clients of a group go; those of group 0 are those that no rule matches.
fn route(group: u64) -> Route {
    let name = match group {
        0 => "web".to_owned(),
        _ => format!("g{group}"),
    };
    Route::Group(name.parse().unwrap())
}

/// An edge in which the frames for group n go to backend n.
fn edge(prefixes: &BTreeMap<Prefix, u64>, maps: &BpfFs) -> Edge {
    let given = prefixes.iter();
    let given = given.map(|(prefix, group)| (*prefix, route(*group)));
    let clients = partition(&rules::model(given), &[]);
    let mut edge = Edge::load(&Settings {
        // Every packet asks for its class.
        insert_limit: 0,
        ..Settings::default()
    });
    let row = Row::new(WEB.row.first(), clients.classes.len() as u32);
    edge.publish(&syn(), Service { row, ..WEB });
    for group in 0..=GROUPS as u16 {
        edge.set_target(group + 1, edge::target(group as u8));
        edge.set("SLOTS", group.into(), lb_common::Chunk([group + 1; 64]));
    }
    let route_of: BTreeMap<Route, u32> = (0..=GROUPS).map(|it| (route(it), it as u32)).collect();
    for (class, of_class) in clients.classes.iter().enumerate() {
        let group = route_of[of_class.routes.values().next().unwrap()];
        edge.set(
            "RINGS",
            row.first() + class as u32,
            Descriptor::new(group * 64, 64),
        );
    }
    edge.pin_maps(&maps.path().join("maps"));
    let mut kernel = Kernel::open(maps.path()).unwrap();
    let (buffer, table) = (1, Arc::new(ClassTable::of(&clients)));
    kernel
        .execute(&Change::WriteClients { buffer, table })
        .unwrap();
    kernel.execute(&Change::SelectClients { buffer }).unwrap();
    edge
}

#[test]
fn the_program_and_an_lpm_trie_agree_on_a_million_clients_of_100_000_prefixes() {
    let mut random = Random(1);
    let prefixes = random_prefixes(&mut random);
    let scratch = Scratch::new();
    let maps = BpfFs::mount(&scratch);
    let edge = edge(&prefixes, &maps);
    // The kernel's own longest match, on the prefixes as they stand in the rules.
    let mut trie: LpmTrie<MapData, Address, u32> = LpmTrie::create(1 << 17, NO_PREALLOC).unwrap();
    for (prefix, group) in &prefixes {
        let key = Key::new(96 + u32::from(prefix.length()), prefix.first().into());
        trie.insert(&key, *group as u32, 0).unwrap();
    }
    let all: Vec<&Prefix> = prefixes.keys().collect();
    for round in 0..1_000_000 {
        let client = match round % 2 {
            0 => Ipv4Addr::from_bits(random.draw() as u32),
            _ => near_the_end_of_one(&all, random.draw()),
        };
        let by_trie = trie.get(&Key::new(128, client.into()), 0).unwrap_or(0);
        let by_program = edge.backend(&syn().from((client.into(), 40_000)));
        assert_eq!(by_program.map(u32::from), Some(by_trie), "{client}");
    }
}

/// An address at the first or last one of a prefix, or next to it.
fn near_the_end_of_one(prefixes: &[&Prefix], random: u64) -> Ipv4Addr {
    let prefix = prefixes[(random >> 32) as usize % prefixes.len()];
    let end = if random & 4 == 0 {
        prefix.first()
    } else {
        prefix.last()
    };
    let IpAddr::V4(end) = end else {
        panic!("{prefix} is IPv6");
    };
    let beside = (random & 3) as u32;
    Ipv4Addr::from_bits(end.to_bits().wrapping_add(beside).wrapping_sub(1))
}
