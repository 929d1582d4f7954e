//! Statements that stand on several lines of a source text.
//!
//! A line that ends within a bracket, within a string, or with a backslash goes on in the next one.
//! In Python that is what the language says (`python::statements`). In C, C++ and Rust, round and
//! square brackets join lines, and braces do not: a block within a call has statements of its own.
//! No more is read of these languages than their brackets, strings and comments. So a statement
//! that goes on without any of these, as a chain of methods does, is one for each line.

use std::ops::RangeInclusive;

use crate::python;

/// A statement of more lines is data: each of its lines stays alone.
const MOST: u32 = 200;

/// The languages whose lines are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// Python, and what is written like it.
    Python,
    /// C, C++ and Rust.
    Braces,
}

impl Grammar {
    /// The grammar of a file, by the ending of its name.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_cell = name.starts_with("<ipython-input") || path.contains("/ipykernel_");
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("py" | "pyi" | "pyx" | "pxd") => Some(Self::Python),
            Some("rs" | "c" | "h" | "cc" | "hh" | "cpp" | "hpp" | "cxx" | "hxx") => {
                Some(Self::Braces)
            }
            _ => is_cell.then_some(Self::Python),
        }
    }
}

/// The statements that stand on several lines, in their order: the numbers of their first and last
/// lines, from 1. `None` is a line that is not known; no statement goes on over it.
pub fn statements<'t>(
    lines: impl IntoIterator<Item = Option<&'t str>>,
    grammar: Grammar,
) -> Vec<RangeInclusive<u32>> {
    let lines: Vec<Option<&str>> = lines.into_iter().collect();
    let mut found = Vec::new();
    let mut first = 1;
    for known in lines.split(Option::is_none) {
        let text: Vec<&str> = known.iter().flatten().copied().collect();
        match grammar {
            Grammar::Python => in_python(&text, first, &mut found),
            Grammar::Braces => in_braces(&text, first, &mut found),
        }
        first += known.len() as u32 + 1;
    }
    found
}

fn in_python(lines: &[&str], first: u32, found: &mut Vec<RangeInclusive<u32>>) {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end_matches(['\n', '\r']));
        text.push('\n');
    }
    for statement in python::statements(&text) {
        let range = first + statement.line - 1..=first + statement.last_line - 1;
        let length = range.end() - range.start();
        // Statements with semicolons between them share their lines.
        let is_known = found.last().is_some_and(|last| last.end() >= range.start());
        if length > 0 && length < MOST && !is_known {
            found.push(range);
        }
    }
}

fn in_braces(lines: &[&str], first: u32, found: &mut Vec<RangeInclusive<u32>>) {
    let mut scan = Scan::default();
    let mut begin = first;
    for (number, line) in (first..).zip(lines) {
        let goes_on = scan.line(line.trim_end_matches(['\n', '\r']));
        if goes_on && number - begin < MOST {
            continue;
        }
        if goes_on {
            scan = Scan::default();
        } else if number > begin {
            found.push(begin..=number);
        }
        begin = number + 1;
    }
}

/// What is open at a place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Open {
    #[default]
    Nothing,
    Text,
    /// A raw string: so many `#` stand behind its end.
    Raw(usize),
    Comment,
}

/// A text of C, C++ or Rust, read line by line.
#[derive(Debug, Default)]
struct Scan {
    open: Open,
    brackets: Vec<u8>,
}

impl Scan {
    /// Reads a line. True if its statement goes on in the next one.
    fn line(&mut self, line: &str) -> bool {
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += match self.open {
                Open::Nothing => match self.code(rest) {
                    Some(read) => read,
                    None => break,
                },
                Open::Text => self.text(rest),
                Open::Raw(marks) => self.raw(rest, marks),
                Open::Comment => match rest.starts_with(b"*/") {
                    true => {
                        self.open = Open::Nothing;
                        2
                    }
                    false => 1,
                },
            };
        }
        match self.open {
            // A comment between statements joins none.
            Open::Comment | Open::Nothing => {
                line.ends_with('\\') || matches!(self.brackets.last(), Some(b'(' | b'['))
            }
            Open::Text | Open::Raw(_) => true,
        }
    }

    /// Reads code. `None` is the end of what counts in the line.
    fn code(&mut self, rest: &[u8]) -> Option<usize> {
        match rest[0] {
            b'/' if rest.starts_with(b"//") => return None,
            b'/' if rest.starts_with(b"/*") => {
                self.open = Open::Comment;
                return Some(2);
            }
            b'r' => {
                let marks = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
                if rest.get(1 + marks) == Some(&b'"') {
                    self.open = Open::Raw(marks);
                    return Some(2 + marks);
                }
            }
            b'"' => self.open = Open::Text,
            b'\'' => return Some(letter(rest)),
            bracket @ (b'(' | b'[' | b'{') => self.brackets.push(bracket),
            bracket @ (b')' | b']' | b'}') => {
                let opened = match bracket {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                if self.brackets.pop().is_some_and(|last| last != opened) {
                    // The text is not what it seems to be.
                    self.brackets.clear();
                }
            }
            _ => {}
        }
        Some(1)
    }

    fn text(&mut self, rest: &[u8]) -> usize {
        match rest[0] {
            b'\\' => 2,
            b'"' => {
                self.open = Open::Nothing;
                1
            }
            _ => 1,
        }
    }

    fn raw(&mut self, rest: &[u8], marks: usize) -> usize {
        let is_end = rest[0] == b'"'
            && rest[1..].len() >= marks
            && rest[1..=marks].iter().all(|&byte| byte == b'#');
        if !is_end {
            return 1;
        }
        self.open = Open::Nothing;
        1 + marks
    }
}

