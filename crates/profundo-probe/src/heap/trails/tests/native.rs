//! Native stacks.

use profundo_unwind::{
    Arrival, Cfa, End, Fp, General, Memory, Module, Modules, Observer, Regs, Row, Rule, TableRef,
    walk_observed,
};

use super::*;
use crate::heap::{ReadLog, Sharing};

const BASE: u64 = 0x40_0000;
/// The length of a function. Its kind is its number.
const SIZE: u64 = 0x20;
const KINDS: usize = 4;
const WORDS: usize = 1 << 11;

fn rows() -> [Row; KINDS + 2] {
    let row = |kind, rule| Row::new(kind * SIZE as u32, rule);
    [
        // A word besides the return address.
        row(0, Rule::sp(16)),
        // With a frame pointer.
        row(1, Rule::fp()),
        // The frame pointer's register is used for something else.
        row(
            2,
            Rule {
                fp: Fp::AtCfa(-16),
                ..Rule::sp(24)
            },
        ),
        // The stack was aligned.
        row(3, Rule::of(Cfa::SpDeref { offset: 0, add: 8 })),
        row(4, Rule::ROOT),
        row(5, Rule::NONE),
    ]
}

/// Reads the stack, and notes the reads.
struct Own<'a>(Option<&'a ReadLog>);

impl Memory for Own<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        // SAFETY: the stacks of these tests are whole.
        let word = unsafe { (address as *const u64).read_volatile() };
        if let Some(log) = self.0 {
            log.note(address, word);
        }
        Some(word)
    }

    fn read_frame_pointer(&mut self, address: u64) -> Option<u64> {
        // SAFETY: as above.
        let word = unsafe { (address as *const u64).read_volatile() };
        if let Some(log) = self.0 {
            log.set_frame_pointer(address, word);
        }
        Some(word)
    }

    fn uses_frame_pointer(&mut self) {
        if let Some(log) = self.0 {
            log.uses_frame_pointer();
        }
    }
}

/// Counts the walked frames, and checks their places.
#[derive(Default)]
struct Seen {
    frames: Vec<(usize, u64, u64, u64)>,
    walked: usize,
}

impl Observer for Seen {
    fn frame(&mut self, index: usize, address: u64, sp: u64, cfa: u64) {
        self.frames.push((index, address, sp, cfa));
    }

    fn arrive(&mut self, _: usize, _: &Arrival, _: &mut [u64]) -> Option<usize> {
        self.walked += 1;
        None
    }
}

/// A stack, and its frames.
struct Stack {
    words: Box<[u64]>,
    registers: Regs,
    /// For each called function: its kind, the place of its return address, and its caller's frame
    /// pointer.
    calls: Vec<(usize, usize, u64)>,
}

impl Stack {
    fn new() -> Self {
        let mut words = std::vec![0_u64; WORDS].into_boxed_slice();
        let end = &raw mut words[WORDS - 8] as u64;
        Self {
            words,
            registers: Regs {
                ip: BASE + 4 * SIZE + 1,
                sp: end,
                fp: 0,
            },
            calls: Vec::new(),
        }
    }

    fn at(&self, address: u64) -> usize {
        ((address - self.words.as_ptr() as u64) / 8) as usize
    }

    fn push(&mut self, word: u64) {
        self.registers.sp -= 8;
        let at = self.at(self.registers.sp);
        self.words[at] = std::hint::black_box(word);
    }

    /// The running function calls another one, which saves its registers.
    fn call(&mut self, kind: usize, random: &mut Random) {
        let fp = self.registers.fp;
        self.push(self.registers.ip);
        let at = self.at(self.registers.sp);
        match kind {
            0 => self.push(random.below(3) as u64),
            1 => {
                self.push(fp);
                self.registers.fp = self.registers.sp;
                // Any number: the stack pointer says nothing about the frame pointer.
                for _ in 0..random.below(4) {
                    self.push(random.below(3) as u64);
                }
            }
            2 => {
                self.push(fp);
                self.registers.fp = random.below(3) as u64;
                self.push(random.below(3) as u64);
            }
            _ => self.push(self.registers.sp),
        }
        self.calls.push((kind, at, fp));
        self.registers.ip = BASE + kind as u64 * SIZE + 1 + random.below(3) as u64;
    }

    fn leave(&mut self) {
        let Some((_, at, fp)) = self.calls.pop() else {
            return;
        };
        self.registers = Regs {
            ip: self.words[at],
            sp: &raw const self.words[at] as u64 + 8,
            fp,
        };
    }

    /// Changes the stack as if one of the functions had made its call elsewhere, and all its
    /// callees had the same places again.
    fn change_one(&mut self, random: &mut Random) {
        let Some(&(_, at, _)) = self.calls.get(random.below(self.calls.len().max(1))) else {
            return;
        };
        let ip = self.words[at];
        let kind = (ip - BASE) / SIZE;
        self.words[at] = std::hint::black_box(BASE + kind * SIZE + 1 + random.below(3) as u64);
    }

