//! Threads that unpack batches of samples, decode them and add them up.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use profundo_model::{Meta, Nanos};

use super::super::chunk::{HEAD, Head, Unpacker};
use super::super::column::Columns;
use super::super::read::Decoder;
use super::super::sample::{LastSeen, each};
use super::sums::{STRETCH, Sums};
use crate::Damage;

/// The numbers of rows in the tables before a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    threads: usize,
    tasks: usize,
    stacks: usize,
    strings: usize,
    spans: usize,
}

impl Limits {
    pub(super) fn of(decoder: &Decoder) -> Self {
        Self {
            threads: decoder.profile.threads.len(),
            tasks: decoder.profile.tasks.len(),
            stacks: decoder.stacks.len(),
            strings: decoder.strings.len(),
            spans: decoder.spans.len(),
        }
    }
}

/// A batch of samples.
pub(super) struct Job {
    head: Head,
    head_bytes: [u8; HEAD],
    offset: usize,
    stored: Vec<u8>,
    limits: Limits,
    meta: Arc<Meta>,
}

impl Job {
    pub(super) fn new(
        head: Head,
        head_bytes: [u8; HEAD],
        offset: usize,
        stored: Vec<u8>,
        limits: Limits,
        meta: Arc<Meta>,
    ) -> Self {
        Self {
            head,
            head_bytes,
            offset,
            stored,
            limits,
            meta,
        }
    }
}

/// The findings of one thread.
struct Found {
    sums: Sums,
    /// By the offset of each batch, the number of its first sample and its number of samples.
    batches: Vec<(usize, u64, u64)>,
}

/// The threads.
pub(super) struct Workers<'scope> {
    jobs: SyncSender<Job>,
    used: Receiver<Vec<u8>>,
    is_odd: Arc<AtomicBool>,
    threads: Vec<ScopedJoinHandle<'scope, Option<Found>>>,
    /// The facts about the recording at the first batch.
    meta: Option<Arc<Meta>>,
}

impl<'scope> Workers<'scope> {
    /// Starts `count` threads. `None` where there is no thread.
    pub(super) fn begin(
        scope: &'scope Scope<'scope, '_>,
        count: usize,
        within: &Range<Nanos>,
        apart: u64,
    ) -> Option<Self> {
        let (jobs, receiver) = sync_channel(count);
        let (give_back, used) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let is_odd = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for _ in 0..count {
            let (receiver, give_back) = (Arc::clone(&receiver), give_back.clone());
            let (is_odd, within) = (Arc::clone(&is_odd), within.clone());
            let work = move || {
                let found = run(&receiver, &give_back, within, apart, count);
                if found.is_none() {
                    // Only a hint for the reading thread, which checks the findings in the end.
                    is_odd.store(true, Ordering::Relaxed);
                }
                found
            };
            let thread = Builder::new().name("profundo gather".into());
            match thread.spawn_scoped(scope, work) {
                Ok(thread) => threads.push(thread),
                Err(_) if threads.is_empty() => return None,
                Err(_) => break,
            }
        }
        Some(Self {
            jobs,
            used,
            is_odd,
            threads,
            meta: None,
        })
    }

    /// Passes a batch to one of them. False where an irregularity was found before.
    pub(super) fn give(&mut self, job: Job) -> bool {
        if self.meta.is_none() {
            self.meta = Some(Arc::clone(&job.meta));
        }
        !self.is_odd.load(Ordering::Relaxed) && self.jobs.send(job).is_ok()
    }

    /// Memory for another batch.
    pub(super) fn memory(&self) -> Vec<u8> {
        self.used.try_recv().unwrap_or_default()
    }

    /// The facts about the recording at the first batch.
    pub(super) fn meta(&self) -> Option<Arc<Meta>> {
        self.meta.clone()
    }

    /// The findings of all threads. `None` at an irregularity.
    pub(super) fn finish(self) -> Option<Vec<Sums>> {
        drop(self.jobs);
        let found: Vec<Option<Found>> = (self.threads.into_iter())
            .map(|thread| thread.join().ok().flatten())
            .collect();
        let mut batches = Vec::new();
        let mut sums = Vec::new();
        for found in found {
            let found = found?;
            batches.extend(found.batches);
            sums.push(found.sums);
        }
        // They must follow one another.
        batches.sort_unstable();
        let mut next = 0;
        for (_, first, rows) in batches {
            if first != next {
                return None;
            }
            next += rows;
        }
        Some(sums)
    }
}

fn run(
    jobs: &Mutex<Receiver<Job>>,
    give_back: &Sender<Vec<u8>>,
    within: Range<Nanos>,
    apart: u64,
    shares: usize,
) -> Option<Found> {
    let (mut unpacker, mut last_seen) = (Unpacker::new(), LastSeen::new());
    let mut found = Found {
        sums: Sums::new(shares),
        batches: Vec::new(),
    };
    loop {
        // The lock is released before the batch is decoded.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else {
            found.sums.end()?;
            return Some(found);
        };
        let chunk = job.head.with(job.offset, &job.head_bytes, &job.stored);
        let columns = Columns::parse(unpacker.open(&chunk).ok()?).ok()?;
        let batch = (job.offset, columns.first, columns.rows as u64);
        found.batches.push(batch);
        let mut number = columns.first;
        let Limits {
            threads,
            tasks,
            stacks,
            strings,
            spans,
        } = job.limits;
        let (tasks, stacks, strings) = (tasks as u64, stacks as u64, strings as u64);
        let spans = spans as u64;
        each(&columns, threads, &mut last_seen, |row| {
            let is_known = row.task < tasks && row.stack < stacks && row.file < strings;
            let is_known = is_known && row.span < spans;
            // The reader of single samples knows the problem.
            let odd = Damage::Number;
            if !is_known {
                return Err(odd);
            }
            let part = u32::from(row.time >= within.start.0) + u32::from(row.time >= within.end.0);
            let keeps_order = (number / STRETCH).is_multiple_of(apart);
            let added = (found.sums).add(&job.meta, number, &row, part, keeps_order);
            number += 1;
            added.ok_or(odd)
        })
        .ok()?;
        // The reader may have finished.
        let _ = give_back.send(job.stored);
    }
}
