//! A recording that is cleared while it goes on: late records, and ends of what began before.

use profundo_model::{Amount, Nanos, Sampling};
use profundo_wire::recording::{
    Allocations, Engine, Event, Finish, Instant, Peak, ProcessInfo, SiteSum, Start, ThreadInfo,
};
use profundo_wire::{Block, End, Freed, Gil, PythonEnd, SampleHead, Site, State};

use crate::Ingest;

fn at(cycles: u64) -> Instant {
    Instant {
        cycles,
        monotonic: cycles,
        unix: cycles,
    }
}

fn begun(allocations: Allocations) -> Ingest {
    let mut ingest = Ingest::new(Start {
        engine: Engine::PerfSignal,
        period: 1000,
        started: at(1000),
        allocations,
        ..Start::default()
    });
    ingest.event(Event::Process(ProcessInfo {
        key: 1,
        pid: 71,
        started: 1000,
        ..ProcessInfo::default()
    }));
    ingest
}

fn feed(ingest: &mut Ingest, words: &[&[u64]]) {
    let words = &words.concat();
    ingest.event(Event::Words { process: 1, words });
}

fn sample(state: State, clock: u64) -> Vec<u64> {
    sample_of(1, state, clock)
}

fn sample_of(thread: u32, state: State, clock: u64) -> Vec<u64> {
    let head = SampleHead {
        state,
        end: End::Root,
        frames: 1,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: 10,
        task: 0,
        thread,
        tid: 70 + thread,
        span: 0,
    };
    [&head.to_words()[..], &[0x10]].concat()
}

fn block(clock: u64, number: u64) -> Vec<u64> {
    let block = Block {
        clock,
        number,
        size: 100,
        ..Block::default()
    };
    [&sample(State::Allocating, clock)[..], &block.to_words()].concat()
}

fn freed(clock: u64, number: u64) -> Vec<u64> {
    let freed = Freed {
        clock,
        number,
        at_once: false,
    };
    freed.to_words().to_vec()
}

fn end() -> Finish {
    Finish {
        ended: at(9000),
        duration: 4000,
        ..Finish::default()
    }
}

#[test]
fn blocks_and_samples_of_before_are_none_whenever_they_come() {
    let mut ingest = begun(Allocations::Bytes(1));
    feed(
        &mut ingest,
        &[
            &block(2000, 1),
            &block(2100, 2),
            &sample(State::Running, 2200),
        ],
    );
    // A free that comes before its allocation.
    feed(&mut ingest, &[&freed(3000, 3)]);
    ingest.event(Event::Clock(at(3000)));
    ingest.event(Event::Clock(at(4000)));
    let thread = |cpu| Event::Thread {
        process: 1,
        thread: ThreadInfo {
            number: 1,
            tid: 71,
            name: "t".into(),
            alive: cpu,
            cpu,
        },
        gil_wait: 0,
    };
    ingest.event(thread(300));
    ingest.event(Event::Cleared(at(5000)));
    assert!(ingest.profile().samples.is_empty() && ingest.profile().heap.blocks.is_empty());
    // Late records, and ends of forgotten ones.
    feed(
        &mut ingest,
        &[
            &block(2500, 3),
            &block(2600, 4),
            &sample(State::Running, 4999),
        ],
    );
    feed(
        &mut ingest,
        &[
            &freed(6000, 1),
            &freed(6100, 4),
            &block(6200, 5),
            &block(6300, 6),
        ],
    );
    feed(
        &mut ingest,
        &[&freed(6500, 5), &sample(State::Running, 6600)],
    );
    ingest.event(thread(420));
    ingest.event(Event::Clock(at(8000)));
    let profile = ingest.finish(end());
    let blocks: Vec<_> = profile
        .heap
        .blocks
        .iter()
        .map(|block| (block.time.0, block.freed))
        .collect();
    assert_eq!(blocks, [(1200, Some(Nanos(1500))), (1300, None)]);
    assert!(profile.heap.ends.is_empty());
    let times: Vec<_> = profile.samples.iter().map(|sample| sample.time.0).collect();
    assert_eq!(times, [1600]);
    let (_, thread) = profile.threads.iter().next().unwrap();
    assert_eq!(thread.cpu, Some(Nanos(120)));
    assert_eq!(
        (profile.meta.started_at_unix, profile.meta.duration),
        (5000, Nanos(4000))
    );
    assert_eq!(profile.heap.sampling, Sampling::Bytes(1));
    assert!(profile.meta.notes[0].contains("was cleared"));
}

