//! The samples of each thread as stretches of time, one behind the other.
//!
//! A sample stands for the time before it. So its stretch ends with it and is as long as its
//! weight, unless the one before reaches into it: then it begins later and stays as long. The time
//! that no sample stands for is a gap. Samples without times stand side by side.

use profundo_model::{Kinds, ThreadId};
use rustc_hash::FxHashMap;

use super::calls::{Calls, Manner};
use super::view::View;
use super::{Counts, Options, Weights, add};

/// Time in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub from: u64,
    pub to: u64,
    pub call: u32,
}

/// The stretches of a profile, see the module.
pub(super) struct Stretches {
    pub calls: Calls,
    /// The stretches of each thread that has any, in the order of time.
    pub threads: Vec<(ThreadId, Vec<Stretch>)>,
    /// The time of the samples that end at a line of a call.
    pub ticks: FxHashMap<(u32, u32), u64>,
}

/// The length of a sample that stands for no known time.
const COUNT: u64 = 1_000;

impl Stretches {
    pub fn new(view: &View<'_>, options: &Options) -> Self {
        let profile = view.profile;
        let weights = Weights::or_time(None, profile);
        let manner = Manner::new(options, weights, false);
        let mut calls = Calls::new(view, &Kinds::of(profile), manner);
        let mut threads: Vec<Vec<Stretch>> = vec![Vec::new(); profile.threads.len()];
        let mut ticks = FxHashMap::default();
        let counts = Counts::new(profile);
        let is_timed = profile.has_times();
        let slack = profile.meta.period.0;
        for (row, sample) in profile.samples.iter().enumerate() {
            let call = calls.of_sample(view, sample, false);
            let count = counts.of(row, sample);
            let length = match weights {
                Weights::Time => sample.weight.0,
                Weights::Samples => count.saturating_mul(COUNT),
            };
            let spot = view.nodes[view.node(sample.stack) as usize].spot;
            let line = view.spots[spot as usize]
                .first()
                .map_or(0, |leaf| leaf.line);
            add(ticks.entry((call, line)).or_default(), length);
            let stretches = &mut threads[sample.thread.index()];
            let end = stretches.last().map_or(0, |last| last.to);
            let start = sample.time.0.saturating_sub(length);
            // Clocks are late now and then: a thread that goes on has no gap.
            let from = match is_timed && start > end.saturating_add(slack) {
                true => start,
                false => end,
            };
            match stretches.last_mut() {
                Some(last) if last.call == call && last.to == from => add(&mut last.to, length),
                _ => stretches.push(Stretch {
                    from,
                    to: from.saturating_add(length),
                    call,
                }),
            }
        }
        let threads = (0..).map(ThreadId).zip(threads);
        Self {
            calls,
            threads: threads.filter(|(_, rows)| !rows.is_empty()).collect(),
            ticks,
        }
    }

    /// The calls from the root to this one.
    pub fn path(&self, call: u32) -> Vec<u32> {
        let above = |call: &u32| self.calls.calls[*call as usize].parent;
        let mut path: Vec<u32> = std::iter::successors(Some(call), above).collect();
        path.reverse();
        path
    }

    /// The order of threads with the one first that has the most time.
    pub fn heaviest_first(&self) -> Vec<&(ThreadId, Vec<Stretch>)> {
        let mut threads: Vec<_> = self.threads.iter().collect();
        threads.sort_by_key(|(thread, rows)| (std::cmp::Reverse(length(rows)), *thread));
        threads
    }

    /// Adds up stretches by call within windows of time, which grow until a cost is low enough: the
    /// order in a window is lost, no time is.
    pub fn bound(&mut self, most: u64, cost: impl Fn(&Self) -> u64) {
        // One millisecond; in the end, one window holds everything.
        let mut window = 1 << 20;
        while cost(self) > most && window < 1 << 62 {
            for (_, rows) in &mut self.threads {
                *rows = within(window, rows);
            }
            window <<= 1;
        }
    }
}

/// The time of stretches.
pub(super) fn length(rows: &[Stretch]) -> u64 {
    rows.iter()
        .fold(0, |sum: u64, row| sum.saturating_add(row.to - row.from))
}

fn within(window: u64, rows: &[Stretch]) -> Vec<Stretch> {
    let mut sums: Vec<Stretch> = Vec::new();
    for rows in rows.chunk_by(|one, next| one.from / window == next.from / window) {
        let mut lengths: FxHashMap<u32, usize> = FxHashMap::default();
        let mut inside: Vec<(u32, u64)> = Vec::new();
        for row in rows {
            let at = *lengths.entry(row.call).or_insert(inside.len());
            if at == inside.len() {
                inside.push((row.call, 0));
            }
            add(&mut inside[at].1, row.to - row.from);
        }
        let end = sums.last().map_or(0, |last| last.to);
        let mut from = rows[0].from.max(end);
        for (call, length) in inside {
            let to = from.saturating_add(length);
            match sums.last_mut() {
                Some(last) if last.call == call && last.to == from => last.to = to,
                _ => sums.push(Stretch { from, to, call }),
            }
            from = to;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Nanos, Profile};

    fn stretches(text: &str, times: &[u64]) -> Stretches {
        let mut profile = Profile::from_folded(text).unwrap();
        for (sample, time) in profile.samples.iter_mut().zip(times) {
            sample.time = Nanos(time * 1_000_000);
        }
        let options = Options::default();
        Stretches::new(&View::new(&profile, &options), &options)
    }

    #[test]
    fn a_sample_stands_for_the_time_before_it() {
        // A millisecond each: the second one is late, the third one after a gap.
        let stretches = stretches("main 2\nmain;work 1", &[1, 2, 9]);
        let rows: Vec<(u64, u64)> = (stretches.threads[0].1.iter())
            .map(|row| (row.from / 1_000_000, row.to / 1_000_000))
            .collect();
        assert_eq!(rows, [(0, 2), (8, 9)]);
        assert_eq!(stretches.path(stretches.threads[0].1[1].call).len(), 2);
    }

    #[test]
    fn bounded_stretches_keep_their_time() {
        let text: String = (0..1000)
            .map(|turn| format!("main;f{} 1\n", turn % 7))
            .collect();
        let times: Vec<u64> = (1..=1000).map(|time| time * 3).collect();
        let mut stretches = stretches(&text, &times);
        let rows = |stretches: &Stretches| stretches.threads[0].1.len() as u64;
        assert_eq!(rows(&stretches), 1000);
        stretches.bound(100, rows);
        assert!(rows(&stretches) <= 100);
        assert_eq!(length(&stretches.threads[0].1), 1_000_000_000);
        let rows = &stretches.threads[0].1;
        assert!(rows.windows(2).all(|two| two[0].to <= two[1].from));
    }
}
