//! Words in Julia's layout, written by hand: reading them, and making them again.

use profundo::model::{Language, State};
use profundo::{Data, Error, NMETA, Names, StackFrame, Words, callers, flatten, report};

use crate::blocks::{Block, blocks};

/// Leaf first: 5 and 6 stand for two functions each, the inner one inlined.
const WORDS: [u64; 32] = [
    4, 2, 1, /**/ 1, 0xa, 100, 1, 0, 0, //
    6, 1, /**/ 2, 0xb, 101, 2, 0, 0, //
    3, 1, /**/ 1, 0xb, 102, 1, 0, 0, //
    1, /**/ 2, 0xa, 103, 3, 0, 0,
];

fn frame(func: &str, line: u32) -> StackFrame {
    StackFrame {
        func: func.into(),
        file: "/app/main.rs".into(),
        line,
        language: Language::Rust,
        ..StackFrame::default()
    }
}

fn names() -> Names {
    let inlined = StackFrame {
        inlined: true,
        ..frame("inner", 41)
    };
    [
        (1, vec![frame("main", 10)]),
        (2, vec![frame("alpha", 20)]),
        (3, vec![frame("beta", 31)]),
        (4, vec![frame("sum", 7)]),
        (6, vec![inlined, frame("beta", 32)]),
    ]
    .into_iter()
    .collect()
}

fn data() -> Data {
    Data::from_words(&WORDS).unwrap()
}

#[test]
fn words_are_read_and_made_again() {
    let data = data();
    assert_eq!((data.len(), data.has_meta()), (4, true));
    assert_eq!(data.words().as_slice(), WORDS);
    let states: Vec<State> = data
        .profile()
        .samples
        .iter()
        .map(|sample| sample.state)
        .collect();
    let expected = [
        State::Running,
        State::Sleeping,
        State::Running,
        State::WallRunning,
    ];
    assert_eq!(states, expected);
    let second = Block {
        ips: vec![6, 1],
        thread: 2,
        task: 0xb,
        clock: 101,
        state: 2,
    };
    assert_eq!(blocks(&data.words())[1], second);
}

#[test]
fn samples_end_where_two_zeros_follow_a_state() {
    let words = Words::new(WORDS.to_vec());
    let ends: Vec<usize> = (0..40).filter(|&i| words.is_block_end(i)).collect();
    assert_eq!(ends, [8, 16, 24, 31]);
    assert!(words.has_meta() && NMETA == 4);
    let stripped = words.strip_meta();
    assert_eq!(stripped.as_slice(), [4, 2, 1, 0, 6, 1, 0, 3, 1, 0, 1, 0]);
    assert!(!stripped.has_meta());
    assert!(!Words::default().has_meta() && Words::default().strip_meta().is_empty());
    // An address of 0, as 32-bit Linux has them, ends nothing.
    let with_null = Words::new(vec![7, 0, 1, 1, 0xa, 100, 1, 0, 0]);
    assert_eq!((0..9).filter(|&i| with_null.is_block_end(i)).count(), 1);
}

#[test]
fn what_is_not_a_profile_is_refused() {
    for cut in [1, 5, 8, 12, 30] {
        let error = Data::from_words(&WORDS[..cut]).unwrap_err();
        assert!(matches!(error, Error::NotAProfile { .. }), "{cut}: {error}");
    }
    for words in [&[5, 0][..], &[1, 0, 0]] {
        let error = Data::from_words(words).unwrap_err();
        assert!(matches!(error, Error::NotAProfile { .. }), "{error}");
    }
    assert!(Data::from_words(&[]).unwrap().is_empty());
    // A sample without addresses is still a sample.
    let empty_stack = Data::from_words(&[1, 0xa, 100, 1, 0, 0]).unwrap();
    assert_eq!(empty_stack.len(), 1);
}

#[test]
fn metadata_can_be_stripped_and_made_up() {
    let stripped = data().strip_meta();
    assert!(!stripped.has_meta());
    assert_eq!(stripped.words(), data().words().strip_meta());
    let made_up = stripped.add_fake_meta(1, 0xf0f0_f0f0).unwrap();
    assert_eq!(made_up.words().strip_meta(), stripped.words());
    assert_eq!(made_up.strip_meta().words(), stripped.words());
    let meta: Vec<_> = blocks(&made_up.words())
        .iter()
        .map(|block| (block.thread, block.task, block.clock, block.state))
        .collect();
    let expected: Vec<_> = (100..104).map(|clock| (1, 0xf0f0_f0f0, clock, 1)).collect();
    assert_eq!(meta, expected);

    let error = made_up.add_fake_meta(1, 1).unwrap_err();
    assert_eq!(error.to_string(), "input already has metadata");
    let error = stripped.add_fake_meta(0, 1).unwrap_err();
    assert_eq!(error.to_string(), "fake threadid cannot be 0");
    let error = stripped.add_fake_meta(1, 0).unwrap_err();
    assert_eq!(error.to_string(), "fake taskid cannot be 0");
}

