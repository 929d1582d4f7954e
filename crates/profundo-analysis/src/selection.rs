//! A selection is the part of a profile that a report is about: some samples, and the threads
//! that they could have come from.
//!
//! Most samples repeat an earlier stack. So every question starts from the samples added up by
//! stack, which is done once for a selection, and does its real work once for each distinct stack.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use profundo_model::{Kind, Kinds, Profile, Sample, SampleKind, StackId, State, TaskId, ThreadId};

use crate::gathered::{last_of_row, merged_of_row};
use crate::interval::{Few, Mass};
use crate::kind::Split;
use crate::remembered::Remembered;
use crate::scatter::Reading;
use crate::walk::{self, StackOrder, Stop};
use crate::weights::{Squares, is_exact, weight_of};
use crate::{Filter, FunctionShare, LinesOptions, Missing, Shown, SourceShares, admit, traced};

/// Samples of a profile, in the order in which they were taken. It belongs to the profile that it
/// was made from, and caches answers.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    rows: Rows,
    threads: Vec<ThreadId>,
    task: Option<TaskId>,
    sums: OnceLock<Sums>,
    stops: OnceLock<Vec<Stop>>,
    reading: OnceLock<Reading>,
    functions: Remembered<Shown, Vec<FunctionShare>>,
    lines: Remembered<LinesOptions, SourceShares>,
    missing: OnceLock<Missing>,
    /// The selection that this is a part of, if it is kept.
    base: Option<Arc<Selection>>,
    shared: Arc<Shared>,
}

/// The state common to all parts of a selection.
#[derive(Debug, Default)]
struct Shared {
    kinds: OnceLock<Kinds>,
    /// By sample, where calls were counted.
    calls: OnceLock<Option<Vec<u64>>>,
    numbers: OnceLock<traced::Numbers>,
    stack_order: OnceLock<StackOrder>,
    /// Everything, where it is kept by none.
    whole: OnceLock<Box<Selection>>,
}

/// Rows of `Profile::samples`. Adjacent ones need no list.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rows {
    Range(Range<u32>),
    List(Vec<u32>),
}

impl Default for Rows {
    fn default() -> Self {
        Self::Range(0..0)
    }
}

/// The sums of the samples with one stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StackWeight {
    /// The stack.
    pub stack: StackId,
    /// The number of samples.
    pub samples: u64,
    /// The number of their calls, where calls were counted.
    pub calls: u64,
    /// The sum of the samples' counts.
    pub count: u64,
    /// The part of `count` that was taken while the thread slept.
    pub asleep: u64,
    /// The sum of the samples' weights in nanoseconds.
    pub weight: u64,
    /// The sum of the squares of the weights.
    pub squares: f64,
    /// The weight by kind.
    pub split: Split,
}

/// The sums of a whole selection.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sums {
    /// In the order of the stacks' first samples.
    pub stacks: Vec<StackWeight>,
    /// By stack of the profile, its number plus one, or 0.
    pub numbers: Vec<u32>,
    /// The number of samples taken.
    pub samples: u64,
    /// The sum of the samples' counts.
    pub count: u64,
    pub calls: u64,
    pub asleep: u64,
    /// The part of `count` that was taken in system calls.
    pub in_system: u64,
    pub weight: u64,
    pub squares: f64,
    /// The recorded weight of the samples that were not taken asleep.
    pub awake_weight: u64,
    /// True for blocks of a heap.
    pub is_heap: bool,
    /// True if everything was counted, and nothing sampled.
    pub is_counted: bool,
    /// The weight of samples that certainly stand for several each.
    pub merged: u64,
    /// The times of the first and the last.
    pub times: Option<(u64, u64)>,
    /// Whether the wall-time profiler took any of them.
    pub has_wall: bool,
    pub split: Split,
}

impl PartialEq for Selection {
    fn eq(&self, other: &Self) -> bool {
        (&self.rows, &self.threads, self.task) == (&other.rows, &other.threads, other.task)
    }
}

impl Eq for Selection {}

impl Selection {
    /// The samples that pass `filter`.
    pub fn new(profile: &Profile, filter: &Filter) -> Self {
        let admitted = admit::Admitted::new(profile, filter);
        let threads = (profile.threads.iter())
            .map(|(id, _)| id)
            .filter(|&id| admitted.thread(id))
            .collect();
        let length = u32::try_from(profile.samples.len()).expect("fewer than 2^32 samples");
        let rows = if filter.is_all() {
            Rows::Range(0..length)
        } else {
            let passing = (0..length).zip(&profile.samples);
            let passing = passing.filter(|(_, sample)| admitted.sample(sample));
            Rows::from_list(passing.map(|(row, _)| row).collect())
        };
        Self {
            rows,
            threads,
            ..Self::default()
        }
    }

