//! Values that have a unit or a range.

use std::str::FromStr;
use std::time::Duration;

/// A number of bytes: `100M`, `1.5G`, `65536`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no size: write a number of bytes, or 100K, 50M, 2G");
        let upper = text.trim().to_ascii_uppercase();
        let upper = upper.strip_suffix("IB").unwrap_or(&upper);
        let upper = upper.strip_suffix('B').unwrap_or(upper);
        let (number, shift) = match upper.chars().last() {
            Some('K') => (&upper[..upper.len() - 1], 10),
            Some('M') => (&upper[..upper.len() - 1], 20),
            Some('G') => (&upper[..upper.len() - 1], 30),
            Some('T') => (&upper[..upper.len() - 1], 40),
            _ => (upper, 0),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let bytes = number * (1_u64 << shift) as f64;
        if !(1.0..9e18).contains(&bytes) {
            return Err(wrong());
        }
        Ok(Self(bytes as u64))
    }
}

/// Seconds, with a fraction if wanted.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no number of seconds");
    let text = text.strip_suffix('s').unwrap_or(text);
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if seconds.is_nan() {
        return Err(wrong());
    }
    // A century is as good as never, and keeps sums in range.
    Duration::try_from_secs_f64(seconds.min(3e9)).map_err(|_| wrong())
}

/// A length of time: `90`, `90s`, `5m`, `2h`, `1d`. Without a unit it is seconds.
pub fn length_of_time(text: &str) -> Result<Duration, String> {
    /// A shorter one has hardly any samples.
    const SHORTEST: Duration = Duration::from_millis(100);
    let wrong = || format!("`{text}` is no length of time: write 30s, 5m or 2h");
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let text = text.trim();
    let (number, unit) = (units.iter())
        .find_map(|(ending, unit)| Some((text.strip_suffix(ending)?, *unit)))
        .unwrap_or((text, 1.0));
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    if number.is_nan() {
        return Err(wrong());
    }
    let seconds = (number * unit).min(3e9);
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time >= SHORTEST => Ok(time),
        Ok(_) => Err("at least 0.1 seconds are kept".into()),
        Err(_) => Err(wrong()),
    }
}

/// Milliseconds, with a fraction if wanted.
pub fn milliseconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no number of milliseconds");
    let number = text.strip_suffix("ms").unwrap_or(text);
    let milliseconds: f64 = number.trim().parse().map_err(|_| wrong())?;
    if milliseconds.is_nan() {
        return Err(wrong());
    }
    Duration::try_from_secs_f64((milliseconds / 1e3).min(3e9)).map_err(|_| wrong())
}

/// A number of something.
pub fn count(text: &str) -> Result<usize, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("`{text}` is no number of rows"))
}

/// Seconds of which there are some.
pub fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("nothing can be recorded in 0 seconds".into()),
        some => Ok(some),
    }
}

/// A width that something fits into.
pub fn columns(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(columns) if columns >= 20 => Ok(columns),
        _ => Err("a report takes at least 20 columns".into()),
    }
}

/// A share in percent, as a part of 1.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("a share lies between 0 and 100 percent".into()),
    }
}

/// An increase in percent, as a part of 1: it may be more than all.
pub fn percent_more(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.trim().parse::<f64>() {
        Ok(percent) if (0.0..=1e6).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is no percentage")),
    }
}

/// Samples per second and thread.
pub fn rate(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix("Hz")
        .or_else(|| text.strip_suffix("hz"))
        .unwrap_or(text);
    match number.trim().parse::<f64>() {
        Ok(rate) if (0.1..=20_000.0).contains(&rate) => Ok(rate),
        Ok(_) => Err("a rate lies between 0.1 and 20000 samples per second".into()),
        Err(_) => Err(format!("`{text}` is no number of samples per second")),
    }
}

/// The time between two samples of this many a second, in nanoseconds.
pub fn period_of(rate: f64) -> u64 {
    (1e9 / rate).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!("100".parse(), Ok(Size(100)));
        assert_eq!("1k".parse(), Ok(Size(1024)));
        assert_eq!("1.5M".parse(), Ok(Size(3 << 19)));
        assert_eq!("2GiB".parse(), Ok(Size(2 << 30)));
        for wrong in ["", "M", "-1", "0", "1e30", "many", "1X"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(seconds("3s"), Ok(Duration::from_secs(3)));
        assert!(seconds("1e99").is_ok(), "as good as never");
        for wrong in ["", "-1", "NaN", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lengths_of_time_have_units() {
        for (text, seconds) in [("90", 90.0), ("0.5s", 0.5), ("5m", 300.0), ("2h", 7200.0)] {
            assert_eq!(length_of_time(text), Ok(Duration::from_secs_f64(seconds)));
        }
        assert_eq!(length_of_time("1d"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "m", "-5m", "NaN", "5 minutes", "0", "0.01s"] {
            assert!(length_of_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn milliseconds_may_have_a_fraction() {
        assert_eq!(milliseconds("0"), Ok(Duration::ZERO));
        assert_eq!(milliseconds("2.5"), Ok(Duration::from_micros(2500)));
        assert_eq!(milliseconds("10ms"), Ok(Duration::from_millis(10)));
        assert!(milliseconds("inf").is_ok(), "as good as never");
        for wrong in ["", "-5", "nan", "abc", "5 minutes"] {
            let why = milliseconds(wrong).unwrap_err();
            assert_eq!(why, format!("`{wrong}` is no number of milliseconds"));
        }
    }

    #[test]
    fn rows_are_counted() {
        assert_eq!(count("20"), Ok(20));
        for wrong in ["", "-1", "abc", "1.5"] {
            let why = count(wrong).unwrap_err();
            assert_eq!(why, format!("`{wrong}` is no number of rows"));
        }
    }

    #[test]
    fn a_recording_takes_some_time() {
        assert_eq!(some_seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "0.0", "-1", "0s"] {
            assert!(some_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_percent() {
        assert_eq!(percent("50"), Ok(0.5));
        assert_eq!(percent("2.5%"), Ok(0.025));
        for wrong in ["", "-1", "101", "NaN", "half"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn something_may_be_slower_by_more_than_itself() {
        assert_eq!(percent_more("250%"), Ok(2.5));
        for wrong in ["", "-1", "inf", "much"] {
            assert!(percent_more(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_are_bounded() {
        assert_eq!(rate("1000"), Ok(1000.0));
        assert_eq!(rate("99Hz"), Ok(99.0));
        for wrong in ["0", "-5", "1e6", "fast", "NaN"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
