//! The uncertainty of a share. Samples are a lottery: of 100 of them, a function that takes 10 % of
//! the time may well get 6 or 16.

/// A range that holds the true value in 95 of 100 cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A share between 0 and 1, with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The share in the samples.
    pub share: f64,
    /// The interval of the true share.
    pub interval: Interval,
    /// The exact counts, where the samples are too few for a share.
    pub few: Option<Few>,
}

/// The counts of a part and a whole with few samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Few {
    /// The samples of the part.
    pub part: u64,
    /// The samples of the whole.
    pub whole: u64,
}

impl Few {
    /// With fewer samples a report has no shares.
    pub const LIMIT: u64 = 30;
}

/// Samples added up: the sum of their weights, and of the squares of these.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mass {
    /// The sum of the weights.
    pub weight: f64,
    /// The sum of the squares of the weights.
    pub squares: f64,
    /// The number of samples.
    pub samples: u64,
    /// Whether the report has too few samples for shares.
    pub is_few: bool,
}

impl Mass {
    /// The number of samples of equal weight with the same information.
    pub fn effective_samples(self) -> f64 {
        if self.squares > 0.0 {
            self.weight * self.weight / self.squares
        } else {
            0.0
        }
    }
}

/// The standard deviations to either side that hold 95 % of a normal distribution.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// The probability that a normally distributed number is below this many standard deviations, to a
/// millionth or so, after Abramowitz and Stegun.
pub(crate) fn normal(z: f64) -> f64 {
    if z.is_nan() {
        return 0.0;
    }
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let error = 1.0 - sum * (-x * x).exp();
    (1.0 + error.copysign(z)) / 2.0
}

impl Estimate {
    /// The estimate from a share in `samples` samples of equal weight, after Wilson, whose interval
    /// stays correct for shares near 0 and 1 and for few samples. Without samples nothing is known:
    /// the interval is everything.
    pub fn new(share: f64, samples: f64) -> Self {
        Self::after_wilson(share, samples, Z)
    }

    /// The same estimate, where another number of standard deviations than usual holds 95 %.
    pub(crate) fn after_wilson(share: f64, samples: f64, z: f64) -> Self {
        if samples <= 0.0 {
            return Self {
                share,
                interval: Interval {
                    low: 0.0,
                    high: 1.0,
                },
                few: None,
            };
        }
        let scale = 1.0 + z * z / samples;
        let centre = (share + z * z / (2.0 * samples)) / scale;
        let spread = share * (1.0 - share) / samples + z * z / (4.0 * samples * samples);
        let half = z / scale * spread.max(0.0).sqrt();
        let interval = Interval {
            low: (centre - half).max(0.0),
            high: (centre + half).min(1.0),
        };
        Self {
            share,
            interval,
            few: None,
        }
    }

    /// The estimate of the share of a part in a whole, both given as the sum of their samples'
    /// weights and the sum of the squares of these weights. A part of few heavy samples is less
    /// certain than one of many light ones with the same weight.
    pub fn of(part: Mass, whole: Mass) -> Self {
        let share = part.weight / whole.weight.max(f64::MIN_POSITIVE);
        if whole.weight > 0.0 && whole.squares <= 0.0 {
            // No lottery: each was measured.
            return Self::exact(share);
        }
        let rest = (whole.squares - part.squares).max(0.0);
        let spread = part.squares * (1.0 - share).powi(2) + rest * share * share;
        let samples = if share > 0.0 && share < 1.0 && spread > 0.0 {
            share * (1.0 - share) * whole.weight * whole.weight / spread
        } else if whole.squares > 0.0 {
            whole.weight * whole.weight / whole.squares
        } else {
            0.0
        };
        Self::new(share, samples).unless_few(part, whole)
    }

    /// Adds the exact counts, where the whole has few samples.
    pub(crate) fn unless_few(mut self, part: Mass, whole: Mass) -> Self {
        self.few = whole.is_few.then_some(Few {
            part: part.samples,
            whole: whole.samples,
        });
        self
    }

    /// The interval of the true share, if the samples are enough for one.
    pub fn known(&self) -> Option<Interval> {
        self.few.is_none().then_some(self.interval)
    }

    /// A share that was measured.
    pub fn exact(share: f64) -> Self {
        let (low, high) = (share, share);
        let interval = Interval { low, high };
        Self {
            share,
            interval,
            few: None,
        }
    }

    /// True for a measured share, which is no estimate.
    pub fn is_exact(&self) -> bool {
        self.interval.low == self.share && self.interval.high == self.share
    }

    /// Half of the width of the interval.
    pub fn margin(&self) -> f64 {
        (self.interval.high - self.interval.low) / 2.0
    }
}

/// The number of samples of equal weight with the same information as samples of these weights:
/// `(Σw)² / Σw²`. A thousand samples of which one outweighs the others are worth little more than
/// one.
pub fn effective_samples(weights: impl IntoIterator<Item = u64>) -> f64 {
    let mut mass = Mass::default();
    for weight in weights {
        let weight = weight as f64;
        mass.weight += weight;
        mass.squares += weight * weight;
    }
    mass.effective_samples()
}
