//! Numbers as C's `%g` writes them: with this many significant digits, without trailing zeros, and
//! very large or small ones as powers of ten.

/// A number with this many significant digits.
pub(crate) fn printf_g(number: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    // Rounding may take it to the next power.
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("it is written so");
    let power: i32 = exponent.parse().expect("a power is a number");
    if (-4..digits as i32).contains(&power) {
        let behind = usize::try_from(digits as i32 - 1 - power).unwrap_or(0);
        return without_zeros(&format!("{number:.behind$}")).to_owned();
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), power.abs())
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_in_c() {
        // Each is what `'%.6g' % number`, or `'%.3g'`, is in Python.
        let rows = [
            (1e-6, 6, "1e-06"),
            (0.000123456789, 6, "0.000123457"),
            (0.0000999999, 3, "0.0001"),
            (1.5, 6, "1.5"),
            (123456.0, 6, "123456"),
            (999999.6, 6, "1e+06"),
            (1234567.0, 3, "1.23e+06"),
            (0.0, 6, "0"),
            (100.0, 3, "100"),
            (1e100, 6, "1e+100"),
        ];
        for (number, digits, text) in rows {
            assert_eq!(printf_g(number, digits), text);
        }
    }
}