    /// The samples that pass another filter. What was found out about the profile, and about this
    /// selection if it is everything, is shared.
    pub fn another(self: &Arc<Self>, profile: &Profile, filter: &Filter) -> Self {
        let base = self.base.as_ref().unwrap_or(self);
        Self {
            base: Some(Arc::clone(base)),
            shared: Arc::clone(&self.shared),
            ..Self::new(profile, filter)
        }
    }

    /// The same samples of a profile that has other weights.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            rows: self.rows.clone(),
            threads: self.threads.clone(),
            task: self.task,
            ..Self::default()
        }
    }

    /// A part of this selection: these of its samples, on one thread if given, in one task if
    /// given.
    pub(crate) fn part(
        &self,
        samples: Vec<u32>,
        threads: Option<Vec<ThreadId>>,
        task: Option<TaskId>,
    ) -> Self {
        Self {
            rows: Rows::from_list(samples),
            threads: threads.unwrap_or_else(|| self.threads.clone()),
            task,
            base: self.base.clone(),
            shared: Arc::clone(&self.shared),
            ..Self::default()
        }
    }

    /// Calls `visit` with each sample and its row in `Profile::samples`.
    pub(crate) fn each<'a>(&self, profile: &'a Profile, mut visit: impl FnMut(u32, &'a Sample)) {
        match &self.rows {
            Rows::Range(range) => {
                let samples = &profile.samples[range.start as usize..range.end as usize];
                for (row, sample) in range.clone().zip(samples) {
                    visit(row, sample);
                }
            }
            Rows::List(rows) => {
                for &row in rows {
                    visit(row, &profile.samples[row as usize]);
                }
            }
        }
    }

    /// The selection of everything. It is found once for all parts of a selection.
    pub fn whole(&self, profile: &Profile) -> &Self {
        if self.is_whole(profile) {
            return self;
        }
        match self.base.as_deref().filter(|base| base.is_whole(profile)) {
            Some(base) => base,
            None => {
                (self.shared.whole).get_or_init(|| Box::new(Self::new(profile, &Filter::default())))
            }
        }
    }

    /// The position of the newest sample: see [`Profile::order_of_row`].
    pub(crate) fn last_order(&self, profile: &Profile) -> Option<u64> {
        let of_row = |row: u32| profile.order_of_row(row as usize);
        match (&self.rows, profile.gathered.is_any()) {
            (Rows::Range(range), true) => range.clone().map(of_row).max(),
            (Rows::List(rows), true) => rows.iter().copied().map(of_row).max(),
            (Rows::Range(range), false) => range.clone().next_back().map(of_row),
            (Rows::List(rows), false) => rows.last().copied().map(of_row),
        }
    }

    /// By row of `Profile::samples`, whether it is in the selection.
    pub(crate) fn by_row(&self, profile: &Profile) -> Vec<bool> {
        let mut by_row = vec![false; profile.samples.len()];
        self.each(profile, |row, _| by_row[row as usize] = true);
        by_row
    }

    /// Whether no sample and no thread was left out.
    pub fn is_whole(&self, profile: &Profile) -> bool {
        self.task.is_none()
            && self.threads.len() == profile.threads.len()
            && self.len() == profile.samples.len()
    }

    /// Calls `visit` with each sample as it was taken, in the order of time. For gathered samples,
    /// with those that were kept.
    pub(crate) fn each_taken(&self, profile: &Profile, mut visit: impl FnMut(&Sample)) {
        if !profile.gathered.is_any() {
            return self.each(profile, |_, sample| visit(sample));
        }
        let by_row = self.by_row(profile);
        for taken in &profile.gathered.taken {
            if by_row[taken.row as usize] {
                visit(&profile.sample_of(taken));
            }
        }
    }

    /// The threads of the selection, those without a sample included.
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    /// The task, where the selection is of one task.
    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// The number of rows of samples. For gathered samples, more were taken: see [`Self::taken`].
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Range(range) => range.len(),
            Rows::List(rows) => rows.len(),
        }
    }

    /// The number of samples taken: other rows stand for time that was counted and not sampled.
    pub fn taken(&self, profile: &Profile) -> u64 {
        match profile.meta.settled {
            Some(_) => self.sums(profile).samples,
            None if profile.gathered.is_any() => self.sums(profile).samples,
            None => self.len() as u64,
        }
    }

    /// Whether a report on these has no shares, because there are too few samples. It is decided
    /// only here, for all parts of a report.
    pub fn is_few(&self, profile: &Profile) -> bool {
        self.sums(profile).is_few()
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples.
    pub fn samples<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = &'a Sample> {
        let (range, list) = match &self.rows {
            Rows::Range(range) => (range.clone(), &[][..]),
            Rows::List(rows) => (0..0, &rows[..]),
        };
        (range.chain(list.iter().copied())).map(|row| &profile.samples[row as usize])
    }

    /// The number of snapshots in reports: the sum of the samples' counts.
    pub fn total(&self, profile: &Profile) -> u64 {
        self.sums(profile).count
    }

    /// The number of calls, where they were counted.
    pub fn calls(&self, profile: &Profile) -> u64 {
        self.sums(profile).calls
    }

    /// The time that the samples stand for, in nanoseconds. Samples without a weight weigh one
    /// each.
    pub fn weight(&self, profile: &Profile) -> u64 {
        self.sums(profile).weight
    }

    /// The time by kind.
    pub fn split(&self, profile: &Profile) -> Split {
        self.sums(profile).split
    }

    /// The weights of all samples, for estimates.
    pub fn mass(&self, profile: &Profile) -> Mass {
        self.sums(profile).mass()
    }

    /// The samples added up by stack, in the order of the stacks' first samples.
    pub fn stacks(&self, profile: &Profile) -> &[StackWeight] {
        &self.sums(profile).stacks
    }

    /// Works out what most reports begin with. A server does it before the first question comes.
    pub fn prepare(&self, profile: &Profile) {
        self.stops(profile);
        self.reading(profile);
    }

    /// By stack of the profile, its number among the selection's stacks plus one, or 0.
    pub(crate) fn stack_numbers(&self, profile: &Profile) -> &[u32] {
        &self.sums(profile).numbers
    }

    /// The stacks in the order of a walk over all stacks.
    pub(crate) fn stops(&self, profile: &Profile) -> &[Stop] {
        self.stops.get_or_init(|| walk::stops(profile, self))
    }

    /// The order of all stacks in a walk.
    pub(crate) fn stack_order(&self, profile: &Profile) -> &StackOrder {
        (self.shared.stack_order).get_or_init(|| StackOrder::new(profile))
    }

    /// The samples that intervals are estimated from.
    pub(crate) fn reading(&self, profile: &Profile) -> &Reading {
        self.reading.get_or_init(|| Reading::new(profile, self))
    }

    /// Whether intervals are estimated from samples of a stack, which has this number.
    pub(crate) fn is_read(&self, profile: &Profile, number: u32) -> bool {
        self.reading(profile).is_read(number)
    }

    /// The shares of functions that were asked for.
    pub(crate) fn functions(&self) -> &Remembered<Shown, Vec<FunctionShare>> {
        &self.functions
    }

    /// The shares of lines that were asked for.
    pub(crate) fn lines(&self) -> &Remembered<LinesOptions, SourceShares> {
        &self.lines
    }

    /// What is missing of the CPU time, if it was asked for.
    pub(crate) fn missing(&self) -> &OnceLock<Missing> {
        &self.missing
    }

    /// The kind of each stack.
    pub(crate) fn kinds(&self, profile: &Profile) -> &Kinds {
        self.shared.kinds.get_or_init(|| Kinds::of(profile))
    }

    /// By sample, the number of its calls, where calls were counted.
    fn calls_by_sample(&self, profile: &Profile) -> Option<&[u64]> {
        let calls = (self.shared.calls).get_or_init(|| traced::calls_by_sample(profile));
        calls.as_deref()
    }

    /// The functions that stacks end in.
    pub(crate) fn numbers(&self, profile: &Profile) -> &traced::Numbers {
        (self.shared.numbers).get_or_init(|| traced::Numbers::new(profile))
    }

    pub(crate) fn sums(&self, profile: &Profile) -> &Sums {
        self.sums.get_or_init(|| Sums::new(profile, self))
    }
}

