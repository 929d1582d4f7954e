//! A pattern for paths, and the part of a path that it names: `*` and `?` stay within one folder's
//! name, `**` is any number of folders, and a folder stands for everything below it.

/// A pattern, by its parts between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<String>,
    /// The position behind the last part that is a plain name.
    named: usize,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let parts: Vec<String> = parts(text).into_iter().map(str::to_owned).collect();
        let is_plain = |part: &String| !part.contains(['*', '?']);
        let named = parts.iter().rposition(is_plain);
        Self {
            named: named.map_or(0, |at| at + 1),
            parts,
        }
    }

    /// The number of a path's parts up to the last one that the pattern names; `None`: the pattern
    /// does not match.
    pub(super) fn fits(&self, path: &[&str]) -> Option<usize> {
        // The position to try again, with one part more for the last `**`.
        let mut retry: Option<(usize, usize)> = None;
        let (mut at, mut here, mut named) = (0, 0, 0);
        loop {
            let part = self.parts.get(at).map(String::as_str);
            let fits = match (part, path.get(here)) {
                // The rest of the path lies below.
                (None, _) => return Some(named),
                (Some("**"), Some(_)) => {
                    retry = Some((at + 1, here));
                    // At the end it is everything below, and not the folder itself.
                    here += usize::from(at + 1 == self.parts.len());
                    at += 1;
                    continue;
                }
                (Some(part), Some(name)) => is_name(part.as_bytes(), name.as_bytes()),
                (Some(_), None) => false,
            };
            if fits {
                (at, here) = (at + 1, here + 1);
                if at == self.named {
                    named = here;
                }
                continue;
            }
            match retry {
                Some((next, from)) if from < path.len() => {
                    retry = Some((next, from + 1));
                    (at, here) = (next, from + 1);
                }
                _ => return None,
            }
        }
    }
}

/// A path's parts, without empty ones and `.`. An absolute path begins with an empty one.
pub(super) fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for (at, part) in path.split('/').enumerate() {
        match part {
            "" if at > 0 => {}
            "." => {}
            ".." if parts.len() > 1 => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts
}

/// Whether a name matches a part of a pattern.
fn is_name(pattern: &[u8], name: &[u8]) -> bool {
    let mut retry: Option<(usize, usize)> = None;
    let (mut at, mut here) = (0, 0);
    loop {
        match (pattern.get(at), name.get(here)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                retry = Some((at + 1, here));
                at += 1;
                continue;
            }
            (Some(one), Some(other)) if *one == b'?' || one == other => {
                (at, here) = (at + 1, here + 1);
                continue;
            }
            _ => {}
        }
        match retry {
            Some((next, from)) if from < name.len() => {
                retry = Some((next, from + 1));
                (at, here) = (next, from + 1);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_what_it_says() {
        let fits = |pattern: &str, path: &str| Pattern::new(pattern).fits(&parts(path)).is_some();
        for (pattern, path) in [
            ("/p/src/**", "/p/src/a/b.py"),
            ("/p/src", "/p/src/a/b.py"),
            ("/p/src/", "/p/src/b.py"),
            ("/p/*.py", "/p/a.py"),
            ("/p/**/*.py", "/p/a.py"),
            ("/p/**/*.py", "/p/x/y/a.py"),
            ("**/requests", "/v/site-packages/requests/api.py"),
            ("**/lib?.so", "/x/lib1.so"),
            ("**/a/**/b", "/x/a/a/c/b/d"),
            ("src/**", "src/a.py"),
            ("/p/./src/../lib", "/p//lib/x"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/p/src/**", "/p/src"),
            ("/p/src", "/p/srcs/b.py"),
            ("/p/*.py", "/p/x/a.py"),
            ("/p/*/a.py", "/p/a.py"),
            ("src", "/p/src/a.py"),
            ("**/lib?.so", "/x/lib.so"),
            ("/P/src", "/p/src/a.py"),
            ("**/a/**/b", "/x/a/c"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn what_a_pattern_names_is_known() {
        let named = |pattern: &str, path: &str| Pattern::new(pattern).fits(&parts(path));
        assert_eq!(named("/p/**", "/p/.venv/x.py"), Some(2));
        assert_eq!(named("**/requests", "/v/requests/api.py"), Some(3));
        assert_eq!(named("**/*.py", "/v/x.py"), Some(0));
    }
}
