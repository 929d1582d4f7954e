//! Made-up threads that read and write what is known.

use std::collections::HashMap;
use std::io;

use super::super::spans::Change;
use super::{Counters, Counts, Files, Stretch, Traffic, Whole};

const MS: u64 = 1_000_000;

#[derive(Default)]
struct Made {
    threads: HashMap<u32, u64>,
    /// What threads had read that have ended.
    ended: u64,
    /// Of children that were waited for.
    children: u64,
    asked: Vec<u32>,
    refuses: bool,
    /// Threads that run when one begins with them.
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

fn look(traffic: &mut Traffic, now: u64, counts: &mut Made) -> Vec<Stretch> {
    let mut out = Vec::new();
    traffic.look((now, 0), counts, || true, &mut out);
    out
}

#[test]
fn only_who_has_run_is_looked_at() {
    let mut counts = Made::default();
    counts.threads.extend([(1, 100), (2, 0)]);
    let mut traffic = Traffic::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 1, Change::Out, MS);
    traffic.change(1, 2, Change::In, 2 * MS);
    counts.threads.extend([(1, 150), (2, 7)]);
    counts.asked.clear();
    let mut told = look(&mut traffic, 10 * MS, &mut counts);
    told.sort_by_key(|it| it.tid);
    // What the first had read before is of no interest, and it has waited once.
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
    assert_eq!(told, [first, second]);
    // The first sleeps, and is not asked; the second has a CPU all the time.
    counts.threads.insert(2, 8);
    counts.asked.clear();
    let told = look(&mut traffic, 20 * MS, &mut counts);
    assert_eq!(counts.asked, [2]);
    assert_eq!((told[0].from, told[0].counters), (10 * MS, read(1)));
    assert!(look(&mut traffic, 30 * MS, &mut counts).is_empty());
}

#[test]
fn who_sleeps_from_the_beginning_costs_one_look() {
    let mut counts = Made::default();
    counts.threads.extend((1..=1000).map(|tid| (tid, 5)));
    counts.running.push(7);
    let tids: Vec<u32> = (1..=1000).collect();
    let mut traffic = Traffic::default();
    traffic.begin(1, &tids, 0, &mut counts);
    look(&mut traffic, 10 * MS, &mut counts);
    counts.asked.clear();
    counts.threads.insert(7, 6);
    assert_eq!(look(&mut traffic, 20 * MS, &mut counts).len(), 1);
    assert_eq!(counts.asked, [7]);
    // The same where nobody knows who has run.
    traffic.lose_track(20 * MS);
    counts.asked.clear();
    look(&mut traffic, 30 * MS, &mut counts);
    assert_eq!(counts.asked.len(), 1000);
    counts.asked.clear();
    look(&mut traffic, 40 * MS, &mut counts);
    assert_eq!(counts.asked, [7]);
}

#[test]
fn what_an_ended_thread_did_last_is_not_lost() {
    let mut counts = Made::default();
    counts.threads.insert(1, 1000);
    counts.running.push(1);
    let mut traffic = Traffic::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 2, Change::In, MS);
    counts.threads.extend([(1, 1010), (2, 40)]);
    look(&mut traffic, 10 * MS, &mut counts);
    counts.threads.insert(2, 90);
    counts.end(2);
    assert!(look(&mut traffic, 20 * MS, &mut counts).is_empty());
    counts.threads.insert(1, 1015);
    let mut told = look(&mut traffic, 30 * MS, &mut counts);
    told.sort_by_key(|it| it.tid);
    let told: Vec<_> = told.iter().map(|it| (it.tid, it.counters.read)).collect();
    assert_eq!(told, [(1, 5), (2, 50)]);
    assert!(look(&mut traffic, 40 * MS, &mut counts).is_empty());
}

