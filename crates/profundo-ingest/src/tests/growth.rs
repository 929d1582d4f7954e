//! The cost of an event does not depend on the number of events before: a hundred thousand
//! processes, ten thousand threads of one, and ten hours of time.

use std::time::{Duration, Instant as Moment};

use profundo_model::Nanos;
use profundo_wire::recording::{
    Engine, Event, Finish, HowEnded, Instant, LossCounts, ModuleInfo, ProcessEnd, ProcessInfo,
    Start, ThreadInfo,
};
use profundo_wire::{End, SampleHead};

use super::{head, module};
use crate::Ingest;
use crate::ingest::programs::KEPT;

const SECOND: u64 = 1_000_000_000;

fn at(time: u64) -> Instant {
    Instant {
        cycles: time,
        monotonic: time,
        unix: time,
    }
}

fn begun() -> Ingest {
    let mut ingest = Ingest::new(Start {
        engine: Engine::PerfSignal,
        period: 1_000_000,
        started: at(1),
        ..Start::default()
    });
    ingest.event(Event::Clock(at(1)));
    ingest.event(Event::Clock(at(SECOND)));
    ingest
}

/// A sample of a thread, at one of a few addresses.
fn sample(thread: u32, tid: u32, time: u64) -> Vec<u64> {
    let frames = [0x5000 + time % 7, 0x6000, 0x7000];
    let head = SampleHead {
        tid,
        ..head(time, thread, 0, End::Root, frames.len() as u16)
    };
    [&head.to_words()[..], &frames].concat()
}

/// Asserts that the last pieces of work took about as long as the first ones. A loop over all
/// earlier events would take six times as long and more.
fn assert_flat(name: &str, pieces: &[Duration]) {
    let median = |part: &[Duration]| {
        let mut sorted = part.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let part = pieces.len() / 10;
    let first = median(&pieces[part..2 * part]);
    let last = median(&pieces[pieces.len() - part..]);
    assert!(
        last < first * 4 + Duration::from_millis(2),
        "{name}: {first:?} at the beginning, {last:?} at the end"
    );
}

#[test]
fn processes_that_were_are_no_burden() {
    const PROCESSES: u32 = 100_000;
    const PIECE: u32 = 500;
    let mut ingest = begun();
    let (mut pieces, mut began) = (Vec::new(), Moment::now());
    for key in 1..=PROCESSES {
        let time = SECOND + u64::from(key) * SECOND / 100;
        ingest.event(Event::Process(ProcessInfo {
            key,
            pid: 2 + key % 30_000,
            parent: u32::from(key > 1),
            command: "short".into(),
            started: time,
            ..ProcessInfo::default()
        }));
        // A program without a build id lies elsewhere in each process.
        let start = 0x5000 + (u64::from(key) << 12);
        let program = ModuleInfo {
            build_id: Vec::new(),
            ..module("/bin/short", start, 0, u64::MAX)
        };
        let library = module("/lib/libc.so", 1 << 40 | start, 0, u64::MAX);
        ingest.event(Event::Modules {
            process: key,
            modules: vec![program, library],
        });
        let words = sample(1, 2 + key, time + 10);
        ingest.event(Event::Words {
            process: key,
            words: &words,
        });
        ingest.event(Event::Loss {
            process: key,
            loss: LossCounts {
                overwritten: 1,
                ..LossCounts::default()
            },
        });
        ingest.event(Event::Clock(at(time + 20)));
        // The first one goes on.
        if key > 1 {
            ingest.event(Event::Ended(ProcessEnd {
                process: key,
                ended: time + 30,
                how: HowEnded::Exited(0),
                user: Some(1000),
                system: None,
            }));
        }
        ingest.profile_mut().samples.clear();
        if key % PIECE == 0 {
            pieces.push(began.elapsed());
            began = Moment::now();
        }
    }
    assert_flat("processes", &pieces);
    assert_eq!(ingest.profile().meta.loss.overwritten, u64::from(PROCESSES));
    // Programs that have ended a while ago have no tables any more.
    assert!(ingest.present_programs() <= KEPT as usize + 2);
    // Late records are still of the same threads, and children know their parents.
    let late = sample(1, 2 + 5, SECOND * 2000);
    ingest.event(Event::Words {
        process: 5,
        words: &late,
    });
    ingest.event(Event::Process(ProcessInfo {
        key: PROCESSES + 1,
        pid: 2,
        parent: 7,
        started: SECOND * 2000,
        ..ProcessInfo::default()
    }));
    let threads = ingest.profile().threads.len();
    let profile = ingest.finish(Finish::default());
    assert_eq!(
        (profile.threads.len(), threads),
        (PROCESSES as usize, threads)
    );
    assert_eq!(profile.processes.len(), PROCESSES as usize + 1);
    let child = profile.processes.last().unwrap();
    assert_eq!(child.parent.map(|parent| parent.index()), Some(6));
    let last = &profile.processes[PROCESSES as usize - 1];
    assert!(last.started < last.ended);
}

#[test]
fn threads_that_were_are_no_burden() {
    const THREADS: u32 = 10_000;
    const PIECE: u32 = 50;
    let mut ingest = begun();
    ingest.event(Event::Process(ProcessInfo {
        key: 1,
        pid: 7,
        started: SECOND,
        ..ProcessInfo::default()
    }));
    let (mut pieces, mut began) = (Vec::new(), Moment::now());
    for number in 1..=THREADS {
        let (tid, time) = (100 + number % 3000, SECOND * (1 + u64::from(number)));
        // Some samples come before the thread is announced, and some when it is gone.
        let mut words = sample(0, tid, time);
        words.extend((1..4).flat_map(|later| sample(number, tid, time + later)));
        ingest.event(Event::Words {
            process: 1,
            words: &words,
        });
        ingest.event(Event::Thread {
            process: 1,
            thread: ThreadInfo {
                number,
                tid,
                name: "worker".into(),
                alive: 1000,
                cpu: 500,
            },
            gil_wait: 0,
        });
        let late = sample(0, tid, time + 5);
        ingest.event(Event::Words {
            process: 1,
            words: &late,
        });
        ingest.event(Event::Clock(at(time + 6)));
        ingest.profile_mut().samples.clear();
        if number % PIECE == 0 {
            pieces.push(began.elapsed());
            began = Moment::now();
        }
    }
    assert_flat("threads", &pieces);
    let profile = ingest.finish(Finish::default());
    assert_eq!(
        profile.threads.len(),
        THREADS as usize,
        "late samples are of known threads"
    );
}

#[test]
fn hours_are_no_burden() {
    let mut ingest = begun();
    ingest.event(Event::Process(ProcessInfo {
        key: 1,
        pid: 7,
        started: SECOND,
        ..ProcessInfo::default()
    }));
    let (mut pieces, mut began) = (Vec::new(), Moment::now());
    let mut taken = 0;
    // Ten turns a second for ten hours.
    for turn in 0..360_000_u64 {
        let time = SECOND + turn * SECOND / 10;
        let words = sample(1, 7, time);
        ingest.event(Event::Words {
            process: 1,
            words: &words,
        });
        ingest.event(Event::Clock(at(time + 1)));
        taken += std::mem::take(&mut ingest.profile_mut().samples).len();
        if turn % 1000 == 999 {
            pieces.push(began.elapsed());
            began = Moment::now();
        }
    }
    assert_flat("turns", &pieces);
    assert!(ingest.held_back() < 10, "samples are let go");
    assert!(taken > 359_000);
    assert!(ingest.profile().meta.duration > Nanos(35_990 * SECOND));
    assert!(ingest.profile().stacks.len() < 30);
}
