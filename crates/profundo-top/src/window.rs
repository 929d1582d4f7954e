//! Samples of the last seconds, and all of them since the start, in bounded memory.
//!
//! Samples of one second that are alike (one stack, one thread, one state) become one, with the sum
//! of their weights: no query of a page distinguishes them. Seconds that are older than the longest
//! window are forgotten; each sample has been added to the sums since the start before.

use std::collections::VecDeque;

use profundo_model::{LocationKind, Nanos};
use profundo_model::{Profile, Reason, Sample, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::options::LONGEST_WINDOW;

const SECOND: u64 = 1_000_000_000;

/// The number of distinct samples of one second beyond which new stacks are merged.
const MOST_OF_A_SECOND: usize = 1 << 15;
/// The limit since the start.
const MOST_OF_ALL: usize = 1 << 18;

/// The part of the past that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// The last seconds, this many.
    Last(u64),
    /// Everything.
    SinceStart,
}

/// The retained past.
#[derive(Debug, Clone)]
pub struct Window {
    seconds: VecDeque<(u64, Sums)>,
    all: Sums,
    /// The time up to which all samples have arrived.
    now: u64,
    /// The start of sampling.
    began: u64,
    /// Samples that were taken after `now`. Others of their time may be missing, so they are not
    /// counted yet, which would make rates too high.
    pending: Vec<Sample>,
    /// The largest number of rows of a second.
    most_of_a_second: usize,
    /// The largest number of rows since the start.
    most_of_all: usize,
}

/// Equal samples, added up.
#[derive(Debug, Clone, Default)]
struct Sums {
    rows: Vec<Sample>,
    /// The number of samples that each row sums up.
    counts: Vec<u64>,
    index: FxHashMap<(StackId, ThreadId, State), u32>,
    /// The number of samples.
    samples: u64,
}

/// A part of the past, ready for queries.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Its samples, added up.
    pub rows: Vec<Sample>,
    /// The number of samples that each row sums up.
    pub counts: Vec<u64>,
    /// The number of samples.
    pub samples: u64,
    /// Its length in nanoseconds.
    pub length: u64,
}

impl Part {
    /// The time for rates. Samples may come before the clock has advanced much, and so short a time
    /// has no meaningful rate.
    pub fn measured(&self) -> u64 {
        const LEAST: u64 = 100_000_000;
        self.length.max(LEAST)
    }
}

impl Window {
    /// An empty window.
    pub fn new() -> Self {
        Self::with(MOST_OF_A_SECOND, MOST_OF_ALL)
    }

    fn with(most_of_a_second: usize, most_of_all: usize) -> Self {
        Self {
            seconds: VecDeque::new(),
            all: Sums::default(),
            now: 0,
            began: 0,
            pending: Vec::new(),
            most_of_a_second,
            most_of_all,
        }
    }

    /// Takes the samples out of the profile. Those from before `now` have all arrived.
    pub fn take(&mut self, profile: &mut Profile, now: Nanos) {
        self.now = self.now.max(now.0);
        let mut samples = std::mem::take(&mut profile.samples);
        // What remains from the last time is older.
        let mut due = std::mem::take(&mut self.pending);
        let is_early = |sample: &Sample| sample.time.0 > self.now;
        self.pending
            .extend(due.extract_if(.., |sample| is_early(sample)));
        self.pending
            .extend(samples.iter().filter(|sample| is_early(sample)));
        due.extend(samples.iter().filter(|sample| !is_early(sample)));
        samples.clear();
        // The stack of the samples for which there is no room, made only if there are any.
        let mut other = None;
        let (of_a_second, of_all) = (self.most_of_a_second, self.most_of_all);
        for sample in &due {
            let count = u64::from(is_taken(profile, sample));
            let mut other = || *other.get_or_insert_with(|| not_kept(profile));
            self.all.add(sample, count, of_all, &mut other);
            let second = sample.time.0 / SECOND;
            if let Some(sums) = self.second(second) {
                sums.add(sample, count, of_a_second, &mut other);
            }
        }
        // Its memory is reused for the next samples.
        profile.samples = samples;
        // It is not used here.
        profile.traffic.clear();
        profile.syscalls.clear();
        let oldest = (self.now / SECOND).saturating_sub(LONGEST_WINDOW);
        while (self.seconds.front()).is_some_and(|&(second, _)| second < oldest) {
            self.seconds.pop_front();
        }
    }

