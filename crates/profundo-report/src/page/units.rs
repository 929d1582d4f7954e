//! Numbers as people read them: shares in percent, how sure they are, and durations.

use profundo_analysis::{Estimate, Few};

/// A share in percent to a tenth; empty where it is nothing.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => String::new(),
        tiny if tiny < 0.05 => "<0.1".to_owned(),
        percent => format!("{percent:.1}"),
    }
}

/// A share in whole percent; empty where it is nothing.
pub fn whole_percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => String::new(),
        tiny if tiny < 0.5 => "<1".to_owned(),
        percent => format!("{percent:.0}"),
    }
}

/// A share in percent to a tenth, or `3 of 12` where the samples are too few for one.
pub(crate) fn share_text(estimate: &Estimate) -> String {
    match estimate.few {
        Some(Few { part, whole }) => format!("{part} of {whole}"),
        None => percent(estimate.share),
    }
}

/// The estimate in a sentence, as in `12.5 % of the time` or `3 of 12 samples`.
pub(crate) fn share_of_whole(estimate: &Estimate, whole: &str) -> String {
    let share = share_text(estimate);
    match (estimate.few, share.is_empty()) {
        (Some(_), _) if whole == "time" => format!("{share} samples"),
        (Some(_), _) => format!("{share} records"),
        (None, true) => format!("0 % of the {whole}"),
        (None, false) => format!("{share} % of the {whole}"),
    }
}

/// The title of a column of shares, which are none where the samples are few.
pub(crate) fn share_title(title: &str, is_few: bool) -> &str {
    match is_few {
        true => title.trim_end_matches(" %"),
        false => title,
    }
}

/// The distance of the true share from the one that was seen, to the side where it may lie farther:
/// a range of few samples is not the same to both sides.
pub(crate) fn plus_minus(estimate: &Estimate) -> String {
    let Estimate {
        share, interval, ..
    } = estimate;
    let farthest = (interval.high - share).max(share - interval.low);
    format!("±{:.1}", farthest * 100.0)
}

/// The range of the true share.
pub(crate) fn range(estimate: &Estimate) -> String {
    let interval = estimate.interval;
    format!("{:.1}–{:.1}", interval.low * 100.0, interval.high * 100.0)
}

/// A duration in the unit that suits it.
pub fn duration(nanos: u64) -> String {
    let seconds = nanos as f64 / 1e9;
    let whole = nanos / 1_000_000_000 + u64::from(nanos % 1_000_000_000 >= 500_000_000);
    match nanos {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} µs", three_digits(nanos as f64 / 1e3)),
        1_000_000..1_000_000_000 => match three_digits(nanos as f64 / 1e6).as_str() {
            "1000" => "1.00 s".to_owned(),
            text => format!("{text} ms"),
        },
        _ if whole < 60 => format!("{} s", three_digits(seconds)),
        _ if whole < 3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        // Minutes are of no interest then, and columns have no room for them.
        _ if whole >= 360_000 => format!("{} h", (whole + 1800) / 3600),
        _ if whole >= 36_000 => format!("{:.1} h", seconds / 3600.0),
        _ => {
            let minutes = (whole + 30) / 60;
            format!("{} h {:02} min", minutes / 60, minutes % 60)
        }
    }
}

/// A part of `all` nanoseconds in seconds. All parts have as many decimals, so that a column of
/// them can be compared.
pub(crate) fn seconds(nanos: u64, all: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let decimals = match all / SECOND {
        0 => 4,
        1..10 => 3,
        10..100 => 2,
        100..1000 => 1,
        _ => 0,
    };
    format!("{:.decimals$}", nanos as f64 / SECOND as f64)
}

/// Energy in the unit that suits it.
pub fn joules(joules: f64) -> String {
    match joules {
        none if none < 0.5e-6 => "0 J".to_owned(),
        tiny if tiny < 0.9995e-3 => format!("{} µJ", three_digits(tiny * 1e6)),
        small if small < 0.9995 => format!("{} mJ", three_digits(small * 1e3)),
        large => format!("{} J", three_digits(large)),
    }
}

/// A number of bytes in the unit that suits it.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut size = number as f64 / 1e3;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while size >= 999.5
        && let Some(next) = units.next()
    {
        size /= 1e3;
        unit = Some(next);
    }
    format!("{} {}", three_digits(size), unit.unwrap_or(&"EB"))
}

/// A number of things, to three digits.
pub fn short_count(number: u64) -> String {
    const LETTERS: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
    if number < 1000 {
        return number.to_string();
    }
    let mut size = number as f64 / 1e3;
    let mut letters = LETTERS.iter();
    let mut letter = letters.next();
    while size >= 999.5
        && let Some(next) = letters.next()
    {
        size /= 1e3;
        letter = Some(next);
    }
    format!("{}{}", three_digits(size), letter.unwrap_or(&"E"))
}

