//! The lines of gprof's two tables.

/// A row of the flat profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flat<'a> {
    pub name: &'a str,
    /// Nanoseconds.
    pub own: u64,
}

impl<'a> Flat<'a> {
    /// `100.16  0.06  0.06  5125  11.73  11.73  leaf`. The numbers of calls are missing where calls
    /// were not counted.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let mut rest = line;
        word(&mut rest)?.parse::<f64>().ok()?;
        word(&mut rest)?.parse::<f64>().ok()?;
        let own = time(word(&mut rest)?)?;
        let mut after = rest;
        let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<f64>().is_ok());
        let has_calls = is_number(word(&mut after))
            && is_number(word(&mut after))
            && is_number(word(&mut after));
        let name = if has_calls { after } else { rest };
        let name = bare(name.trim());
        (!name.is_empty()).then_some(Self { name, own })
    }
}

/// A line of the call graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry<'a> {
    /// Whether the line is the block's own.
    pub is_own: bool,
    pub name: &'a str,
    pub number: u32,
    /// The time of the function itself in nanoseconds.
    pub own: u64,
    /// The number of calls.
    pub calls: u64,
    /// Whether it is a circle as a whole.
    pub is_circle: bool,
}

impl<'a> Entry<'a> {
    /// `[2]  97.2  0.00  0.35  10  left [2]`, or `0.25  0.00  10/26  leaf [3]`. Calls within a
    /// circle have no times.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let mut entry = Self {
            is_own: line.starts_with('['),
            ..Self::default()
        };
        let mut rest = line;
        if entry.is_own {
            word(&mut rest)?;
            word(&mut rest)?.parse::<f64>().ok()?;
        }
        // The name's number comes last.
        let (body, number) = rest.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
        entry.number = number.parse().ok()?;
        rest = body;
        let mut after = rest;
        let mut times = || time(word(&mut after).filter(|word| word.contains('.'))?);
        if let (Some(own), Some(_)) = (times(), times()) {
            entry.own = own;
            rest = after;
        }
        let mut after = rest;
        if let Some(calls) = word(&mut after).and_then(calls) {
            entry.calls = calls;
            rest = after;
        }
        let name = rest.trim();
        entry.is_circle = name.starts_with("<cycle ") && name.ends_with(" as a whole>");
        entry.name = bare(name);
        (!entry.name.is_empty()).then_some(entry)
    }
}

/// The next word.
fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    *rest = after;
    (!word.is_empty()).then_some(word)
}

/// Seconds as nanoseconds.
fn time(word: &str) -> Option<u64> {
    let seconds: f64 = word.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| (seconds * 1e9).round() as u64)
}

/// `10`, `10/26` and `1+464`: the first number.
fn calls(word: &str) -> Option<u64> {
    let mut parts = word.split(['/', '+']);
    let first = parts.next()?.parse().ok()?;
    parts
        .all(|part| part.parse::<u64>().is_ok())
        .then_some(first)
}

/// A name without the circle that it is in, and without its number.
fn bare(name: &str) -> &str {
    let name = match name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once(" ["))
    {
        Some((bare, number)) if number.parse::<u32>().is_ok() => bare,
        _ => name,
    };
    match name
        .strip_suffix('>')
        .and_then(|name| name.rsplit_once(" <cycle "))
    {
        Some((bare, number)) if number.parse::<u32>().is_ok() => bare,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_times_calls_and_names() {
        let line = "                0.03    0.00    2500/5125        odd(int, char) <cycle 1> [5]";
        let entry = Entry::of(line).unwrap();
        assert_eq!((entry.name, entry.number), ("odd(int, char)", 5));
        assert_eq!((entry.own, entry.calls), (30_000_000, 2500));
        let line = "                             7049154             fib [8]";
        assert_eq!(Entry::of(line).unwrap().calls, 7_049_154);
        let line = "[3]     99.5    0.00    0.06     100+5000    <cycle 1 as a whole> [3]";
        let entry = Entry::of(line).unwrap();
        assert!(entry.is_own && entry.is_circle);
        assert_eq!(entry.calls, 100);
        let line = "[1]    100.0    0.00    0.06                 main [1]";
        assert_eq!(Entry::of(line).unwrap().name, "main");
        let flat =
            Flat::of("  0.00      0.06     0.02                             operator new(long)");
        assert_eq!(
            flat.map(|flat| (flat.name, flat.own)),
            Some(("operator new(long)", 20_000_000))
        );
    }
}