impl Rows {
    fn from_list(rows: Vec<u32>) -> Self {
        match (rows.first(), rows.last()) {
            (Some(&first), Some(&last)) if (last - first) as usize == rows.len() - 1 => {
                Self::Range(first..last + 1)
            }
            (None, None) => Self::default(),
            _ => Self::List(rows),
        }
    }
}

impl Sums {
    fn new(profile: &Profile, selection: &Selection) -> Self {
        // A table over all stacks, of which only the touched pages cost anything.
        let mut rows = vec![0_u32; profile.stacks.len()];
        let mut sums = Self {
            is_heap: matches!(profile.meta.kind, SampleKind::Heap(_)),
            is_counted: is_exact(profile),
            ..Self::default()
        };
        let mut counts = Counts::new(profile);
        let squares = Squares::new(profile);
        let is_gathered = profile.gathered.is_any();
        let calls = selection.calls_by_sample(profile);
        selection.each(profile, |number, sample| {
            let row = &mut rows[sample.stack.index()];
            if *row == 0 {
                sums.stacks.push(StackWeight::none(sample.stack));
                *row = u32::try_from(sums.stacks.len()).expect("fewer than 2^32 stacks");
            }
            let sum = &mut sums.stacks[*row as usize - 1];
            let count = counts.of(number, sample);
            let weight = weight_of(profile, sample);
            sum.samples += profile.samples_of_row(number as usize);
            if let Some(calls) = calls {
                sum.calls = sum.calls.saturating_add(calls[number as usize]);
            }
            // A damaged file may hold any weight.
            sum.count = sum.count.saturating_add(count);
            sum.weight = sum.weight.saturating_add(weight);
            sum.squares += squares.of_row(profile, number as usize, sample);
            let (first, last) = sums.times.unwrap_or((sample.time.0, 0));
            let time = last_of_row(profile, number as usize, sample).0;
            sums.times = Some((first, if is_gathered { last.max(time) } else { time }));
            let merged = merged_of_row(profile, number as usize, sample, weight);
            sums.merged = sums.merged.saturating_add(merged);
            match sample.state {
                State::Sleeping => {
                    sum.asleep = sum.asleep.saturating_add(count);
                    sum.split.waiting = sum.split.waiting.saturating_add(weight);
                }
                State::System => {
                    sum.split.system = sum.split.system.saturating_add(weight);
                    sums.in_system = sums.in_system.saturating_add(count);
                    sums.awake_weight = sums.awake_weight.saturating_add(sample.weight.0);
                }
                state => {
                    if state == State::WallWaiting {
                        sum.split.waiting = sum.split.waiting.saturating_add(weight);
                    }
                    sums.awake_weight = sums.awake_weight.saturating_add(sample.weight.0);
                    sums.has_wall |= state.is_wall();
                }
            }
        });
        let kinds = selection.kinds(profile);
        let period = profile.meta.period.0;
        for stack in &mut sums.stacks {
            if profile.meta.settled.is_some() && period > 0 {
                // Many weights are parts of a period: they are added up before they are rounded.
                stack.count = (stack.weight.saturating_add(period / 2) / period).max(1);
            }
            if profile.is_counted(stack.stack) {
                stack.samples = 0;
            }
            sums.samples += stack.samples;
            let rest = stack.weight - stack.split.system - stack.split.waiting;
            match kinds.of_stack(stack.stack) {
                Kind::Python => stack.split.python = rest,
                Kind::Unreadable => stack.split.unreadable = rest,
                Kind::Native | Kind::System | Kind::Waiting => stack.split.native = rest,
            }
            sums.count = sums.count.saturating_add(stack.count);
            sums.calls = sums.calls.saturating_add(stack.calls);
            sums.asleep = sums.asleep.saturating_add(stack.asleep);
            sums.weight = sums.weight.saturating_add(stack.weight);
            sums.squares += stack.squares;
            sums.split += stack.split;
        }
        sums.numbers = rows;
        sums
    }