    /// The sums of a second; `None` if it is too long ago.
    fn second(&mut self, second: u64) -> Option<&mut Sums> {
        let newest = self.now / SECOND;
        if second + LONGEST_WINDOW < newest {
            return None;
        }
        // It is nearly always the last one.
        let at = self.seconds.iter().rposition(|&(start, _)| start <= second);
        let at = match at {
            Some(at) if self.seconds[at].0 == second => at,
            _ => {
                let at = at.map_or(0, |at| at + 1);
                self.seconds.insert(at, (second, Sums::default()));
                // Little or nothing will be added to those before.
                for (_, sums) in self.seconds.iter_mut().take(at.saturating_sub(1)) {
                    sums.index = FxHashMap::default();
                }
                at
            }
        };
        self.seconds.get_mut(at).map(|(_, sums)| sums)
    }

    /// A part of the past. A second that has just begun counts as far as it goes.
    pub fn part(&self, span: Span) -> Part {
        match span {
            Span::SinceStart => Part {
                rows: self.all.rows.clone(),
                counts: self.all.counts.clone(),
                samples: self.all.samples,
                length: self.now.saturating_sub(self.began),
            },
            Span::Last(seconds) => {
                let first = (self.now / SECOND + 1).saturating_sub(seconds.max(1));
                // A second that has only begun has too few samples alone.
                let first = match self.now % SECOND < SECOND / 2 {
                    true => first.saturating_sub(1),
                    false => first,
                };
                let sums = || {
                    let seconds = self.seconds.iter();
                    seconds
                        .filter(move |&&(second, _)| second >= first)
                        .map(|(_, sums)| sums)
                };
                Part {
                    rows: sums().flat_map(|sums| &sums.rows).copied().collect(),
                    counts: sums().flat_map(|sums| &sums.counts).copied().collect(),
                    samples: sums().map(|sums| sums.samples).sum(),
                    length: self.now - (first * SECOND).max(self.began).min(self.now),
                }
            }
        }
    }
}

impl Sums {
    fn add(
        &mut self,
        sample: &Sample,
        count: u64,
        most: usize,
        other: &mut impl FnMut() -> StackId,
    ) {
        self.samples += count;
        if self.index.is_empty() && !self.rows.is_empty() {
            // A late sample: those of its second are no longer distinguished.
            self.rows.push(*sample);
            self.counts.push(count);
            return;
        }
        let mut key = (sample.stack, sample.thread, sample.state);
        if self.rows.len() >= most && !self.index.contains_key(&key) {
            key.0 = other();
        }
        if self.rows.len() >= most * 2 && !self.index.contains_key(&key) {
            // With this many threads, the first one stands for the rest.
            key.1 = ThreadId(0);
        }
        let row = *self.index.entry(key).or_insert_with(|| {
            let row = u32::try_from(self.rows.len()).expect("fewer than 2^32 rows");
            let none = Nanos(0);
            self.rows.push(Sample {
                stack: key.0,
                thread: key.1,
                weight: none,
                ..*sample
            });
            self.counts.push(0);
            row
        });
        self.counts[row as usize] += count;
        let sum = &mut self.rows[row as usize].weight.0;
        *sum = sum.saturating_add(sample.weight.0.max(1));
    }
}

