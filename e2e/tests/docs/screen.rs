//! A page's screen against the printed one: figures, pictures made of them and the order of sampled
//! rows differ from run to run; headings, columns, messages and the rows that matter do not.

use crate::page::LEFT_OUT;

/// Messages that depend on the moment, by their beginnings. They may be missing on either side.
const COME_AND_GO: &[&str] = &[
    "Warning:",
    "Note:",
    "Quality:",
    "Without a line of source:",
    "In ",
    "(source not found)",
    "  of it garbage collection",
    "Growth:",
    "Next:",
    "      profundo ",
    "⋮",
];

/// Units after a figure are part of it.
const UNITS: &[&str] = &[
    "s", "ms", "µs", "ns", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "J", "W", "%", "sec",
    "msec", "usec", "nsec", "kB/s", "MB/s", "B/s", "GB/s",
];

/// A line without what differs from run to run.
#[derive(Debug)]
struct Line<'a> {
    text: &'a str,
    words: Vec<String>,
    /// True if it begins with a figure, as rows of tables do.
    is_row: bool,
    /// The share that it begins with, or 0.
    weight: f64,
    comes_and_goes: bool,
}

impl<'a> Line<'a> {
    fn new(text: &'a str) -> Self {
        let mut words = Vec::new();
        let (mut first, mut after_figure) = (None, false);
        for word in text.split_whitespace().filter(|word| !is_picture(word)) {
            let is_figure = is_figure(word);
            first.get_or_insert((is_figure, word));
            let is_number = is_figure || after_figure && is_unit(word);
            if !is_number {
                words.push(plain(word));
            }
            after_figure = is_figure;
        }
        // Shares have a point, and numbers of lines have none.
        let share = |word: &str| word.contains('.').then(|| word.parse().ok()).flatten();
        let bare = text.trim_start();
        Self {
            text,
            words,
            is_row: first.is_some_and(|(is_figure, _)| is_figure),
            weight: first.and_then(|(_, word)| share(word)).unwrap_or(0.0),
            comes_and_goes: is_verdict(text)
                || COME_AND_GO
                    .iter()
                    .any(|begin| text.starts_with(begin) || bare.starts_with(begin)),
        }
    }

    /// True if a message or a heading is the same: a short one word for word, of a long one most.
    fn is_like(&self, other: &Self) -> bool {
        if self.words.len().max(other.words.len()) <= 8 {
            return are_same(&self.words, &other.words);
        }
        let most = self.words.len().max(other.words.len()) as f64;
        are_same(&self.words, &other.words)
            || common(&self.words, &other.words) as f64 >= 0.6 * most
    }

    /// True if two rows are of the same thing: half of the words are in the other one, and so is
    /// the place in a source.
    fn is_row_like(&self, other: &Self) -> bool {
        if self.is_begin_of_chain(other) {
            return true;
        }
        let mut places = self.words.iter().filter(|word| is_place(word));
        common(&self.words, &other.words) * 2 >= self.words.len()
            && places.all(|place| other.words.iter().any(|word| is_same(place, word)))
    }

    /// True if the other row is the same chain of calls and goes on. It does where no other call of
    /// its last function has a share that is shown.
    fn is_begin_of_chain(&self, other: &Self) -> bool {
        let Some(last) = self.words.iter().rposition(|word| word == CALLS) else {
            return false;
        };
        let chain = &self.words[..self.words.len().min(last + 2)];
        let goes_on = other
            .words
            .get(chain.len())
            .is_some_and(|word| word == CALLS);
        goes_on && other.words.starts_with(chain)
    }
}

/// Stands between the functions of a chain of calls, which has one row in a tree.
const CALLS: &str = "›";

/// True for the sentences on top of a summary, whose order depends on what else the machine did.
fn is_verdict(text: &str) -> bool {
    const PARTS: [&str; 5] = [
        " CPU time is spent in ",
        "The program used the CPU for only ",
        "One thread waited ",
        " threads waited ",
        " of memory was allocated",
    ];
    PARTS.iter().any(|part| text.contains(part))
}

fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']))
}

/// True for bars, and for the branches of trees.
fn is_picture(word: &str) -> bool {
    word.chars().all(|c| {
        matches!(
            c,
            '\u{2500}'..='\u{259f}' | '·' | '±' | '–' | '-' | '→' | '='
        )
    })
}

/// `66.1`, `±0.8`, `(100`, `1.17k`, `0x7f94525b0200`, `2026-11-23`, `23:38`, `10/10`, `-`.
fn is_figure(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| "±<≤~+-()[]`,.;:%@$".contains(c));
    if let Some(hex) = bare.strip_prefix("0x") {
        return hex.chars().all(|c| c.is_ascii_hexdigit());
    }
    bare.starts_with(|c: char| c.is_ascii_digit())
        && bare
            .trim_end_matches("/s")
            .trim_end_matches(['k', 'M', 'G', '%', 'x', 's'])
            .chars()
            .all(|c| c.is_ascii_digit() || ".,:-/±".contains(c))
}

/// `app.py:22`
fn is_place(word: &str) -> bool {
    let mut endings = [".py:", ".c:", ".cpp:", ".rs:"].iter();
    endings.any(|ending| word.contains(ending))
}

/// A word without numbers, but for the number of a line of source, and without the ending of its
/// plural.
fn plain(word: &str) -> String {
    let is_place = is_place(word);
    let mut plain = String::new();
    let mut in_number = false;
    for letter in word.chars() {
        let is_number =
            !is_place && (letter.is_ascii_digit() || in_number && "-.,".contains(letter));
        if !is_number {
            plain.push(letter);
        } else if !in_number {
            plain.push('0');
        }
        in_number = is_number;
    }
    let bare = plain.trim_end_matches([',', '.', ';', ':', ')']);
    if bare.len() > 3 && !is_place {
        for ending in ["es", "s"] {
            if let Some(stem) = bare.strip_suffix(ending) {
                return stem.to_owned();
            }
        }
    }
    bare.to_owned()
}

/// True if words are the same, as far as both lines had room for them.
fn are_same(page: &[String], printed: &[String]) -> bool {
    for (at, (a, b)) in page.iter().zip(printed).enumerate() {
        // At the beginning of a line, `…` alone says that the words before are left out.
        let is_first = at == 0 && (a == "…") != (b == "…");
        if !is_first && (a.ends_with('…') || b.ends_with('…')) {
            let (a, b) = (a.trim_end_matches('…'), b.trim_end_matches('…'));
            return a.starts_with(b) || b.starts_with(a);
        }
        if !is_same(a, b) {
            return false;
        }
    }
    page.len() == printed.len()
}

/// True if two words are the same; `…` stands for a part that had no room.
fn is_same(a: &str, b: &str) -> bool {
    let parts = |a: &str, b: &str| {
        a.split_once('…').is_some_and(|(begin, end)| {
            b.starts_with(begin) && (end.is_empty() || b.ends_with(end))
        })
    };
    a == b || parts(a, b) || parts(b, a)
}

/// The number of words that two lines have in common, in the same order.
fn common(a: &[String], b: &[String]) -> usize {
    let mut before = vec![0; b.len() + 1];
    for one in a {
        let mut now = vec![0];
        for (at, other) in b.iter().enumerate() {
            let best = if is_same(one, other) {
                before[at] + 1
            } else {
                now[at].max(before[at + 1])
            };
            now.push(best);
        }
        before = now;
    }
    before[b.len()]
}

