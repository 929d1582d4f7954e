//! Runs in turn: A B A B … A. Slow drift (a neighbour on the machine, the CPU's clock) affects both
//! sides of each comparison and cancels.

/// The cost of each run in percent above the mean of the plain runs before and after it. There is
/// one more plain run than others.
pub fn percent_more(plain: &[f64], other: &[f64]) -> Vec<f64> {
    plain
        .windows(2)
        .zip(other)
        .map(|(around, cost)| {
            let plain = (around[0] + around[1]) / 2.0;
            100.0 * (cost - plain) / plain
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_cancels() {
        // Each run is slower than the last by the same amount; B itself costs nothing.
        let more = percent_more(&[100.0, 104.0, 108.0], &[102.0, 106.0]);
        assert_eq!(more, [0.0, 0.0]);
    }

    #[test]
    fn what_costs_more_shows() {
        assert_eq!(percent_more(&[100.0, 100.0], &[101.0]), [1.0]);
        assert_eq!(percent_more(&[100.0], &[]), [0.0; 0]);
    }
}