#[test]
fn stacks_keep_their_numbers_and_sums_begin_anew() {
    let mut ingest = begun(Allocations::All);
    let site = Site {
        clock: 2000,
        number: 7,
        ..Site::default()
    };
    feed(
        &mut ingest,
        &[&sample(State::Allocating, 2000), &site.to_words()],
    );
    let sum = |number, count| SiteSum {
        number,
        allocated: [count, 10 * count],
        ..SiteSum::default()
    };
    let sums = |clock, sites| Event::Sites {
        process: 1,
        clock,
        sites,
        peak: Default::default(),
    };
    ingest.event(Event::Clock(at(2500)));
    ingest.event(sums(2500, vec![sum(7, 5)]));
    ingest.event(Event::Cleared(at(5000)));
    assert_eq!(ingest.profile().heap.sites[0].allocated, Amount::default());
    // The stack of the last one is unknown.
    ingest.event(sums(6000, vec![sum(7, 2), sum(8, 3)]));
    let profile = ingest.finish(end());
    let found: Vec<_> = profile
        .heap
        .sites
        .iter()
        .map(|site| site.allocated.count)
        .collect();
    assert_eq!(found, [2, 3]);
    assert_eq!(profile.heap.moments.len(), 1);
    assert_eq!(profile.heap.moments[0].time, Nanos(1000));
}

#[test]
fn who_goes_on_knows_stacks_by_their_numbers() {
    let mut ingest = begun(Allocations::All);
    let site = Site {
        clock: 2000,
        number: 7,
        ..Site::default()
    };
    feed(
        &mut ingest,
        &[&sample(State::Allocating, 2000), &site.to_words()],
    );
    ingest.event(Event::Clock(at(2500)));
    let mut resumed = Ingest::resume(
        ingest.profile().clone(),
        Start {
            started: at(1000),
            allocations: Allocations::All,
            ..Start::default()
        },
    );
    resumed.event(Event::Sites {
        process: 1,
        clock: 6000,
        sites: vec![SiteSum {
            number: 7,
            allocated: [4, 40],
            ..SiteSum::default()
        }],
        peak: Default::default(),
    });
    let profile = resumed.finish(end());
    assert_eq!(profile.heap.sites.len(), 1);
    assert_eq!(profile.heap.sites[0].allocated.bytes, 40);
}

#[test]
fn a_look_that_saw_more_than_the_peak_of_several_threads_is_the_peak() {
    let peak_of = |threads: &[u32]| {
        let mut ingest = begun(Allocations::All);
        let site = Site {
            clock: 2000,
            number: 7,
            ..Site::default()
        };
        feed(
            &mut ingest,
            &[&sample(State::Allocating, 2000), &site.to_words()],
        );
        for &thread in threads {
            feed(&mut ingest, &[&sample_of(thread, State::Running, 2100)]);
        }
        let look = |clock, freed, at_peak| Event::Sites {
            process: 1,
            clock,
            sites: vec![SiteSum {
                number: 7,
                allocated: [10, 100],
                freed,
                at_peak,
                ..SiteSum::default()
            }],
            peak: Peak {
                bytes: at_peak[1],
                clock: 2000,
            },
        };
        ingest.event(Event::Clock(at(2500)));
        ingest.event(look(2500, [0, 0], [5, 50]));
        ingest.event(look(2600, [9, 90], [5, 50]));
        ingest.finish(end()).heap.sites[0].at_peak
    };
    let of = |count, bytes| Amount { count, bytes };
    assert_eq!(peak_of(&[1]), of(5, 50));
    assert_eq!(peak_of(&[1, 2]), of(10, 100));
}
