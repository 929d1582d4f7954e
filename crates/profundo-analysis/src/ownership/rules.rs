//! The reader's rules about files and modules: patterns, of which the last match decides.
//!
//! A folder of the reader's own may hold libraries: an environment for Python, `node_modules`.
//! Files in one of those stay a library's, unless the pattern leads into it by name. So
//! `/home/me/app/**` does not reach `/home/me/app/.venv/lib/python3.12/site-packages`, and
//! `**/site-packages/mine` does.

use super::pattern::{Pattern, parts};
use super::{is_in_library_folder, is_library_file};

/// The mark before the part of a pattern that begins in the project's folder.
const FROM_HERE: &str = "/./";

/// The owners of code, by the reader's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    is_mine: bool,
    whole: Pattern,
    /// For files whose paths begin in the project's folder, in the manner of some compilers.
    relative: Option<Pattern>,
}

impl Rules {
    /// The last match decides. A match is the reader's own; behind a `!` it is a library's. A
    /// pattern `/home/me/app/./src` stands for `/home/me/app/src`, and for `src` in paths that
    /// begin in the project's folder.
    pub fn new(patterns: &[impl AsRef<str>]) -> Self {
        let rules = patterns.iter().map(|pattern| {
            let pattern = pattern.as_ref();
            let negated = pattern.strip_prefix('!');
            let text = negated.unwrap_or(pattern);
            let relative = text.split_once(FROM_HERE).map(|(_, path)| path);
            Rule {
                is_mine: negated.is_none(),
                whole: Pattern::new(text),
                relative: relative.filter(|path| !path.is_empty()).map(Pattern::new),
            }
        });
        Self(rules.collect())
    }

    /// Whether the code at a path is the reader's own, if any rule decides it.
    pub fn is_mine(&self, path: &str) -> Option<bool> {
        // Texts that were never a file have names like `<string>`.
        if self.0.is_empty() || path.is_empty() || path.starts_with('<') {
            return None;
        }
        let path = parts(path);
        let rule = self.0.iter().rev().find(|rule| rule.fits(&path))?;
        Some(rule.is_mine)
    }

    /// Whether the source file at a path is a library's, by the rules or else by its place.
    pub fn is_library_file(&self, path: &str) -> bool {
        match self.is_mine(path) {
            Some(is_mine) => !is_mine,
            None => is_library_file(path),
        }
    }
}

impl Rule {
    fn fits(&self, path: &[&str]) -> bool {
        let is_absolute = path.first().is_some_and(|first| first.is_empty());
        let pattern = match &self.relative {
            Some(relative) if !is_absolute => relative,
            _ => &self.whole,
        };
        let Some(named) = pattern.fits(path) else {
            return false;
        };
        let below = path.get(named..).unwrap_or_default();
        !self.is_mine || !is_in_library_folder(&format!("/{}", below.join("/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patterns: &[&str], expected: &[(&str, Option<bool>)]) {
        let rules = Rules::new(patterns);
        for &(path, is_mine) in expected {
            assert_eq!(rules.is_mine(path), is_mine, "{patterns:?} {path}");
        }
    }

    #[test]
    fn the_last_that_fits_decides() {
        check(
            &["/p/**", "!/p/third_party", "/p/third_party/ours"],
            &[
                ("/p/a.py", Some(true)),
                ("/p/third_party/x.py", Some(false)),
                ("/p/third_party/ours/x.py", Some(true)),
                ("/q/a.py", None),
                ("<string>", None),
                ("", None),
            ],
        );
    }

    #[test]
    fn libraries_within_a_project_stay_libraries() {
        check(
            &["/p/**"],
            &[
                ("/p/.venv/lib/python3.12/site-packages/numpy/x.py", None),
                ("/p/.venv/lib/python3.12/json/decoder.py", None),
                ("/p/web/node_modules/left-pad/index.js", None),
                ("/p/build/lib.linux-x86_64-cpython-312/p/x.py", Some(true)),
                ("/p/build/lib/p/x.py", Some(true)),
            ],
        );
        // A project in a place of libraries.
        check(
            &["/opt/site-packages/p/**", "/usr/src/linux-tools/./src"],
            &[
                ("/opt/site-packages/p/x.py", Some(true)),
                ("/usr/src/linux-tools/src/perf.c", Some(true)),
                ("src/perf.c", Some(true)),
                ("lib/perf.c", None),
            ],
        );
    }

    #[test]
    fn a_library_can_be_ones_own() {
        check(
            &["**/site-packages/ours", "**/libours*.so*"],
            &[
                ("/v/lib/python3.12/site-packages/ours/a.py", Some(true)),
                ("/v/lib/python3.12/site-packages/theirs/a.py", None),
                ("/usr/lib/libours-2.so.1", Some(true)),
            ],
        );
    }
}