    pub(crate) fn mass(&self) -> Mass {
        Mass {
            weight: self.weight as f64,
            squares: self.squares,
            samples: self.samples,
            is_few: self.is_few(),
        }
    }

    /// True if there are too few samples for shares. Measured and counted data is never few. Large
    /// blocks of a heap are certain to be sampled, so one of them counts as much as many small
    /// ones.
    fn is_few(&self) -> bool {
        let effective = match self.is_heap {
            true => (self.weight as f64).powi(2) / self.squares,
            false => self.samples as f64,
        };
        !self.is_counted && self.squares > 0.0 && effective < Few::LIMIT as f64
    }

    /// Whether the order of the samples is known. Gathered, in folded text or in a long recording
    /// that has become coarse, it is not.
    pub(crate) fn is_in_order(&self) -> bool {
        self.times.is_some_and(|(first, last)| first < last) && self.merged <= self.weight / 10
    }
}

impl StackWeight {
    fn none(stack: StackId) -> Self {
        Self {
            stack,
            samples: 0,
            calls: 0,
            count: 0,
            asleep: 0,
            weight: 0,
            squares: 0.0,
            split: Split::default(),
        }
    }
}

/// The counts of samples. Nearly all weigh the same, and a division takes longer than all other
/// work for a sample.
struct Counts<'a> {
    profile: &'a Profile,
    last: Option<(u64, u64)>,
}

impl<'a> Counts<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            last: None,
        }
    }

    fn of(&mut self, row: u32, sample: &Sample) -> u64 {
        if let Some(many) = self.profile.gathered.get(row as usize) {
            return many.count;
        }
        match self.last {
            Some((weight, count)) if weight == sample.weight.0 => count,
            _ => {
                let count = self.profile.count_of(sample);
                self.last = Some((sample.weight.0, count));
                count
            }
        }
    }
}
