//! Only `profundo-cpython` compares versions of Python: what hangs on one is a row of its table or
//! a question that it answers, so that a new version is known everywhere at once.
//!
//! The rule is textual. Outside of that crate and of tests, these are found:
//!
//! - `minor`, `major`, `OLDEST` and `NEWEST`, or a path or a conversion that ends in one, beside
//!   `==`, `!=`, `<`, `<=`, `>`, `>=`, `..` or `..=`, or in `contains(…)` or `matches!(…)`;
//! - a `match` on one whose patterns have numbers, and a `let` with a number in its pattern that
//!   takes one apart;
//! - a comparison with a pair that begins with 3, as `(3, 12)`.
//!
//! Handing a version on, keeping it and reading it from bytes are no comparisons.

use super::Finding;
use crate::tree::Text;

/// The crate that may compare versions.
const OWNER: &str = "crates/profundo-cpython/";

/// Other files that may compare versions, each with the reason.
const MAY_COMPARE: &[(&str, &str)] = &[];

/// Names that hold a version, or a part of one.
const VERSIONS: &[&str] = &["minor", "major", "OLDEST", "NEWEST"];

const COMPARISONS: &[&str] = &["==", "!=", "<", "<=", ">", ">="];
const RANGES: &[&str] = &["..", "..="];

/// Functions that give the version that they are given.
const CONVERSIONS: &[&str] = &["from", "into", "Some", "clone"];

pub fn check(source: &Text, findings: &mut Vec<Finding>) {
    let is_exempt = MAY_COMPARE.iter().any(|(path, _)| *path == source.path);
    if is_ours(&source.path) && !is_exempt {
        for line in comparisons(&source.text) {
            let what = "a version of Python is compared outside of profundo-cpython: ask its `Layout` or its \
                        `version` instead";
            findings.push(Finding::new(&source.path, line, what));
        }
    }
}

/// The list of exemptions names only files that need one.
pub fn check_exemptions(sources: &[Text], findings: &mut Vec<Finding>) {
    for (path, _) in MAY_COMPARE {
        let source = sources.iter().find(|source| source.path == *path);
        if source.is_none_or(|source| comparisons(&source.text).is_empty()) {
            let what = format!("{path} needs no exemption any more");
            findings.push(Finding::new("xtask/src/tidy/versions.rs", 0, what));
        }
    }
}

/// True if a file is a crate's source, and no test.
fn is_ours(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/");
    let is_test = path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.starts_with("crates/profundo-testing/");
    is_source && !is_test && !path.starts_with(OWNER)
}

/// The lines on which versions are compared.
fn comparisons(text: &str) -> Vec<usize> {
    let tokens = tokens(text);
    let mut lines: Vec<usize> = (0..tokens.len())
        .filter(|&at| is_comparison(&tokens, at))
        .map(|at| tokens[at].line)
        .collect();
    lines.dedup();
    lines
}

fn is_comparison(tokens: &[Token<'_>], at: usize) -> bool {
    let word = tokens[at].word;
    if COMPARISONS.contains(&word) {
        let next: Vec<&str> = tokens
            .iter()
            .skip(at + 1)
            .take(3)
            .map(|token| token.word)
            .collect();
        return next == ["(", "3", ","];
    }
    let next = tokens.get(at + 1).map(|token| token.word);
    // A field, or a parameter.
    if !VERSIONS.contains(&word) || next == Some(":") {
        return false;
    }
    let is_beside = |word: &str| COMPARISONS.contains(&word) || RANGES.contains(&word);
    if behind(tokens, at).is_some_and(is_beside) {
        return true;
    }
    match before(tokens, at) {
        Some(Before::Operator(word)) => is_beside(word),
        Some(Before::Test) => true,
        Some(Before::Match) => has_numbers(arms(tokens, at)),
        Some(Before::Let(pattern)) => has_numbers(pattern),
        None => false,
    }
}

/// The token behind a version, and behind the conversions and tuples that it ends.
fn behind<'a>(tokens: &[Token<'a>], mut at: usize) -> Option<&'a str> {
    loop {
        at += 1;
        let word = tokens.get(at)?.word;
        if word != ")" {
            return Some(word);
        }
        let open = opening(tokens, at)?;
        let caller = open.checked_sub(1).map(|at| &tokens[at]);
        if caller.is_some_and(|token| {
            token.is_name && !CONVERSIONS.contains(&token.word) && !is_keyword(token.word)
        }) {
            return None;
        }
    }
}

