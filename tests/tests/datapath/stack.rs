//! How much of the stack the program takes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lb_userspace::dataplane::object::OBJECT;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SymbolKind};

/// What all functions that are at work at once have together.
const STACK: u64 = 512;

/// What kernels round the frame of a function up to; late ones take half of that.
const ROUNDED_TO: u64 = 32;

const INSTRUCTION: usize = 8;
const CALL: u8 = 0x85;
const MOVE: u8 = 0xbf;
const ADD: u8 = 0x07;

/// The register that points to the end of the frame.
const FRAME: u8 = 10;

/// A function: bytes of its frame, and the functions that it calls.
#[derive(Default)]
struct Function {
    frame: u64,
    calls: BTreeSet<String>,
}

impl Function {
    /// Takes an instruction in, where register `copy` is the end of the frame as well.
    fn add(&mut self, code: &[u8], copy: &mut Option<u8>) {
        let (destination, source) = (code[1] & 15, code[1] >> 4);
        let offset = i64::from(i16::from_le_bytes([code[2], code[3]]));
        let deepest = match code[0] & 7 {
            1 if source == FRAME => offset,
            2 | 3 if destination == FRAME => offset,
            7 if code[0] == ADD && *copy == Some(destination) => number(code),
            _ => 0,
        };
        self.frame = self.frame.max(deepest.min(0).unsigned_abs());
        *copy = (code[0] == MOVE && source == FRAME).then_some(destination);
    }
}

/// The number that an instruction carries.
fn number(code: &[u8]) -> i64 {
    i32::from_le_bytes([code[4], code[5], code[6], code[7]]).into()
}

/// The functions of the object, by name.
fn functions() -> BTreeMap<String, Function> {
    let file = object::File::parse(OBJECT).expect("the object is one");
    let names: HashMap<_, _> = file
        .symbols()
        .filter(|it| it.kind() == SymbolKind::Text)
        .map(|it| {
            (
                (it.section_index(), it.address()),
                it.name().expect("a name"),
            )
        })
        .collect();
    let mut functions = BTreeMap::new();
    for symbol in file.symbols().filter(|it| it.kind() == SymbolKind::Text) {
        let index = symbol.section_index().expect("functions are in sections");
        let section = file.section_by_index(index).expect("it is there");
        let code = section.data().expect("it can be read");
        let relocations: BTreeMap<_, _> = section.relocations().collect();
        let mut function = Function::default();
        let mut copy = None;
        let start = symbol.address() as usize;
        for at in (start..start + symbol.size() as usize).step_by(INSTRUCTION) {
            let code = &code[at..at + INSTRUCTION];
            function.add(code, &mut copy);
            if code[0] != CALL || code[1] >> 4 != 1 {
                continue;
            }
            let there = (number(code) + 1) * INSTRUCTION as i64;
            let called = match relocations.get(&(at as u64)).map(|it| it.target()) {
                // To a function by its name, or into a section.
                Some(RelocationTarget::Symbol(called)) => {
                    let called = file.symbol_by_index(called).expect("it is there");
                    match called.kind() {
                        SymbolKind::Section => (called.section_index(), there as u64),
                        _ => (called.section_index(), called.address()),
                    }
                }
                _ => (Some(index), (at as i64 + there) as u64),
            };
            function.calls.insert(names[&called].to_owned());
        }
        functions.insert(symbol.name().expect("a name").to_owned(), function);
    }
    functions
}

/// The most that a function and those that it calls take, and which ones they are.
fn deepest(functions: &BTreeMap<String, Function>, name: &str) -> (u64, Vec<String>) {
    let function = &functions[name];
    let below = function
        .calls
        .iter()
        .map(|called| deepest(functions, called));
    let (bytes, mut names) = below.max().unwrap_or_default();
    names.insert(0, name.to_owned());
    let frame = function.frame.max(1).next_multiple_of(ROUNDED_TO);
    (frame + bytes, names)
}

#[test]
fn the_program_has_stack_enough_on_kernels_that_round_frames_up_further() {
    let functions = functions();
    let (bytes, names) = deepest(&functions, "waggle");
    assert!(names.len() > 1, "{names:?}");
    assert!(bytes <= STACK, "{bytes} bytes: {names:?}");
    let frames: u64 = functions.values().map(|it| it.frame).sum();
    assert!(frames > 2_000, "{frames}");
}
