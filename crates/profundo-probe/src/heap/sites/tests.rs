//! Numbers of stacks, and the contents of the file.

use std::alloc::{Layout, alloc_zeroed};
use std::boxed::Box;
use std::collections::HashMap;
use std::vec::Vec;

use profundo_wire::{End, Gil, PythonEnd, PythonWord, State};

use super::*;
use crate::shared::{
    NewStack, STACK_WORDS, STACKS_BYTES, WINDOW_WORDS, WINDOWS, entry_kind, from_root,
};

fn memory(bytes: usize) -> *mut u8 {
    // SAFETY: the layout is one.
    unsafe { alloc_zeroed(Layout::from_size_align(bytes, 4096).unwrap()) }
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
        span: 0,
    }
}

type Stack = (Vec<u64>, Vec<u64>);

struct Process {
    sites: Box<Sites>,
    header: Box<SumsHeader>,
    stacks: *mut u64,
}

// SAFETY: the words are shared as those of a file are.
unsafe impl Sync for Process {}

impl Process {
    fn new(windows: usize) -> Self {
        let process = Self {
            sites: nothing(),
            header: nothing(),
            stacks: memory(STACKS_BYTES).cast(),
        };
        for window in 0..windows {
            process.header.stacks.give(window);
        }
        process
    }

    fn means(&self, pen: usize) -> Means<'_> {
        Means {
            memory,
            pen,
            header: &self.header,
            stacks: self.stacks,
        }
    }

    fn number(&self, pen: usize, frames: &[u64], python: &[u64]) -> Option<u32> {
        let walked = Walked {
            head: &SampleHead {
                python: python.len() as u16,
                ..head(frames.len())
            },
            source: Source::Native,
            words: &[frames, python].concat(),
            rest: None,
        };
        let (number, unknown) = self.sites.number(self.means(pen), &walked).ok()?;
        assert_eq!(unknown, None);
        Some(number)
    }

    fn window(&self, window: usize) -> &[u64] {
        // SAFETY: the file has so many words.
        unsafe { core::slice::from_raw_parts(self.stacks.add(window * WINDOW_WORDS), WINDOW_WORDS) }
    }

    /// The contents of the file: each number's native frames and Python's words, and the number of
    /// words that they take.
    fn written(&self) -> (HashMap<u32, Stack>, usize) {
        let mut written = HashMap::new();
        let mut used = 0;
        for words in (0..WINDOWS).map(|window| self.window(window)) {
            let mut at = 0;
            let (mut frames, mut python): Stack = Stack::default();
            while let Some(first) = words
                .get(at)
                .filter(|word| **word >> 56 != entry_kind::NOTHING)
            {
                let length = (first & 0xFFFF_FFFF) as usize;
                match first >> 56 {
                    entry_kind::END => break,
                    entry_kind::RECORDS => {}
                    _ => {
                        let new = NewStack::from_words(&words[at..]).unwrap();
                        let [new_frames, _] = new.added();
                        let added = &words[at + STACK_WORDS..at + length];
                        let (new_frames, new_python) = added.split_at(new_frames);
                        let kept = frames.len() - usize::from(new.kept[0]);
                        frames.splice(..kept, new_frames.iter().copied());
                        let kept = python.len() - usize::from(new.kept[1]);
                        python.splice(..kept, new_python.iter().copied());
                        let turned = python.iter().map(|word| from_root(*word, frames.len()));
                        written.insert(new.number, (frames.clone(), turned.collect()));
                    }
                }
                at += length;
            }
            used += at;
        }
        (written, used)
    }
}

#[test]
fn a_stack_keeps_its_number_and_the_file_says_which_it_is() {
    let process = Process::new(WINDOWS);
    let mut expected = HashMap::new();
    let entry = |place| {
        PythonWord::Entry {
            native: Some(place),
        }
        .to_word()
    };
    // Callers in common, other leaves, other depths, and now and then another pen.
    for turn in 0..20_000_u64 {
        let callers = (0..40 + turn % 7).map(|caller| 1000 + caller);
        let frames: Vec<u64> = [turn].into_iter().chain(callers.rev()).collect();
        let place = frames.len() as u16 - 3;
        let python = [7 << 32 | turn, entry(place), 9 << 32 | 1, entry(place + 1)];
        let python = &python[..if turn % 3 == 0 { 0 } else { 4 }];
        let pen = turn.is_multiple_of(11).into();
        let number = process.number(pen, &frames, python).unwrap();
        assert_eq!(u64::from(number), turn + 1);
        assert_eq!(process.number(0, &frames, python), Some(number));
        expected.insert(number, (frames, python.to_vec()));
    }
    let (written, words) = process.written();
    assert!(written == expected, "stacks differ");
    // A stack costs its new frames, and not all of them.
    assert!(words < 20_000 * 25, "{words} words");
}

