//! The unit of a profile's weights: time, or what was allocated.

use profundo_model::{Measure, Part, Profile, SampleKind};

use crate::page::units::{bytes, counted, duration};

/// The unit of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Weighs {
    /// Nanoseconds.
    #[default]
    Time,
    /// Nanoseconds that were measured call by call, and not sampled.
    Traced,
    /// A number of events.
    Events {
        /// Whether they are samples, whose length is not known.
        are_samples: bool,
    },
    /// Bytes or blocks of a heap.
    Heap(Measure),
}

impl Weighs {
    pub(crate) fn of(profile: &Profile) -> Self {
        match profile.meta.kind {
            SampleKind::Heap(measure) => Self::Heap(measure),
            SampleKind::Traced => Self::Traced,
            SampleKind::Events => Self::Events {
                are_samples: profile.meta.event.is_empty(),
            },
            SampleKind::Cpu | SampleKind::Wall => Self::Time,
        }
    }

    /// The measure, where it is no time.
    pub(crate) fn heap(self) -> Option<Measure> {
        match self {
            Self::Time | Self::Traced | Self::Events { .. } => None,
            Self::Heap(measure) => Some(measure),
        }
    }

    fn counts(self) -> bool {
        self.heap().is_some_and(|measure| measure.counts)
    }

    /// The word as in “of the time”.
    pub(crate) fn whole(self) -> &'static str {
        match self {
            Self::Time | Self::Traced => "time",
            Self::Events { are_samples: true } => "samples",
            Self::Events { .. } => "events",
            Self::Heap(measure) if measure.part == Part::Copied && measure.counts => "copies",
            Self::Heap(_) if self.counts() => "blocks",
            Self::Heap(_) => "bytes",
        }
    }

    /// The title of a column of shares.
    pub(crate) fn share_title(self) -> &'static str {
        match self {
            Self::Time | Self::Traced => "Time %",
            Self::Events { are_samples: true } => "Samples %",
            Self::Events { .. } => "Events %",
            Self::Heap(_) if self.counts() => "Blocks %",
            Self::Heap(_) => "Size %",
        }
    }

    /// The title of a column of weights.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Time | Self::Traced => "Time",
            Self::Events { are_samples: true } => "Samples",
            Self::Events { .. } => "Events",
            Self::Heap(_) if self.counts() => "Blocks",
            Self::Heap(_) => "Size",
        }
    }

    /// The name of a weight in JSON.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Time | Self::Traced => "seconds",
            Self::Events { .. } => "events",
            _ => self.whole(),
        }
    }

    /// A weight as it is shown.
    pub(crate) fn text(self, weight: u64) -> String {
        match self {
            Self::Time | Self::Traced => duration(weight),
            Self::Events { .. } => weight.to_string(),
            Self::Heap(_) if self.counts() => weight.to_string(),
            Self::Heap(_) => bytes(weight),
        }
    }

    /// A number of samples and what they are.
    pub(crate) fn samples(self, number: u64) -> String {
        match self {
            Self::Time | Self::Events { .. } => counted(number, "sample"),
            Self::Traced => counted(number, "call"),
            Self::Heap(_) => counted(number, "record"),
        }
    }

    /// The blocks that are meant.
    pub(crate) fn which(self) -> &'static str {
        match self.heap().map(|measure| measure.part) {
            None | Some(Part::Allocated) => "allocated",
            Some(Part::Live) => "live at the end",
            Some(Part::Peak) => "live at the peak",
            Some(Part::Copied) => "copied",
            Some(Part::Temporary) => "freed before anything else was allocated",
        }
    }
}
