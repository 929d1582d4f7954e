//! The recordings that the page shows, read once, and what is worth keeping of earlier answers.
//!
//! A filter leaves a profile as it is. A transform, and a look at memory in place of time, make
//! another profile of it. Each of these is kept, and so are the selections of the last filters: who
//! looks at one part of a recording asks many questions about it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use profundo_analysis::{
    Filter, Forest, ForestOptions, Hidden, Libraries, ProcessMemory, Selection, Timeline, TracksBy,
    Weights, gauges, is_recorded, joules_per_nanosecond, measured, measured_at, transform,
    transforms,
};
use profundo_model::{Measure, Nanos, Part as Of, ProcessId, Profile};
use profundo_report::{Choices, EditorLinks, Summary, View};

use crate::answers::Given;
use crate::pair::Pairs;
use crate::snapshots::{self, Heap};
use crate::{Error, Question, Snapshot, Source, Version};

/// The recordings of a page, see the module.
pub struct Library {
    pub(crate) recordings: Vec<Recording>,
    /// The number of recordings before, where they are compared with those behind them.
    before: Option<usize>,
    pub(crate) pairs: Pairs,
    pub(crate) given: Given,
    snapshots: Vec<snapshots::Kept>,
    editor: Option<EditorLinks>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

pub(crate) struct Recording {
    source: Box<dyn Source>,
    served: Mutex<Option<Served>>,
    kept: Mutex<Kept>,
}

/// The last reading of a file.
#[derive(Debug, Clone, Copy)]
struct Served {
    version: Version,
    ended: Instant,
    took: Duration,
}

/// The least time between two readings of a file that grows.
const REST: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Kept {
    version: Version,
    profiles: Recent<String, Arc<Loaded>>,
}

/// The most profiles of one recording that are kept: time, memory, and some transforms.
const PROFILES: usize = 4;
/// The most filters that are kept for each.
const FILTERS: usize = 16;
/// The stacks of all kept profiles, and of all kept filters, of a large recording.
const STACKS: usize = 2 << 20;
/// The number of timelines that are kept: each has as many rows as there are samples.
const TIMELINES: usize = 3;

impl Library {
    /// Recordings: the one to look at, and the one to compare it with.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        let before = (sources.len() == 2).then_some(1);
        let recording = |source| Recording {
            source,
            served: Mutex::default(),
            kept: Mutex::default(),
        };
        Self {
            recordings: sources.into_iter().map(recording).collect(),
            before,
            pairs: Pairs::default(),
            given: Given::default(),
            snapshots: Vec::new(),
            editor: None,
        }
    }

    /// Two sets of recordings: so many before, and those behind them after. A side without any is
    /// not compared.
    #[must_use]
    pub fn compared(mut self, before: usize) -> Self {
        self.before = (1..self.recordings.len())
            .contains(&before)
            .then_some(before);
        self
    }

    /// The number of recordings before, where two sides are compared.
    pub(crate) fn before(&self) -> Option<usize> {
        self.before
    }

    /// Heap snapshots beside the recordings: the one to look at, and a later one.
    #[must_use]
    pub fn snapshots(mut self, snapshots: Vec<Box<dyn Snapshot>>) -> Self {
        self.snapshots = snapshots.into_iter().map(snapshots::Kept::new).collect();
        self
    }

    /// The editor that lines of source are opened in.
    #[must_use]
    pub fn editor(mut self, editor: Option<EditorLinks>) -> Self {
        self.editor = editor;
        self
    }

    /// The links that open it.
    pub(crate) fn editor_links(&self) -> Option<&EditorLinks> {
        self.editor.as_ref()
    }

    /// The files of the heap snapshots.
    pub(crate) fn snapshot_paths(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.snapshots.iter().map(|snapshot| snapshot.source.path())
    }

    /// The heap of a snapshot.
    pub(crate) fn heap(&self, number: usize) -> Result<Arc<Heap>, Error> {
        let snapshot = self.snapshots.get(number);
        snapshot
            .ok_or_else(|| Error::Nothing("there is no such heap snapshot on this page".into()))?
            .heap()
    }

    /// The number of recordings.
    pub fn len(&self) -> usize {
        self.recordings.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.recordings.is_empty()
    }

