//! Threads with made-up counts.

use std::collections::HashMap;
use std::io;

use profundo_testing::skip;

use super::{Counters, Counts, Files, Ledger, Stretch, Whole};
use crate::parts::Change;

const MS: u64 = 1_000_000;

#[derive(Default)]
struct Made {
    threads: HashMap<u32, u64>,
    /// The bytes of ended threads.
    ended: u64,
    /// The bytes of reaped children.
    children: u64,
    asked: Vec<u32>,
    refuses: bool,
    /// Threads that run at the beginning.
    running: Vec<u32>,
}

fn read(bytes: u64) -> Counters {
    Counters {
        read: bytes,
        ..Counters::default()
    }
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

impl Made {
    fn end(&mut self, tid: u32) {
        self.ended += self.threads.remove(&tid).unwrap();
    }
}

impl Counts for Made {
    fn of_thread(&mut self, _: u32, tid: u32) -> io::Result<Counters> {
        self.asked.push(tid);
        if self.refuses {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        self.threads
            .get(&tid)
            .map(|&bytes| read(bytes))
            .ok_or_else(gone)
    }

    fn of_process(&mut self, _: u32) -> io::Result<Whole> {
        Ok(Whole {
            counters: read(self.ended + self.threads.values().sum::<u64>()),
            children: self.children,
        })
    }

    fn runs(&mut self, _: u32, tid: u32) -> bool {
        self.running.contains(&tid)
    }

    fn forget(&mut self, _: u32) {}
}

fn read_due(traffic: &mut Ledger, now: u64, counts: &mut Made) -> Vec<Stretch> {
    let mut out = Vec::new();
    traffic.read(now, 0, counts, || true, &mut out);
    out
}

#[test]
fn only_threads_that_have_run_are_read() {
    let mut counts = Made::default();
    counts.threads.extend([(1, 100), (2, 0)]);
    let mut traffic = Ledger::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 1, Change::Out, MS);
    traffic.change(1, 2, Change::In, 2 * MS);
    counts.threads.extend([(1, 150), (2, 7)]);
    counts.asked.clear();
    let mut stretches = read_due(&mut traffic, 10 * MS, &mut counts);
    stretches.sort_by_key(|stretch| stretch.tid);
    // The earlier bytes of the first are ignored, and it has waited once.
    let first = Stretch {
        pid: 1,
        tid: 1,
        from: 0,
        to: 10 * MS,
        waits: 1,
        counters: read(50),
    };
    let second = Stretch {
        tid: 2,
        from: 2 * MS,
        waits: 0,
        counters: read(7),
        ..first
    };
    assert_eq!(stretches, [first, second]);
    // The first sleeps, and is not read; the second runs all the time.
    counts.threads.insert(2, 8);
    counts.asked.clear();
    let stretches = read_due(&mut traffic, 20 * MS, &mut counts);
    assert_eq!(counts.asked, [2]);
    assert_eq!(
        (stretches[0].from, stretches[0].counters),
        (10 * MS, read(1))
    );
    assert!(read_due(&mut traffic, 30 * MS, &mut counts).is_empty());
}

#[test]
fn a_thread_that_sleeps_from_the_start_is_read_once() {
    let mut counts = Made::default();
    counts.threads.extend((1..=1000).map(|tid| (tid, 5)));
    counts.running.push(7);
    let tids: Vec<u32> = (1..=1000).collect();
    let mut traffic = Ledger::default();
    traffic.begin(1, &tids, 0, &mut counts);
    read_due(&mut traffic, 10 * MS, &mut counts);
    counts.asked.clear();
    counts.threads.insert(7, 6);
    assert_eq!(read_due(&mut traffic, 20 * MS, &mut counts).len(), 1);
    assert_eq!(counts.asked, [7]);
    // Every thread is read where it is not known which have run.
    traffic.lose_track(20 * MS);
    counts.asked.clear();
    read_due(&mut traffic, 30 * MS, &mut counts);
    assert_eq!(counts.asked.len(), 1000);
    counts.asked.clear();
    read_due(&mut traffic, 40 * MS, &mut counts);
    assert_eq!(counts.asked, [7]);
}

#[test]
fn what_an_ended_thread_did_last_is_not_lost() {
    let mut counts = Made::default();
    counts.threads.insert(1, 1000);
    counts.running.push(1);
    let mut traffic = Ledger::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 2, Change::In, MS);
    counts.threads.extend([(1, 1010), (2, 40)]);
    read_due(&mut traffic, 10 * MS, &mut counts);
    counts.threads.insert(2, 90);
    counts.end(2);
    assert!(read_due(&mut traffic, 20 * MS, &mut counts).is_empty());
    counts.threads.insert(1, 1015);
    let mut stretches = read_due(&mut traffic, 30 * MS, &mut counts);
    stretches.sort_by_key(|stretch| stretch.tid);
    let stretches: Vec<_> = stretches
        .iter()
        .map(|stretch| (stretch.tid, stretch.counters.read))
        .collect();
    assert_eq!(stretches, [(1, 5), (2, 50)]);
    assert!(read_due(&mut traffic, 40 * MS, &mut counts).is_empty());
}

