//! The traffic of threads, and the files of the system calls that were sampled.

use profundo_model::{Bytes, Nanos, Profile, Sample};
use profundo_wire::recording::{Engine, Event, Finish, Instant, ProcessInfo, Start};
use profundo_wire::{
    Call, CodeHead, End, Gil, PythonEnd, PythonWord, SampleHead, State, SyscallsHead, TextKind,
    Traffic, opened_words,
};

use crate::Ingest;

/// One cycle is one nanosecond, and the recording begins at cycle 1000.
fn at(cycles: u64) -> Instant {
    Instant {
        cycles,
        monotonic: cycles,
        unix: 0,
    }
}

fn begun(keys: &[u32]) -> Ingest {
    let mut ingest = Ingest::new(Start {
        engine: Engine::PerfSignal,
        is_wall: true,
        period: 1000,
        started: at(1000),
        ..Start::default()
    });
    for &key in keys {
        ingest.event(Event::Process(ProcessInfo {
            key,
            pid: 70 + key,
            ..ProcessInfo::default()
        }));
    }
    ingest
}

fn feed(ingest: &mut Ingest, process: u32, words: &[Vec<u64>]) {
    let words = &words.concat();
    ingest.event(Event::Words { process, words });
}

fn sample(clock: u64, python: &[u64]) -> Vec<u64> {
    let head = SampleHead {
        state: State::System,
        end: End::Root,
        frames: 1,
        python: python.len() as u16,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: 10,
        task: 0,
        thread: 1,
        tid: 71,
        span: 0,
    };
    [&head.to_words()[..], &[0x10], python].concat()
}

fn call(clock: u64, descriptor: u32) -> Vec<u64> {
    Call { clock, descriptor }.to_words().to_vec()
}

fn finish(ingest: Ingest) -> Profile {
    ingest.finish(Finish {
        ended: at(9000),
        ..Finish::default()
    })
}

fn files(profile: &Profile) -> Vec<&str> {
    let file = |sample: &Sample| profile.strings.get(sample.file);
    profile.samples.iter().map(file).collect()
}

#[test]
fn counts_have_their_thread_and_their_time() {
    let mut ingest = begun(&[1, 2]);
    let traffic = Traffic {
        thread: 1,
        tid: 71,
        waits: 3,
        from: 1500,
        to: 2500,
        read: 10,
        written: 20,
        fetched: 30,
        stored: 40,
    };
    let of = |thread, tid, from| Traffic {
        thread,
        tid,
        from,
        ..traffic
    };
    feed(
        &mut ingest,
        1,
        &[sample(1400, &[]), traffic.to_words().to_vec()],
    );
    // A thread whose number is not known any more, and an unknown one.
    feed(&mut ingest, 1, &[of(0, 71, 1600).to_words().to_vec()]);
    feed(&mut ingest, 1, &[of(0, 99, 1700).to_words().to_vec()]);
    feed(&mut ingest, 2, &[of(4, 98, 1800).to_words().to_vec()]);
    let profile = finish(ingest);
    let rows = &profile.traffic;
    let bytes = Bytes {
        read: 10,
        written: 20,
        fetched: 30,
        stored: 40,
    };
    assert!(rows.iter().all(|row| row.bytes == bytes && row.waits == 3));
    let times: Vec<_> = rows.iter().map(|row| (row.from, row.to)).collect();
    let expected = [500, 600, 700, 800].map(|from| (Nanos(from), Nanos(1500)));
    assert_eq!(times, expected);
    let tid = |row: &profundo_model::Traffic| profile.threads.get(row.thread).tid;
    let tids: Vec<u32> = rows.iter().map(tid).collect();
    assert_eq!(tids, [71, 71, 71, 98]);
}

