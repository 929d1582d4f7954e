//! Words in pictures: figures with units, names cut to a length, text in XML.

/// A share in per cent.
pub(super) fn percent(share: f64) -> String {
    let percents = share * 100.0;
    match percents {
        // A rounded zero would deny what is there.
        _ if percents > 0.0 && percents < 0.01 => "<0.01 %".into(),
        _ if percents > 0.0 && percents < 0.995 => format!("{percents:.2} %"),
        _ => format!("{percents:.1} %"),
    }
}

/// A time in the unit that suits it.
pub(super) fn time(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    match seconds {
        _ if seconds >= 99.95 => format!("{seconds:.0} s"),
        _ if seconds >= 0.9995 => format!("{seconds:.2} s"),
        _ if seconds >= 0.99995e-3 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}

/// A number of things.
pub(super) fn plural(count: u64, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

/// A name that is cut in the middle if it has more letters than `most`.
pub(super) fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.into();
    }
    let letters: Vec<char> = name.chars().collect();
    let half = most.saturating_sub(1) / 2;
    let (start, end) = (&letters[..half], &letters[letters.len() - half..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// The text in XML: some characters have no form in it at all.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units() {
        let percents = [0.0, 0.00001, 0.005, 0.05, 1.0].map(percent);
        assert_eq!(percents, ["0.0 %", "<0.01 %", "0.50 %", "5.0 %", "100.0 %"]);
        let times = [900, 1_500_000, 2_000_000_000, 100_000_000_000].map(time);
        assert_eq!(times, ["0.9 µs", "1.5 ms", "2.00 s", "100 s"]);
        assert_eq!(plural(1, "call"), "1 call");
        assert_eq!(plural(0, "call"), "0 calls");
    }

    #[test]
    fn names_are_cut_and_escaped() {
        assert_eq!(shortened("a_long_name_of_a_function", 9), "a_lo…tion");
        assert_eq!(shortened("short", 9), "short");
        assert_eq!(
            escaped("<a & \"b\">\u{1}"),
            "&lt;a &amp; &quot;b&quot;&gt;\u{fffd}"
        );
    }
}