#[test]
fn records_stand_between_stacks_as_they_are() {
    let process = Process::new(8);
    let means = process.means(0);
    process.number(0, &[1, 2, 3], &[]).unwrap();
    let records = [77; 5000];
    for _ in 0..20 {
        process.sites.write_records(means, &records).unwrap();
    }
    process.number(0, &[4, 2, 3], &[]).unwrap();
    let (written, _) = process.written();
    assert_eq!(
        (&written[&1].0[..], &written[&2].0[..]),
        (&[1, 2, 3][..], &[4, 2, 3][..])
    );
    let too_much = [0; WINDOW_WORDS];
    assert!(process.sites.write_records(means, &too_much).is_err());
}

#[test]
fn there_are_no_more_numbers_than_there_is_room_for() {
    let process = Process::new(4);
    process.header.sites.store(LAST - 1, Ordering::Relaxed);
    assert_eq!(process.number(0, &[1], &[]), Some(LAST));
    assert_eq!(process.number(0, &[2], &[]), None);
    assert_eq!(process.number(0, &[1], &[]), Some(LAST));
}

#[test]
fn nothing_is_written_but_to_windows_that_were_given() {
    let process = Process::new(2);
    let mut numbers = 0;
    while process.number(0, &[numbers, 7, 8], &[]).is_some() {
        numbers += 1;
    }
    assert!(numbers > 1000);
    for window in 2..WINDOWS {
        assert!(process.window(window).iter().all(|word| *word == 0));
    }
    // With more room it goes on. The written entries are whole.
    process.header.stacks.give(9);
    process
        .number(0, &[numbers, 7, 8], &[])
        .expect("there is room again");
    let (written, _) = process.written();
    assert_eq!(written.len() as u64, numbers + 1);
}

#[test]
fn a_pen_that_another_has_is_not_waited_for() {
    let process = Process::new(8);
    let means = process.means(0);
    let pen = || process.sites.pens.take(means, 100);
    // Its thread never returns.
    std::mem::forget(pen().unwrap());
    assert_eq!(process.number(0, &[1, 2], &[]), Some(1));
    let mut held: Vec<_> = (0..6).map(|_| pen().unwrap()).collect();
    drop(pen().unwrap());
    held.extend(pen());
    assert_eq!(pen().err(), Some(NotWritten::Full));
    drop(held);
    assert_eq!(process.number(0, &[3, 2], &[]), Some(2));
}

#[test]
fn stacks_of_several_threads_are_all_written() {
    const THREADS: u64 = 4;
    const STACKS: u64 = 3000;
    let process = Process::new(WINDOWS);
    let numbers: Vec<(u64, u32)> = std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let process = &process;
            scope.spawn(move || {
                // Half of the stacks are the same in all threads.
                let own = |turn| {
                    if turn % 2 == 0 {
                        turn
                    } else {
                        turn | (thread + 1) << 32
                    }
                };
                let stacks = (0..STACKS).map(own);
                let number = |leaf| (leaf, process.number(0, &[leaf, 5, 6], &[]).unwrap());
                stacks.map(number).collect::<Vec<_>>()
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let (written, _) = process.written();
    for (leaf, number) in numbers {
        assert_eq!(written[&number].0, [leaf, 5, 6]);
    }
}

#[test]
fn each_word_and_its_place_count() {
    let words: Vec<u64> = (100..123).collect();
    let hash = |words: &[u64]| Hash::new(7).with(words).finish();
    let mut seen = HashMap::new();
    for length in 0..=words.len() {
        let first = &words[..length];
        assert_eq!(
            seen.insert(hash(first), first.to_vec()),
            None,
            "of {length}"
        );
        for one in 0..length {
            let mut changed = first.to_vec();
            changed[one] ^= 1 << 63;
            assert_eq!(seen.insert(hash(&changed), changed), None, "word {one}");
            for other in one + 1..length {
                let mut swapped = first.to_vec();
                swapped.swap(one, other);
                let words = (one, other);
                assert_eq!(seen.insert(hash(&swapped), swapped), None, "{words:?}");
            }
        }
    }
}