    /// Reads all recordings and heap snapshots, so that the first question finds them.
    pub fn read(&self) -> Result<(), Error> {
        for recording in &self.recordings {
            prepare(recording.whole()?);
        }
        let mut snapshots = self.snapshots.iter();
        snapshots.try_for_each(|snapshot| snapshot.heap().map(drop))
    }

    /// Where a recording comes from.
    pub fn source(&self, recording: usize) -> Option<&dyn Source> {
        Some(&*self.recordings.get(recording)?.source)
    }

    /// A number for the state of all files: another one means other answers.
    pub fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for recording in &self.recordings {
            recording.version().hash(&mut hasher);
        }
        for snapshot in &self.snapshots {
            snapshot.source.version().hash(&mut hasher);
        }
        // The page reads it as a number of JSON.
        hasher.finish() >> 12
    }

    /// The part of a recording that a question is about.
    pub fn part(&self, question: &Question) -> Result<Part, Error> {
        let number: usize = question.parsed("recording")?.unwrap_or(0);
        let filter = question.filter()?;
        let measure = question.measure()?;
        let at = match measure {
            Some(Measure { part: Of::Live, .. }) => question.moment()?,
            _ => None,
        };
        self.part_of(number, filter, measure, at)
    }

    fn part_of(
        &self,
        number: usize,
        filter: Filter,
        measure: Option<Measure>,
        at: Option<Nanos>,
    ) -> Result<Part, Error> {
        let recording = (self.recordings.get(number))
            .ok_or_else(|| Error::Nothing(format!("there is no recording {number}")))?;
        let whole = recording.whole()?;
        let is_transformed = transforms(&whole.profile, &filter);
        let changed = match (is_transformed, measure) {
            (false, None) => return Ok(Part::new(whole, filter)),
            (true, _) => filter.to_string(),
            (false, Some(_)) => String::new(),
        };
        let key = format!("{measure:?} {at:?} {changed}");
        let loaded = recording.loaded(key, || {
            let mut profile = match (measure, at) {
                (Some(measure), Some(at)) if is_recorded(&whole.profile, measure) => {
                    measured_at(whole.profile.clone(), measure.counts, at)
                }
                _ => measure_of(&whole.profile, measure)?,
            };
            let left = is_transformed.then(|| transform(&mut profile, &filter));
            Ok((profile, left))
        })?;
        let filter = loaded.filter.clone().unwrap_or(filter);
        Ok(Part::new(loaded, filter))
    }
}

/// What a report chooses: the filter, and the frames that it shows.
pub(crate) fn choices(question: &Question, filter: &Filter) -> Result<Choices, Error> {
    let libraries = match question.parsed("libraries")? {
        None if question.is("mine") => Libraries::Hidden,
        given => given.unwrap_or(Libraries::Shown),
    };
    let hidden = match question.is("runtime") {
        true => Hidden::Nothing,
        false => Hidden::Runtime,
    };
    let choices = Choices::command().filter(filter.clone());
    Ok(choices.hidden(hidden).libraries(libraries))
}

/// The profile, or what it says of memory.
pub(crate) fn measure_of(profile: &Profile, measure: Option<Measure>) -> Result<Profile, Error> {
    match measure {
        None => Ok(profile.clone()),
        Some(measure) if is_recorded(profile, measure) => Ok(measured(profile.clone(), measure)),
        Some(_) => Err(Error::Nothing(
            "what is allocated was not recorded: `profundo run --memory` does".to_owned(),
        )),
    }
}

impl Question {
    /// What of memory it is about; `None` is time.
    pub(crate) fn measure(&self) -> Result<Option<Measure>, Error> {
        let part = match self.get("of") {
            None | Some("time") => return Ok(None),
            Some("allocated") => Of::Allocated,
            Some("live") => Of::Live,
            Some("peak") => Of::Peak,
            Some("temporary") => Of::Temporary,
            Some("copied") => Of::Copied,
            Some(other) => return Err(Error::value("of", format!("there is no “{other}”"))),
        };
        Ok(Some(Measure {
            part,
            counts: self.is("count"),
        }))
    }
}

