//! Columns: how wide text is on a screen, how to shorten it, and how wide the screen is.

use profundo_model::python_name;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The sign for the part that was cut off. It is one column wide.
pub(crate) const ELLIPSIS: char = '…';

/// The number of columns that `text` takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        UnicodeWidthStr::width(text)
    }
}

/// The number of columns that a number takes.
pub(crate) fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The byte up to which `text` is kept when it has to fit in `columns` together with the
/// ellipsis; `None` where it fits whole.
pub(crate) fn cut(text: &str, columns: usize) -> Option<usize> {
    if text.len() <= columns || width(text) <= columns {
        return None;
    }
    Some(
        longest(
            text.char_indices()
                .map(|(at, character)| (at + character.len_utf8(), character)),
            columns,
        )
        .unwrap_or(0),
    )
}

/// The head of `text` in at most `columns`, with an ellipsis where something was cut off.
pub fn keep_head(text: &str, columns: usize) -> String {
    match cut(text, columns) {
        None => text.to_owned(),
        Some(_) if columns == 0 => String::new(),
        Some(end) => format!("{}{ELLIPSIS}", &text[..end]),
    }
}

/// The tail of `text` in at most `columns`, with an ellipsis where something was cut off. Of the
/// two names of a C function that Python code calls, the one in C is cut first.
pub fn keep_tail(text: &str, columns: usize) -> String {
    let fits = |text: &str| text.len() <= columns || width(text) <= columns;
    let text = match python_name(text).filter(|_| !fits(text)) {
        Some(python) => python,
        None => text,
    };
    if fits(text) {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let start = longest(text.char_indices().rev(), columns).unwrap_or(text.len());
    format!("{ELLIPSIS}{}", &text[start..])
}

/// A text in lines of at most this many columns, as far as its words permit.
pub(crate) fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let is_full = lines
            .last()
            .is_some_and(|line| !line.is_empty() && width(line) + 1 + width(word) > room);
        if is_full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// The last position before the characters and the ellipsis fill more than `columns`.
fn longest(characters: impl Iterator<Item = (usize, char)>, columns: usize) -> Option<usize> {
    let mut left = columns.saturating_sub(1);
    let mut last = None;
    for (position, character) in characters {
        match left.checked_sub(character.width().unwrap_or(0)) {
            Some(rest) => left = rest,
            None => break,
        }
        last = Some(position);
    }
    last
}

/// The width to print for: the `COLUMNS` of the environment, else that of the terminal, else 80.
pub fn terminal_width() -> usize {
    resolve(std::env::var("COLUMNS").ok().as_deref(), ask_terminal)
}

/// The width of text that does not go to a terminal.
pub(crate) fn plain_width() -> usize {
    resolve(std::env::var("COLUMNS").ok().as_deref(), || None)
}

fn ask_terminal() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

fn resolve(columns: Option<&str>, terminal: impl FnOnce() -> Option<usize>) -> usize {
    let columns = columns.and_then(|columns| columns.trim().parse().ok());
    columns
        .filter(|&columns| columns > 0)
        .or_else(terminal)
        .filter(|&columns| columns > 0)
        .unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_cut(text: &str, columns: usize, head: &str, tail: &str) {
        assert_eq!(
            keep_head(text, columns),
            head,
            "head of {text} in {columns}"
        );
        assert_eq!(
            keep_tail(text, columns),
            tail,
            "tail of {text} in {columns}"
        );
        assert!(width(head) <= columns && width(tail) <= columns);
    }

    #[test]
    fn text_is_cut_by_columns() {
        check_cut("sorted (builtin_sorted)", 10, "sorted (b…", "sorted");
        check_cut("abcdef", 6, "abcdef", "abcdef");
        check_cut("abcdef", 5, "abcd…", "…cdef");
        check_cut("abcdef", 1, "…", "…");
        check_cut("abcdef", 0, "", "");
        check_cut("", 0, "", "");
        check_cut("λμνξ", 3, "λμ…", "…νξ");
        check_cut("漢字漢字", 8, "漢字漢字", "漢字漢字");
        check_cut("漢字漢字", 7, "漢字漢…", "…字漢字");
        check_cut("漢字漢字", 6, "漢字…", "…漢字");
    }

    #[test]
    fn the_environment_comes_before_the_terminal() {
        assert_eq!(resolve(Some("120"), || Some(100)), 120);
        assert_eq!(resolve(Some("wide"), || Some(100)), 100);
        assert_eq!(resolve(Some("0"), || None), 80);
        assert_eq!(resolve(None, || Some(0)), 80);
    }

    #[test]
    fn digits_are_those_that_are_printed() {
        for number in [0, 9, 10, 99, 100, u64::MAX] {
            assert_eq!(digits(number), number.to_string().len());
        }
    }
}
