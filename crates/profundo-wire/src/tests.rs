//! Records survive the way there and back, and no words make the reader panic.

extern crate std;

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use crate::{
    CODE_HEAD_WORDS, CodeHead, End, Error, Gil, PythonEnd, PythonWord, REWALK_HEAD_WORDS, Reader,
    Record, RewalkHead, SAMPLE_HEAD_WORDS, SampleHead, State, TaskNameHead, TextKind,
    ThreadNameHead, python_task, python_task_code,
};

fn head(frames: u16) -> SampleHead {
    SampleHead {
        state: State::System,
        end: End::Broken,
        frames,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock: u64::MAX,
        weight: 1_000_000,
        task: 7,
        thread: 3,
        tid: 4711,
        span: 5,
    }
}

/// The error of a first record that is not whole.
const CUT: Error = Error::CutShort { at: 0 };

fn sample<'a>(head: SampleHead, frames: &'a [u64], python: &'a [u64]) -> Record<'a> {
    Record::Sample {
        head,
        frames,
        python,
    }
}

#[test]
fn addresses_come_before_the_interpreters_words() {
    let head = SampleHead {
        python: 2,
        python_end: PythonEnd::Truncated,
        gil: Gil::Released,
        ..head(1)
    };
    let mut words = head.to_words().to_vec();
    words.extend([0x1000, 7, 8]);
    let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
    assert_eq!(records, vec![sample(head, &[0x1000], &[7, 8])]);
}

#[test]
fn a_code_object_keeps_its_texts() {
    let head = CodeHead {
        minor: 12,
        number: 3,
        first_line: -1,
        file: (TextKind::One, 4),
        name: (TextKind::Two, 4),
        lines: 9,
        lines_in_all: 70_000,
    };
    let mut words = head.to_words().to_vec();
    words.push(u64::from_ne_bytes(*b"a.py\0\0\0\0"));
    let name = ['ü' as u16, '→' as u16].map(u16::to_ne_bytes).concat();
    words.push(u64::from_ne_bytes(
        [&name[..], &[0; 4]].concat().try_into().unwrap(),
    ));
    words.extend([u64::from_ne_bytes(*b"12345678"), 9]);
    assert_eq!(words.len(), head.words());
    words.extend(super::tests::head(0).to_words());
    let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
    let [Record::Code(code), Record::Sample { .. }] = records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(code.head, head);
    assert_eq!(
        code.file.characters().collect::<Vec<_>>(),
        ['a', '.', 'p', 'y']
    );
    assert_eq!(code.name.characters().collect::<Vec<_>>(), ['ü', '→']);
    assert_eq!(code.lines.bytes().collect::<Vec<_>>(), *b"12345678\x09");
    for cut in 1..head.words() {
        assert_eq!(Reader::new(&words[..cut]).next(), Some(Err(CUT)), "{cut}");
    }
}

#[test]
fn a_thread_has_a_name() {
    let name = ThreadNameHead {
        thread: 3,
        tid: 4711,
        name: (TextKind::Four, 12),
    };
    let mut words = name.to_words().to_vec();
    words.extend([u64::from('𝒳') | u64::from('-') << 32, u64::from('1')]);
    assert_eq!(words.len(), name.words());
    words.extend(head(0).to_words());
    let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
    let [Record::ThreadName(record), Record::Sample { .. }] = records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(record.head, name);
    assert_eq!(
        record.name.characters().collect::<Vec<_>>(),
        ['𝒳', '-', '1']
    );
    for cut in 1..name.words() {
        assert_eq!(Reader::new(&words[..cut]).next(), Some(Err(CUT)), "{cut}");
    }
}

#[test]
fn a_task_has_a_name() {
    let name = TaskNameHead {
        task: u64::MAX - 7,
        name: (TextKind::One, 9),
    };
    let mut words = name.to_words().to_vec();
    words.extend([u64::from_ne_bytes(*b"download"), u64::from(b's')]);
    assert_eq!(words.len(), name.words());
    words.extend(head(0).to_words());
    let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
    let [Record::TaskName(record), Record::Sample { .. }] = records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(record.head, name);
    assert_eq!(
        record.name.characters().collect::<Vec<_>>(),
        ['d', 'o', 'w', 'n', 'l', 'o', 'a', 'd', 's']
    );
    for cut in 1..name.words() {
        assert_eq!(Reader::new(&words[..cut]).next(), Some(Err(CUT)), "{cut}");
    }
}

#[test]
fn tasks_differ_by_their_coroutine_its_frame_and_its_name() {
    let numbers = [
        python_task(3, 0x7f00_0000_1238, 0),
        python_task(4, 0x7f00_0000_1238, 0),
        python_task(3, 0x7f00_0000_1240, 0),
        python_task(3, 0x7f00_0000_1238, 0x1234),
    ];
    for (at, number) in numbers.iter().enumerate() {
        assert!(!numbers[..at].contains(number), "{numbers:x?}");
    }
    let codes = numbers.map(python_task_code);
    assert_eq!(codes, [3, 4, 3, 3]);
    assert_eq!(python_task(0, 0x7f00_0000_1238, 5), 0);
}