#[test]
fn a_report_needs_metadata() {
    let stripped = data().strip_meta();
    let error = report().of(&stripped, &names()).to_text().unwrap_err();
    assert!(matches!(error, Error::MissingMetadata));
    let tasks = stripped.get_task_ids(None).unwrap_err();
    let threads = stripped.get_thread_ids(None).unwrap_err();
    assert!(matches!(tasks, Error::MissingMetadata), "{tasks}");
    assert!(matches!(threads, Error::MissingMetadata), "{threads}");
    // Empty data needs no names.
    let nothing = Data::from_words(&[]).unwrap().strip_meta();
    let shown = report().of(&nothing, &names()).to_text().unwrap();
    assert_eq!(
        shown.lines().next(),
        Some("Overhead ╎ [+additional indent] Count File:Line  Function")
    );
}

#[test]
fn tasks_come_newest_first_and_threads_ascending() {
    let data = data();
    assert_eq!(data.get_task_ids(None).unwrap(), [0xa, 0xb]);
    assert_eq!(data.get_task_ids(Some(1)).unwrap(), [0xb, 0xa]);
    assert_eq!(data.get_task_ids(Some(3)).unwrap(), []);
    assert_eq!(data.get_thread_ids(None).unwrap(), [1, 2]);
    assert_eq!(data.get_thread_ids(Some(0xb)).unwrap(), [1, 2]);
    assert_eq!(data.get_thread_ids(Some(0xc)).unwrap(), []);
    let odd = Data::from_words(&[1, u64::MAX, 9, 100, 3, 0, 0, 1, 2, 9, 101, 3, 0, 0]).unwrap();
    assert_eq!(odd.get_thread_ids(None).unwrap(), [2, u64::MAX]);
}

#[test]
fn flattening_invents_an_address_for_each_inlined_frame() {
    let (flat, frames) = flatten(&data(), &names()).unwrap();
    let (inner, outer) = (u64::MAX - 1, u64::MAX - 2);
    let mut expected = WORDS.to_vec();
    expected.splice(9..10, [inner, outer]);
    assert_eq!(flat, expected);
    assert_eq!(frames[&inner].func, "inner");
    assert_eq!(
        (frames[&outer].func.as_str(), frames[&outer].line),
        ("beta", 32)
    );
    assert_eq!(frames.len(), 6);
    // A used address is not invented again.
    let mut names = names();
    names.insert(u64::MAX - 1, vec![frame("taken", 1)]);
    let (flat, frames) = flatten(&data(), &names).unwrap();
    assert_eq!((flat[9], flat[10]), (u64::MAX - 2, u64::MAX - 3));
    assert_eq!(frames[&(u64::MAX - 1)].func, "taken");
    let (flat, _) = flatten(&data().strip_meta(), &self::names()).unwrap();
    assert_eq!(flat, [4, 2, 1, 0, inner, outer, 1, 0, 3, 1, 0, 1, 0]);
}

#[test]
fn callers_are_counted() {
    let ask = |question: profundo::Callers| -> Vec<(u64, String)> {
        let found = question.ask_of(&data(), &names()).unwrap();
        found
            .into_iter()
            .map(|(n, frame)| (n, frame.func))
            .collect()
    };
    assert_eq!(ask(callers("sum")), [(1, "alpha".into())]);
    assert_eq!(ask(callers("beta")), [(2, "main".into())]);
    assert_eq!(ask(callers("inner")), [(1, "beta".into())]);
    assert_eq!(ask(callers("main")), []);
    let in_file = callers("beta").filename("/app/main.rs");
    assert_eq!(
        ask(in_file.clone().linerange(31..=31)),
        [(1, "main".into())]
    );
    assert_eq!(ask(in_file.linerange(33..=40)), []);
    assert_eq!(ask(callers("beta").filename("other.rs")), []);
    let error = callers("beta").linerange(1..=2).ask_of(&data(), &names());
    assert!(matches!(error.unwrap_err(), Error::Callers(_)));
}
