//! Threads find their slots, ended ones leave theirs, and numbers are never used twice.

use std::sync::atomic::{AtomicU32, Ordering};

use profundo_probe::caches::{Cache, Caches};
use profundo_probe::shared::record_state;
use profundo_probe::{ThreadRecord, Threads, sys};

use crate::zeroed;

fn threads(slots: usize, records: usize) -> Threads {
    Threads::new(crate::zeroed(slots), crate::zeroed(records))
}

fn caches() -> Caches {
    Caches::new(crate::zeroed::<Cache>(4))
}

fn named(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

#[test]
fn a_thread_enters_once() {
    let threads = threads(16, 16);
    let first = threads.enter(7, 0x1000).unwrap();
    let again = threads.enter(7, 0x1000).unwrap();
    assert_eq!((first.number(), again.number()), (1, 1));
    assert_eq!(threads.records().count(), 1);
}

#[test]
fn an_id_that_is_used_again_is_another_thread() {
    let threads = threads(16, 16);
    let first = threads.enter(7, 0x1000).unwrap().number();
    let second = threads.enter(7, 0x2000).unwrap().number();
    assert_ne!(first, second);
}

#[test]
fn a_thread_that_others_met_first_keeps_its_number() {
    let threads = threads(16, 16);
    let number = threads.enter_other(7, named("worker")).unwrap().number();
    assert_eq!(threads.enter(7, 0x1000).unwrap().number(), number);
    assert_eq!(threads.record(number).unwrap().name(), named("worker"));
}

#[test]
fn slots_of_ended_threads_are_used_again_and_their_records_stay() {
    let threads = threads(8, 64);
    for tid in 1..=40 {
        let slot = threads.enter_other(tid, named("t"));
        assert!(slot.is_some(), "no slot for thread {tid}");
        threads.sweep(&caches(), |_| false);
    }
    assert_eq!(threads.records().count(), 40);
    assert!(threads.records().all(|(_, record)| record.has_ended()));
    assert_eq!(threads.slots().count(), 0);
}

#[test]
fn threads_whose_ids_collide_find_their_own_slots() {
    let threads = threads(8, 16);
    let tids = [3, 11, 19, 27];
    let numbers = tids.map(|tid| threads.enter_other(tid, [0; 16]).unwrap().number());
    threads.sweep(&caches(), |tid| tid != 11);
    assert!(threads.find(11).is_none());
    for (tid, number) in [(3, numbers[0]), (19, numbers[2]), (27, numbers[3])] {
        assert_eq!(threads.find(tid).unwrap().number(), number);
    }
}

#[test]
fn a_full_table_refuses_and_records_run_out_gently() {
    let threads = threads(2, 2);
    assert!(threads.enter_other(1, [0; 16]).is_some());
    assert!(threads.enter_other(2, [0; 16]).is_some());
    assert!(threads.enter_other(3, [0; 16]).is_none());
    threads.sweep(&caches(), |_| false);
    assert_eq!(threads.enter_other(3, [0; 16]).unwrap().number(), 2);
}

#[test]
fn many_threads_at_once_get_a_slot_each() {
    let threads: &'static Threads = Box::leak(Box::new(threads(1024, 1024)));
    let enter = || {
        let tid = sys::thread_id();
        let pointer = profundo_probe::regs::thread_pointer();
        (0..100)
            .map(|_| threads.enter(tid, pointer).unwrap().number())
            .collect::<Vec<_>>()
    };
    let handles: Vec<_> = (0..64).map(|_| std::thread::spawn(enter)).collect();
    let mut numbers: Vec<u32> = handles
        .into_iter()
        .map(|handle| {
            let mut numbers = handle.join().unwrap();
            numbers.dedup();
            assert_eq!(numbers.len(), 1);
            numbers[0]
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 64);
}

#[test]
fn all_slots_in_use_are_listed_wherever_they_are() {
    for slots in [1 << 4, 1 << 10, 1 << 12] {
        let threads = threads(slots, 64);
        let mut tids: Vec<u32> = (0..16).map(|n| 3 + n * 257).collect();
        for &tid in &tids {
            assert!(threads.enter_other(tid, named("t")).is_some());
        }
        let mut found: Vec<u32> = threads.slots().map(|slot| slot.tid()).collect();
        found.sort_unstable();
        tids.sort_unstable();
        assert_eq!(found, tids, "of {slots}");
    }
}

/// Tables of an agent, with room for `records` records.
fn shared(records: usize) -> (Threads, &'static [ThreadRecord]) {
    let records: &'static [ThreadRecord] = zeroed(records);
    let met: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
    (Threads::shared(zeroed(64), records, met), records)
}

#[test]
fn an_agents_threads_enter_themselves_or_are_entered_by_the_command() {
    let records: &'static [ThreadRecord] = zeroed(4);
    let met: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
    let threads = Threads::shared(zeroed(64), records, met);
    let caches = caches();
    // A thread that was not entered has no slot.
    assert!(threads.enter(7, 0x1000).is_none());
    let slot = threads.begin(7, 0x1000).unwrap();
    assert_eq!((slot.number(), records[0].tid()), (1, 7));
    assert_eq!(threads.enter(7, 0x1000).unwrap().number(), 1);
    // The command enters one that it has found by itself.
    assert!(threads.enter(8, 0x2000).is_none());
    met.store(2, Ordering::Relaxed);
    records[1].fill(2, 8, named("bare"));
    assert_eq!(threads.enter(8, 0x2000).unwrap().number(), 2);
    threads.end(&caches, 7, 123);
    assert!(records[0].has_ended());
    assert_eq!(records[0].cpu.load(Ordering::Relaxed), 123);
    // A signal that comes after the end finds nothing, and enters nothing.
    assert!(threads.enter(7, 0x1000).is_none());
    assert_eq!(threads.records().count(), 2);
}

#[test]
fn records_are_used_again_once_the_command_has_read_them() {
    let (threads, records) = shared(2);
    let caches = caches();
    let numbers = |tid: u32| threads.begin(tid, 8).map(|slot| slot.number());
    assert_eq!(
        (numbers(1), numbers(2), numbers(3)),
        (Some(1), Some(2), None)
    );
    threads.end(&caches, 1, 0);
    // It has ended, but the command has not read it.
    assert_eq!(numbers(3), None);
    records[0]
        .state
        .store(record_state::READ, Ordering::Release);
    assert_eq!(numbers(3), Some(3));
    assert_eq!(threads.record(3).unwrap().tid(), 3);
    threads.end(&caches, 3, 0);
    records[0]
        .state
        .store(record_state::READ, Ordering::Release);
    assert_eq!(numbers(4), Some(5));
}

#[test]
fn a_thread_that_has_ended_in_silence_gives_way() {
    let (threads, records) = shared(4);
    threads.begin(5, 0x1000).unwrap();
    let slot = threads.begin(5, 0x2000).unwrap();
    assert_eq!(slot.number(), 2);
    assert!(records[0].has_ended() && !records[1].has_ended());
    assert_eq!(threads.enter(5, 0x2000).unwrap().number(), 2);
}

#[test]
fn many_short_threads_of_an_agent_use_few_records() {
    let (threads, records) = shared(64);
    let threads = &threads;
    std::thread::scope(|scope| {
        for worker in 0..4_u32 {
            scope.spawn(move || {
                let caches = caches();
                for round in 0..500 {
                    let tid = 1 + worker * 1000 + round;
                    let slot = threads.begin(tid, 8).unwrap();
                    let record = threads.record(slot.number()).unwrap();
                    assert_eq!(record.tid(), tid);
                    threads.end(&caches, tid, 0);
                    record.state.store(record_state::READ, Ordering::Release);
                }
            });
        }
    });
    let numbers: Vec<u32> = records
        .iter()
        .map(|r| r.number.load(Ordering::Relaxed))
        .collect();
    assert!(numbers.iter().max().unwrap() > &400, "{numbers:?}");
}
