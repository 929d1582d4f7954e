//! The interpreter's stacks.

use core::ops::ControlFlow;

use profundo_cpython::{Arrival, Chain, CodeKey, End, Layout, Memory, Start, Step, code_key, walk};

use super::*;
use crate::heap::{ReadLog, Trails};

const TYPE: u64 = 0xC0DE;
/// The words of a frame and of a code object, and their numbers.
const FRAME: usize = 16;
const CODE: usize = 64;
const FRAMES: usize = 60;
const CODES: usize = 6;

/// The numbers of code objects.
type Numbers = HashMap<CodeKey, u64>;

/// An interpreter's memory: a thread's state, its frames, records on its C stack, code objects and
/// line tables.
struct Interpreter {
    layout: &'static Layout,
    words: Box<[u64]>,
    /// For each frame, whether it is the first of its run.
    frames: Vec<bool>,
    numbers: Numbers,
}

const STATE: usize = 0;
const RECORDS: usize = 64;
const DATA: usize = RECORDS + FRAMES * 16;
const OBJECTS: usize = DATA + FRAMES * FRAME;
const TABLES: usize = OBJECTS + CODES * CODE;
const ALL: usize = TABLES + CODES * 8;

/// Reads it, and takes over known frames.
struct Own<'a>(Option<(&'a Trails, &'a ReadLog)>, bool);

impl Memory for Own<'_> {
    fn word(&mut self, address: u64) -> Option<u64> {
        // SAFETY: it is one of the words of the test.
        let word = unsafe { (address as *const u64).read_volatile() };
        match self.0 {
            Some((trails, log)) if self.1 => trails.note_code(address, word, log),
            Some((_, log)) => log.note(address, word),
            None => {}
        }
        Some(word)
    }

    fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }

    fn implied(&mut self, implied: bool) {
        if let Some((_, log)) = self.0 {
            log.set_implied(implied);
        }
    }

    fn of_code(&mut self, of_code: bool) {
        self.1 = of_code;
    }

    fn arrive(&mut self, arrival: Arrival) -> bool {
        // SAFETY: the words are there.
        (self.0).is_some_and(|(trails, log)| unsafe { trails.arrive_python(arrival, log) })
    }
}

impl Interpreter {
    fn new(minor: u8) -> Self {
        let mut new = Self {
            layout: Layout::of(minor).unwrap(),
            words: std::vec![0; ALL].into_boxed_slice(),
            frames: Vec::new(),
            numbers: Numbers::new(),
        };
        for code in 0..CODES {
            let at = OBJECTS + CODE * code;
            new.put(at, 8, TYPE);
            new.put(at, 16, 8);
            new.put(at, new.layout.code.name, 0x4_0000);
            new.put(at, new.layout.code.lines, new.address(TABLES + 8 * code));
            new.put_half(at, new.layout.code.first_line, 10 * code as u32);
            new.put_half(at, new.layout.code.instructions - 16, 1);
        }
        new
    }

    fn address(&self, at: usize) -> u64 {
        self.words.as_ptr() as u64 + 8 * at as u64
    }

    fn put(&mut self, at: usize, offset: u16, value: u64) {
        self.words[at + usize::from(offset) / 8] = std::hint::black_box(value);
    }

    fn put_half(&mut self, at: usize, offset: u16, value: u32) {
        let word = &mut self.words[at + usize::from(offset) / 8];
        let shift = u32::from(offset & 4) * 8;
        *word = *word & !(0xFFFF_FFFF << shift) | u64::from(value) << shift;
    }

    fn put_byte(&mut self, at: usize, offset: u16, value: u8) {
        let word = &mut self.words[at + usize::from(offset) / 8];
        let shift = u32::from(offset & 7) * 8;
        *word = *word & !(0xFF << shift) | u64::from(value) << shift;
    }

    fn set_instruction(&mut self, frame: usize, unit: u64) {
        let at = DATA + FRAME * frame;
        let code = self.words[at + usize::from(self.layout.frame.code) / 8];
        let instruction = code + u64::from(self.layout.code.instructions) + 2 * unit;
        self.put(at, self.layout.frame.instruction, instruction);
    }

    fn call(&mut self, code: usize, is_first: bool) {
        let number = self.frames.len();
        let at = DATA + FRAME * number;
        let caller = match number {
            0 => 0,
            _ => self.address(at - FRAME),
        };
        for word in &mut self.words[at..at + FRAME] {
            *word = 0;
        }
        self.put(
            at,
            self.layout.frame.code,
            self.address(OBJECTS + CODE * code),
        );
        let is_first = is_first || number == 0;
        self.frames.push(is_first);
        let mut previous = caller;
        match self.layout.chain {
            Chain::Marked { is_entry, .. } => self.put_byte(at, is_entry, u8::from(is_first)),
            _ if is_first => {
                // A frame without code, on the C stack.
                let shim = RECORDS + 16 * number;
                self.put_byte(shim, self.layout.frame.owner, 3);
                self.put(shim, self.layout.frame.previous, caller);
                previous = self.address(shim);
            }
            _ => {}
        }
        self.put(at, self.layout.frame.previous, previous);
        self.set_instruction(number, 2);
    }