/// The differences between a page's screen and the printed one, in sentences.
pub fn compare(page: &[String], printed: &str) -> Vec<String> {
    let printed = unwrapped(lines(printed));
    let page = unwrapped(page.iter().map(String::as_str));
    let actual: Vec<Line> = printed
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| Line::new(line))
        .collect();
    let mut wrong = Vec::new();
    let (mut at, mut may_leave_out) = (0, false);
    let mut row_before = false;
    let missed = |lines: &[Line], wrong: &mut Vec<String>| {
        let messages = lines
            .iter()
            .filter(|line| !line.is_row && !line.comes_and_goes);
        wrong.extend(messages.map(|line| format!("the page lacks: {}", line.text)));
    };
    for text in page.iter().filter(|text| !text.trim().is_empty()) {
        if text.trim() == LEFT_OUT {
            // The first row after that is not the first of its table.
            (may_leave_out, row_before) = (true, true);
            continue;
        }
        let line = Line::new(text);
        let first_row = line.is_row && !row_before;
        row_before = line.is_row;
        if line.is_row {
            let matters = first_row || line.weight >= 10.0;
            let is_there = actual
                .iter()
                .any(|other| other.is_row && line.is_row_like(other));
            if matters && !is_there {
                wrong.push(format!("no such row is printed: {text}"));
            }
            continue;
        }
        let found = actual[at..]
            .iter()
            .position(|other| !other.is_row && line.is_like(other));
        match found {
            Some(found) => {
                if !may_leave_out {
                    missed(&actual[at..at + found], &mut wrong);
                }
                at += found + 1;
                may_leave_out = false;
            }
            None if line.comes_and_goes => {}
            None => wrong.push(format!("this is not printed: {text}")),
        }
    }
    if !may_leave_out {
        missed(&actual[at..], &mut wrong);
    }
    wrong
}

/// Lines, joined with the next one where a sentence goes on there for want of room.
fn unwrapped<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_text = |line: &str| {
        let line = Line::new(line);
        !line.is_row
            && !line.comes_and_goes
            && !line.text.contains("  ")
            && line.text.trim() != LEFT_OUT
    };
    let mut all: Vec<String> = Vec::new();
    let mut length = 0;
    for line in lines {
        match all.last_mut() {
            Some(before)
                if length > 60
                    && !before.ends_with('.')
                    && is_text(before)
                    && !line.trim().is_empty()
                    && (line.starts_with('(') || is_text(line)) =>
            {
                before.push(' ');
                before.push_str(line);
            }
            _ => all.push(line.to_owned()),
        }
        length = line.chars().count();
    }
    all
}

/// The page's screen with the printed lines. Where the page leaves lines out, its parts keep their
/// lengths.
pub fn renewed(page: &[String], printed: &str) -> Result<Vec<String>, String> {
    let actual: Vec<&str> = lines(printed).collect();
    if !page.iter().any(|line| line.trim() == LEFT_OUT) {
        return Ok(actual.into_iter().map(str::to_owned).collect());
    }
    let mut renewed: Vec<String> = Vec::new();
    let mut at = 0;
    for (number, part) in page.split(|line| line.trim() == LEFT_OUT).enumerate() {
        if number > 0 {
            renewed.push(LEFT_OUT.to_owned());
        }
        let Some(first) = part.iter().find(|line| !line.trim().is_empty()) else {
            continue;
        };
        let blank = part
            .iter()
            .take_while(|line| line.trim().is_empty())
            .count();
        if number > 0 {
            let first = Line::new(first);
            let found = actual[at..].iter().position(|text| {
                let line = Line::new(text);
                line.is_row == first.is_row && first.is_like(&line)
            });
            at += found.ok_or_else(|| format!("where does this begin now? {}", first.text))?;
        }
        let length = (part.len() - blank).min(actual.len() - at);
        renewed.extend(std::iter::repeat_n(String::new(), blank));
        let taken = &actual[at..at + length];
        renewed.extend(taken.iter().map(|&line| line.to_owned()));
        at += length;
    }
    Ok(renewed)
}

