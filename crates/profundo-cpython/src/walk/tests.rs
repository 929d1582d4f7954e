//! Chains in a memory that is written by hand: those that a running interpreter shows seldom, and
//! those of a version that is not at hand.

use std::collections::HashMap;
use std::vec::Vec;

use super::*;

const TYPE: u64 = 0xC0DE;
const STATE: u64 = 0x1000;
/// The beginnings of the data stack, the C stack and generators.
const DATA: u64 = 0x10_0000;
const C_STACK: u64 = 0x7000_0000;
const GENERATOR: u64 = 0x20_0000;
/// Words that a frame takes on the data stack.
const WORDS: u64 = 12;

struct Fake {
    layout: Layout,
    words: HashMap<u64, u64>,
    codes: u64,
}

impl Memory for Fake {
    fn word(&mut self, address: u64) -> Option<u64> {
        self.words.get(&address).copied()
    }

    fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

impl Fake {
    fn new(minor: u8) -> Self {
        Self {
            layout: *Layout::of(minor).unwrap(),
            words: HashMap::new(),
            codes: 0x30_0000,
        }
    }

    fn put(&mut self, address: u64, value: u64) {
        self.words.insert(address, value);
    }

    fn put_byte(&mut self, address: u64, value: u8) {
        let shift = (address & 7) * 8;
        let word = self.words.entry(address & !7).or_default();
        *word = *word & !(0xFF << shift) | u64::from(value) << shift;
    }

    fn put_half(&mut self, address: u64, value: u32) {
        let shift = (address & 4) * 8;
        let word = self.words.entry(address & !7).or_default();
        *word = *word & !(0xFFFF_FFFF << shift) | u64::from(value) << shift;
    }

    /// A code object of 8 instructions.
    fn code(&mut self) -> u64 {
        self.codes += 0x1000;
        let (code, layout) = (self.codes, self.layout);
        for offset in (0..512).step_by(8) {
            self.put(code + offset, 0);
        }
        self.put(code + 8, TYPE);
        self.put(code + 16, 8);
        self.put(at(code, layout.code.name), 0x40_0000);
        self.put(at(code, layout.code.lines), 0x50_0000);
        self.put_half(at(code, layout.code.frame_size), WORDS as u32);
        self.put_half(at(code, layout.code.instructions) - 16, 1);
        code
    }

    /// A frame at its third instruction.
    fn frame(&mut self, address: u64, previous: u64, owner: u8) -> u64 {
        let code = self.code();
        let layout = self.layout;
        for offset in (0..WORDS * 8).step_by(8) {
            self.put(address + offset, 0);
        }
        self.put(at(address, layout.frame.previous), previous);
        // As 3.14 keeps a reference that it does not count.
        let tag = u64::from(layout.minor >= 14);
        self.put(at(address, layout.frame.code), code | tag);
        let instruction = at(code, layout.code.instructions) + 4;
        self.put(at(address, layout.frame.instruction), instruction);
        self.put_byte(at(address, layout.frame.owner), owner);
        address
    }

    fn shim(&mut self, address: u64, previous: u64, owner: u8) -> u64 {
        self.put(at(address, self.layout.frame.previous), previous);
        self.put_byte(at(address, self.layout.frame.owner), owner);
        self.put(at(address, self.layout.frame.code), 0x9999);
        address
    }

    /// The leaf, where the thread state keeps it.
    fn leaf(&mut self, leaf: u64) {
        match self.layout.chain {
            Chain::FrameObjects { frame, .. } | Chain::Direct { frame } => {
                self.put(at(STATE, frame), leaf);
            }
            Chain::Marked { record, frame, .. } | Chain::Shims { record, frame, .. } => {
                self.put(at(STATE, record), C_STACK + 0x800);
                self.put(at(C_STACK + 0x800, frame), leaf);
            }
        }
    }