    /// Writes the frames' address into the state.
    fn link(&mut self) {
        let top = match self.frames.len() {
            0 => 0,
            number => self.address(DATA + FRAME * (number - 1)),
        };
        match self.layout.chain {
            Chain::Shims { record, frame, .. } => {
                let place = RECORDS - 16;
                self.put(STATE, record, self.address(place));
                self.put(place, frame, top);
            }
            Chain::Marked {
                record,
                frame,
                previous,
                ..
            } => {
                // One for each run, of which only the newest has the address of its frames, and one
                // of the thread's own.
                let mut last = self.address(RECORDS - 16);
                self.put(RECORDS - 16, frame, top);
                for number in 0..self.frames.len() {
                    if self.frames[number] {
                        let place = RECORDS + 16 * number;
                        self.put(place, previous, last);
                        last = self.address(place);
                        self.put(place, frame, top);
                    }
                }
                self.put(STATE, record, last);
            }
            _ => unreachable!(),
        }
    }

    fn walk(&mut self, known: Option<&Known>) -> Vec<u64> {
        let shared = known.map(|known| (&known.trails, &known.log));
        if let Some((trails, _)) = shared {
            trails.begin_python(1);
        }
        let start = Start {
            state: self.address(STATE),
            code_type: TYPE,
            is_settled: true,
            is_calling: true,
            ..Start::default()
        };
        let (layout, numbers) = (self.layout, &mut self.numbers);
        let mut found = Vec::new();
        let end = walk(layout, &mut Own(shared, false), start, |memory, step| {
            match step {
                Step::Frame(frame) => {
                    memory.of_code(true);
                    let key = code_key(layout, memory, frame.code).unwrap();
                    memory.of_code(false);
                    let next = numbers.len() as u64 + 1;
                    let number = *numbers.entry(key).or_insert(next);
                    let word = number << 32 | frame.offset as u64;
                    found.push(word);
                    if let Some((trails, _)) = shared {
                        trails.meet_frame(word, frame.code, frame.flags);
                    }
                }
                Step::Entry { stack } => {
                    let word = 1 << 63 | stack.unwrap_or(0);
                    found.push(word);
                    if let Some((trails, _)) = shared {
                        trails.meet_entry(word);
                    }
                }
            }
            ControlFlow::Continue(())
        });
        if let Some((trails, log)) = shared {
            trails.end_python(true, log);
            if end == End::Known {
                found.extend(
                    trails
                        .python_rest()
                        .flat_map(|met| met.words().collect::<Vec<_>>()),
                );
                return found;
            }
        }
        assert_eq!(end, End::Whole);
        found
    }

    fn count(&mut self, thread: &mut Thread) {
        self.link();
        let whole = self.walk(None);
        let beginning = Beginning {
            state: self.address(STATE),
            ..Beginning::default()
        };
        // SAFETY: the words are there.
        unsafe {
            thread.count((beginning, Besides::default()), whole, |known| {
                self.walk(Some(known))
            });
        }
    }
}

#[test]
fn walks_find_the_same_with_what_is_known() {
    for (seed, minor) in (1..30).flat_map(|seed| [(seed, 11), (seed, 12)]) {
        let mut random = Random(seed * 0x9E37_79B9);
        let mut thread = Thread::new();
        let mut python = Interpreter::new(minor);
        for _ in 0..3000 {
            let depth = python.frames.len();
            match random.below(16) {
                0..6 if depth < FRAMES => {
                    python.call(random.below(CODES), random.below(4) == 0);
                }
                6..11 => drop(python.frames.pop()),
                11..14 if depth > 0 => {
                    // Mostly the innermost frame goes on; now and then it is as if another one had,
                    // and all behind it had the same places again.
                    let back = [0, random.below(depth)][random.below(2)];
                    let unit = 2 + random.below(3) as u64;
                    python.set_instruction(depth - 1 - back, unit);
                }
                14 if random.below(8) == 0 => {
                    // There is another code object at the same place.
                    let code = OBJECTS + CODE * random.below(CODES);
                    let line = 100 + random.below(3) as u32;
                    python.put_half(code, python.layout.code.first_line, line);
                }
                _ => {}
            }
            python.count(&mut thread);
        }
        assert!(thread.met > 300, "{} of 3000", thread.met);
    }
}

#[test]
fn another_line_in_the_middle_makes_another_stack() {
    for minor in [11, 12] {
        let mut thread = Thread::new();
        let mut python = Interpreter::new(minor);
        for number in 0..20 {
            python.call(number % CODES, number % 5 == 0);
        }
        for round in 0..42 {
            python.set_instruction(10, 2 + round % 2);
            python.count(&mut thread);
        }
        assert_eq!((thread.walked, thread.met, thread.sites.len()), (2, 40, 2));
    }
}

#[test]
fn another_function_at_the_same_place_makes_another_stack() {
    let mut thread = Thread::new();
    let mut python = Interpreter::new(12);
    for number in 0..20 {
        python.call(number % CODES, number % 5 == 0);
    }
    python.count(&mut thread);
    let code = OBJECTS + CODE * 3;
    python.put_half(code, python.layout.code.first_line, 77);
    python.count(&mut thread);
    assert_eq!((thread.walked, thread.met, thread.sites.len()), (2, 0, 2));
}

#[test]
fn only_new_frames_are_walked() {
    let mut thread = Thread::new();
    let mut python = Interpreter::new(12);
    for number in 0..40 {
        python.call(number % CODES, number % 5 == 0);
    }
    python.count(&mut thread);
    python.call(1, false);
    python.count(&mut thread);
    let taken_over = thread.known.trails.python_rest().count();
    // Shims are frames, too. The former innermost one is not the innermost any more.
    assert_eq!(taken_over, 40 + 8 - 1);
}