/// The length of a letter between quotes; 1 for a quote that begins none, as of a lifetime.
fn letter(rest: &[u8]) -> usize {
    let close = |from: usize| {
        let found = rest.iter().skip(from).position(|&byte| byte == b'\'');
        found.map(|place| from + place + 1)
    };
    let length = match rest.get(1) {
        // `'\u{10ffff}'` is the longest.
        Some(b'\\') => close(3).filter(|&length| length <= 12),
        // A letter of several bytes, too.
        Some(&first) => {
            let most = if first >= 0x80 { 6 } else { 3 };
            close(2).filter(|&length| length <= most)
        }
        None => None,
    };
    length.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(grammar: Grammar, text: &str, expected: &[(u32, u32)]) {
        let found = statements(text.lines().map(Some), grammar);
        let found: Vec<_> = found.iter().map(|one| (*one.start(), *one.end())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn brackets_strings_and_backslashes_join_lines_of_python() {
        let check = |text, expected: &[_]| check(Grammar::Python, text, expected);
        check("a = f(1,\n      2)\nb = 3", &[(1, 2)]);
        check(
            "a = [\n  {\n  1: (2),\n},\n]\nb\nc = x + \\\n  y",
            &[(1, 5), (7, 8)],
        );
        check("t = '''a (\nb [\n'''\nd", &[(1, 3)]);
        check("s = \"it's (\"\nt = 'a \\\nb'", &[(2, 3)]);
        check("# (\nx = 1  # [\ny = f(  # a comment: )\n  1)", &[(3, 4)]);
        check(
            "if (a and\n    b):\n    c()\nelse: d(\n)",
            &[(1, 2), (4, 5)],
        );
        check("r'\\'\nx", &[]);
        check("a = '(\nb = 1", &[]);
        check("x = )\ny = f(\n2)", &[(2, 3)]);
    }

    #[test]
    fn braces_end_what_brackets_join() {
        let check = |text, expected: &[_]| check(Grammar::Braces, text, expected);
        check("f(a,\n  b);\ng();", &[(1, 2)]);
        check("spawn(move || {\n  a();\n  b(1,\n    2);\n});", &[(3, 4)]);
        check("let x: &'a str = f('(', '\\'', \"(\");\ny();", &[]);
        check("let x = r#\"a \" (\n\"#;\ny();", &[(1, 2)]);
        check("/* ( \n [ */\nf();\n// (\ng(\n);", &[(5, 6)]);
        check("#define F(x) \\\n  g(x)\nint a;", &[(1, 2)]);
        check("let é = f('é', [\n1]);", &[(1, 2)]);
    }

    #[test]
    fn a_gap_and_a_very_long_one_end_a_statement() {
        let lines = [Some("f("), None, Some("1)"), Some("g("), Some(")")];
        assert_eq!(statements(lines, Grammar::Python), [4..=5]);
        let long = format!("x = [\n{}]\ny = (\n1)", "1,\n".repeat(300));
        let found = statements(long.lines().map(Some), Grammar::Python);
        assert_eq!(found.last(), Some(&(303..=304)));
        assert!(found.iter().all(|one| one.end() - one.start() < MOST));
    }

    #[test]
    fn files_are_known_by_their_endings() {
        assert_eq!(Grammar::of_path("/a/b.py"), Some(Grammar::Python));
        assert_eq!(Grammar::of_path("/a/b.rs"), Some(Grammar::Braces));
        assert_eq!(
            Grammar::of_path("/tmp/ipykernel_7/9.py"),
            Some(Grammar::Python)
        );
        assert_eq!(
            Grammar::of_path("<ipython-input-1-a>"),
            Some(Grammar::Python)
        );
        assert_eq!(Grammar::of_path("/a/b.js"), None);
        assert_eq!(Grammar::of_path("/a.py/b"), None);
    }
}
