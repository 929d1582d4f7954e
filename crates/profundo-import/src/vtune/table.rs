//! The rows and cells of a report: separated by a comma, a tab or a semicolon, or in columns below
//! a line of dashes. The first cell may be indented.

use std::borrow::Cow;

/// A report after its head.
#[derive(Debug)]
pub(super) struct Table<'a> {
    /// The titles of the columns.
    pub titles: Vec<String>,
    layout: Layout,
    rest: &'a [u8],
    /// The number of the last line that was read.
    pub line: u64,
}

/// The border of a cell.
#[derive(Debug)]
enum Layout {
    Separated(u8),
    /// By the first column of each cell.
    Columns(Vec<usize>),
}

/// The lines before the titles: names of the command's own and its progress.
const MOST_BEFORE: usize = 40;

impl<'a> Table<'a> {
    /// The table whose titles are accepted. The text may be cut behind them.
    pub(super) fn open(text: &'a [u8], is_title: impl Fn(&[String]) -> bool) -> Option<Self> {
        let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for line_number in 1..=MOST_BEFORE as u64 {
            if rest.is_empty() {
                return None;
            }
            let (line, below) = line_of(rest);
            for delimiter in *b",\t;" {
                let mut cells = Vec::new();
                split(line, delimiter, &mut cells);
                let titles: Vec<String> = cells.iter().map(|cell| trimmed(cell)).collect();
                if titles.len() > 1 && is_title(&titles) {
                    return Some(Self {
                        titles,
                        layout: Layout::Separated(delimiter),
                        rest: below,
                        line: line_number,
                    });
                }
            }
            let (rule, after) = line_of(below);
            if let Some(starts) = columns(rule) {
                let mut cells = Vec::new();
                cut(line, &starts, &mut cells);
                let titles: Vec<String> = cells.iter().map(|cell| trimmed(cell)).collect();
                if is_title(&titles) {
                    return Some(Self {
                        titles,
                        layout: Layout::Columns(starts),
                        rest: after,
                        line: line_number + 1,
                    });
                }
            }
            rest = below;
        }
        None
    }

    /// The next row, an empty one too.
    pub(super) fn next(&mut self, cells: &mut Vec<Cow<'a, [u8]>>) -> bool {
        cells.clear();
        if self.rest.is_empty() {
            return false;
        }
        let (line, below) = line_of(self.rest);
        self.rest = below;
        self.line += 1;
        match &self.layout {
            Layout::Separated(delimiter) => split(line, *delimiter, cells),
            Layout::Columns(starts) => cut(line, starts, cells),
        }
        true
    }
}

fn trimmed(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell.trim_ascii()).into_owned()
}

fn line_of(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', text);
    let line = &text[..end.unwrap_or(text.len())];
    let rest = end.map_or(&[][..], |end| &text[end + 1..]);
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// The cells of a line. A quoted one may have the delimiter in it, and spaces before the quote.
fn split<'a>(line: &'a [u8], delimiter: u8, cells: &mut Vec<Cow<'a, [u8]>>) {
    let mut rest = Some(line);
    while let Some(text) = rest {
        let indent = text.iter().take_while(|&&byte| byte == b' ').count();
        if text.get(indent) != Some(&b'"') {
            let end = memchr::memchr(delimiter, text);
            cells.push(Cow::Borrowed(&text[..end.unwrap_or(text.len())]));
            rest = end.map(|end| &text[end + 1..]);
            continue;
        }
        let quoted = &text[indent + 1..];
        let end = end_of_quote(quoted);
        let inside = &quoted[..end];
        cells.push(match memchr::memchr(b'"', inside).is_some() || indent > 0 {
            true => {
                let mut cell = vec![b' '; indent];
                let mut quotes = 0;
                // A quote inside is written twice.
                cell.extend(inside.iter().filter(|&&byte| {
                    quotes += usize::from(byte == b'"');
                    byte != b'"' || quotes % 2 == 1
                }));
                Cow::Owned(cell)
            }
            false => Cow::Borrowed(inside),
        });
        let behind = quoted.get(end + 1..).unwrap_or_default();
        rest = memchr::memchr(delimiter, behind).map(|at| &behind[at + 1..]);
    }
}

/// The end of a quoted text: a quote without another one behind it.
fn end_of_quote(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        at += found;
        if text.get(at + 1) != Some(&b'"') {
            return at;
        }
        at += 2;
    }
    text.len()
}

/// The starts of the columns below a line of dashes.
fn columns(rule: &[u8]) -> Option<Vec<usize>> {
    let rule = rule.trim_ascii_end();
    if rule.first() != Some(&b'-') || !rule.iter().all(|byte| b"- ".contains(byte)) {
        return None;
    }
    let starts =
        (0..rule.len()).filter(|&at| rule[at] == b'-' && (at == 0 || rule[at - 1] == b' '));
    let starts: Vec<usize> = starts.collect();
    (starts.len() > 1).then_some(starts)
}

/// The cells of a line in columns. Columns are counted in letters.
fn cut<'a>(line: &'a [u8], starts: &[usize], cells: &mut Vec<Cow<'a, [u8]>>) {
    let is_start = |byte: &u8| byte & 0xc0 != 0x80;
    let mut letters = (0..line.len()).filter(|&at| is_start(&line[at]));
    let mut passed = 0;
    let mut from = None;
    for &start in starts {
        let at = letters.nth(start - passed).unwrap_or(line.len());
        passed = start + 1;
        if let Some(from) = from {
            cells.push(Cow::Borrowed(line[from..at].trim_ascii_end()));
        }
        from = Some(at);
    }
    if let Some(from) = from {
        cells.push(Cow::Borrowed(line[from..].trim_ascii_end()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Vec<String> {
        let mut cells = Vec::new();
        split(line.as_bytes(), b',', &mut cells);
        let text = |cell: &Cow<'_, [u8]>| String::from_utf8_lossy(cell).into_owned();
        cells.iter().map(text).collect()
    }

    #[test]
    fn quotes_hold_delimiters_and_quotes() {
        assert_eq!(cells("a,,1"), ["a", "", "1"]);
        assert_eq!(cells("  \"f<a,b>\",2"), ["  f<a,b>", "2"]);
        assert_eq!(
            cells("\"operator\"\"\"\"_x\",3,"),
            ["operator\"\"_x", "3", ""]
        );
        assert_eq!(cells("\"not closed,4"), ["not closed,4"]);
    }

    #[test]
    fn columns_begin_where_their_dashes_do() {
        let text = "Name    Time\n------  ----\n  käse  1.5\nab\n".as_bytes();
        let mut table = Table::open(text, |titles| titles == ["Name", "Time"]).unwrap();
        let mut cells = Vec::new();
        assert!(table.next(&mut cells));
        assert_eq!(cells, ["  käse".as_bytes(), b"1.5"]);
        assert!(table.next(&mut cells));
        assert_eq!(cells, [&b"ab"[..], b""]);
        assert!(!table.next(&mut cells));
        assert_eq!(table.line, 4);
    }
}
