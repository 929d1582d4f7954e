//! The sums of some samples, from which shares are made.

use crate::StackWeight;
use crate::interval::{Estimate, Mass};
use crate::kind::Split;

/// The sums of some samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amount {
    /// The number of samples.
    pub samples: u64,
    /// The sum of their counts.
    pub count: u64,
    /// The sum of their weights in nanoseconds.
    pub weight: u64,
    /// The sum of the squares of the weights.
    pub squares: f64,
    /// The weight by kind.
    pub split: Split,
}

impl Amount {
    /// The share of this in a whole, with its uncertainty.
    pub fn share(&self, whole: Mass) -> Estimate {
        Estimate::of(self.mass(), whole)
    }

    /// The weights, for estimates of a part of this.
    pub fn mass(&self) -> Mass {
        Mass {
            weight: self.weight as f64,
            squares: self.squares,
            samples: self.samples,
            is_few: false,
        }
    }

    /// The sums for as many samples with `factor` times the weight.
    pub(crate) fn times(self, factor: f64) -> Self {
        let scaled = |sum: u64| (sum as f64 * factor).round() as u64;
        let Split {
            python,
            native,
            system,
            waiting,
            unreadable,
        } = self.split;
        Self {
            samples: scaled(self.samples),
            count: scaled(self.count),
            weight: scaled(self.weight),
            squares: self.squares * factor,
            split: Split {
                python: scaled(python),
                native: scaled(native),
                system: scaled(system),
                waiting: scaled(waiting),
                unreadable: scaled(unreadable),
            },
        }
    }

    /// Adds the samples of a stack.
    pub(crate) fn add(&mut self, stack: &StackWeight) {
        self.samples = self.samples.saturating_add(stack.samples);
        self.count = self.count.saturating_add(stack.count);
        self.weight = self.weight.saturating_add(stack.weight);
        self.squares += stack.squares;
        self.split += stack.split;
    }
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.count = self.count.saturating_add(other.count);
        self.weight = self.weight.saturating_add(other.weight);
        self.squares += other.squares;
        self.split += other.split;
    }
}
