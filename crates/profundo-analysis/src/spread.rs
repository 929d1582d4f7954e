//! Several measurements of one quantity: their mean, their scatter, the least and the most.

/// The statistics of several numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The number of values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, as that of a sample; unknown for one number.
    pub deviation: Option<f64>,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// The statistics of these numbers; none for no number.
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len();
        let &first = numbers.first()?;
        let mean = numbers.iter().sum::<f64>() / count as f64;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Some(Self {
            count,
            mean,
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            least: numbers.iter().copied().fold(first, f64::min),
            most: numbers.iter().copied().fold(first, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((spread.count, spread.mean), (8, 5.0));
        assert!((spread.deviation.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((spread.least, spread.most), (2.0, 9.0));
    }

    #[test]
    fn one_number_does_not_scatter_and_none_is_nothing() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.deviation), (3.0, None));
        assert_eq!(Spread::of(&[3.0, 3.0]).unwrap().deviation, Some(0.0));
    }
}
