//! The logical lines of a Python file: joined by brackets, strings and backslashes, and split at
//! semicolons.

/// One statement, or the header of a compound one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The line that it begins on, from 1.
    pub line: u32,
    /// The line that it ends on.
    pub last_line: u32,
    /// Its indentation. A statement behind a header on the same line is one column further in.
    pub indent: usize,
    /// Its text without comments. Strings are empty, and blanks and line breaks are single spaces.
    pub text: String,
}

/// The statements of a file, in their order.
pub fn statements(text: &str) -> Vec<Statement> {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
    };
    let mut found = Vec::new();
    while let Some(statement) = reader.logical_line() {
        split(statement, &mut found);
    }
    found
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Goes to the first byte of the next statement; returns its indentation.
    fn indent(&mut self) -> usize {
        /// The tab width of Python's own tokenizer.
        const TAB: usize = 8;
        let mut indent = 0;
        loop {
            match self.peek() {
                Some(b' ') => indent += 1,
                Some(b'\t') => indent = (indent / TAB + 1) * TAB,
                Some(b'\n' | b'\r' | b'\x0c') => indent = 0,
                Some(b'#') => {
                    self.skip_comment();
                    continue;
                }
                _ => return indent,
            }
            self.next();
        }
    }

    fn logical_line(&mut self) -> Option<Statement> {
        let indent = self.indent();
        self.peek()?;
        let line = self.line;
        let mut text: Vec<u8> = Vec::new();
        let mut depth = 0_u32;
        let mut last_line = line;
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => {
                    self.skip_comment();
                    continue;
                }
                b'\n' if depth == 0 => break,
                b'"' | b'\'' => {
                    last_line = self.line;
                    self.skip_string();
                    last_line = last_line.max(self.line);
                    text.extend(b"\"\"");
                    continue;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let joins = byte == b'\\' && matches!(self.bytes.get(self.at + 1), Some(b'\n' | b'\r'));
            if joins || byte.is_ascii_whitespace() {
                if text.last().is_some_and(|&last| last != b' ') {
                    text.push(b' ');
                }
                // The line break behind a backslash ends nothing.
                if joins {
                    self.next();
                    if self.peek() == Some(b'\r') {
                        self.next();
                    }
                }
            } else {
                text.push(byte);
                last_line = self.line;
            }
            self.next();
        }
        let text = String::from_utf8_lossy(&text);
        Some(Statement {
            line,
            last_line,
            indent,
            text: text.trim_end().to_owned(),
        })
    }

    /// Goes behind the string that begins here, or to the end of a line that leaves it open.
    fn skip_string(&mut self) {
        let Some(quote) = self.peek() else { return };
        let three = [quote; 3];
        let is_long = self.bytes[self.at..].starts_with(&three);
        self.at += if is_long { 3 } else { 1 };
        while let Some(byte) = self.peek() {
            if byte == b'\\' {
                // In a raw string as well, the quote behind a backslash ends nothing.
                self.next();
                self.next();
            } else if is_long && self.bytes[self.at..].starts_with(&three) {
                self.at += 3;
                return;
            } else if !is_long && byte == quote {
                self.at += 1;
                return;
            } else if !is_long && byte == b'\n' {
                return;
            } else {
                self.next();
            }
        }
    }
}

/// Splits a logical line at its semicolons, and a header from the statement behind it.
fn split(whole: Statement, found: &mut Vec<Statement>) {
    let mut rest = whole.text.as_str();
    let mut indent = whole.indent;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return;
        }
        let end = if is_header(rest) {
            at_depth_zero(rest, b':').map(|at| (at + 1, at + 1))
        } else {
            at_depth_zero(rest, b';').map(|at| (at, at + 1))
        };
        let (end, next) = end.unwrap_or((rest.len(), rest.len()));
        let is_compound = is_header(rest);
        found.push(Statement {
            text: rest[..end].trim_end().to_owned(),
            indent,
            ..whole.clone()
        });
        rest = &rest[next..];
        indent += usize::from(is_compound);
    }
}

/// Whether a statement has a body of its own.
fn is_header(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "def", "class", "if", "elif", "else", "for", "while", "with", "try", "except", "finally",
        "async", "except*",
    ];
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    WORDS.contains(&&text[..end.unwrap_or(text.len())])
}

/// The position of a byte outside of all brackets, and not in `:=` or in a lambda's head.
fn at_depth_zero(text: &str, wanted: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut lambdas) = (0_u32, 0_u32);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'l' if depth == 0 && is_word(bytes, at, b"lambda") => lambdas += 1,
            b':' if depth == 0 && lambdas > 0 => lambdas -= 1,
            _ if byte == wanted && depth == 0 && bytes.get(at + 1) != Some(&b'=') => {
                return Some(at);
            }
            _ => {}
        }
    }
    None
}

fn is_word(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    bytes[at..].starts_with(word)
        && !bytes.get(at + word.len()).is_some_and(is_name)
        && !(at > 0 && is_name(&bytes[at - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &[(u32, u32, usize, &str)]) {
        let found = statements(text);
        let found: Vec<_> = (found.iter())
            .map(|statement| {
                (
                    statement.line,
                    statement.last_line,
                    statement.indent,
                    statement.text.as_str(),
                )
            })
            .collect();
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn brackets_strings_and_backslashes_join_lines() {
        check(
            "x = f(1,\n  2)  # (\ny = '''a\n# no ( comment\n'''\nz = 1 + \\\n    2\n",
            &[
                (1, 2, 0, "x = f(1, 2)"),
                (3, 5, 0, "y = \"\""),
                (6, 7, 0, "z = 1 + 2"),
            ],
        );
        check(r"a = r'\'' + '\\'", &[(1, 1, 0, "a = r\"\" + \"\"")]);
        check("a = 'open\nb", &[(1, 1, 0, "a = \"\""), (2, 2, 0, "b")]);
        check("f(\n", &[(1, 1, 0, "f(")]);
        check("", &[]);
    }

    #[test]
    fn headers_stand_apart_from_what_follows_them() {
        check(
            "class A(B): x = 1; y = 2\nif lambda: 1: pass\nif (n := 1): pass\n",
            &[
                (1, 1, 0, "class A(B):"),
                (1, 1, 1, "x = 1"),
                (1, 1, 1, "y = 2"),
                (2, 2, 0, "if lambda: 1:"),
                (2, 2, 1, "pass"),
                (3, 3, 0, "if (n := 1):"),
                (3, 3, 1, "pass"),
            ],
        );
        check(
            "def f(a: int = {1: 2},\n      b=';') -> \"x:\":\n\treturn a\n\n  # x\n    g()\n",
            &[
                (1, 2, 0, "def f(a: int = {1: 2}, b=\"\") -> \"\":"),
                (3, 3, 8, "return a"),
                (6, 6, 4, "g()"),
            ],
        );
        check(
            "iffy: int = 3\nforms = 1",
            &[(1, 1, 0, "iffy: int = 3"), (2, 2, 0, "forms = 1")],
        );
    }
}
