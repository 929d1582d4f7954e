//! Numbers of stacks, and what the file says of them.

use std::alloc::{Layout, alloc_zeroed};
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::HashMap;
use std::vec::Vec;
use std::{thread_local, vec};

use profundo_wire::{End, Gil, PythonEnd, PythonWord, State};

use super::*;
use crate::shared::STACK_WORDS;

thread_local! {
    /// The windows that were asked for, by number.
    static WINDOWS: RefCell<Vec<*mut u64>> = const { RefCell::new(Vec::new()) };
}

fn memory(bytes: usize) -> *mut u8 {
    // SAFETY: the layout is one.
    unsafe { alloc_zeroed(Layout::from_size_align(bytes, 4096).unwrap()) }
}

fn window(number: u64, former: *mut u64) -> *mut u64 {
    WINDOWS.with_borrow_mut(|windows| {
        assert_eq!(former, windows.last().copied().unwrap_or(ptr::null_mut()));
        windows.push(memory(8 * WINDOW_WORDS).cast());
        assert!(number + 1 >= windows.len() as u64);
        windows[windows.len() - 1]
    })
}

fn nothing<T>() -> Box<T> {
    // SAFETY: all zero is a valid one of those that are made here.
    unsafe { Box::new_zeroed().assume_init() }
}

fn head(frames: usize) -> SampleHead {
    SampleHead {
        state: State::Allocating,
        end: End::Root,
        frames: frames as u16,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock: 5,
        weight: 0,
        task: 0,
        thread: 1,
        tid: 2,
    }
}

struct Process {
    sites: Box<Sites>,
    header: Box<SumsHeader>,
}

impl Process {
    fn new() -> Self {
        WINDOWS.with_borrow_mut(Vec::clear);
        Self {
            sites: nothing(),
            header: nothing(),
        }
    }

    fn means(&self, stream: usize) -> Means<'_> {
        Means {
            memory,
            window,
            stream,
            header: &self.header,
        }
    }

    fn number(&self, stream: usize, frames: &[u64], python: &[u64]) -> Option<Number> {
        let walked = Walked {
            head: &SampleHead {
                python: python.len() as u16,
                ..head(frames.len())
            },
            source: Source::Native,
            words: &[frames, python].concat(),
            is_told: false,
        };
        self.sites.number(self.means(stream), &walked)
    }

    /// What the file says from this window on: each number's native frames and words of Python's.
    fn told(&self, window: usize) -> HashMap<u32, (Vec<u64>, Vec<u64>)> {
        let written = self.header.stacks[0].load(Ordering::Relaxed) as usize;
        let words: Vec<u64> = WINDOWS.with_borrow(|windows| {
            // SAFETY: each window has so many words.
            let slices = windows
                .iter()
                .map(|it| unsafe { core::slice::from_raw_parts(*it, WINDOW_WORDS) });
            slices.flatten().copied().collect()
        });
        let mut streams = vec![(Vec::new(), Vec::new()); STREAMS];
        let mut told = HashMap::new();
        let mut at = window * WINDOW_WORDS;
        while at < written {
            let Some(new) = NewStack::from_words(&words[at..]) else {
                let first = words[at];
                at = match first >> 56 {
                    entry_kind::RECORDS => at + (first & 0xFFFF_FFFF) as usize,
                    _ => (at + 1).next_multiple_of(WINDOW_WORDS),
                };
                continue;
            };
            let (frames, python): &mut (Vec<u64>, Vec<u64>) = &mut streams[new.stream as usize];
            let [new_frames, new_python] = new.added();
            let first = at + STACK_WORDS;
            let middle = first + new_frames;
            let kept = frames.len() - usize::from(new.kept[0]);
            frames.splice(..kept, words[first..middle].iter().copied());
            let kept = python.len() - usize::from(new.kept[1]);
            python.splice(..kept, words[middle..middle + new_python].iter().copied());
            let turned = python.iter().map(|word| from_root(*word, frames.len()));
            told.insert(new.number, (frames.clone(), turned.collect()));
            at += new.words();
        }
        told
    }
}

#[test]
fn a_stack_keeps_its_number_and_the_file_says_which_it_is() {
    let process = Process::new();
    let mut expected = HashMap::new();
    let entry = |place| {
        PythonWord::Entry {
            native: Some(place),
        }
        .to_word()
    };
    // Callers in common, other leaves, other depths, and now and then another stream.
    for turn in 0..20_000_u64 {
        let callers = (0..40 + turn % 7).map(|it| 1000 + it);
        let frames: Vec<u64> = [turn].into_iter().chain(callers.rev()).collect();
        let place = frames.len() as u16 - 3;
        let python = [7 << 32 | turn, entry(place), 9 << 32 | 1, entry(place + 1)];
        let python = &python[..if turn % 3 == 0 { 0 } else { 4 }];
        let stream = turn.is_multiple_of(11).into();
        let (number, is_new) = process.number(stream, &frames, python).unwrap();
        assert!(is_new && u64::from(number) == turn + 1);
        assert_eq!(process.number(0, &frames, python), Some((number, false)));
        expected.insert(number, (frames, python.to_vec()));
    }
    assert!(process.told(0) == expected, "stacks differ");
    // Whoever goes on at a window for somebody else needs none of those before.
    let later = process.told(2);
    assert!(later.len() > 1000 && later.len() < expected.len());
    assert!(
        later
            .iter()
            .all(|(number, stack)| expected[number] == *stack)
    );
    // A stack costs what is new in it, and not all of its frames.
    let written = process.header.stacks[0].load(Ordering::Relaxed);
    assert!(written < 20_000 * 25, "{written} words");
}

#[test]
fn records_stand_between_stacks_as_they_are() {
    let process = Process::new();
    process.number(0, &[1, 2, 3], &[]).unwrap();
    let records = [77; 5000];
    for _ in 0..20 {
        assert!(process.sites.tell_records(process.means(0), &records));
    }
    process.number(0, &[4, 2, 3], &[]).unwrap();
    let told = process.told(0);
    assert_eq!(
        (&told[&1].0[..], &told[&2].0[..]),
        (&[1, 2, 3][..], &[4, 2, 3][..])
    );
    assert!(
        !process
            .sites
            .tell_records(process.means(0), &[0; WINDOW_WORDS])
    );
}

#[test]
fn there_are_no_more_numbers_than_a_block_has_room_for() {
    let process = Process::new();
    process.header.sites.store(LAST - 1, Ordering::Relaxed);
    assert_eq!(process.number(0, &[1], &[]), Some((LAST, true)));
    assert_eq!(process.number(0, &[2], &[]), None);
    assert_eq!(process.number(0, &[1], &[]), Some((LAST, false)));
}

#[test]
fn what_the_command_does_not_read_does_not_grow_for_ever() {
    let process = Process::new();
    process.number(0, &[1], &[]).unwrap();
    let [written, read] = &process.header.stacks;
    written.fetch_add(2 * UNREAD, Ordering::Relaxed);
    assert_eq!(process.number(0, &[2], &[]), None);
    assert_eq!(process.number(0, &[1], &[]), Some((1, false)));
    read.store(written.load(Ordering::Relaxed), Ordering::Relaxed);
    assert_eq!(process.number(0, &[2], &[]), Some((2, true)));
}
