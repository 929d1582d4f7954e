//! Numbers in Python's notation.

use profundo_process::reading::Integer;

/// An integer: a large one by its size.
pub fn integer(integer: Integer) -> String {
    match integer {
        Integer::Whole(number) => number.to_string(),
        Integer::Large {
            is_negative,
            bits,
            logarithm,
        } => {
            let sign = if is_negative { "-" } else { "" };
            let (mut exponent, mut mantissa) = (logarithm.floor(), 10_f64.powf(logarithm.fract()));
            // 9.999 is written as 1.00 of the next power.
            if mantissa >= 9.995 {
                (exponent, mantissa) = (exponent + 1.0, 1.0);
            }
            format!("about {sign}{mantissa:.2}e{exponent}, {bits} bits")
        }
    }
}

/// A number as Python's `repr` writes it.
pub fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = number.to_string();
    match plain.contains('.') {
        true => plain,
        false => format!("{plain}.0"),
    }
}

/// Two numbers as Python's `repr` writes them.
pub fn complex(real: f64, imaginary: f64) -> String {
    let part = |number| {
        let text = float(number);
        text.strip_suffix(".0").unwrap_or(&text).to_owned()
    };
    let (first, second) = (part(real), part(imaginary));
    if real == 0.0 && real.is_sign_positive() {
        return format!("{second}j");
    }
    let sign = if second.starts_with('-') { "" } else { "+" };
    format!("({first}{sign}{second}j)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_repr() {
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (3.5, "3.5"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e300, "1.5e+300"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(number), expected);
        }
        assert_eq!(complex(0.0, 2.0), "2j");
        assert_eq!(complex(1.5, -2.0), "(1.5-2j)");
        assert_eq!(complex(-0.0, 2.5), "(-0+2.5j)");
    }

    #[test]
    fn large_integers_have_their_size() {
        let large = |bits, logarithm| {
            integer(Integer::Large {
                is_negative: false,
                bits,
                logarithm,
            })
        };
        assert_eq!(large(1001, 301.029_995_66), "about 1.07e301, 1001 bits");
        assert_eq!(large(1000, 300.999_9), "about 1.00e301, 1000 bits");
        assert_eq!(integer(Integer::Whole(-7)), "-7");
    }
}