#[test]
fn what_a_walk_begins_with_follows_its_sample() {
    let rewalk = RewalkHead {
        is_by_order: true,
        is_partial: false,
        places: 2,
        stack: 3,
        registers: [1, 2, 3, 4],
        general: core::array::from_fn(|number| 100 + number as u64),
    };
    let mut words = head(1).to_words().to_vec();
    words.push(0x1000);
    let start = words.len();
    words.extend(rewalk.to_words());
    words.extend([10, 11, 20, 21, 22]);
    assert_eq!(words.len() - start, rewalk.words());
    words.extend(head(0).to_words());
    let mut reader = Reader::new(&words);
    assert_eq!(reader.next(), Some(Ok(sample(head(1), &[0x1000], &[]))));
    assert_eq!(reader.position(), start);
    let Some(Ok(Record::Rewalk(record))) = reader.next() else {
        panic!("{words:x?}")
    };
    assert_eq!(record.head, rewalk);
    assert_eq!(
        (record.places, record.stack),
        (&[10, 11][..], &[20, 21, 22][..])
    );
    assert_eq!(reader.position(), start + rewalk.words());
    assert_eq!(reader.next(), Some(Ok(sample(head(0), &[], &[]))));
    for cut in start + 1..start + rewalk.words() {
        assert_eq!(
            Reader::new(&words[start..cut]).next(),
            Some(Err(CUT)),
            "{cut}"
        );
    }
    // More places than words.
    let mut lie = rewalk.to_words();
    lie[0] |= 0xFFFF << 32;
    assert_eq!(RewalkHead::from_words(lie), None);
}

#[test]
fn what_is_not_known_is_skipped() {
    let mut words = vec![0xAB << 56 | 3, 1, 2];
    words.extend(head(0).to_words());
    let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
    assert_eq!(records, [sample(head(0), &[], &[])]);
    words[0] = 0xAB << 56 | 10;
    let cut = Some(Err(Error::CutShort { at: 0 }));
    assert_eq!(Reader::new(&words).next(), cut);
    words[0] = 0xAB << 56;
    let nothing = Some(Err(Error::UnknownRecord { at: 0 }));
    assert_eq!(Reader::new(&words).next(), nothing);
}

#[test]
fn two_records_in_a_row() {
    let mut words = head(2).to_words().to_vec();
    words.extend([0x1000, 0x2000]);
    words.extend(head(0).to_words());
    let records: Vec<_> = Reader::new(&words).map(Result::unwrap).collect();
    assert_eq!(
        records,
        vec![
            sample(head(2), &[0x1000, 0x2000], &[]),
            sample(head(0), &[], &[])
        ]
    );
}

#[test]
fn a_record_cut_short_says_where_it_began() {
    let mut words = head(0).to_words().to_vec();
    words.extend(head(4).to_words());
    let mut reader = Reader::new(&words);
    assert_eq!(reader.next(), Some(Ok(sample(head(0), &[], &[]))));
    assert_eq!(
        reader.next(),
        Some(Err(Error::CutShort {
            at: SAMPLE_HEAD_WORDS
        }))
    );
    assert_eq!(reader.next(), None);
}

#[test]
fn a_foreign_word_is_named() {
    assert_eq!(
        Reader::new(&[0; 9]).next(),
        Some(Err(Error::UnknownRecord { at: 0 }))
    );
}

/// The usual number of cases; few under Miri, which is slow.
fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 256 },
        // Miri has no access to files.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_words_end_without_a_panic(words in prop::collection::vec(any::<u64>(), 0..64)) {
        assert!(Reader::new(&words).count() <= words.len());
    }

    #[test]
    fn every_word_of_the_interpreter_survives(
        code in 0_u32..1 << 30, offset: i32, is_call: bool, native: Option<u16>) {
        let words = [PythonWord::Frame { code, offset, is_call }, PythonWord::Entry { native }];
        prop_assert_eq!(words.map(|word| PythonWord::from_word(word.to_word())), words);
    }

    #[test]
    fn no_code_head_lies_about_its_length(words: [u64; CODE_HEAD_WORDS]) {
        if let Some(head) = CodeHead::from_words(words) {
            prop_assert_eq!(head.words() as u64, words[0] & 0xFFFF_FFFF);
        }
    }

    #[test]
    fn no_beginning_lies_about_its_length(words: [u64; REWALK_HEAD_WORDS]) {
        let words = [5 << 56 | words[0] >> 8, words[1], words[2], words[3], words[4], 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        if let Some(head) = RewalkHead::from_words(words) {
            prop_assert_eq!(head.words() as u64, words[0] & 0xFFFF_FFFF);
        }
    }

    #[test]
    fn every_head_survives(frames: u16, python: u16, clock: u64, weight: u64, task: u64, thread: u32, tid: u32, span: u32) {
        for state in [State::Running, State::System, State::WallRunning, State::WallWaiting] {
            let head = SampleHead { frames, python, clock, weight, task, thread, tid, span, state, ..head(0) };
            prop_assert_eq!(SampleHead::from_words(head.to_words()), Some(head));
        }
    }
}
