//! Student's distribution: the probability of a value this far from zero, and the quantile of an
//! interval. With infinite freedom it is the normal distribution.

/// The probability that Student's variable of this freedom is at least as far from 0 as `t`.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    if !freedom.is_finite() || freedom > 1e6 {
        return normal_tails(t.abs());
    }
    let x = freedom / (freedom + t * t);
    incomplete_beta(freedom / 2.0, 0.5, x).clamp(0.0, 1.0)
}

/// The value that Student's variable of this freedom exceeds, to either side, with probability `p`.
pub(crate) fn quantile(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while two_sided(high, freedom) > p && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        match two_sided(middle, freedom) > p {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Both tails of the normal distribution beyond `z`, also where they are tiny.
fn normal_tails(z: f64) -> f64 {
    // erfc(x) as a fraction times exp(-x²), after Numerical Recipes' `erfcc`: to 1.2e-7 of itself.
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| sum * t + term);
    (t * (sum - x * x).exp()).min(1.0)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * fraction(a, b, x) / a,
        false => 1.0 - front * fraction(b, a, 1.0 - x) / b,
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| match value.abs() < TINY {
        true => TINY,
        false => value,
    };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function, after Lanczos.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.001_208_650_973_866_179,
        -0.000_005_395_239_384_953,
    ];
    let base = x + 5.5;
    let base = base - (x + 0.5) * base.ln();
    let terms = TERMS.iter().zip(1..);
    let sum = terms.fold(1.000_000_000_190_015, |sum, (term, at)| {
        sum + term / (x + f64::from(at))
    });
    -base + (2.506_628_274_631_000_5 * sum / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Critical values as printed in tables.
    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (p, freedom, t) in [
            (0.05, 1.0, 12.706),
            (0.05, 4.0, 2.776),
            (0.05, 10.0, 2.228),
            (0.01, 8.0, 3.355),
            (0.001, 4.0, 8.610),
            (0.05, f64::INFINITY, 1.960),
            (0.001, f64::INFINITY, 3.291),
        ] {
            let found = quantile(p, freedom);
            assert!((found - t).abs() < 2e-3, "{p} {freedom}: {found}");
        }
    }

    #[test]
    fn tails_are_small_and_not_zero() {
        let tail = two_sided(8.0, f64::INFINITY);
        assert!((tail / 1.2442e-15 - 1.0).abs() < 1e-2, "{tail}");
        assert_eq!(two_sided(0.0, 5.0), 1.0);
        assert_eq!(two_sided(f64::NAN, 5.0), 1.0);
    }
}