/// The tokens before a version.
enum Before<'a, 't> {
    Operator(&'a str),
    /// `contains(` or `matches!(`.
    Test,
    /// `match`.
    Match,
    /// `let`, with the pattern.
    Let(&'t [Token<'a>]),
}

/// The tokens before a version, and before the path, the conversions and the tuples that it is in.
fn before<'a, 't>(tokens: &'t [Token<'a>], mut at: usize) -> Option<Before<'a, 't>> {
    loop {
        at = at.checked_sub(1)?;
        let Token { word, is_name, .. } = tokens[at];
        match word {
            "match" => return Some(Before::Match),
            "=" => {
                let start = tokens[..at]
                    .iter()
                    .rposition(|token| matches!(token.word, "let" | ";" | "{" | "}"))?;
                return (tokens[start].word == "let").then(|| Before::Let(&tokens[start..at]));
            }
            "." | "::" | "&" | "*" => {}
            // What stands before the tuple that it is in.
            "," => at = enclosing(tokens, at)? + 1,
            "(" => {
                let caller = at.checked_sub(1).map(|at| &tokens[at]);
                match caller {
                    Some(token) if token.word == "contains" => return Some(Before::Test),
                    Some(token) if token.word == "!" => {
                        let name = at.checked_sub(2).map(|at| tokens[at].word);
                        return (name == Some("matches")).then_some(Before::Test);
                    }
                    Some(token)
                        if token.is_name
                            && !CONVERSIONS.contains(&token.word)
                            && !is_keyword(token.word) =>
                    {
                        return None;
                    }
                    _ => {}
                }
            }
            _ if COMPARISONS.contains(&word) || RANGES.contains(&word) => {
                return Some(Before::Operator(word));
            }
            _ if is_keyword(word) => return None,
            _ if is_name => {}
            _ => return None,
        }
    }
}

/// The patterns of the `match` whose subject a version is in.
fn arms<'a, 't>(tokens: &'t [Token<'a>], at: usize) -> &'t [Token<'a>] {
    let Some(open) = tokens[at..].iter().position(|token| token.word == "{") else {
        return &[];
    };
    &tokens[at + open..]
}

/// True if the patterns have numbers: those of a `let`, or those before the arrows of the arms that
/// a `{` begins.
fn has_numbers(tokens: &[Token<'_>]) -> bool {
    let is_match = tokens.first().is_some_and(|token| token.word == "{");
    let (mut depth, mut is_pattern) = (0, true);
    for token in tokens {
        match token.word {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth -= 1;
                is_pattern |= depth == 1 && token.word == "}";
            }
            "=>" if depth == 1 => is_pattern = false,
            "," if depth == 1 => is_pattern = true,
            word if is_pattern && word.starts_with(|first: char| first.is_ascii_digit()) => {
                return true;
            }
            _ => {}
        }
        if is_match && depth == 0 {
            return false;
        }
    }
    false
}

/// The position of the parenthesis or brace that encloses a token.
fn enclosing(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0;
    (0..at).rev().find(|&at| {
        match tokens[at].word {
            ")" | "}" | "]" => depth += 1,
            "(" | "{" | "[" => depth -= 1,
            _ => {}
        }
        depth < 0
    })
}

/// The position of the opening bracket that matches a closing one.
fn opening(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    let mut depth = 0;
    for at in (0..=close).rev() {
        match tokens[at].word {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "while"
            | "match"
            | "return"
            | "let"
            | "in"
            | "else"
            | "for"
            | "use"
            | "pub"
            | "fn"
            | "const"
            | "as"
            | "mut"
    )
}

#[derive(Clone, Copy)]
struct Token<'a> {
    word: &'a str,
    line: usize,
    is_name: bool,
}