    fn walk(&self, sharing: Option<&Known>, seen: &mut Seen) -> Vec<u64> {
        let rows = rows();
        let table = TableRef {
            base: BASE,
            rows: &rows,
            index: &[0, rows.len() as u32],
        };
        let (start, end) = (BASE, BASE + (KINDS as u64 + 1) * SIZE);
        let modules = [Module { start, end, table }];
        let trails = sharing.map(|known| (&known.trails, &known.log));
        if let Some((trails, _)) = trails {
            trails.begin_native(1);
        }
        let mut observer = Sharing {
            inner: seen,
            trails,
        };
        let mut out = [0; 256];
        let (depth, end) = walk_observed(
            self.registers,
            &General([0; 16]),
            &Modules::new(&modules),
            None,
            &mut Own(sharing.map(|known| &known.log)),
            &mut out,
            &mut observer,
        );
        assert_eq!(end, End::Root);
        out[..depth].to_vec()
    }

    /// Allocates a block; returns the number of frames walked for it.
    fn count(&self, thread: &mut Thread) -> usize {
        let mut plain = Seen::default();
        let whole = self.walk(None, &mut plain);
        let Regs { ip, sp, fp } = self.registers;
        let beginning = Beginning {
            registers: [ip, sp],
            ..Beginning::default()
        };
        let besides = Besides {
            frame_pointer: fp,
            general: 0,
        };
        let mut shared = Seen::default();
        // SAFETY: the stack is there.
        unsafe {
            thread.count((beginning, besides), whole, |known| {
                let found = self.walk(Some(known), &mut shared);
                assert_eq!(shared.frames, plain.frames);
                found
            });
        }
        known_frames(thread, shared)
    }
}

/// The number of frames that had to be walked.
fn known_frames(thread: &Thread, seen: Seen) -> usize {
    let rest = thread.known.trails.native_rest().count();
    seen.frames.len() + 1 - rest.min(seen.frames.len() + 1)
}

#[test]
fn walks_find_the_same_with_what_is_known() {
    for seed in 1..40 {
        let mut random = Random(seed * 0x9E37_79B9);
        let mut thread = Thread::new();
        let mut stack = Stack::new();
        let (mut frames, mut walked) = (0, 0);
        for _ in 0..3000 {
            match random.below(8) {
                0..3 if stack.calls.len() < 60 => {
                    // Mostly there are no frames of other kinds.
                    let kind = random.below(12) % (KINDS - 1 + usize::from(seed % 2 == 0));
                    stack.call(kind, &mut random);
                }
                3..5 => stack.leave(),
                5 => stack.change_one(&mut random),
                _ => {}
            }
            let before = thread.walked;
            let new = stack.count(&mut thread);
            if thread.walked > before {
                frames += stack.calls.len() + 1;
                walked += new;
            }
        }
        assert!(thread.met > 300, "{} of 3000", thread.met);
        if seed % 2 == 1 {
            assert!(walked * 3 < frames, "{walked} of {frames}");
        }
    }
}

#[test]
fn a_return_address_in_the_middle_makes_another_stack() {
    let mut random = Random(7);
    for kind in 0..3 {
        let mut thread = Thread::new();
        let mut stack = Stack::new();
        for _ in 0..20 {
            stack.call(kind, &mut random);
        }
        stack.count(&mut thread);
        let (_, at, _) = stack.calls[10];
        for _ in 0..41 {
            stack.words[at] = std::hint::black_box(stack.words[at] ^ 8);
            stack.count(&mut thread);
        }
        // The frames beyond it are taken over the first time. Then both stacks are known again, in
        // the end by their words in a row.
        assert_eq!((thread.walked, thread.met, thread.sites.len()), (2, 40, 2));
    }
}

#[test]
fn a_frame_pointer_that_the_innermost_frame_has_saved_makes_another_stack() {
    let mut random = Random(7);
    let mut thread = Thread::new();
    let mut stack = Stack::new();
    for kind in [0, 1, 1, 2] {
        stack.call(kind, &mut random);
    }
    stack.count(&mut thread);
    // The caller's frame goes up to that of its own caller, and the return address that was there
    // still is.
    let [_, (_, further, _), _, (_, innermost, _)] = stack.calls[..] else {
        panic!("there are four");
    };
    stack.words[innermost - 1] = &raw const stack.words[further - 1] as u64;
    stack.count(&mut thread);
    assert_eq!((thread.walked, thread.met, thread.sites.len()), (2, 0, 2));
}

#[test]
fn a_new_frame_is_walked_alone() {
    let mut random = Random(7);
    let mut thread = Thread::new();
    let mut stack = Stack::new();
    for _ in 0..50 {
        stack.call(1, &mut random);
    }
    assert_eq!(stack.count(&mut thread), 51);
    stack.call(0, &mut random);
    // The innermost one is never taken over, and the frame that it was called from has gone on.
    assert!(stack.count(&mut thread) <= 2);
}