impl Recording {
    /// The state of the file that questions are answered from. A file that grows all the time is
    /// read again after a rest, so that reading it is the smaller part of the work.
    fn version(&self) -> Version {
        let now = self.source.version();
        match *lock(&self.served) {
            Some(served) if served.ended.elapsed() < (4 * served.took).max(REST) => served.version,
            _ => now,
        }
    }

    /// The whole recording.
    pub(crate) fn whole(&self) -> Result<Arc<Loaded>, Error> {
        self.loaded(String::new(), || {
            let read = self.source.read(Nanos(0)..Nanos(u64::MAX));
            Ok((read.map_err(Error::Read)?, None))
        })
    }

    /// A kept profile, or the one that `make` makes.
    fn loaded(
        &self,
        key: String,
        make: impl FnOnce() -> Result<(Profile, Option<Filter>), Error>,
    ) -> Result<Arc<Loaded>, Error> {
        // Held while it is made: two questions at once would read the file twice.
        let mut kept = lock(&self.kept);
        let version = self.version();
        if kept.version != version {
            *kept = Kept {
                version,
                ..Kept::default()
            };
        }
        if let Some(known) = kept.profiles.get(&key) {
            return Ok(Arc::clone(known));
        }
        let is_whole = key.is_empty();
        let began = Instant::now();
        let (profile, filter) = make()?;
        if is_whole {
            *lock(&self.served) = Some(Served {
                version,
                ended: Instant::now(),
                took: began.elapsed(),
            });
        }
        let loaded = Arc::new(Loaded {
            profile,
            filter,
            forests: Mutex::default(),
            whole: Mutex::default(),
            selections: Mutex::default(),
            weights: Mutex::default(),
            timelines: Mutex::default(),
            memories: Mutex::default(),
            joules: OnceLock::new(),
        });
        let most = room(&loaded.profile).clamp(2, PROFILES);
        kept.profiles.put(key, Arc::clone(&loaded), most);
        Ok(loaded)
    }
}

/// A profile, with what was made of it.
pub(crate) struct Loaded {
    pub profile: Profile,
    /// The filter that is left of a question's, where its transforms were applied.
    filter: Option<Filter>,
    forests: Made<ForestOptions, Forest>,
    /// The selection of everything, which others share with.
    whole: Made<(), Selection>,
    selections: Made<String, Selection>,
    weights: Made<(ForestOptions, String), Weights>,
    timelines: Made<(TracksBy, String), Timeline>,
    memories: Made<String, Vec<Readings>>,
    /// The joules of a nanosecond on a CPU, where the machine's energy was counted.
    joules: OnceLock<Option<f64>>,
}

/// The readings of a process's memory.
pub(crate) struct Readings {
    pub process: ProcessId,
    /// The largest resident memory.
    pub peak: u64,
    /// The time, the resident bytes, and those in blocks of the allocators.
    pub each: Vec<(u64, u64, Option<u64>)>,
}

/// The part of a recording that a question is about.
pub struct Part {
    loaded: Arc<Loaded>,
    filter: Filter,
    text: String,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part")
            .field("filter", &self.text)
            .finish_non_exhaustive()
    }
}

impl Part {
    fn new(loaded: Arc<Loaded>, filter: Filter) -> Self {
        let text = filter.to_string();
        Self {
            loaded,
            filter,
            text,
        }
    }

    /// Another part of the same profile.
    pub(crate) fn with(&self, filter: Filter) -> Self {
        Self::new(Arc::clone(&self.loaded), filter)
    }

    /// The profile, transformed and measured.
    pub fn profile(&self) -> &Profile {
        &self.loaded.profile
    }

    /// What is left of the filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The samples.
    pub(crate) fn selection(&self) -> Arc<Selection> {
        let profile = &self.loaded.profile;
        let all = Filter::default();
        let whole = keep(&self.loaded.whole, &(), || Selection::new(profile, &all));
        if self.filter == all {
            return whole;
        }
        keep_most(&self.loaded.selections, &self.text, self.filters(), || {
            whole.another(profile, &self.filter)
        })
    }

    /// The number of filters that are kept.
    fn filters(&self) -> usize {
        room(&self.loaded.profile).clamp(2, FILTERS)
    }