#[test]
fn the_traffic_of_children_is_not_their_parents() {
    let mut counts = Made::default();
    counts.threads.insert(1, 0);
    let mut traffic = Ledger::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 1, Change::Out, MS);
    counts.threads.insert(1, 10);
    (counts.ended, counts.children) = (5000, 1);
    let mut out = Vec::new();
    traffic.finish(1, 5 * MS, &mut counts, &mut out);
    let stretches: Vec<_> = out.iter().map(|stretch| stretch.counters.read).collect();
    assert_eq!(stretches, [10]);
    // Without the children's own stretches, at the very end and without a time.
    traffic.change(2, 2, Change::In, 6 * MS);
    counts.threads.insert(2, 4000);
    out = read_due(&mut traffic, 10 * MS, &mut counts);
    assert_eq!(out.len(), 1);
    traffic.forget(2, 11 * MS, &mut counts);
    counts.threads.remove(&2);
    out.clear();
    for _ in 0..2 {
        traffic.finish_first(1, 12 * MS, &mut counts, &mut out);
    }
    let stretches: Vec<_> = out
        .iter()
        .map(|stretch| (stretch.from, stretch.to, stretch.counters))
        .collect();
    assert_eq!(stretches, [(12 * MS, 12 * MS, read(1000))]);
}

#[test]
fn the_end_of_a_program_attributes_the_rest() {
    let mut counts = Made::default();
    counts.threads.insert(1, 0);
    let mut traffic = Ledger::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 2, Change::In, MS);
    // The second begins and ends between two readings.
    counts.threads.extend([(1, 10), (2, 30)]);
    counts.end(2);
    let mut out = Vec::new();
    traffic.finish(1, 5 * MS, &mut counts, &mut out);
    let stretches: Vec<_> = out
        .iter()
        .map(|stretch| (stretch.tid, stretch.counters.read))
        .collect();
    assert_eq!(stretches.iter().map(|stretch| stretch.1).sum::<u64>(), 40);
    assert!(
        stretches.contains(&(1, 10)) && stretches.contains(&(2, 30)),
        "{stretches:?}"
    );
    // Another program of the same process continues its counts.
    traffic.change(1, 1, Change::In, 6 * MS);
    counts.threads.insert(1, 11);
    let stretches = read_due(&mut traffic, 10 * MS, &mut counts);
    assert_eq!(stretches[0].counters, read(1));
    traffic.forget(1, 11 * MS, &mut counts);
    assert!(traffic.pids().is_empty());
    // Its last switch arrives late, while it is not reaped yet.
    traffic.change(1, 1, Change::Out, 9 * MS);
    assert!(read_due(&mut traffic, 20 * MS, &mut counts).is_empty());
    // Another process gets the number later.
    read_due(&mut traffic, 5000 * MS, &mut counts);
    traffic.change(1, 1, Change::In, 5001 * MS);
    assert_eq!(read_due(&mut traffic, 5010 * MS, &mut counts).len(), 1);
}

#[test]
fn a_refusal_is_reported_once() {
    let mut counts = Made {
        refuses: true,
        ..Made::default()
    };
    let mut traffic = Ledger::default();
    traffic.begin(1, &[], 0, &mut counts);
    traffic.change(1, 1, Change::In, 0);
    assert!(read_due(&mut traffic, MS, &mut counts).is_empty());
    traffic.take_refused().expect("the read was refused");
    assert!(read_due(&mut traffic, 2 * MS, &mut counts).is_empty());
    assert_eq!(counts.asked.len(), 1);
}

#[test]
fn reading_ends_when_its_time_is_over() {
    let mut counts = Made::default();
    counts.threads.extend((1..=10).map(|tid| (tid, 0)));
    let mut traffic = Ledger::default();
    for tid in 1..=10 {
        traffic.change(1, tid, Change::In, 0);
    }
    counts.threads.values_mut().for_each(|bytes| *bytes += 1);
    let mut out = Vec::new();
    let mut left = 3;
    let goes_on = || {
        left -= 1;
        left >= 0
    };
    traffic.read(MS, 4, &mut counts, goes_on, &mut out);
    assert_eq!((out.len(), counts.asked.len()), (3, 3));
}

#[test]
fn the_kernels_files_are_read() {
    use std::io::Write;
    let (pid, tid) = (std::process::id(), profundo_linux::sys::thread_id());
    let mut files = Files::default();
    let Ok(before) = files.of_thread(pid, tid) else {
        return skip("the kernel does not count what threads read and write");
    };
    let mut null = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .unwrap();
    null.write_all(&[0; 5000]).unwrap();
    let now = files.of_thread(pid, tid).unwrap();
    assert_eq!(now.written - before.written, 5000);
    assert!(files.of_process(pid).unwrap().counters.written >= 5000);
    assert!(Counters::parse(b"rchar: 1\nwchar: x\n").is_none());
}