    /// Frames as their addresses, boundaries as `0` followed by the place.
    fn walk(&mut self, registers: &[u64]) -> (Vec<u64>, End) {
        let layout = self.layout;
        let start = Start {
            state: STATE,
            code_type: TYPE,
            registers,
            ..Start::default()
        };
        let mut seen = Vec::new();
        let end = walk(&layout, self, start, |_, step| {
            match step {
                Step::Frame(frame) => {
                    assert_eq!(frame.offset, 4);
                    seen.push(frame.address);
                }
                Step::Entry { stack } => seen.extend([0, stack.unwrap()]),
            }
            ControlFlow::Continue(())
        });
        (seen, end)
    }
}

/// The third frame from the root on the data stack, and so on.
fn nth(index: u64) -> u64 {
    DATA + index * WORDS * 8
}

#[test]
fn pointers_of_3_14_are_tagged_and_its_first_frame_is_none() {
    let mut fake = Fake::new(14);
    // A sentinel, the module, a C function, a function that it called, and one more.
    let base = fake.shim(STATE + 0x400, 0, 4);
    let first = fake.shim(C_STACK + 0x200, base, 3);
    fake.frame(nth(0), first, 0);
    let second = fake.shim(C_STACK + 0x100, nth(0), 3);
    fake.frame(nth(1), second, 0);
    fake.frame(nth(2), nth(1), 0);
    fake.leaf(nth(2));
    let expected = [
        nth(2),
        nth(1),
        0,
        C_STACK + 0x100,
        nth(0),
        0,
        C_STACK + 0x200,
    ];
    assert_eq!(fake.walk(&[]), (expected.to_vec(), End::Whole));
}

#[test]
fn a_loop_that_has_no_frame_yet_is_no_boundary() {
    let mut fake = Fake::new(13);
    let first = fake.shim(C_STACK + 0x200, 0, 3);
    fake.frame(nth(0), first, 0);
    let entering = fake.shim(C_STACK + 0x100, nth(0), 3);
    fake.leaf(entering);
    let expected = [nth(0), 0, C_STACK + 0x200];
    assert_eq!(fake.walk(&[]), (expected.to_vec(), End::Whole));
}

#[test]
fn a_thread_without_frames_is_whole() {
    let mut fake = Fake::new(13);
    fake.leaf(0);
    assert_eq!(fake.walk(&[]), (Vec::new(), End::Whole));
}

#[test]
fn a_chain_that_ends_in_the_middle_is_broken() {
    let mut fake = Fake::new(12);
    fake.frame(nth(0), 0, 0);
    fake.frame(nth(1), nth(0), 0);
    fake.leaf(nth(1));
    assert_eq!(fake.walk(&[]).1, End::Broken);
    // Unreadable, and not a multiple of eight.
    for wrong in [0x123_4560, nth(0) + 4] {
        fake.frame(nth(1), wrong, 0);
        assert_eq!(fake.walk(&[]).1, End::Broken);
    }
}

#[test]
fn a_chain_that_bites_its_tail_ends() {
    for length in [1, 2, 3, 7, 100] {
        let mut fake = Fake::new(13);
        for index in 0..length {
            fake.frame(nth(index), nth((index + 1) % length), 1);
        }
        fake.leaf(nth(0));
        let (seen, end) = fake.walk(&[]);
        assert_eq!(end, End::Broken);
        assert!(seen.len() as u64 <= length * 4, "{length}: {}", seen.len());
    }
}

#[test]
fn what_has_no_code_object_is_no_frame() {
    let mut fake = Fake::new(13);
    let first = fake.shim(C_STACK + 0x200, 0, 3);
    fake.frame(nth(0), first, 0);
    fake.leaf(nth(0));
    assert_eq!(fake.walk(&[]).1, End::Whole);
    let code = fake.words[&at(nth(0), fake.layout.frame.code)];
    fake.put(code + 8, TYPE + 1);
    assert_eq!(fake.walk(&[]).1, End::Broken);
    fake.put(code + 8, TYPE);
    // Behind its last instruction.
    let instruction = at(code, fake.layout.code.instructions) + 16;
    fake.put(at(nth(0), fake.layout.frame.instruction), instruction);
    assert_eq!(fake.walk(&[]).1, End::Broken);
}

#[test]
fn code_of_the_interpreters_own_is_left_out() {
    let mut fake = Fake::new(13);
    let first = fake.shim(C_STACK + 0x200, 0, 3);
    fake.frame(nth(0), first, 0);
    fake.frame(nth(1), nth(0), 0);
    fake.frame(nth(2), nth(1), 0);
    let code = fake.words[&at(nth(1), fake.layout.frame.code)];
    fake.put_half(at(code, fake.layout.code.instructions) - 16, 8);
    fake.leaf(nth(2));
    let expected = [nth(2), nth(0), 0, C_STACK + 0x200];
    assert_eq!(fake.walk(&[]), (expected.to_vec(), End::Whole));
}

#[test]
fn a_generator_that_is_not_linked_yet_is_left_out() {
    let mut fake = Fake::new(12);
    let first = fake.shim(C_STACK + 0x200, 0, 3);
    fake.frame(nth(0), first, 0);
    fake.frame(GENERATOR, 0, 1);
    fake.leaf(GENERATOR);
    assert_eq!(fake.walk(&[1, 0x5555, C_STACK]).1, End::Broken);
    let expected = [nth(0), 0, C_STACK + 0x200];
    let found = fake.walk(&[1, GENERATOR, nth(0), 0x5555, nth(0)]);
    assert_eq!(found, (expected.to_vec(), End::Whole));
}

#[test]
fn a_caller_right_below_the_leaf_is_believed_rather_than_what_the_leaf_says() {
    let mut fake = Fake::new(12);
    let first = fake.shim(C_STACK + 0x200, 0, 3);
    fake.frame(nth(0), first, 0);
    fake.frame(nth(1), nth(0), 0);
    // Not linked yet: its link is old memory.
    fake.frame(nth(2), nth(0), 0);
    fake.leaf(nth(2));
    let expected = [nth(2), nth(1), nth(0), 0, C_STACK + 0x200];
    assert_eq!(fake.walk(&[nth(1)]), (expected.to_vec(), End::Whole));
}

#[test]
fn a_frame_below_is_not_the_caller_if_a_generator_is() {
    let mut fake = Fake::new(13);
    let first = fake.shim(C_STACK + 0x200, 0, 3);
    fake.frame(nth(0), first, 0);
    fake.frame(GENERATOR, nth(0), 1);
    fake.frame(nth(1), GENERATOR, 0);
    fake.leaf(nth(1));
    let expected = [nth(1), GENERATOR, nth(0), 0, C_STACK + 0x200];
    let found = fake.walk(&[nth(0), GENERATOR]);
    assert_eq!(found, (expected.to_vec(), End::Whole));
}

#[test]
fn a_record_that_is_not_filled_in_is_passed_over() {
    let mut fake = Fake::new(12);
    let Chain::Shims {
        record,
        frame,
        previous,
    } = fake.layout.chain
    else {
        panic!();
    };
    let (new, old, root) = (C_STACK + 0x80, C_STACK + 0x400, STATE + 0x100);
    let first = fake.shim(C_STACK + 0x500, 0, 3);
    fake.frame(nth(0), first, 0);
    fake.put(at(STATE, record), new);
    // The old link leads to frames that are gone.
    fake.frame(nth(3), nth(0), 0);
    fake.put(at(new, frame), nth(3));
    fake.put(at(new, previous), 0x7777);
    fake.put(at(old, frame), nth(0));
    fake.put(at(old, previous), root);
    fake.put(at(root, frame), 0);
    fake.put(at(root, previous), 0);
    let layout = fake.layout;
    let registers = [3, nth(3), old, C_STACK + 0x81];
    let start = Start {
        state: STATE,
        code_type: TYPE,
        entering: Some(C_STACK),
        registers: &registers,
        ..Start::default()
    };
    let mut seen = Vec::new();
    let end = walk(&layout, &mut fake, start, |_, step| {
        if let Step::Frame(frame) = step {
            seen.push(frame.address);
        }
        ControlFlow::Continue(())
    });
    assert_eq!((seen, end), (std::vec![nth(0)], End::Whole));
}

/// Notes whether an address was doubted when it was first read.
struct Doubting {
    fake: Fake,
    is_doubtful: bool,
    read: HashMap<u64, bool>,
}

impl Memory for Doubting {
    fn word(&mut self, address: u64) -> Option<u64> {
        self.read.entry(address).or_insert(self.is_doubtful);
        self.fake.word(address)
    }

    fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }

    fn doubt(&mut self, doubtful: bool) {
        self.is_doubtful = doubtful;
    }
}

#[test]
fn outside_of_the_loop_the_leaf_may_lie_in_memory_that_was_given_back() {
    let mut fake = Fake::new(13);
    let Chain::Direct { frame } = fake.layout.chain else {
        panic!();
    };
    let shim = fake.shim(C_STACK + 0x500, 0, 3);
    fake.frame(nth(0), shim, 0);
    fake.frame(nth(1), nth(0), 0);
    fake.put(at(STATE, frame), nth(1));
    let layout = fake.layout;
    for is_settled in [false, true] {
        let start = Start {
            state: STATE,
            code_type: TYPE,
            is_settled,
            ..Start::default()
        };
        let mut memory = Doubting {
            fake: Fake {
                words: fake.words.clone(),
                ..Fake::new(13)
            },
            is_doubtful: false,
            read: HashMap::new(),
        };
        walk(
            &layout,
            &mut memory,
            start,
            |_, _| ControlFlow::Continue(()),
        );
        let was_doubted = |of| memory.read[&at(of, layout.frame.previous)];
        assert_eq!(was_doubted(nth(1)), is_settled);
        assert!(!was_doubted(nth(0)) && !memory.is_doubtful);
    }
}
