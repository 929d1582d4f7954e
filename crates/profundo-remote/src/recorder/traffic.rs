//! What threads read and write: at each tick of the wall clock it is asked of those that have run.

use std::collections::HashMap;

use profundo_wire::recording::Event;
use profundo_wire::{Reader, Record, opened_words};

use super::Recorder;
use super::wall::Wall;
use crate::clock::Scale;
use crate::permits::{traffic_refused, try_traffic};
use crate::proc;
use crate::program::Way;
use crate::reading::{file, open_file};
use crate::sys;
use crate::wall::{Change, Files, Stretch, Traffic};

/// Looking may take this part of the time between two ticks.
const PART: u64 = 20;

/// What a descriptor is it has been for so long, in nanoseconds; what was before nobody knows.
const SAME: u64 = 100_000_000;

/// Who is looked at, and how.
#[derive(Debug, Default)]
pub(super) struct Watched {
    traffic: Traffic,
    files: Files,
    has_told: bool,
    /// When descriptors of processes were last seen open.
    seen: HashMap<(u32, u32), u64>,
    /// What was read and written up to the moment when sampling stopped. It is told with the next words.
    pub(super) stopped: Vec<Stretch>,
}

impl Watched {
    /// Begins with threads that there are; `None` where the kernel does not count.
    pub(super) fn begin(pid: u32, tids: &[u32], now: u64) -> Result<Self, String> {
        try_traffic().map_err(|error| not_recorded(&error))?;
        let mut watched = Self::default();
        watched.traffic.begin(pid, tids, now, &mut watched.files);
        Ok(watched)
    }

    /// Begins anew after a pause with a program's threads.
    pub(super) fn begin_anew(&mut self, pid: u32, now: u64) {
        let tids = proc::threads(pid);
        self.traffic.begin(pid, &tids, now, &mut self.files);
    }

    /// A thread of a process was given a CPU or left it.
    pub(super) fn change(&mut self, (pid, tid): (u32, u32), change: Change, time: u64) {
        self.traffic.change(pid, tid, change, time);
    }

    /// What the descriptors are that system calls were on, in words.
    pub(super) fn opened<'a>(
        &mut self,
        pid: u32,
        scale: &Scale,
        chunks: impl Iterator<Item = &'a [u64]>,
    ) -> Vec<u64> {
        /// More are not looked up at one turn.
        const MOST: usize = 64;
        /// More are not remembered.
        const MOST_SEEN: usize = 1 << 14;
        let mut told: Vec<u32> = Vec::new();
        let records = chunks.flat_map(Reader::new).map_while(Result::ok);
        for record in records {
            if let Record::Call(call) = record
                && !told.contains(&call.descriptor)
                && told.len() < MOST
            {
                told.push(call.descriptor);
            }
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let since = scale.cycles_at(now.saturating_sub(SAME));
        if self.seen.len() > MOST_SEEN {
            self.seen.clear();
        }
        let mut words = Vec::new();
        for descriptor in told {
            let seen = self.seen.entry((pid, descriptor)).or_default();
            let name = match open_file(pid, u64::from(descriptor)) {
                Some(name) => {
                    *seen = now;
                    name
                }
                // Closed just now: what was said of it holds for calls up to then.
                None if now - *seen < SAME => continue,
                None => file(pid, u64::from(descriptor)),
            };
            words.extend(opened_words(descriptor, since, &name));
        }
        words
    }

    pub(super) fn lose_track(&mut self, now: u64) {
        self.traffic.lose_track(now);
    }
}

impl Recorder {
    /// Looks at threads that have run since the last look.
    pub(super) fn look_at_traffic(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut told = Vec::new();
        let Some(Wall {
            watched: Some(watched),
            tick,
            random,
            ..
        }) = &mut self.wall
        else {
            return;
        };
        let until = now + *tick / PART;
        let goes_on = || sys::nanoseconds(libc::CLOCK_MONOTONIC) < until;
        // If there are too many, each has the same chance.
        let order = (now, *random as usize >> 8);
        watched
            .traffic
            .look(order, &mut watched.files, goes_on, &mut told);
        if let Some(error) = watched.traffic.take_refused()
            && !std::mem::replace(&mut watched.has_told, true)
        {
            self.notes.push(not_recorded(&error));
        }
        self.tell_traffic(&told, sink);
        self.drain_calls(sink);
    }

    /// What is left of a program that has ended or has become another one; of all at the end.
    pub(super) fn finish_traffic(&mut self, of: Option<u32>, sink: &mut dyn FnMut(Event<'_>)) {
        let told = self.rest_of_traffic(of);
        self.tell_traffic(&told, sink);
    }

    /// Sampling is about to stop: what is left of all is kept until it can be told.
    pub(super) fn stop_traffic(&mut self) {
        let told = self.rest_of_traffic(None);
        if let Some(watched) = self.wall.as_mut().and_then(|wall| wall.watched.as_mut()) {
            watched.stopped.extend(told);
        }
    }

    /// Tells what was kept when sampling stopped.
    pub(super) fn tell_stopped_traffic(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if let Some(watched) = self.wall.as_mut().and_then(|wall| wall.watched.as_mut()) {
            let told = std::mem::take(&mut watched.stopped);
            self.tell_traffic(&told, sink);
        }
    }

    fn rest_of_traffic(&mut self, of: Option<u32>) -> Vec<Stretch> {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut told = Vec::new();
        let Some(watched) = self.wall.as_mut().and_then(|wall| wall.watched.as_mut()) else {
            return told;
        };
        let Watched { traffic, files, .. } = watched;
        let pids = of.map_or_else(|| traffic.pids(), |pid| vec![pid]);
        for &pid in &pids {
            traffic.finish(pid, now, files, &mut told);
        }
        // Others are in its count only where they are of interest.
        let first = self.root.filter(|_| self.options.follow);
        let has_ended = |pid| proc::stat(pid).is_none_or(|stat| stat.has_ended());
        if let Some(first) = first.filter(|&first| match of {
            Some(pid) => pid == first && has_ended(pid),
            None => true,
        }) {
            traffic.finish_first(first, now, files, &mut told);
        }
        for pid in pids {
            // One that goes on as another program goes on counting.
            if has_ended(pid) {
                traffic.forget(pid, now, files);
            }
        }
        told
    }

    fn tell_traffic(&self, told: &[Stretch], sink: &mut dyn FnMut(Event<'_>)) {
        let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
        for stretch in told {
            let Some(&key) = self.last_of.get(&stretch.pid) else {
                continue;
            };
            let number = self.number_of(key, stretch.tid).unwrap_or(0);
            let record = profundo_wire::Traffic {
                thread: number,
                tid: stretch.tid,
                waits: stretch.waits,
                from: self.scale.cycles_at(stretch.from),
                to: self.scale.cycles_at(stretch.to),
                read: stretch.counters.read,
                written: stretch.counters.written,
                fetched: stretch.counters.fetched,
                stored: stretch.counters.stored,
            };
            by_program.entry(key).or_default().extend(record.to_words());
        }
        for (process, words) in by_program {
            let words = &words;
            sink(Event::Words { process, words });
        }
    }

    /// The number of a thread of a program, while it is known.
    pub(super) fn number_of(&self, key: u32, tid: u32) -> Option<u32> {
        match &self.programs.get(&key)?.way {
            Way::Agent(agent) => agent.number_of(tid),
            Way::Outside(outside) => outside.known_number(tid),
        }
    }
}

fn not_recorded(error: &std::io::Error) -> String {
    format!(
        "what is read and written is not recorded: {}",
        traffic_refused(error)
    )
}