impl Part {
    /// Only samples of CPU time, or only those of waits.
    pub fn only(&self, waiting: bool) -> Vec<Sample> {
        let rows = self.rows.iter();
        rows.filter(|sample| is_waiting(sample) == waiting)
            .copied()
            .collect()
    }

    /// The number of samples of CPU time.
    pub fn busy(&self) -> u64 {
        let rows = self.rows.iter().zip(&self.counts);
        rows.filter(|(sample, _)| !is_waiting(sample))
            .map(|(_, &count)| count)
            .sum()
    }

    /// This part with weight one for each sample.
    pub fn counted(&self) -> Self {
        let mut part = self.clone();
        for (sample, &count) in part.rows.iter_mut().zip(&part.counts) {
            sample.weight = Nanos(count);
        }
        part
    }
}

/// True if the sample was actually taken. Others stand for time that the kernel has counted.
fn is_taken(profile: &Profile, sample: &Sample) -> bool {
    let leaf = profile.stacks.get(sample.stack).location;
    let kind = profile.locations.get(leaf).kind;
    let counted = [Reason::TooShort, Reason::NotSampled].map(LocationKind::Reason);
    !counted.contains(&kind)
}

/// True if a thread waited.
pub fn is_waiting(sample: &Sample) -> bool {
    matches!(sample.state, State::WallWaiting | State::Sleeping)
}

