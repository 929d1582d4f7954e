//! The samples that intervals are estimated from. They are the same for all rows of a selection.

use profundo_model::{Profile, Sample, SampleKind};

use crate::Selection;
use crate::run_spread::RunSpread;
use crate::weights::Squares;

/// The limit of samples that are read.
const MOST: usize = 1 << 18;

/// The number of stretches that they are read in.
const STRETCHES: usize = 32;

/// Samples in runs: those of one thread that follow one another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    /// By sample, the number of its stack, and the root of its square.
    stacks: Vec<u32>,
    sizes: Vec<f64>,
    /// The end of each run.
    ends: Vec<usize>,
    /// By stack, whether a sample of it was read.
    is_read: Vec<bool>,
    /// Whether all stacks count, since the runs of a merged recording are compared.
    is_all: bool,
    /// The number of samples of the selection.
    pub samples: f64,
}

impl Reading {
    pub(crate) fn new(profile: &Profile, selection: &Selection) -> Self {
        if !is_in_order(profile, selection) {
            return Self::default();
        }
        let mut reading = Self {
            is_read: vec![false; selection.stacks(profile).len()],
            is_all: RunSpread::new(profile, selection).is_some(),
            ..Self::default()
        };
        reading.read(profile, selection);
        for &stack in &reading.stacks {
            reading.is_read[stack as usize] = true;
        }
        reading
    }

    /// Whether the rows of a stack matter.
    pub(crate) fn is_read(&self, stack: u32) -> bool {
        self.is_all || self.is_read.get(stack as usize) == Some(&true)
    }

    /// The number of samples read.
    pub(crate) fn len(&self) -> usize {
        self.stacks.len()
    }

    /// The runs: their stacks and sizes.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (&[u32], &[f64])> {
        let starts = std::iter::once(&0).chain(&self.ends);
        (starts.zip(&self.ends))
            .map(|(&start, &end)| (&self.stacks[start..end], &self.sizes[start..end]))
    }

    fn read(&mut self, profile: &Profile, selection: &Selection) {
        let numbers = selection.stack_numbers(profile);
        let squares = Squares::new(profile);
        // By thread, the run of the present stretch.
        let mut runs = Runs::new(profile.threads.len());
        let run = |sample: &Sample| {
            let stack = numbers[sample.stack.index()] - 1;
            let size = squares.of(profile, sample).sqrt();
            (sample.thread.index(), (stack, size))
        };
        if profile.gathered.is_any() {
            self.samples = selection.taken(profile) as f64;
            let by_row = selection.by_row(profile);
            let apart = profile.gathered.taken.len().div_ceil(MOST);
            for stretch in profile.gathered.stretches().step_by(apart.max(1)) {
                for taken in stretch.iter().filter(|taken| by_row[taken.row as usize]) {
                    runs.add(run(&profile.sample_of(taken)));
                }
                runs.end(|run| self.add(run));
            }
            return;
        }
        let length = selection.len();
        self.samples = length as f64;
        let (stretch, step) = match length > MOST {
            true => (MOST / STRETCHES, length / STRETCHES),
            false => (length, length.max(1)),
        };
        let (mut at, mut end) = (0_usize, stretch);
        selection.each(profile, |_, sample| {
            if at + stretch >= end && at < end {
                runs.add(run(sample));
            }
            at += 1;
            if at == end {
                runs.end(|run| self.add(run));
                end += step;
            }
        });
    }

    fn add(&mut self, run: &[(u32, f64)]) {
        self.stacks.extend(run.iter().map(|(stack, _)| stack));
        self.sizes.extend(run.iter().map(|(_, size)| size));
        self.ends.push(self.stacks.len());
    }
}

/// Whether the samples of a selection follow one another in time.
pub(super) fn is_in_order(profile: &Profile, selection: &Selection) -> bool {
    let is_sampled = matches!(profile.meta.kind, SampleKind::Cpu | SampleKind::Wall);
    is_sampled && selection.sums(profile).is_in_order()
}

/// The runs of a stretch.
struct Runs {
    by_thread: Vec<Vec<(u32, f64)>>,
    /// The threads that have one.
    present: Vec<usize>,
}

impl Runs {
    fn new(threads: usize) -> Self {
        Self {
            by_thread: vec![Vec::new(); threads],
            present: Vec::new(),
        }
    }

    fn add(&mut self, (thread, sample): (usize, (u32, f64))) {
        let run = &mut self.by_thread[thread];
        if run.is_empty() {
            self.present.push(thread);
        }
        run.push(sample);
    }

    /// Ends the stretch.
    fn end(&mut self, mut each: impl FnMut(&[(u32, f64)])) {
        for thread in self.present.drain(..) {
            let run = &mut self.by_thread[thread];
            each(run);
            run.clear();
        }
    }
}