    /// The tree of calls.
    pub(crate) fn forest(&self, options: &ForestOptions) -> Arc<Forest> {
        keep(&self.loaded.forests, options, || {
            Forest::new(&self.loaded.profile, options)
        })
    }

    /// The samples in the order of time.
    pub(crate) fn timeline(&self, by: TracksBy) -> Arc<Timeline> {
        keep_most(
            &self.loaded.timelines,
            &(by, self.text.clone()),
            TIMELINES,
            || Timeline::new(&self.loaded.profile, &self.selection(), by),
        )
    }

    /// The readings of the memory of its processes, the largest first.
    pub(crate) fn memories(&self) -> Arc<Vec<Readings>> {
        keep(&self.loaded.memories, &self.text, || {
            let found = gauges(&self.loaded.profile, &self.selection(), &self.filter);
            let of = |memory: &ProcessMemory<'_>| Readings {
                process: memory.process,
                peak: memory.peak,
                each: (memory.readings.iter().zip(&memory.uses))
                    .map(|(reading, uses)| {
                        let in_use = uses.in_use.map(|figure| figure.value);
                        (reading.time.0, reading.resident, in_use)
                    })
                    .collect(),
            };
            found.iter().map(of).collect()
        })
    }

    /// The estimated joules of a nanosecond on a CPU.
    pub(crate) fn joules_per_nanosecond(&self) -> Option<f64> {
        *(self.loaded.joules).get_or_init(|| joules_per_nanosecond(&self.loaded.profile))
    }

    /// The weights of the samples on that tree.
    pub(crate) fn weights(&self, options: &ForestOptions) -> Arc<Weights> {
        let key = (*options, self.text.clone());
        keep_most(&self.loaded.weights, &key, self.filters(), || {
            let forest = self.forest(options);
            Weights::new(&self.loaded.profile, &forest, &self.selection())
        })
    }
}

/// Prepares answers about a large recording while its page opens.
fn prepare(loaded: Arc<Loaded>) {
    const LARGE: usize = 100_000;
    if loaded.profile.stacks.len() >= LARGE {
        let work = move || {
            let part = Part::new(loaded, Filter::default());
            let selection = part.selection();
            selection.prepare(part.profile());
            let summary = Summary::new().choices(Choices::command());
            summary.prepare(part.profile(), &selection);
        };
        // Without a thread, the first question does the work.
        let _ = std::thread::Builder::new()
            .name("profundo prepare".into())
            .spawn(work);
    }
}

/// The number of profiles like this one, or of parts of it, that there is room for.
fn room(profile: &Profile) -> usize {
    STACKS / profile.stacks.len().max(1)
}

/// Values that are made once. Who asks meanwhile waits for the value.
type Made<K, V> = Mutex<Recent<K, Arc<OnceLock<Arc<V>>>>>;

/// A kept value, or the one that `make` makes.
fn keep<K: Clone + PartialEq, V>(kept: &Made<K, V>, key: &K, make: impl FnOnce() -> V) -> Arc<V> {
    keep_most(kept, key, FILTERS, make)
}

/// The same, of so many values.
fn keep_most<K: Clone + PartialEq, V>(
    kept: &Made<K, V>,
    key: &K,
    most: usize,
    make: impl FnOnce() -> V,
) -> Arc<V> {
    let made = {
        let mut kept = lock(kept);
        match kept.get(key).map(Arc::clone) {
            Some(known) => known,
            None => {
                let new = Arc::default();
                kept.put(key.clone(), Arc::clone(&new), most);
                new
            }
        }
    };
    Arc::clone(made.get_or_init(|| Arc::new(make())))
}

/// A lock. What is kept stays right if a question panicked: it is put there as a whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The values that were used last, the last one at the end.
#[derive(Debug)]
pub(crate) struct Recent<K, V>(Vec<(K, V)>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq, V> Recent<K, V> {
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        let place = self.0.iter().position(|(known, _)| known == key)?;
        let used = self.0.remove(place);
        self.0.push(used);
        self.0.last().map(|(_, value)| value)
    }

    pub(crate) fn put(&mut self, key: K, value: V, most: usize) {
        self.0.push((key, value));
        if self.0.len() > most {
            self.0.remove(0);
        }
    }
}
