//! CPU time of threads whose Python frames could not be read yet.
//!
//! A thread may have gone on since the kernel sampled it, and where the machine is busy it cannot
//! be held in time either. Its next sample of the same kind, in the program or in the kernel, then
//! stands for this one too. The native stack is kept meanwhile: if no reading succeeds for too
//! long, it is recorded without its Python frames, and is marked as such.

use std::collections::HashMap;

use profundo_wire::{SAMPLE_HEAD_WORDS, SampleHead};

/// The longest time for which a thread cannot be read before its samples are recorded as they are.
/// A thread that waits for a CPU, or whose deep stack takes long, is still read some times a
/// second.
const LONGEST: u64 = 1_000_000_000;

/// A thread, and whether its time is in the kernel.
type Of = (u32, bool);

#[derive(Debug, Clone)]
struct Time {
    /// The last sample: the native stack alone.
    words: Vec<u64>,
    weight: u64,
    samples: u32,
    since: u64,
}

/// A sample recorded without its Python frames.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The thread.
    pub tid: u32,
    /// Nanoseconds that it stands for.
    pub weight: u64,
    /// The sample, as words of a recording.
    pub words: Vec<u64>,
}

/// The time since a thread was last read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited {
    /// The number of samples since.
    pub samples: u32,
    /// Nanoseconds that they stand for.
    pub nanoseconds: u64,
}

/// Samples that no reading stands for yet.
#[derive(Debug, Default)]
pub struct Unsettled {
    threads: HashMap<Of, Time>,
}

impl Unsettled {
    /// Nanoseconds that a reading of the thread would stand for, besides its own.
    pub fn weight(&self, of: Of) -> u64 {
        self.threads.get(&of).map_or(0, |time| time.weight)
    }

    /// The number of samples of the thread since it was last read, and for how long.
    pub fn since_read(&self, of: Of, now: u64) -> Waited {
        let time = self.threads.get(&of);
        time.map_or_else(Waited::default, |time| Waited {
            samples: time.samples,
            nanoseconds: now.saturating_sub(time.since),
        })
    }

    /// Forgets a thread's samples: a reading stands for all of them.
    pub fn settle(&mut self, of: Of) {
        self.threads.remove(&of);
    }

    /// Keeps a sample whose Python frames could not be read, with the nanoseconds that it alone
    /// stands for.
    pub fn keep(&mut self, of: Of, words: Vec<u64>, weight: u64, now: u64) {
        let time = self.threads.entry(of).or_insert(Time {
            words: Vec::new(),
            weight: 0,
            samples: 0,
            since: now,
        });
        time.words = words;
        time.weight += weight;
        time.samples += 1;
    }

    /// Takes the samples that have waited for too long.
    pub fn overdue(&mut self, now: u64) -> Vec<Unreadable> {
        let is_late = |time: &Time| now.saturating_sub(time.since) >= LONGEST;
        self.take_where(|_, time| is_late(time))
    }

    /// Takes all samples of a thread that has ended; of all threads, if none is given.
    pub fn take_all(&mut self, tid: Option<u32>) -> Vec<Unreadable> {
        self.take_where(|of, _| tid.is_none_or(|tid| of.0 == tid))
    }

    fn take_where(&mut self, is_wanted: impl Fn(Of, &Time) -> bool) -> Vec<Unreadable> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        let wanted = self
            .threads
            .iter()
            .filter(|(of, time)| is_wanted(**of, time));
        let mut wanted: Vec<Of> = wanted.map(|(&of, _)| of).collect();
        wanted.sort_unstable();
        let taken = wanted.into_iter().filter_map(|of| self.take(of));
        taken.collect()
    }

    fn take(&mut self, of: Of) -> Option<Unreadable> {
        let Time {
            mut words, weight, ..
        } = self.threads.remove(&of)?;
        weigh(&mut words, weight);
        Some(Unreadable {
            tid: of.0,
            weight,
            words,
        })
    }
}

/// Sets the weight of a sample.
fn weigh(words: &mut [u64], weight: u64) {
    let Some(place) = words.first_chunk_mut::<SAMPLE_HEAD_WORDS>() else {
        return;
    };
    if let Some(head) = SampleHead::from_words(*place) {
        *place = SampleHead { weight, ..head }.to_words();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_wire::{End, Gil, PythonEnd, State};

    fn sample(tid: u32) -> Vec<u64> {
        let head = SampleHead {
            state: State::Running,
            end: End::Root,
            frames: 1,
            python: 0,
            python_end: PythonEnd::Broken,
            gil: Gil::None,
            clock: 1,
            weight: 1,
            task: 0,
            thread: 1,
            tid,
            span: 0,
        };
        let mut words = head.to_words().to_vec();
        words.push(0x1234);
        words
    }

    fn weight_in(unreadable: &Unreadable) -> u64 {
        let head = unreadable.words.first_chunk().unwrap();
        SampleHead::from_words(*head).unwrap().weight
    }

    #[test]
    fn a_reading_stands_for_what_came_before_it() {
        let mut unsettled = Unsettled::default();
        unsettled.keep((7, false), sample(7), 10, 0);
        unsettled.keep((7, false), sample(7), 5, 1);
        unsettled.keep((7, true), sample(7), 3, 1);
        assert_eq!(unsettled.weight((7, false)), 15);
        assert_eq!(unsettled.weight((8, false)), 0);
        unsettled.settle((7, false));
        let left = unsettled.take_all(None);
        assert_eq!(left.len(), 1, "time in the kernel is another matter");
        assert_eq!((left[0].weight, weight_in(&left[0])), (3, 3));
    }

    #[test]
    fn no_time_is_lost_where_no_reading_succeeds() {
        let mut unsettled = Unsettled::default();
        for at in 0..20 {
            let now = at * LONGEST / 20;
            unsettled.keep((7, false), sample(7), 10, now);
            assert_eq!(unsettled.overdue(now), []);
        }
        let late = unsettled.overdue(LONGEST);
        assert_eq!(late.len(), 1);
        assert_eq!(weight_in(&late[0]), 20 * 10);
        assert_eq!(unsettled.weight((7, false)), 0);
        // Threads that are not sampled any more, and those that have ended.
        unsettled.keep((7, false), sample(7), 10, 0);
        unsettled.keep((8, false), sample(8), 20, 5);
        let late = unsettled.overdue(LONGEST);
        assert_eq!(
            late.iter()
                .map(|unreadable| unreadable.tid)
                .collect::<Vec<_>>(),
            [7]
        );
        assert_eq!(unsettled.take_all(Some(7)), []);
        assert_eq!(unsettled.take_all(Some(8)).len(), 1);
    }
}