#[test]
fn what_children_did_is_not_told_of_their_parent() {
    let mut counts = Made::default();
    counts.threads.insert(1, 0);
    let mut traffic = Traffic::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 1, Change::Out, MS);
    counts.threads.insert(1, 10);
    (counts.ended, counts.children) = (5000, 1);
    let mut out = Vec::new();
    traffic.finish(1, 5 * MS, &mut counts, &mut out);
    let told: Vec<_> = out.iter().map(|it| it.counters.read).collect();
    assert_eq!(told, [10]);
    // But for what the children have not told themselves, at the very end and without a time.
    traffic.change(2, 2, Change::In, 6 * MS);
    counts.threads.insert(2, 4000);
    out = look(&mut traffic, 10 * MS, &mut counts);
    assert_eq!(out.len(), 1);
    traffic.forget(2, 11 * MS, &mut counts);
    counts.threads.remove(&2);
    out.clear();
    for _ in 0..2 {
        traffic.finish_first(1, 12 * MS, &mut counts, &mut out);
    }
    let told: Vec<_> = out.iter().map(|it| (it.from, it.to, it.counters)).collect();
    assert_eq!(told, [(12 * MS, 12 * MS, read(1000))]);
}

#[test]
fn the_end_of_a_program_tells_all() {
    let mut counts = Made::default();
    counts.threads.insert(1, 0);
    let mut traffic = Traffic::default();
    traffic.begin(1, &[1], 0, &mut counts);
    traffic.change(1, 2, Change::In, MS);
    // The second comes and goes between two looks.
    counts.threads.extend([(1, 10), (2, 30)]);
    counts.end(2);
    let mut out = Vec::new();
    traffic.finish(1, 5 * MS, &mut counts, &mut out);
    let told: Vec<_> = out.iter().map(|it| (it.tid, it.counters.read)).collect();
    assert_eq!(told.iter().map(|it| it.1).sum::<u64>(), 40);
    assert!(
        told.contains(&(1, 10)) && told.contains(&(2, 30)),
        "{told:?}"
    );
    // The same process as another program goes on where it was.
    traffic.change(1, 1, Change::In, 6 * MS);
    counts.threads.insert(1, 11);
    let told = look(&mut traffic, 10 * MS, &mut counts);
    assert_eq!(told[0].counters, read(1));
    traffic.forget(1, 11 * MS, &mut counts);
    assert!(traffic.pids().is_empty());
    // It left the CPU for good, which is told late, and nobody has waited for it yet.
    traffic.change(1, 1, Change::Out, 9 * MS);
    assert!(look(&mut traffic, 20 * MS, &mut counts).is_empty());
    // Another one has the number in time.
    look(&mut traffic, 5000 * MS, &mut counts);
    traffic.change(1, 1, Change::In, 5001 * MS);
    assert_eq!(look(&mut traffic, 5010 * MS, &mut counts).len(), 1);
}

#[test]
fn who_may_not_be_looked_at_is_told_once() {
    let mut counts = Made {
        refuses: true,
        ..Made::default()
    };
    let mut traffic = Traffic::default();
    traffic.begin(1, &[], 0, &mut counts);
    traffic.change(1, 1, Change::In, 0);
    assert!(look(&mut traffic, MS, &mut counts).is_empty());
    assert!(traffic.take_refused().is_some());
    assert!(look(&mut traffic, 2 * MS, &mut counts).is_empty());
    assert_eq!(counts.asked.len(), 1);
}

#[test]
fn looking_ends_when_its_time_is_over() {
    let mut counts = Made::default();
    counts.threads.extend((1..=10).map(|tid| (tid, 0)));
    let mut traffic = Traffic::default();
    for tid in 1..=10 {
        traffic.change(1, tid, Change::In, 0);
    }
    counts.threads.values_mut().for_each(|it| *it += 1);
    let mut out = Vec::new();
    let mut left = 3;
    let goes_on = || {
        left -= 1;
        left >= 0
    };
    traffic.look((MS, 4), &mut counts, goes_on, &mut out);
    assert_eq!((out.len(), counts.asked.len()), (3, 3));
}

fn skip(why: &str) {
    use std::io::Write;
    if let Some(path) = std::env::var_os("PROFUNDO_SKIP_FILE") {
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "skipped: {why}").unwrap();
    }
}

#[test]
fn the_kernels_files_are_read() {
    use std::io::Write;
    let (pid, tid) = (std::process::id(), crate::sys::thread_id());
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
