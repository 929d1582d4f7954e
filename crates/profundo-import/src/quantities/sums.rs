//! Sums of time or events without numbers of samples. The smallest of them is about one sample's,
//! so the others are taken to be so many of it: reports need them to say how sure a share is.

use profundo_model::{Nanos, StackId, State, ThreadId};

use crate::{Builder, Row};

/// The note about the numbers of samples.
pub(crate) const NOTE: &str = "the file has no numbers of samples: the smallest weight in it is \
                               taken to be one sample's";

/// The sums of a file.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    rows: Vec<(StackId, ThreadId, u64, State)>,
}

impl Sums {
    /// Adds the own weight of a stack.
    pub(crate) fn add(&mut self, stack: StackId, thread: ThreadId, weight: u64, state: State) {
        if weight > 0 {
            self.rows.push((stack, thread, weight, state));
        }
    }

    /// Makes rows of samples of them.
    pub(crate) fn finish(self, builder: &mut Builder) {
        let weights = self.rows.iter().map(|&(_, _, weight, _)| weight);
        let Some(least) = weights.min() else {
            return;
        };
        for (stack, thread, weight, state) in self.rows {
            builder.sample(Row {
                stack,
                thread,
                weight,
                samples: samples_of(weight, least),
                time: None,
                state,
            });
        }
        builder.profile.meta.period = Nanos(least);
        builder.note(NOTE);
    }
}

/// The number of samples of a weight, where one has so much.
pub(crate) fn samples_of(weight: u64, each: u64) -> u64 {
    let samples = weight.saturating_add(each / 2).checked_div(each);
    samples.unwrap_or(1).max(1)
}
