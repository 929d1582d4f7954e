//! Pieces of a recording whose events are made by hand: a cycle is a nanosecond.

use std::path::PathBuf;
use std::time::Duration;

use profundo_formats::read_file;
use profundo_model::{Nanos, Profile};
use profundo_recorder::{ProcessTimes, SoFar};
use profundo_testing::Folder;
use profundo_wire::recording::{
    Allocations, Engine, Event, Finish, HowEnded, Instant, LossCounts, ProcessEnd, ProcessInfo,
    Start, ThreadInfo,
};
use profundo_wire::{
    Block, End, Freed, Gil, PythonEnd, SampleHead, State, TextKind, ThreadNameHead,
};

use super::FlightRecorder;

const SECOND: u64 = 1_000_000_000;

/// The start of the recording, on all clocks.
const BEGAN: u64 = 5 * SECOND;

fn at(time: u64) -> Instant {
    Instant {
        cycles: BEGAN + time,
        monotonic: BEGAN + time,
        unix: BEGAN + time,
    }
}

struct Made {
    folder: Folder,
    flight: FlightRecorder,
    /// CPU time of thread 1 of process 1 so far.
    cpu: u64,
}

impl Made {
    fn new(name: &str, last: u64) -> Self {
        let folder = Folder::new(name);
        let start = Start {
            engine: Engine::PerfSignal,
            period: SECOND / 10,
            allocations: Allocations::Bytes(1),
            started: at(0),
            ..Start::default()
        };
        let pieces = folder.path().join("pieces");
        let last = Duration::from_nanos(last);
        let flight = FlightRecorder::create(&pieces, start, last, 1 << 30).unwrap();
        let mut made = Self {
            folder,
            flight,
            cpu: 0,
        };
        made.process(1, 0, 0);
        made
    }

    fn process(&mut self, key: u32, parent: u32, time: u64) {
        self.flight.event(Event::Process(ProcessInfo {
            key,
            pid: 70 + key,
            parent,
            command: format!("program {key}"),
            started: BEGAN + time,
            ..ProcessInfo::default()
        }));
    }

    fn thread(&mut self, process: u32, number: u32, cpu: u64) {
        self.flight.event(Event::Thread {
            process,
            thread: ThreadInfo {
                number,
                tid: 100 * process + number,
                name: format!("thread {number}"),
                alive: cpu,
                cpu,
            },
            gil_wait: 0,
        });
    }

    fn words(&mut self, process: u32, words: &[&[u64]]) {
        let words = &words.concat();
        self.flight.event(Event::Words { process, words });
    }

    fn end(&mut self, process: u32, time: u64, user: u64) {
        self.flight.event(Event::Ended(ProcessEnd {
            process,
            ended: BEGAN + time,
            user: Some(user),
            system: Some(0),
            how: HowEnded::Exited(3),
        }));
    }

    /// Takes a sample of the first thread, which has run for a tenth of a second.
    fn sample(&mut self, address: u64, time: u64) {
        self.cpu += SECOND / 10;
        self.words(1, &[&sample(State::Running, address, time)]);
    }

    fn so_far(&self, time: u64) -> SoFar {
        SoFar {
            finish: Finish {
                ended: at(time),
                duration: time,
                cpu: self.cpu,
                own_cost: Some(self.cpu / 100),
                ..Finish::default()
            },
            processes: vec![ProcessTimes {
                key: 1,
                pid: 71,
                user: self.cpu,
                system: time / 100,
            }],
        }
    }

    fn divide(&mut self, time: u64) {
        for _ in 0..2 {
            self.flight.event(Event::Clock(at(time)));
        }
        self.thread(1, 1, self.cpu);
        self.flight.turn();
        let so_far = self.so_far(time);
        self.flight.divide(&so_far);
    }

    fn kept(&self, name: &str) -> Profile {
        let path: PathBuf = self.folder.path().join(name);
        self.flight.kept().write(&path, false).unwrap();
        let (profile, warnings) = read_file(&path).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        profile
    }
}

fn sample(state: State, address: u64, time: u64) -> Vec<u64> {
    let head = SampleHead {
        state,
        end: End::Root,
        frames: 1,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock: BEGAN + time,
        weight: SECOND / 10,
        task: 0,
        thread: 1,
        tid: 101,
        span: 0,
    };
    [&head.to_words()[..], &[address]].concat()
}