#[test]
fn a_sample_has_the_file_that_its_descriptor_was_then() {
    let mut ingest = begun(&[1, 2]);
    feed(
        &mut ingest,
        1,
        &[opened_words(3, 0, "/tmp/a"), opened_words(4, 0, "/tmp/b")],
    );
    feed(
        &mut ingest,
        1,
        &[
            sample(1100, &[]),
            call(1100, 3),
            sample(1200, &[]),
            call(1200, 4),
            sample(1300, &[]),
            // The call of another sample, and an unknown descriptor.
            call(1299, 3),
            sample(1400, &[]),
            call(1400, 5),
        ],
    );
    feed(&mut ingest, 1, &[opened_words(3, 1450, "/tmp/c")]);
    feed(&mut ingest, 1, &[sample(1500, &[]), call(1500, 3)]);
    // Looked up too late to be known, and then once more.
    feed(&mut ingest, 1, &[opened_words(3, 1700, "/tmp/d")]);
    feed(&mut ingest, 1, &[sample(1550, &[]), call(1550, 3)]);
    feed(&mut ingest, 1, &[opened_words(3, 1900, "/tmp/d")]);
    feed(&mut ingest, 1, &[sample(1750, &[]), call(1750, 3)]);
    // Another process has files of its own.
    feed(&mut ingest, 2, &[sample(1800, &[]), call(1800, 3)]);
    let profile = finish(ingest);
    assert_eq!(
        files(&profile),
        [
            "/tmp/a",
            "/tmp/b",
            "",
            "",
            "/tmp/c",
            "descriptor 3",
            "/tmp/d",
            ""
        ]
    );
}

#[test]
fn a_sample_that_waits_for_its_code_keeps_its_file() {
    let mut ingest = begun(&[1]);
    let frame = PythonWord::Frame {
        code: 1,
        offset: 0,
        is_call: false,
    }
    .to_word();
    feed(&mut ingest, 1, &[opened_words(3, 0, "/tmp/a")]);
    feed(&mut ingest, 1, &[sample(1100, &[frame]), call(1100, 3)]);
    assert_eq!(ingest.held_back(), 1);
    let head = CodeHead {
        minor: 12,
        number: 1,
        first_line: 1,
        file: (TextKind::One, 4),
        name: (TextKind::One, 1),
        lines: 0,
        lines_in_all: 0,
    };
    let text = |bytes: [u8; 8]| u64::from_ne_bytes(bytes);
    let body = [text(*b"a.py\0\0\0\0"), text(*b"f\0\0\0\0\0\0\0")];
    feed(&mut ingest, 1, &[[&head.to_words()[..], &body].concat()]);
    ingest.event(Event::Clock(at(2000)));
    let profile = finish(ingest);
    assert_eq!(files(&profile), ["/tmp/a"]);
}

#[test]
fn ever_new_files_do_not_fill_the_memory() {
    let mut ingest = begun(&[1]);
    for number in 0..6000 {
        let clock = 1100 + number;
        let opened = opened_words(3, 0, &format!("/tmp/{number}"));
        feed(
            &mut ingest,
            1,
            &[opened, sample(clock, &[]), call(clock, 3)],
        );
    }
    feed(
        &mut ingest,
        1,
        &[
            opened_words(3, 0, "/tmp/0"),
            sample(8000, &[]),
            call(8000, 3),
        ],
    );
    let profile = finish(ingest);
    let files = files(&profile);
    let named = files.iter().filter(|file| !file.is_empty()).count();
    // And `descriptor 3`, which is a name too.
    assert_eq!(named, 4095 + 1);
    assert_eq!(files.last(), Some(&"/tmp/0"));
}

#[test]
fn calls_are_counted_and_sampled() {
    let mut ingest = begun(&[1]);
    let head = SyscallsHead {
        thread: 1,
        tid: 71,
        from: 1100,
        to: 1200,
        error: 11,
        count: 500,
    };
    let sampled = SampleHead {
        state: State::Returning,
        end: End::Root,
        frames: 1,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock: 1150,
        weight: SampleHead::weight_of_calls(90, 2),
        task: 0,
        thread: 1,
        tid: 71,
        span: 0,
    };
    let sampled = [&sampled.to_words()[..], &[0x10]].concat();
    feed(&mut ingest, 1, &[head.to_words("read"), sampled]);
    let profile = finish(ingest);
    // It is no sample of time.
    assert!(profile.samples.is_empty());
    let [counted, sampled] = profile.syscalls[..] else {
        panic!("{:?}", profile.syscalls);
    };
    assert_eq!(profile.strings.get(counted.call), "read");
    assert_eq!((counted.from, counted.to), (Nanos(100), Nanos(200)));
    assert_eq!(
        (counted.error, counted.count, counted.stack),
        (11, 500, None)
    );
    assert_eq!((sampled.error, sampled.count, sampled.samples), (2, 90, 1));
    assert_eq!(sampled.to, Nanos(150));
    assert!(sampled.stack.is_some() && !sampled.is_exact());
}