fn not_kept(profile: &mut Profile) -> StackId {
    let kind = LocationKind::Reason(Reason::NotKept);
    let location = profile.locations.intern(kind, None);
    profile.name_reasons();
    profile.stacks.intern(None, location)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of half a second's weight at each of these times and stacks.
    fn fill(window: &mut Window, profile: &mut Profile, samples: &[(u64, u32)]) {
        for &(tenths, stack) in samples {
            profile.samples.push(Sample {
                time: Nanos(tenths * SECOND / 10),
                weight: Nanos(SECOND / 2),
                stack: StackId(stack),
                ..Sample::default()
            });
        }
        let now = samples.iter().map(|sample| sample.0).max().unwrap_or(0);
        window.take(profile, Nanos(now * SECOND / 10));
        assert!(profile.samples.is_empty(), "they are taken out");
    }

    fn profile(stacks: usize) -> Profile {
        let mut profile = Profile::default();
        for number in 0..stacks {
            let kind = LocationKind::Invented(number as u64);
            let location = profile.locations.intern(kind, None);
            profile.stacks.intern(None, location);
        }
        profile
    }

    fn weights(part: &Part) -> Vec<(u32, u64)> {
        let rows = part.rows.iter();
        rows.map(|row| (row.stack.0, row.weight.0 * 2 / SECOND))
            .collect()
    }

    #[test]
    fn alike_samples_of_a_second_become_one() {
        let (mut window, mut profile) = (Window::new(), profile(3));
        fill(
            &mut window,
            &mut profile,
            &[(1, 0), (5, 0), (6, 1), (11, 0), (18, 0)],
        );
        let part = window.part(Span::Last(10));
        assert_eq!(weights(&part), [(0, 2), (1, 1), (0, 2)]);
        assert_eq!((part.samples, part.length), (5, 18 * SECOND / 10));
        let all = window.part(Span::SinceStart);
        assert_eq!(weights(&all), [(0, 4), (1, 1)]);
        assert_eq!(all.samples, 5);
    }

    #[test]
    fn the_window_slides_and_the_sums_stay() {
        let (mut window, mut profile) = (Window::new(), profile(3));
        fill(&mut window, &mut profile, &[(5, 0), (15, 1)]);
        // A late sample is still added to its second.
        fill(&mut window, &mut profile, &[(36, 2), (6, 1)]);
        let part = window.part(Span::Last(2));
        assert_eq!(weights(&part), [(2, 1)]);
        assert_eq!(part.length, 16 * SECOND / 10);
        assert_eq!(window.part(Span::Last(60)).samples, 4);
        // A minute later only the sums have them.
        fill(&mut window, &mut profile, &[(1000, 0)]);
        assert_eq!(weights(&window.part(Span::Last(60))), [(0, 1)]);
        assert_eq!(window.seconds.len(), 1);
        let all = window.part(Span::SinceStart);
        assert_eq!(weights(&all), [(0, 2), (1, 2), (2, 1)]);
    }

    #[test]
    fn what_is_newer_than_all_others_waits_for_its_time() {
        let (mut window, mut profile) = (Window::new(), profile(2));
        let at = |tenths| Sample {
            time: Nanos(tenths * SECOND / 10),
            weight: Nanos(SECOND / 2),
            ..Sample::default()
        };
        profile.samples = vec![at(1), at(3), at(9)];
        window.take(&mut profile, Nanos(SECOND / 2));
        let part = window.part(Span::SinceStart);
        assert_eq!((part.samples, part.length), (2, SECOND / 2));
        window.take(&mut profile, Nanos(SECOND));
        let part = window.part(Span::SinceStart);
        assert_eq!((part.samples, part.length), (3, SECOND));
    }

    #[test]
    fn samples_can_be_counted_instead_of_weighed() {
        let (mut window, mut profile) = (Window::new(), profile(2));
        fill(&mut window, &mut profile, &[(1, 0), (2, 1), (3, 0), (4, 0)]);
        let part = window.part(Span::SinceStart);
        assert_eq!(part.busy(), 4);
        let counts = part.counted();
        let counts: Vec<(u32, u64)> = (counts.rows.iter())
            .map(|row| (row.stack.0, row.weight.0))
            .collect();
        assert_eq!(counts, [(0, 3), (1, 1)]);
        // Time that the kernel has counted is not a sample.
        let kind = LocationKind::Reason(Reason::TooShort);
        let location = profile.locations.intern(kind, None);
        let stack = profile.stacks.intern(None, location);
        fill(&mut window, &mut profile, &[(5, stack.0)]);
        assert_eq!(window.part(Span::SinceStart).busy(), 4);
    }

    #[test]
    fn a_window_whose_second_has_just_begun_reaches_back() {
        let (mut window, mut profile) = (Window::new(), profile(2));
        fill(&mut window, &mut profile, &[(15, 0), (22, 1)]);
        let part = window.part(Span::Last(1));
        assert_eq!(weights(&part), [(0, 1), (1, 1)]);
        assert_eq!(part.length, 12 * SECOND / 10);
        fill(&mut window, &mut profile, &[(28, 1)]);
        assert_eq!(weights(&window.part(Span::Last(1))), [(1, 2)]);
    }

    #[test]
    fn ever_new_stacks_do_not_fill_the_memory() {
        let (mut window, mut profile) = (Window::with(4, 8), profile(40));
        let samples: Vec<(u64, u32)> = (0..40).map(|stack| (1, stack)).collect();
        fill(&mut window, &mut profile, &samples);
        let part = window.part(Span::Last(1));
        assert_eq!((part.rows.len(), part.samples), (5, 40));
        assert_eq!(
            part.rows.iter().map(|row| row.weight.0).sum::<u64>(),
            20 * SECOND
        );
        assert_eq!(window.part(Span::SinceStart).rows.len(), 9);
        let other = profile.stacks.get(part.rows[4].stack).location;
        let frame = profile.locations.get(other).frames[0];
        assert_eq!(profile.function_name(frame), Reason::NotKept.name());
    }

    #[test]
    fn waiting_is_distinguished() {
        let (mut window, mut profile) = (Window::new(), profile(1));
        for state in [State::Running, State::System, State::WallWaiting] {
            profile.samples.push(Sample {
                state,
                ..Sample::default()
            });
        }
        window.take(&mut profile, Nanos(1));
        let part = window.part(Span::SinceStart);
        assert_eq!((part.only(true).len(), part.only(false).len()), (1, 2));
    }
}
