//! Text that picks names: a glob where it has a `*`, a `?` or a `[`, and otherwise a part of the
//! name.

use profundo_model::{FrameId, Profile, c_name, python_name};

/// A text to look for in names.
///
/// ```
/// use profundo_analysis::Pattern;
///
/// assert!(Pattern::new("*.py").is_in("/home/me/app.py"));
/// assert!(Pattern::new("me/app").is_in("/home/me/app.py"));
/// assert!(!Pattern::new("*.p").is_in("/home/me/app.py"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// The pattern that `text` stands for.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether the pattern is a glob, which has to match the whole of a name.
    pub fn is_glob(&self) -> bool {
        self.0.contains(['*', '?', '['])
    }

    /// Whether the pattern matches `name`: as a glob the whole of it or the part behind a `/`, else
    /// any part of it.
    pub fn is_in(&self, name: &str) -> bool {
        if !self.is_glob() {
            return name.contains(&self.0);
        }
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        let starts = (name.iter().enumerate()).filter(|(_, letter)| **letter == '/');
        glob(&pattern, &name)
            || starts
                .into_iter()
                .any(|(at, _)| glob(&pattern, &name[at + 1..]))
    }
}

impl<T: Into<String>> From<T> for Pattern {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Whether `pattern` matches all of `text`. After a mismatch, the last `*` is tried again.
fn glob(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut in_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while in_text < text.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                retry = Some((at, in_text));
                at += 1;
                continue;
            }
            Some('?') => Some(at + 1),
            Some('[') => class(pattern, at, text[in_text]),
            Some(&letter) if letter == text[in_text] => Some(at + 1),
            _ => None,
        };
        match (step, retry) {
            (Some(next), _) => (at, in_text) = (next, in_text + 1),
            (None, Some((star, from))) => {
                retry = Some((star, from + 1));
                (at, in_text) = (star + 1, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|&letter| letter == '*')
}

/// The position behind a class such as `[a-z]` or `[!0]` that contains `letter`. An unclosed
/// bracket stands for itself.
fn class(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    let Some(length) = (pattern[at + 1..].iter().skip(1)).position(|&other| other == ']') else {
        return (letter == '[').then_some(at + 1);
    };
    let end = at + 2 + length;
    let inside = &pattern[at + 1..end];
    let (negated, inside) = match inside.split_first() {
        Some(('!' | '^', rest)) if !rest.is_empty() => (true, rest),
        _ => (false, inside),
    };
    let mut found = false;
    let mut rest = inside;
    while let [first, after @ ..] = rest {
        match after {
            ['-', last, after @ ..] => {
                found |= (*first..=*last).contains(&letter);
                rest = after;
            }
            _ => {
                found |= *first == letter;
                rest = after;
            }
        }
    }
    (found != negated).then_some(end + 1)
}

/// By frame, whether its function matches `pattern`. A glob has to match the name or its last
/// segments; other text is the whole name or its last segments (`fact` and `app.fact` mean
/// `my.app.fact`), and only where no name ends like that, a part of it.
pub(crate) fn functions(profile: &Profile, pattern: &Pattern) -> Vec<bool> {
    let by = |is_meant: &dyn Fn(&str) -> bool| -> Vec<bool> {
        // Frames of one function mostly follow one another.
        let mut last = None;
        (0..profile.frames.len())
            .map(|index| {
                let name = profile.frames.get(FrameId::from_index(index)).function;
                match last {
                    Some((known, answer)) if known == name => answer,
                    _ => {
                        let answer = is_meant(profile.strings.get(name));
                        last = Some((name, answer));
                        answer
                    }
                }
            })
            .collect()
    };
    if pattern.is_glob() {
        let glob_of: Vec<char> = pattern.text().chars().collect();
        return by(&|name| {
            let mut ends = names(name).into_iter().flat_map(segments);
            ends.any(|end| glob(&glob_of, &end.chars().collect::<Vec<_>>()))
        });
    }
    let is_end = |name: &str| {
        let mut names = names(name).into_iter();
        names.any(|name| ends_with_name(name, pattern.text()))
    };
    let whole = by(&is_end);
    if pattern.text().is_empty() || whole.contains(&true) {
        return whole;
    }
    by(&|name| pattern.is_in(name))
}

/// The names of a function: `sorted` and `builtin_sorted`.
fn names(function: &str) -> [&str; 2] {
    [python_name(function).unwrap_or(function), c_name(function)]
}

/// A name and its ends after each `::` or dot.
pub(crate) fn segments(name: &str) -> impl Iterator<Item = &str> {
    let ends = name
        .match_indices(['.', ':'])
        .map(|(at, _)| &name[at + 1..]);
    std::iter::once(name).chain(ends.filter(|end| !end.starts_with(':')))
}

/// Whether `name` is `end`, or ends with it right after `::` or a dot.
fn ends_with_name(name: &str, end: &str) -> bool {
    !end.is_empty()
        && name.strip_suffix(end).is_some_and(|before| {
            before.is_empty() || before.ends_with("::") || before.ends_with('.')
        })
}

/// By file, whether any of `patterns` matches its path or its short form.
pub(crate) fn files(profile: &Profile, patterns: &[Pattern]) -> Vec<bool> {
    let strings = &profile.strings;
    (profile.files.iter().enumerate())
        .map(|(index, file)| {
            let (prefix, rest) = (strings.get(file.prefix), strings.get(file.rest));
            let short = if rest.starts_with('/') || prefix.is_empty() {
                format!("{prefix}{rest}")
            } else {
                format!("{prefix}/{rest}")
            };
            let path = strings.get(file.path);
            index != 0
                && (patterns.iter()).any(|pattern| pattern.is_in(path) || pattern.is_in(&short))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_whole_names() {
        let rows = [
            ("*.py", "a.py", true),
            ("*.py", "a.pyc", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("[a", "[a", true),
            ("src/*", "/home/src/main.rs", true),
            ("*a*b*c", "xaybzc", true),
            ("*a*b*c", "xaybz", false),
            ("**", "", true),
            ("漢?", "漢字", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(
                Pattern::new(pattern).is_in(name),
                expected,
                "{pattern} in {name}"
            );
        }
    }

    #[test]
    fn a_hard_glob_does_not_take_for_ever() {
        let pattern = Pattern::new("*a".repeat(30));
        assert!(!pattern.is_in(&"a".repeat(29)));
        assert!(!pattern.is_in(&format!("{}b", "a".repeat(20_000))));
    }

    #[test]
    fn functions_are_meant_by_their_last_segments_first() {
        let profile = Profile::from_folded("A.run;B.run;rerun 1").unwrap();
        assert_eq!(functions(&profile, &"run".into()), [true, true, false]);
        assert_eq!(functions(&profile, &"A.run".into()), [true, false, false]);
        assert_eq!(functions(&profile, &"eru".into()), [false, false, true]);
        assert_eq!(functions(&profile, &"?.run".into()), [true, true, false]);
        assert_eq!(functions(&profile, &"ru*".into()), [true, true, false]);
        assert_eq!(functions(&profile, &"".into()), [false; 3]);
    }

    #[test]
    fn a_function_of_c_is_meant_by_either_of_its_names() {
        let profile = Profile::from_folded("str.join (PyUnicode_Join);join_all 1").unwrap();
        for pattern in ["join", "str.join", "PyUnicode_Join", "s*.join", "PyUni*"] {
            let found = functions(&profile, &pattern.into());
            assert_eq!(found, [true, false], "{pattern}");
        }
    }
}