fn three_digits(number: f64) -> String {
    match number {
        small if small < 9.995 => format!("{small:.2}"),
        middle if middle < 99.95 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

/// A number and its noun.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let ending = match (number, noun) {
        (1, _) => "",
        (_, noun) if noun.ends_with("process") => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

/// A bar as long as a share of `columns`, to an eighth of a column.
pub fn bar(share: f64, columns: usize) -> String {
    const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = (eighths % 8).checked_sub(1) {
        bar.push(PARTS[part]);
    }
    bar
}

/// A line of small bars, as high as the numbers; the smallest is a space.
pub(crate) fn sparkline(points: &[u64], columns: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = points.iter().copied().max().unwrap_or(0);
    if most == 0 || columns == 0 {
        return String::new();
    }
    let bar = |column: usize| {
        // The highest of what falls on one column, so that no peak is lost.
        let start = column * points.len() / columns;
        let end = ((column + 1) * points.len() / columns).max(start + 1);
        let part = points.get(start..end.min(points.len())).unwrap_or_default();
        match part.iter().copied().max().unwrap_or(0) {
            0 => ' ',
            some => {
                let height = some as f64 / most as f64 * BARS.len() as f64;
                BARS[(height.ceil() as usize).clamp(1, BARS.len()) - 1]
            }
        }
    };
    (0..columns).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_that_suit_them() {
        let rows: [(u64, &str); 16] = [
            (0, "0 s"),
            (999, "999 ns"),
            (1_500, "1.50 µs"),
            (25_000, "25.0 µs"),
            (1_000_000, "1.00 ms"),
            (123_456_789, "123 ms"),
            (999_999_999, "1.00 s"),
            (1_000_000_000, "1.00 s"),
            (9_996_000_000, "10.0 s"),
            (35_249_000_000, "35.2 s"),
            (59_499_000_000, "59.5 s"),
            (59_600_000_000, "1 min 00 s"),
            (3_599_400_000_000, "59 min 59 s"),
            (3_599_600_000_000, "1 h 00 min"),
            (46_440_000_000_000, "12.9 h"),
            (u64::MAX, "5124096 h"),
        ];
        for (nanos, text) in rows {
            assert_eq!(duration(nanos), text, "{nanos}");
        }
    }

    #[test]
    fn a_column_of_seconds_has_one_number_of_decimals() {
        let rows = [
            (80_000_000, 900_000_000, "0.0800"),
            (80_000_000, 5_000_000_000, "0.080"),
            (12_345_678_901, 99_000_000_000, "12.35"),
            (100_000, 200_000_000_000, "0.0"),
            (7_200_000_000_000, 7_200_000_000_000, "7200"),
        ];
        for (nanos, all, text) in rows {
            assert_eq!(seconds(nanos, all), text);
        }
    }

    #[test]
    fn energy_has_units_that_suit_it() {
        let rows = [
            (0.0, "0 J"),
            (0.000_012, "12.0 µJ"),
            (0.999_4e-3, "999 µJ"),
            (0.000_999_6, "1.00 mJ"),
            (0.041, "41.0 mJ"),
            (0.9996, "1.00 J"),
            (41.23, "41.2 J"),
            (12_345.6, "12346 J"),
        ];
        for (number, text) in rows {
            assert_eq!(joules(number), text, "{number}");
        }
    }

    #[test]
    fn counts_are_short() {
        let rows = [(0, "0"), (999, "999"), (1_000, "1.00k"), (999_600, "1.00M")];
        for (number, text) in rows {
            assert_eq!(short_count(number), text);
        }
        assert_eq!(short_count(u64::MAX), "18.4E");
    }

    #[test]
    fn nothing_is_empty_and_little_has_a_sign() {
        assert_eq!(
            (percent(0.0), whole_percent(0.0)),
            (String::new(), String::new())
        );
        assert_eq!(percent(0.0004), "<0.1");
        assert_eq!(percent(1.0), "100.0");
        assert_eq!(whole_percent(0.004), "<1");
        assert_eq!(whole_percent(0.996), "100");
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(0.0, 8), "");
        assert_eq!(bar(0.5, 8), "████");
        assert_eq!(bar(0.51, 8), "████▏");
        assert_eq!(bar(7.0, 3), "███");
        assert_eq!(bar(f64::NAN, 3), "");
    }

    #[test]
    fn trends_are_as_high_as_they_were() {
        assert_eq!(sparkline(&[0, 0, 0], 3), "");
        assert_eq!(sparkline(&[0, 1, 4, 8], 4), " ▁▄█");
        // The highest of several points, and points that are wider than a column.
        assert_eq!(sparkline(&[8, 0, 0, 1], 2), "█▁");
        assert_eq!(sparkline(&[4, 8], 4), "▄▄██");
    }
}
