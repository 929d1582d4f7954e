//! Sums of time or events without numbers of samples. The smallest of them is about one sample's,
//! so the others are taken to be so many of it: reports need them to say how sure a share is.

use profundo_model::{Nanos, StackId, State, ThreadId};

use crate::{Builder, Row};

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
        if let Some(least) = weights.min() {
            self.finish_with(builder, least);
        }
    }

    /// Makes rows of samples of them, where this is the smallest weight before they were divided.
    pub(crate) fn finish_with(self, builder: &mut Builder, least: u64) {
        let least = least.max(1);
        for (stack, thread, weight, state) in self.rows {
            builder.sample(Row {
                stack,
                thread,
                weight,
                samples: (weight.saturating_add(least / 2) / least).max(1),
                time: None,
                state,
            });
        }
        builder.profile.meta.period = Nanos(least);
        builder.note(
            "the file has no numbers of samples: the smallest weight in it is taken to be one sample's",
        );
    }
}