/// The printed lines, without space at their ends.
fn lines(printed: &str) -> impl Iterator<Item = &str> {
    printed.trim_matches('\n').lines().map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
1 order
app.py 20
2.58 s wall · 1.53 s CPU (59 %) · 1 process · 2 threads
███▓▓  █ Python 68.8 %  ▓ native 29.6 %

Time %        Py Nat Sys  Hottest lines
  97.0 ±2.6   68  29   1  app.py:22  total += min(item * (100…
   0.8 ±1.5            1  app.py:28  page = f\"Order {number}:…
Note: the machine was busy
Quality: 1.517 s of 1.526 s CPU time sampled (99.4 %); 1485 samples, 0 lost
";

    fn wrong(page: &str) -> Vec<String> {
        let page: Vec<String> = page.lines().map(str::to_owned).collect();
        compare(&page, PRINTED)
    }

    #[test]
    fn figures_may_differ() {
        assert_eq!(wrong(PRINTED), [""; 0]);
        let other = PRINTED
            .replace("97.0 ±2.6   68  29   1", "95.4 ±12.1  61  34   1")
            .replace("1.53 s", "987 ms")
            .replace("███▓▓ ", "██▓▓▓░")
            .replace("2 threads", "1 thread")
            .replace("(100…", "(1…")
            .replace("Note: the machine was busy\n", "");
        assert_eq!(wrong(&other), [""; 0]);
    }

    #[test]
    fn a_chain_of_calls_may_go_on() {
        let line = "   99.2        <module> › main  app.py:37";
        let longer = "   95.7  31.9  <module> › main › price › min_max  libpython3.13.so.1.0";
        let is_like = |a: &str, b: &str| Line::new(a).is_row_like(&Line::new(b));
        assert!(is_like(line, longer));
        assert!(!is_like(longer, line));
        assert!(!is_like(line, &longer.replace("main", "other")));
        assert!(!is_like(line, "   95.7  31.9  <module> › main  other.py:3"));
    }

    #[test]
    fn words_may_not() {
        for (old, new) in [
            ("Hottest lines", "Hot lines"),
            ("Py Nat Sys", "Py Nat"),
            ("app.py:22", "other.py:7  x = 1 # "),
            (
                "Quality: 1.517 s of 1.526 s CPU time",
                "Quality is how much",
            ),
            ("native", "C"),
        ] {
            let page = PRINTED.replace(old, new);
            assert_ne!(wrong(&page), [""; 0], "{new}");
        }
        // What is printed has to be there, unless the page says that it leaves something out.
        let without = PRINTED.replace("███▓▓  █ Python 68.8 %  ▓ native 29.6 %\n", "");
        assert_eq!(wrong(&without).len(), 1);
        let cut = PRINTED.split("\nTime").next().unwrap();
        assert_ne!(wrong(cut), [""; 0]);
        assert_eq!(wrong(&format!("{cut}\n…\n")), [""; 0]);
    }

    #[test]
    fn a_sentence_may_go_on_in_the_next_line() {
        let long = "Heap snapshots: 19256 objects then, 22616 now (+3.36k); 2.00 MB then, 2.20 MB";
        let page =
            ["Heap snapshots: 9 objects then, 8 now (+36); 2.0 MB then, 2.2 MB now".to_owned()];
        assert_eq!(compare(&page, &format!("{long} now\n")), [""; 0]);
        assert_eq!(compare(&page, &format!("{long}\nnow\n")), [""; 0]);
        assert_eq!(compare(&page, &format!("{long}\nnow\nOther\n")).len(), 1);
    }

    #[test]
    fn parts_that_are_left_out_stay_so() {
        let page = ["a", "b 1", "…", "", "head", "2 x", "…"].map(str::to_owned);
        let printed = "a\nb 7\n\nother\n\nhead\n3 y\n4 z\n";
        let expected = ["a", "b 7", "…", "", "head", "3 y", "…"].map(str::to_owned);
        assert_eq!(renewed(&page, printed), Ok(expected.to_vec()));
        let missing = renewed(&page, "a\nb 7\n").unwrap_err();
        assert_eq!(missing, "where does this begin now? head");
        let whole = ["old".to_owned()];
        assert_eq!(renewed(&whole, "new\n1\n\n").unwrap(), ["new", "1"]);
    }
}
