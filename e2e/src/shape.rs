//! The shape that every profile has, whatever the program does: each sample belongs to a known
//! thread, its weight is right, and its stack ends at a thread's root or with the reason why not.

use std::collections::{HashMap, HashSet};

use profundo::model::{Engine, LocationId, LocationKind, Profile, Reason, Sample, State};
use profundo::{Data, NMETA, Names, names_of};

use crate::sys;

/// The functions in which threads begin, as glibc and musl name them.
const ROOTS: &[&str] = &[
    "_start",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "__GI___clone3",
    "start_thread",
];

/// The words after the addresses of a sample: its metadata and two zeros.
const META_WORDS: usize = NMETA + 2;

/// The figures of the samples.
#[derive(Debug, Default, Clone, Copy)]
#[expect(missing_docs, reason = "each name says what is counted")]
pub struct Shape {
    pub samples: usize,
    /// The samples whose stacks end at a root.
    pub whole: usize,
    pub truncated: usize,
    pub broken: usize,
    /// The samples whose stacks end for other reasons.
    pub otherwise: usize,
    /// Samples of unknown threads.
    pub of_unknown_threads: usize,
    /// The sum of all weights, in seconds.
    pub weight: f64,
}

/// The location at the root of a sample's stack.
pub fn root(profile: &Profile, sample: &Sample) -> LocationKind {
    let root = profile.stacks.locations(sample.stack).last();
    root.map_or(LocationKind::Reason(Reason::Broken), |id| {
        profile.locations.get(id).kind
    })
}

/// Measures the samples.
pub fn of(data: &Data) -> Shape {
    let profile = data.profile();
    let mut shape = Shape {
        samples: profile.samples.len(),
        ..Shape::default()
    };
    for sample in &profile.samples {
        match root(profile, sample) {
            LocationKind::Reason(Reason::Truncated) => shape.truncated += 1,
            LocationKind::Reason(Reason::Broken) => shape.broken += 1,
            LocationKind::Reason(_) => shape.otherwise += 1,
            _ => shape.whole += 1,
        }
        let thread = profile.threads.get(sample.thread);
        // This number stands for no thread: a parked task, or none to be sampled.
        let is_no_thread = thread.number == 32768;
        if thread.number == 0
            || thread.tid == 0 && !is_no_thread
            || profile.strings.get(thread.name).is_empty()
        {
            shape.of_unknown_threads += 1;
        }
        shape.weight += sample.weight.0 as f64 / 1e9;
    }
    shape
}

/// Asserts what holds for every profile, and that at least `share` of the stacks are whole.
///
/// # Panics
/// If it is not so.
pub fn check(data: &Data, share: f64) -> Shape {
    let shape = of(data);
    // A CPU timer delivers as often as the kernel ticks. The weights have the periods in between.
    let least = match data.profile().meta.engine {
        Engine::CpuTimer | Engine::Wall => 1,
        _ => 50,
    };
    assert!(shape.samples >= least, "too few samples: {shape:?}");
    assert_eq!(shape.of_unknown_threads, 0, "{shape:?}");
    let least = shape.samples as f64 * share;
    if (shape.whole as f64) < least {
        explain(data);
    }
    assert!(shape.whole as f64 >= least, "{shape:?}");
    let profile = data.profile();
    let mut last = 0;
    for sample in &profile.samples {
        assert!(sample.weight.0 > 0 || sample.state == State::WallWaiting);
        assert!(sample.clock >= last, "samples are in the order of time");
        last = sample.clock;
    }
    shape
}

/// Samples with their names, by the words of the data: these distinguish two libraries that lay at
/// one address, one after the other.
#[derive(Debug)]
pub struct Named {
    data: Data,
    names: Names,
    words: HashMap<LocationId, u64>,
}

impl Named {
    /// Names some data.
    pub fn new(data: &Data) -> Self {
        let (profile, all) = (data.profile(), data.words());
        let mut words = HashMap::new();
        let mut next = all.iter();
        for sample in &profile.samples {
            for (id, &word) in profile.stacks.locations(sample.stack).zip(&mut next) {
                words.insert(id, word);
            }
            // `zip` asks the stack first, so that no word is lost at its end.
            next.nth(META_WORDS - 1);
        }
        Self {
            data: data.clone(),
            names: names_of(data),
            words,
        }
    }

    /// The functions at a location, innermost first.
    pub fn at(&self, id: LocationId) -> Vec<String> {
        let profile = self.data.profile();
        match (profile.locations.get(id).kind, self.words.get(&id)) {
            (LocationKind::Reason(reason), _) => vec![reason.name().into()],
            (_, Some(&word)) => {
                let frames = self.names.get(word).unwrap_or_default();
                frames.iter().map(|frame| frame.func.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The functions of a sample by name, leaf first.
    pub fn functions(&self, sample: &Sample) -> Vec<String> {
        let ids = self.data.profile().stacks.locations(sample.stack);
        ids.flat_map(|id| self.at(id)).collect()
    }

    /// The weight in seconds of the samples with a function whose name ends so.
    pub fn weight_in(&self, function: &str) -> f64 {
        let profile = self.data.profile();
        let mut known: HashMap<LocationId, bool> = HashMap::new();
        let mut is_there = |id| {
            let ends = || self.at(id).iter().any(|name| name.ends_with(function));
            *known.entry(id).or_insert_with(ends)
        };
        let samples = profile.samples.iter();
        samples
            .filter(|sample| profile.stacks.locations(sample.stack).any(&mut is_there))
            .map(|sample| sample.weight.0 as f64 / 1e9)
            .sum()
    }

    /// Asserts that all but `share` of the stacks that say they are whole begin where threads
    /// begin.
    ///
    /// # Panics
    /// If it is not so.
    pub fn check_roots(&self, share: f64) {
        let profile = self.data.profile();
        let mut wrong = 0;
        let mut others = HashSet::new();
        for sample in &profile.samples {
            let root = profile.stacks.locations(sample.stack).last();
            let name = root.and_then(|id| self.at(id).pop()).unwrap_or_default();
            if !name.starts_with('[') && !ROOTS.contains(&name.as_str()) {
                wrong += 1;
                others.insert(self.functions(sample));
            }
        }
        let most = profile.samples.len() as f64 * share;
        let all = profile.samples.len();
        assert!(
            f64::from(wrong) <= most,
            "{wrong} of {all} begin elsewhere: {others:?}"
        );
    }
}

/// Prints the stacks that are not whole, a few of them.
fn explain(data: &Data) {
    let named = Named::new(data);
    let profile = data.profile();
    let broken = profile
        .samples
        .iter()
        .filter(|sample| matches!(root(profile, sample), LocationKind::Reason(_)));
    for sample in broken.take(40) {
        let stack = named.functions(sample);
        let leaf = &stack[..stack.len().min(4)];
        let rest = &stack[stack.len().saturating_sub(3)..];
        sys::note(&format!("{} frames: {leaf:?} … {rest:?}", stack.len()));
    }
}
