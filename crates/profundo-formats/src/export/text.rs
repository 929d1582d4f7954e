//! Words in pictures: figures with units, names cut to a length, lines of a width, text in XML.
//! The script of flame graphs has the same rules (`flame/script/words.js`).

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
        0.0 => "0.00 s".into(),
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

/// The width of a letter in cells: letters of East Asia and pictures take two.
pub(super) fn cells_of(letter: char) -> usize {
    match u32::from(letter) {
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 => 2,
        0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The width of a text in cells.
pub(super) fn cells(text: &str) -> usize {
    text.chars().map(cells_of).sum()
}

/// A text in lines of so many cells, and so many lines; the last one is cut where there is more.
pub(super) fn wrapped(text: &str, room: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let is_last = lines.len() == most;
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if is_last || cells(line) + 1 + cells(word) <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| cut(line, room)).collect()
}

/// The start of a text that fits.
pub(super) fn cut(text: &str, room: usize) -> String {
    if cells(text) <= room {
        return text.into();
    }
    let mut left = room.saturating_sub(1);
    let start = text.chars().take_while(|&letter| {
        let fits = cells_of(letter) <= left;
        left = left.saturating_sub(cells_of(letter));
        fits
    });
    format!("{}…", start.collect::<String>())
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
            letter => out.push(plain(letter)),
        }
    }
    out
}

/// The character, or what stands for it where XML has none.
pub(super) fn plain(letter: char) -> char {
    match letter {
        '\t' | '\n' | '\r' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    }
}

/// A day and a time of day in UTC, to the minute.
pub(super) fn date(nanoseconds_since_1970: u64) -> String {
    let minutes = nanoseconds_since_1970 / 60_000_000_000;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    // Years of 400 repeat; they begin in March, so that the leap day is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        minute / 60,
        minute % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units() {
        let percents = [0.0, 0.00001, 0.005, 0.05, 1.0].map(percent);
        assert_eq!(percents, ["0.0 %", "<0.01 %", "0.50 %", "5.0 %", "100.0 %"]);
        let times = [0, 900, 1_500_000, 2_000_000_000, 100_000_000_000].map(time);
        assert_eq!(times, ["0.00 s", "0.9 µs", "1.5 ms", "2.00 s", "100 s"]);
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

    #[test]
    fn lines_have_a_width_and_a_number() {
        let text = "parse takes 1.00 s more, and lex less";
        assert_eq!(wrapped(text, 80, 3), [text]);
        assert_eq!(
            wrapped(text, 14, 3),
            ["parse takes", "1.00 s more,", "and lex less"]
        );
        assert_eq!(wrapped(text, 14, 2), ["parse takes", "1.00 s more, …"]);
        assert_eq!(wrapped("漢字漢字 b", 5, 2), ["漢字…", "b"]);
        assert_eq!(wrapped("", 5, 2), [""]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let rows = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_340, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_798_761_599, "2026-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ];
        for (seconds, text) in rows {
            assert_eq!(date(seconds * 1_000_000_000), text, "{seconds}");
        }
    }
}
