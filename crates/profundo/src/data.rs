//! The samples, without names: the result of `fetch`.

use std::collections::HashSet;
use std::sync::Arc;

use profundo_model::{Profile, Sample, State, TaskId, ThreadId};

use crate::error::{Error, Result};
use crate::warn::warn;
use crate::words::{self, Words};

/// A copy of the samples. Cheap to clone, and later events do not change it.
#[derive(Debug, Clone)]
pub struct Data {
    profile: Arc<Profile>,
    has_meta: bool,
}

/// Options of [`fetch_with`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchOptions {
    /// Whether samples keep their thread, task, clock and state.
    pub include_meta: bool,
    /// Whether to warn on stderr that the buffer is full.
    pub limitwarn: bool,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            include_meta: true,
            limitwarn: true,
        }
    }
}

const BUFFER_FULL: &str = "the profile data buffer is full; profiling probably ended before the \
                           program did. To profile for longer, call `profundo::init` with a \
                           larger buffer or a longer delay, or use a ring";

/// A copy of all samples in the buffer, with a warning on stderr if the buffer is full.
pub fn fetch() -> Result<Data> {
    fetch_with(FetchOptions::default())
}

/// As [`fetch`], with options. Works while a session runs.
pub fn fetch_with(options: FetchOptions) -> Result<Data> {
    let recording = profundo_capture::snapshot()?;
    let data = Data::from_profile(profundo_ingest::ingest(&recording));
    if options.limitwarn && data.profile.meta.buffer_was_full {
        warn(BUFFER_FULL);
    }
    Ok(if options.include_meta {
        data
    } else {
        data.strip_meta()
    })
}

impl Data {
    /// Data from a profile made by hand or by another reader.
    pub fn from_profile(profile: Profile) -> Self {
        Self {
            profile: Arc::new(profile),
            has_meta: true,
        }
    }

    /// Data from words in Julia's layout with metadata.
    pub fn from_words(words: &[u64]) -> Result<Self> {
        words::to_profile(words).map(Self::from_profile)
    }

    /// The profile as tables: every sample with its own time, weight, thread, task and state.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.profile.samples.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.profile.samples.is_empty()
    }

    /// The samples as words in Julia's layout.
    pub fn words(&self) -> Words {
        words::of(&self.profile, self.has_meta)
    }

    /// Whether samples know their thread, task, clock and state.
    pub fn has_meta(&self) -> bool {
        self.has_meta
    }

    /// A copy of the samples without thread, task, clock and state.
    pub fn strip_meta(&self) -> Self {
        Self {
            profile: Arc::clone(&self.profile),
            has_meta: false,
        }
    }

    /// Gives stripped samples one thread, one task and clocks that count up from 100, for readers
    /// that insist on metadata. Julia's defaults are thread 1 and task `0xf0f0f0f0`.
    pub fn add_fake_meta(&self, threadid: u64, taskid: u64) -> Result<Self> {
        if self.has_meta {
            return Err(Error::HasMetadata);
        }
        if threadid == 0 {
            return Err(Error::FakeThreadZero);
        }
        if taskid == 0 {
            return Err(Error::FakeTaskZero);
        }
        let mut profile = (*self.profile).clone();
        let thread = profile.hand_made_thread(threadid, "");
        let task = profile.hand_made_task(taskid);
        for (clock, sample) in (100..).zip(&mut profile.samples) {
            *sample = Sample {
                thread,
                task,
                clock,
                state: State::Running,
                ..*sample
            };
        }
        Ok(Self::from_profile(profile))
    }

    fn with_meta(&self) -> Result<&Profile> {
        if self.has_meta {
            Ok(&self.profile)
        } else {
            Err(Error::MissingMetadata)
        }
    }

    /// The distinct task numbers, that of the newest sample first; of one thread only, if given.
    pub fn get_task_ids(&self, threadid: Option<u64>) -> Result<Vec<u64>> {
        let profile = self.with_meta()?;
        // There may be one per sample.
        let mut seen: HashSet<TaskId> = HashSet::new();
        let of_thread = |sample: &&Sample| {
            threadid.is_none_or(|number| profile.threads.get(sample.thread).number == number)
        };
        let newest_first = profile.samples.iter().rev().filter(of_thread);
        Ok(newest_first
            .filter(|sample| seen.insert(sample.task))
            .map(|sample| profile.tasks.get(sample.task).number)
            .collect())
    }

    /// The distinct thread numbers, ascending; those that ran one task only, if given.
    pub fn get_thread_ids(&self, taskid: Option<u64>) -> Result<Vec<u64>> {
        let profile = self.with_meta()?;
        let of_task = |sample: &&Sample| {
            taskid.is_none_or(|number| profile.tasks.get(sample.task).number == number)
        };
        let seen: HashSet<ThreadId> = (profile.samples.iter().filter(of_task))
            .map(|sample| sample.thread)
            .collect();
        let mut numbers: Vec<u64> = seen
            .into_iter()
            .map(|id| profile.threads.get(id).number)
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}
