//! A recording as a verb's options choose it: read, completed, measured, and reduced to what passes
//! the filter. Each verb that reads a recording begins here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use profundo_analysis::{Filter, has_allocations, is_recorded, keep_only, measured, transform};
use profundo_formats::export::Holds;
use profundo_model::Profile;

use crate::open::{self, Samples};
use crate::options::{self, Filters, Measuring, Reading};
use crate::own_code;
use crate::recordings::meant;

/// The options that choose a recording and a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The recording as it was typed; `None` is the newest.
    pub recording: Option<&'a Path>,
    pub filters: &'a Filters,
    /// The end of the time that counts.
    pub until: Option<Duration>,
    pub measuring: &'a Measuring,
    /// The value that samples weigh by, of another tool's file that has several.
    pub value: Option<&'a str>,
}

/// The contents that a verb looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub holds: Holds,
    /// Whether each sample needs its own place in time.
    pub is_in_order: bool,
    /// Whether time and memory are wanted beside each other.
    pub has_memory_too: bool,
}

/// The part of a recording that passes.
#[derive(Debug)]
pub struct Part {
    pub profile: Profile,
    /// Whether the recording had anything before the filter.
    pub had_any: bool,
    /// The text of the filter and its transforms; empty where there is none.
    pub filter: String,
}

impl<'a> Input<'a> {
    /// The options. Ends the program with a hint where they do not go together.
    pub fn new(
        recording: Option<&'a Path>,
        filters: &'a Filters,
        until: Option<Duration>,
        measuring: &'a Measuring,
    ) -> Self {
        if let Some(why) = filters.misfit(until) {
            options::refuse(&why);
        }
        if let Some(why) = measuring.misfit() {
            options::refuse(why);
        }
        if measuring.measure().is_some() && !filters.gil.is_empty() {
            options::refuse(options::NO_GIL);
        }
        Self {
            recording,
            filters,
            until,
            measuring,
            value: None,
        }
    }

    /// Reads another tool's file as these options say.
    pub fn reading(self, reading: &'a Reading) -> Self {
        let value = reading.value.as_deref();
        Self { value, ..self }
    }

    /// The path of the recording.
    pub fn path(&self) -> Result<PathBuf> {
        meant(self.recording)
    }

    /// The filter in the words of the analysis.
    pub fn filter(&self) -> Filter {
        self.filters.filter(self.until)
    }

    /// Reads the whole recording at `path`, for a report that applies the filter itself.
    pub fn read(&self, path: &Path, samples: Samples) -> Result<Profile> {
        let mut profile = open::open(path, samples, self.value)?;
        if profile.meta.lacks_times && (self.filters.from.is_some() || self.until.is_some()) {
            if profile.meta.question.is_some() {
                bail!(
                    "samples of a query have no place in time without its `step=`: add `&step=1m`, or choose \
                     the time by its `from=` and `to=`"
                );
            }
            bail!(
                "{} has no times, so --from and --to choose nothing in it",
                path.display()
            );
        }
        own_code::add_said(&mut profile, &self.filters.own_code);
        Ok(profile)
    }

    /// Reads the recording at `path` for a file that is made from it.
    pub fn read_for(&self, path: &Path, wanted: Wanted) -> Result<Profile> {
        let samples = match wanted.is_in_order {
            true => Samples::Each,
            false => Samples::of(&self.filter()),
        };
        self.read(path, samples)
    }

    /// The part of `profile` that passes: of memory if that was asked for, reduced by the filter,
    /// and with its stacks transformed.
    /// Fails where nothing passes, and nothing is written then.
    pub fn part(&self, mut profile: Profile, wanted: Wanted) -> Result<Part> {
        if let Some(measure) = self.measuring.measure() {
            if !is_recorded(&profile, measure) {
                bail!("{}; nothing was written", open::NO_MEMORY);
            }
            if !wanted.has_memory_too {
                profile = measured(profile, measure);
            }
        }
        let holds = wanted.holds;
        let had_any = holds.any_in(&profile);
        let filter = transform(&mut profile, &self.filter());
        keep_only(&mut profile, &filter);
        let is_empty =
            !holds.any_in(&profile) && (!wanted.has_memory_too || !has_allocations(&profile));
        if had_any && is_empty {
            if holds == Holds::Lines && !filter.is_timeless() {
                bail!("{}; nothing was written", crate::report::LINES_ARE_ALL);
            }
            bail!(NothingPasses(format!(
                "no {} pass the filter ({filter}); nothing was written",
                holds.name()
            )));
        }
        let filter = filter.to_string();
        Ok(Part {
            profile,
            had_any,
            filter,
        })
    }
}

/// Nothing of the recording passes the filter, which has an exit code of its own.
#[derive(Debug)]
pub struct NothingPasses(String);

impl NothingPasses {
    /// Nothing passes, in this sentence.
    pub fn new(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for NothingPasses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NothingPasses {}