fn times(profile: &Profile) -> Vec<u64> {
    let times = profile.samples.iter().map(|sample| sample.time.0);
    times.map(|time| time / (SECOND / 100)).collect()
}

#[test]
fn the_last_pieces_are_a_recording_with_their_own_figures() {
    let mut made = Made::new("flight", 2 * SECOND);
    for second in 0..6 {
        // The first piece has ten samples, the second nine, and so on.
        for sample in second..10 {
            made.sample(0x1000 + second, second * SECOND + sample * SECOND / 10);
        }
        made.divide((second + 1) * SECOND);
    }
    let profile = made.kept("kept");
    let all: u64 = 6 + 5;
    assert_eq!(profile.samples.len() as u64, all);
    assert_eq!(times(&profile)[..3], [40, 50, 60]);
    let meta = &profile.meta;
    assert_eq!(meta.duration, Nanos(2 * SECOND));
    assert_eq!(meta.started_at_unix, BEGAN + 4 * SECOND);
    assert_eq!(meta.cpu, Some(Nanos(all * SECOND / 10)));
    assert_eq!(meta.own_cost, Some(Nanos(all * SECOND / 1000)));
    let note = "what was recorded in the 4.0 seconds before was let go";
    assert!(
        meta.notes.iter().any(|it| it.contains(note)),
        "{:?}",
        meta.notes
    );
    let [process] = &profile.processes[..] else {
        panic!("{:?}", profile.processes);
    };
    assert_eq!((process.pid, process.started), (71, Some(Nanos(0))));
    assert_eq!(process.user, Some(Nanos(all * SECOND / 10)));
    assert_eq!(process.system, Some(Nanos(2 * SECOND / 100)));
    let threads: Vec<_> = profile.threads.iter().map(|(_, thread)| thread).collect();
    let [thread] = threads[..] else {
        panic!("{threads:?}");
    };
    assert_eq!((thread.number, thread.tid), (1, 101));
    assert_eq!(thread.cpu, Some(Nanos(all * SECOND / 10)));
    assert_eq!(profile.strings.get(thread.name), "thread 1");
    // Two stacks, of two functions.
    assert_eq!(profile.stacks.len(), 2);
}

#[test]
fn what_was_said_once_is_known_in_every_piece() {
    let mut made = Made::new("flight-names", SECOND);
    let name = b"worker".to_vec();
    let head = ThreadNameHead {
        thread: 1,
        tid: 101,
        name: (TextKind::One, name.len() as u32),
    };
    let mut text = [0; 8];
    text[..name.len()].copy_from_slice(&name);
    made.words(1, &[&head.to_words(), &[u64::from_le_bytes(text)]]);
    made.flight.event(Event::Runtime {
        process: 1,
        runtime: "CPython 3.12.1".into(),
        module: "/usr/bin/python3".into(),
    });
    let loss = LossCounts {
        buffer_full: 7,
        ..LossCounts::default()
    };
    made.flight.event(Event::Loss { process: 1, loss });
    for second in 0..5 {
        made.sample(0x1000, second * SECOND + 1);
        made.divide((second + 1) * SECOND);
    }
    let profile = made.kept("kept");
    let (_, thread) = profile.threads.iter().next().unwrap();
    assert_eq!(profile.strings.get(thread.name), "worker");
    let runtime = profile.processes[0].runtime;
    assert_eq!(profile.strings.get(runtime), "CPython 3.12.1");
    let command = profile.processes[0].command;
    assert_eq!(profile.strings.get(command), "program 1");
    // They were lost before.
    assert_eq!(profile.meta.loss.buffer_full, 0);
}

#[test]
fn blocks_end_in_later_pieces() {
    let mut made = Made::new("flight-blocks", 3 * SECOND);
    let block = |number, time| {
        let block = Block {
            clock: BEGAN + time,
            number,
            size: 100,
            ..Block::default()
        };
        [
            &sample(State::Allocating, 0x2000, time)[..],
            &block.to_words(),
        ]
        .concat()
    };
    let freed = |number, time| {
        let freed = Freed {
            clock: BEGAN + time,
            number,
            at_once: false,
        };
        freed.to_words().to_vec()
    };
    for second in 0..6 {
        let begin = second * SECOND;
        made.words(
            1,
            &[
                &block(2 * second, begin + 1),
                &block(2 * second + 1, begin + 2),
            ],
        );
        if second >= 2 {
            // The first block of the piece before the last one.
            made.words(1, &[&freed(2 * (second - 2), begin + 3)]);
        }
        made.divide(begin + SECOND);
    }
    let profile = made.kept("kept");
    let blocks: Vec<_> = (profile.heap.blocks.iter())
        .map(|block| (block.time.0, block.freed.map(|time| time.0)))
        .collect();
    // Those of the fourth to the sixth second. The first of the fourth was freed in the sixth.
    let wanted = [
        (1, Some(2 * SECOND + 3)),
        (2, None),
        (SECOND + 1, None),
        (SECOND + 2, None),
        (2 * SECOND + 1, None),
        (2 * SECOND + 2, None),
    ];
    assert_eq!(blocks, wanted);
}

