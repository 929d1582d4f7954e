//! Numbers of JSON. Times since 1970 with nanoseconds have more digits than a float holds, so a
//! number can be read exactly, with its point moved.

/// A number in two parts: its digits, and the power of ten.
struct Parts {
    is_negative: bool,
    digits: u64,
    /// The number of digits behind the point.
    fraction: i32,
    exponent: i32,
}

/// The parts of a number; `None` where it has too many digits or is none.
fn parts(text: &[u8]) -> Option<Parts> {
    let (is_negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut digits = 0_u64;
    let mut fraction = 0;
    let mut is_any = false;
    let mut is_behind_point = false;
    while let [byte, others @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                digits = digits
                    .checked_mul(10)?
                    .checked_add(u64::from(byte - b'0'))?;
                fraction += i32::from(is_behind_point);
                is_any = true;
            }
            b'.' if !is_behind_point => is_behind_point = true,
            _ => break,
        }
        rest = others;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => std::str::from_utf8(rest).ok()?.parse().ok()?,
        _ => return None,
    };
    is_any.then_some(Parts {
        is_negative,
        digits,
        fraction,
        exponent,
    })
}

/// A number.
pub(super) fn float(text: &[u8]) -> Option<f64> {
    /// The powers of ten that are exact.
    const TENS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    // Both exact: so is the rounding of their quotient.
    if let Some(parts) = parts(text)
        && parts.exponent == 0
        && parts.digits < 1 << 53
        && let Some(ten) = TENS.get(parts.fraction as usize)
    {
        let size = parts.digits as f64 / ten;
        return Some(if parts.is_negative { -size } else { size });
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// A number with the point moved to the right by so many places, rounded.
pub(crate) fn scaled(text: &[u8], places: i32) -> Option<i64> {
    let exact = || {
        let parts = parts(text)?;
        let power = places
            .checked_add(parts.exponent)?
            .checked_sub(parts.fraction)?;
        let size = match u32::try_from(power) {
            Ok(power) => parts.digits.checked_mul(10_u64.checked_pow(power)?)?,
            Err(_) => {
                let ten = 10_u64.checked_pow(power.unsigned_abs())?;
                parts.digits / ten + u64::from(parts.digits % ten >= ten.div_ceil(2))
            }
        };
        let size = i64::try_from(size).ok()?;
        Some(if parts.is_negative { -size } else { size })
    };
    exact().or_else(|| {
        let number = float(text)? * 10_f64.powi(places);
        // A cast saturates.
        Some(number.round() as i64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_all_their_digits() {
        let check = |text: &str, places, number| {
            assert_eq!(scaled(text.as_bytes(), places), number, "{text}");
        };
        check("1732677665123456.789", 3, Some(1_732_677_665_123_456_789));
        check("-2.5", 0, Some(-3));
        check("2.4999", 0, Some(2));
        check("1.5e3", 3, Some(1_500_000));
        check("1e300", 0, Some(i64::MAX));
        check("0.00000000000000000000000001", 3, Some(0));
        check("0.1234567890123456789012345", 3, Some(123));
        check("12e", 0, None);
        check("", 0, None);
        check("-", 0, None);
    }

    #[test]
    fn floats_are_those_of_the_standard_library() {
        for text in [
            "0",
            "-0.1",
            "123.456789",
            "9007199254740993",
            "5e-324",
            "1e22",
            "0.3",
        ] {
            assert_eq!(float(text.as_bytes()), text.parse().ok(), "{text}");
        }
        assert_eq!(float(b"1e999"), None);
        assert_eq!(float(b"NaN"), None);
    }
}
