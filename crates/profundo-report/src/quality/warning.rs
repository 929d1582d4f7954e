//! Warnings that a reader must know before drawing conclusions.

use std::fmt;

use profundo_analysis::Selection;
use profundo_model::{Profile, SampleKind};

use super::unsampled;
use crate::Unit;

/// A warning, without the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warning {
    /// There is not one sample.
    NoSamples,
    /// There is not one allocation.
    NoAllocations,
    /// There are samples, but the filter lets none through.
    Filtered,
    /// Calls were counted, and none of them is among what was asked for.
    NoCalls,
    /// There are no samples, because lines were counted.
    OnlyLines,
    /// There are samples, but all their frames are C.
    OnlyC,
    /// There is a group with samples, but all their frames are C.
    EmptyGroups,
    /// The recording ended early.
    BufferFull,
    /// There was no room for this many allocations.
    AllocationsLost(u64),
}

impl Warning {
    /// The reason why there is nothing to show of the selection.
    pub(crate) fn no_samples(profile: &Profile, selection: &Selection, unit: Unit) -> Self {
        if !selection.is_empty() {
            Self::OnlyC
        } else if profile.samples.is_empty() && !profile.traced.lines.is_empty() {
            Self::OnlyLines
        } else if profile.meta.kind == SampleKind::Traced {
            Self::NoCalls
        } else if !profile.samples.is_empty() {
            Self::Filtered
        } else if unit.of_allocations().is_some() {
            Self::NoAllocations
        } else {
            Self::NoSamples
        }
    }

    /// The warning of what there was no room for.
    pub(crate) fn full(profile: &Profile, unit: Unit) -> Self {
        match unit {
            Unit::Snapshots => Self::BufferFull,
            Unit::Bytes | Unit::Allocations => Self::AllocationsLost(profile.meta.loss.buffer_full),
        }
    }

    /// The sentence for this recording: the reason why there is nothing, where that is known.
    pub(crate) fn sentence(&self, profile: &Profile, is_command: bool) -> String {
        let why = match self {
            Self::NoSamples if is_command => unsampled::reason(profile),
            _ => None,
        };
        match why {
            Some(why) => format!("no samples were taken: {why}"),
            None => self.text(is_command),
        }
    }

    /// The sentences, for the user of a command or of the Rust library.
    pub(crate) fn text(&self, is_command: bool) -> String {
        if !is_command {
            return self.to_string();
        }
        let text = match self {
            Self::NoSamples | Self::NoAllocations => {
                "no samples were taken: the program used too little CPU time to be seen. Run it \
                 for longer, or sample it more often."
            }
            Self::Filtered => "no samples pass the filter.",
            Self::OnlyLines => {
                "there are no samples, because lines were counted: `profundo report FILE lines` \
                 shows them."
            }
            Self::NoCalls => "no calls were counted of what was asked for.",
            Self::OnlyC => {
                "all that was sampled is hidden: plumbing of an interpreter, or code that is not \
                 your own."
            }
            Self::EmptyGroups => "all that was sampled in one or more groups is hidden.",
            Self::BufferFull => {
                "the buffer filled up, so the recording ends before the program did."
            }
            Self::AllocationsLost(_) => {
                "the room for allocations filled up: later ones are missing."
            }
        };
        text.to_owned()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGER: &str = "run the program longer (perhaps by running it several times), or \
                              adjust the delay between samples with `profundo::init`";
        match self {
            Self::NoSamples => write!(f, "no samples were collected. Please {LONGER}."),
            Self::NoAllocations => write!(
                f,
                "no samples were collected. Please run the program longer (perhaps by running it \
                 several times), or record every allocation with a sample rate of 1.0."
            ),
            Self::Filtered => write!(
                f,
                "no samples were collected in the threads and tasks asked for. Ask for more of \
                 them, {LONGER}."
            ),
            Self::OnlyLines => f.write_str("there are no samples, because lines were counted."),
            Self::NoCalls => f.write_str("no calls were counted of what was asked for."),
            Self::OnlyC => write!(
                f,
                "no samples were collected outside C frames. Show these with `c(true)`, {LONGER}."
            ),
            Self::EmptyGroups => write!(
                f,
                "no samples were collected in one or more groups. They may be idle threads; or \
                 all their frames are C, which `c(true)` shows; or {LONGER}."
            ),
            Self::BufferFull => write!(
                f,
                "the profile data buffer is full; profiling probably ended before the program \
                 did. To profile for longer, call `profundo::init` with a larger buffer or delay."
            ),
            Self::AllocationsLost(count) => write!(
                f,
                "the room for allocations is full: {count} more were chosen and are not in this \
                 report. Record fewer of them, or make room with `profundo::allocs::init`."
            ),
        }
    }
}