#[test]
fn what_has_ended_is_forgotten() {
    let mut made = Made::new("flight-ended", 2 * SECOND);
    let mut most = 0;
    for piece in 0..40_u32 {
        let time = u64::from(piece) * SECOND;
        for number in 0..25 {
            let key = 2 + piece * 25 + number;
            made.process(key, 1, time);
            made.thread(key, 1, 1000);
            made.thread(1, key, 1000);
            made.end(key, time + 10, 1000);
        }
        made.sample(0x1000, time + 20);
        made.divide(time + SECOND);
        most = most.max(made.flight.sizes().1);
        assert!(made.flight.standing.threads() <= 2 * 50 + 1);
    }
    assert!(most <= 2 * 25 + 1, "{most}");
    let profile = made.kept("kept");
    // Those of two pieces, and the first.
    assert_eq!(profile.processes.len(), 51);
    assert_eq!(profile.threads.len(), 101);
    let ended = profile
        .processes
        .iter()
        .filter(|process| process.user == Some(Nanos(1000)));
    assert_eq!(ended.count(), 50);
    let parents = profile
        .processes
        .iter()
        .filter_map(|process| process.parent);
    assert_eq!(parents.count(), 50);
}

#[test]
fn clearing_drops_all_pieces() {
    let mut made = Made::new("flight-cleared", 5 * SECOND);
    for second in 0..3 {
        made.sample(0x1000, second * SECOND + 1);
        made.divide((second + 1) * SECOND);
    }
    made.flight.event(Event::Cleared(at(3 * SECOND)));
    made.cpu = 0;
    made.sample(0x2000, 3 * SECOND + SECOND / 2);
    for _ in 0..2 {
        made.flight.event(Event::Clock(at(4 * SECOND)));
    }
    made.flight.divide(&SoFar {
        finish: Finish {
            ended: at(4 * SECOND),
            duration: SECOND,
            cpu: made.cpu,
            ..Finish::default()
        },
        processes: Vec::new(),
    });
    let profile = made.kept("kept");
    assert_eq!(times(&profile), [50]);
    assert_eq!(profile.meta.duration, Nanos(SECOND));
    assert_eq!(profile.meta.cpu, Some(Nanos(SECOND / 10)));
}

#[test]
fn a_piece_that_cannot_be_written_is_missing_and_the_next_one_is_not() {
    let mut made = Made::new("flight-full", 5 * SECOND);
    made.sample(0x1000, 1);
    // The next pieces have no place, for a while.
    let pieces = made.folder.path().join("pieces");
    let away = made.folder.path().join("away");
    std::fs::rename(&pieces, &away).unwrap();
    made.divide(SECOND);
    made.sample(0x1000, SECOND + 1);
    std::fs::rename(&away, &pieces).unwrap();
    made.divide(2 * SECOND);
    made.sample(0x1000, 2 * SECOND + 1);
    made.divide(3 * SECOND);
    assert!(made.flight.failure().is_some());
    let profile = made.kept("kept");
    assert_eq!(times(&profile), [0, 200]);
    assert_eq!(profile.meta.cpu, Some(Nanos(2 * SECOND / 10)));
    let is_missing = |note: &String| note.contains("some of the recording is missing");
    assert!(profile.meta.notes.iter().any(is_missing));
}

#[test]
fn its_folder_goes_with_it() {
    let mut made = Made::new("flight-folder", SECOND);
    made.sample(0x1000, 1);
    made.divide(SECOND);
    let folder = made.folder.path().join("pieces");
    assert!(folder.is_dir());
    let kept = made.flight.kept();
    drop(made.flight);
    assert!(!folder.exists());
    drop(kept);
}