/// The words and operators of the source, without comments, texts and the tests at its end.
fn tokens(text: &str) -> Vec<Token<'_>> {
    const OPERATORS: [&str; 13] = [
        "..=", "..", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "=>", "->", "::",
    ];
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_inner = |c: char| c.is_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = quoted(rest) {
            length
        } else if is_inner(first) {
            rest.find(|c| !is_inner(c)).unwrap_or(rest.len())
        } else {
            let operator = OPERATORS
                .iter()
                .find(|operator| rest.starts_with(**operator));
            operator.map_or(first.len_utf8(), |operator| operator.len())
        };
        let word = &rest[..length];
        if word.starts_with("#") && rest.starts_with("#[cfg(test)]") {
            break;
        }
        let is_name = first.is_alphabetic() || first == '_';
        let is_text = word.starts_with("//") || quoted(rest).is_some();
        if !is_text && !first.is_whitespace() {
            tokens.push(Token {
                word,
                line,
                is_name,
            });
        }
        line += word.matches('\n').count();
        at += length;
    }
    tokens
}

/// The length of the text, the character or the lifetime that begins here, if one does.
fn quoted(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let before = rest.len() - body.len();
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = inner.find(&end).map_or(inner.len(), |at| at + end.len());
        return Some(before + 1 + hashes + 1 + length);
    }
    if let Some(inner) = body.strip_prefix('"') {
        return Some(before + 1 + closing(inner, '"')?);
    }
    let inner = body.strip_prefix('\'')?;
    let mut characters = inner.chars();
    let (first, second) = (characters.next()?, characters.next());
    match (first, second) {
        ('\\', _) | (_, Some('\'')) => Some(before + 1 + closing(inner, '\'')?),
        // A lifetime.
        _ => Some(before + 1),
    }
}

/// The length of a text up to its closing quote, the quote included.
fn closing(inner: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in inner.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            character if character == quote => return Some(at + quote.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let source = Text {
            path: path.into(),
            text: text.into(),
        };
        let mut findings = Vec::new();
        check(&source, &mut findings);
        findings.into_iter().map(|finding| finding.line).collect()
    }

    const OURS: &str = "crates/profundo-agent/src/python.rs";

    #[test]
    fn a_comparison_is_found() {
        for text in [
            "if layout.minor >= 13 {}",
            "if 13 <= self.layout.minor {}",
            "let it = u32::from(found.minor) < 12;",
            "minor.is_some_and(|minor| minor < 12)",
            "let is = version.major == 3;",
            "let is = named == *minor;",
            "version != 0 && (major, minor) < (3, OLDEST)",
            "let is = (8..=13).contains(&minor);",
            "match x { Some(..OLDEST) => 1, _ => 2 }",
            "matches!(layout.minor, 8 | 9)",
            "match api.layout.minor {\n    ..=11 => begin(),\n    _ => {}\n}",
            "match (minor, how) { (11, _) => 1, _ => 2 }",
            "match (how < 2, minor) { (true, 11) => 1, _ => 2 }",
            "if let 8 | 9 = layout.minor {}",
            "if sys.version >= (3, 12) {}",
        ] {
            assert_eq!(
                found(OURS, &format!("//! An idea.\n{text}\n")),
                [2],
                "{text}"
            );
        }
    }

    #[test]
    fn handing_a_version_on_is_no_comparison() {
        for text in [
            "let head = code_head(layout.minor, &shape, 0);",
            "let layout = Layout::of(minor)?;",
            "match places.minor() { Some(minor) => of(minor), None => Err(Refused::NoPython) }",
            "device: major << 32 | minor & 0xFFFF,",
            "let minor = skip_to(7)?;",
            "if version::has_perf_map(minor) {}",
            "if pages.minor_faults > 3 {}",
            "// minor >= 13\nlet text = \"minor < 12\"; let c = '\"';",
            "#[cfg(test)]\nmod tests { fn f() { assert!(minor == 12) } }",
            "fn f<'a>(minor: u8) -> Vec<&'a str> { of(minor) }",
            "if kept(minor) == 12 {}",
            "let it = of(a < b, minor);",
            "let it = Version { is_old: a < b, minor };",
        ] {
            assert_eq!(found(OURS, text), [0; 0], "{text}");
        }
    }

    #[test]
    fn the_owner_and_tests_may_compare() {
        let text = "fn f() -> bool { minor >= 13 }";
        for path in [
            "crates/profundo-cpython/src/version.rs",
            "crates/profundo-agent/tests/it/main.rs",
            "crates/profundo-probe/src/heap/trails/tests/python.rs",
            "e2e/tests/command/targets.rs",
            "xtask/src/cpython/pythons.rs",
        ] {
            assert_eq!(found(path, text), [0; 0], "{path}");
        }
        assert_eq!(found(OURS, text), [1]);
    }
}
