use std::{
    array,
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use aya::maps::{
    Map, MapData, MapError,
    lpm_trie::{Key, LpmTrie},
};
use lb_common::{Address, LongNetwork, Place};

use super::{
    kernel::{failed, mapped, mapped_by, present},
    mapped::Mapped,
    pins::Pins,
};
use crate::{class, model::Prefix, refusal::Refusal, table::ClassTable};

/// The maps that say of which class a client is: two buffers for each family.
pub(super) struct Clients {
    /// All places of both buffers, four in a word.
    networks: Mapped<u64>,
    long: Mapped<LongNetwork>,
    prefixes: [LpmTrie<MapData, Address, u32>; 2],
}

/// The places in a word.
const IN_WORD: u32 = 4;

/// The words of one buffer.
const WORDS: u32 = (1 << 24) / IN_WORD;

const TRIES: [&str; 2] = ["CLIENTS_V6_0", "CLIENTS_V6_1"];

impl Clients {
    pub(super) fn open(pins: &Pins) -> Result<Self, Refusal> {
        let trie = |name| {
            let open = || LpmTrie::try_from(Map::from_map_data(pins.map(name)?)?);
            open().map_err(|e| failed(name, e))
        };
        Ok(Self {
            networks: mapped_by(pins, "CLIENTS_V4", Mapped::flat)?,
            long: mapped(pins, "CLIENTS_V4_LONG")?,
            prefixes: [trie(TRIES[0])?, trie(TRIES[1])?],
        })
    }

    /// Networks of 256 addresses that one buffer can tell apart.
    pub(super) fn long_networks(&self) -> u32 {
        self.long.len() / 2
    }

    /// What a buffer says.
    pub(super) fn read(&self, buffer: u32) -> Result<ClassTable, Refusal> {
        let mut v4 = vec![(0, 0)];
        let mut before = None;
        for (word, value) in (0..).zip(self.words(buffer, 0..WORDS)) {
            let value = value.load(Ordering::Acquire);
            // Mostly a run goes on.
            if before == Some(value) {
                continue;
            }
            let places = places_of(value);
            let is_one_class = places[0].resolve().is_ok() && places == [places[0]; 4];
            before = is_one_class.then_some(value);
            for (network, place) in (word * IN_WORD..).zip(places) {
                match place.resolve() {
                    Ok(class) => class::extend(&mut v4, (network << 8, class)),
                    Err(index) => self.read_long(buffer, network << 8, index, &mut v4),
                }
            }
        }
        let trie = &self.prefixes[buffer as usize % 2];
        let mut prefixes = Vec::new();
        for pair in trie.iter() {
            let (key, class) = pair.map_err(|e| failed(TRIES[buffer as usize % 2], e))?;
            // Read as it is, an IPv4-mapped address would be one of IPv4.
            let address = IpAddr::V6(Ipv6Addr::from_bits(bits(key.data())));
            let length = u8::try_from(key.prefix_len()).unwrap_or(u8::MAX);
            if let Some(prefix) = Prefix::around(address, length) {
                prefixes.push((prefix, class as usize));
            }
        }
        let v6 = class::runs(&prefixes).into_iter();
        let number = |(first, class)| (first, u16::try_from(class).unwrap_or_default());
        Ok(ClassTable::new(v4, v6.map(number).collect()))
    }

    /// Words of a buffer of networks.
    fn words(&self, buffer: u32, words: Range<u32>) -> &[AtomicU64] {
        let first = buffer * WORDS;
        self.networks.words(first + words.start..first + words.end)
    }

    fn read_long(&self, buffer: u32, first: u32, index: u16, v4: &mut Vec<(u32, u16)>) {
        let index = u32::from(index).min(self.long_networks() - 1);
        let LongNetwork(classes) = self.long.load(buffer * self.long_networks() + index);
        for (address, class) in (first..=first | 0xff).zip(classes) {
            class::extend(v4, (address, class));
        }
    }

    /// Makes a buffer say what `table` says; no packet looks at it. What it says already is left.
    pub(super) fn write(&mut self, buffer: u32, table: &ClassTable) -> Result<(), Refusal> {
        let first = buffer * self.long_networks();
        for (element, numbers) in (first..).zip(table.mixed_blocks().into_values()) {
            self.long.store(element, &LongNetwork(numbers));
        }
        let mut places = Places::new(table);
        let mut word = 0;
        while word < WORDS {
            let (value, end) = places.words(word);
            for place in self.words(buffer, word..end) {
                if place.load(Ordering::Acquire) != value {
                    place.store(value, Ordering::Release);
                }
            }
            word = end;
        }
        self.write_prefixes(buffer as usize % 2, table)
            .map_err(|e| failed(TRIES[buffer as usize % 2], e))
    }

    fn write_prefixes(&mut self, buffer: usize, table: &ClassTable) -> Result<(), MapError> {
        let key =
            |(first, length): (u128, u8)| Key::new(length.into(), Address::v6(first.to_be_bytes()));
        let trie = &mut self.prefixes[buffer];
        let mut wanted: BTreeMap<_, u32> = (table.prefixes().into_iter())
            .map(|(prefix, number)| (prefix, number.into()))
            .collect();
        let there = trie.iter().collect::<Result<Vec<_>, _>>()?;
        for (prefix, number) in there {
            let first = bits(prefix.data());
            let length = u8::try_from(prefix.prefix_len()).unwrap_or(u8::MAX);
            match wanted.get(&(first, length)) {
                Some(wanted_number) if *wanted_number == number => {
                    wanted.remove(&(first, length));
                }
                Some(_) => {}
                None => present(trie.remove(&prefix))?,
            }
        }
        for (prefix, number) in wanted {
            trie.insert(&key(prefix), number, 0)?;
        }
        Ok(())
    }
}

/// What a table says of networks, in ascending order.
struct Places<'a> {
    runs: &'a [(u32, u16)],
    class: u16,
    long: u16,
}

impl<'a> Places<'a> {
    fn new(table: &'a ClassTable) -> Self {
        Self {
            runs: table.v4(),
            class: 0,
            long: 0,
        }
    }

    /// What the words from the next one on say, and before which word that ends.
    fn words(&mut self, word: u32) -> (u64, u32) {
        let next_run = self.runs.first().map_or(WORDS, |(first, _)| first >> 10);
        let (places, end) = if next_run > word {
            ([Place::class(self.class); IN_WORD as usize], next_run)
        } else {
            let network = |i| self.network(word * IN_WORD + i as u32);
            (array::from_fn(network), word + 1)
        };
        let [a, b, c, d] = places.map(|place| place.0.to_ne_bytes());
        let value = u64::from_ne_bytes([a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]);
        (value, end)
    }

    fn network(&mut self, network: u32) -> Place {
        let (first, last) = (network << 8, network << 8 | 0xff);
        let mut is_mixed = false;
        while let Some(((start, class), rest)) = self.runs.split_first()
            && *start <= last
        {
            is_mixed |= *start > first;
            (self.class, self.runs) = (*class, rest);
        }
        if is_mixed {
            self.long += 1;
            return Place::long(self.long - 1);
        }
        Place::class(self.class)
    }
}

fn places_of(word: u64) -> [Place; IN_WORD as usize] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [[a, b], [c, d], [e, f], [g, h]].map(|bytes| Place(u16::from_ne_bytes(bytes)))
}

fn bits(address: Address) -> u128 {
    u128::from_be_bytes(address.octets())
}
