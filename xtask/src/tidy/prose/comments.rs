//! The comments of a Rust file. Strings are skipped, so a `//` inside of one is no comment.

/// A `//` comment on one line.
#[derive(Debug, PartialEq, Eq)]
pub struct Comment<'a> {
    /// From 1.
    pub line: usize,
    /// The number of characters before the slashes.
    pub column: usize,
    /// True if the line has no code.
    pub is_alone: bool,
    /// `//`, `///` or `//!`.
    pub marker: &'static str,
    /// The text after the marker.
    pub text: &'a str,
}

impl Comment<'_> {
    /// The columns of the whole line.
    pub fn width(&self) -> usize {
        self.column + self.marker.len() + self.text.chars().count()
    }

    /// True if this continues the block of `before`.
    fn continues(&self, before: &Comment<'_>) -> bool {
        self.is_alone
            && before.is_alone
            && before.line + 1 == self.line
            && (before.column, before.marker) == (self.column, self.marker)
    }
}

/// The comments of a source text, by blocks of adjacent lines with the same marker.
pub fn blocks(source: &str) -> Vec<Vec<Comment<'_>>> {
    let mut blocks: Vec<Vec<Comment>> = Vec::new();
    for start in starts(source) {
        let comment = comment(source, start);
        match blocks.last_mut() {
            Some(block) if block.last().is_some_and(|last| comment.continues(last)) => {
                block.push(comment);
            }
            _ => blocks.push(vec![comment]),
        }
    }
    blocks
}

fn comment(source: &str, start: usize) -> Comment<'_> {
    let before = &source[..start];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let text = source[start..].lines().next().unwrap_or("");
    let marker = match text {
        _ if text.starts_with("//!") => "//!",
        _ if text.starts_with("///") && !text.starts_with("////") => "///",
        _ => "//",
    };
    Comment {
        line: before.matches('\n').count() + 1,
        column: line.chars().count(),
        is_alone: line.trim().is_empty(),
        marker,
        text: &text[marker.len()..],
    }
}

/// The positions of all `//` outside of strings and block comments.
fn starts(source: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = ' ';
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = if rest.starts_with("//") {
            found.push(at);
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest).filter(|_| !is_of_name(before)) {
            length
        } else if c == '"' {
            string(rest)
        } else if c == '\'' {
            character(rest)
        } else {
            c.len_utf8()
        };
        before = c;
        at += length;
    }
    found
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the block comment at the start of a text. Block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += c.len_utf8();
        }
    }
    text.len()
}

/// The length of the raw string at the start of a text, if there is one.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let rest = rest.strip_prefix('r')?;
    let inner = rest.trim_start_matches('#').strip_prefix('"')?;
    let hashes = rest.len() - inner.len() - 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
    Some(text.len() - inner.len() + length)
}

/// The length of the string at the start of a text.
fn string(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '"' {
            return at + 1;
        } else {
            is_escaped = c == '\\';
        }
    }
    text.len()
}

/// The length of the character literal, or of the quote of a lifetime, at the start of a text.
fn character(text: &str) -> usize {
    let inner = &text[1..];
    match inner.chars().next() {
        Some('\\') => {
            let after = inner
                .char_indices()
                .nth(2)
                .map_or(inner.len(), |(at, _)| at);
            inner[after..].find('\'').map_or(1, |at| after + at + 2)
        }
        Some(c) if inner[c.len_utf8()..].starts_with('\'') => c.len_utf8() + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines and texts of the blocks of a source.
    fn found(source: &str) -> Vec<Vec<(usize, &str)>> {
        let pair = |comment: &Comment<'static>| (comment.line, comment.text);
        blocks(Box::leak(source.into()))
            .iter()
            .map(|block| block.iter().map(pair).collect())
            .collect()
    }

    #[test]
    fn strings_and_characters_hold_no_comments() {
        let source = r##"let a = "// no \" // no"; let b = r#"// no " // no"#; // one
let c = ['"', '\'', '\u{22}', b'"']; fn f<'a>(_: &'a str) {} // two
/* // no /* // no */ // no */ let bar = "x"; // three
"##;
        assert_eq!(
            found(source),
            [vec![(1, " one")], vec![(2, " two")], vec![(3, " three")]]
        );
    }

    #[test]
    fn adjacent_lines_with_one_marker_are_a_block() {
        let source = "//! a\n//! b\n\n/// c\n/// d\n// e\nf(); // g\n// h\n    // i\n";
        assert_eq!(
            found(source),
            [
                vec![(1, " a"), (2, " b")],
                vec![(4, " c"), (5, " d")],
                vec![(6, " e")],
                vec![(7, " g")],
                vec![(8, " h")],
                vec![(9, " i")],
            ]
        );
    }

    #[test]
    fn columns_are_characters() {
        let blocks = blocks("    let µ = 1; // µs\n");
        let comment = &blocks[0][0];
        assert_eq!((comment.column, comment.width()), (15, 20));
    }
}
