//! Patterns of paths: `*` and `?` stay within one folder's name, `**` is any number of folders, and
//! a folder stands for all that is below it. Reports have the same rules (`profundo-analysis`);
//! here nothing is allocated.

use super::select::fits;

/// The names between slashes, each with where it ends.
#[derive(Clone, Copy)]
struct Names<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Names<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let length = rest.iter().position(|&byte| byte == b'/');
            let length = length.unwrap_or(rest.len());
            match rest.get(..length).unwrap_or_default() {
                b"" | b"." => self.at += length.max(1),
                name => {
                    self.at += length;
                    return Some(name);
                }
            }
        }
    }
}

/// The end, in the path, of the last literal name of the pattern; `None`: the pattern does not fit.
pub fn reaches(pattern: &[u8], path: &[u8]) -> Option<usize> {
    let is_anywhere = pattern.starts_with(b"**");
    if !is_anywhere && pattern.starts_with(b"/") != path.starts_with(b"/") {
        return None;
    }
    let mut names = Names {
        text: pattern,
        at: 0,
    };
    let mut path = Names { text: path, at: 0 };
    // Where to backtrack to, with one name more for the last `**`.
    let mut backtrack: Option<(Names<'_>, Names<'_>)> = None;
    let mut named = 0;
    // Each round takes a name of the pattern, or one more of the path for the last `**`.
    loop {
        let mut next = names;
        let Some(name) = next.next() else {
            return Some(named);
        };
        if name == b"**" {
            let is_last = { next }.next().is_none();
            if is_last {
                return { path }.next().is_some().then_some(named);
            }
            backtrack = Some((next, path));
            names = next;
            continue;
        }
        let mut further = path;
        match further.next() {
            Some(here) if fits(name, here) => {
                (names, path) = (next, further);
                if !name.iter().any(|byte| b"*?".contains(byte)) {
                    named = path.at;
                }
            }
            _ => {
                let (from, mut skipped) = backtrack?;
                skipped.next()?;
                backtrack = Some((from, skipped));
                (names, path) = (from, skipped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_what_reports_say() {
        let named = |pattern: &str, path: &str| reaches(pattern.as_bytes(), path.as_bytes());
        for (pattern, path, expected) in [
            ("/p/src/**", "/p/src/a/b.py", Some(6)),
            ("/p/./src", "/p/src/a/b.py", Some(6)),
            ("/p/*.py", "/p/a.py", Some(2)),
            ("/p/**/*.py", "/p/x/y/a.py", Some(2)),
            ("**/requests", "/v/requests/api.py", Some(11)),
            ("**/a/**/b", "/x/a/a/c/b/d", Some(10)),
            ("src/**", "src/a.py", Some(3)),
            ("/p/src/**", "/p/src", None),
            ("/p/src", "/p/srcs/b.py", None),
            ("/p/*.py", "/p/x/a.py", None),
            ("src", "/src/a.py", None),
            ("**/a/**/b", "/x/a/c", None),
            ("**", "/p/a.py", Some(0)),
            ("", "/p", None),
        ] {
            assert_eq!(named(pattern, path), expected, "{pattern} {path}");
        }
    }
}
