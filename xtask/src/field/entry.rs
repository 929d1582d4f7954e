//! The parts of an entry: shell lines that prepare it, shell lines that run it, and the expected
//! shape of the recording.

use std::env;
use std::path::Path;

use super::shape::Shape;

/// Makes two outputs comparable: replaces what varies between runs.
pub type Even = fn(&str) -> String;

/// A program that is run without and with the profiler.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name on the command line.
    pub name: String,
    /// Commands that must be in `PATH`, or paths that must exist.
    pub needs: Vec<String>,
    /// Lines of bash that are run once, in an empty folder. An entry that cannot be prepared is
    /// skipped with the first line of standard error.
    pub prepare: String,
    /// Lines of bash that are run for both sides, in a folder of their own beside `$HERE`, the
    /// folder of `prepare`. `$P` before the program under test is the profiler, or nothing.
    /// `until_true COMMAND…` waits for a server. Output and exit code are compared. In an entry
    /// that attaches, `$P PID` attaches to a process, or does nothing.
    pub script: String,
    /// The profiler attaches to running programs.
    pub attaches: bool,
    /// Options of `profundo record`, or of `attach`. The entry is run once for each.
    pub modes: Vec<String>,
    /// Root runs the entry as the user `nobody`.
    pub is_unprivileged: bool,
    /// Applied to the output of both sides.
    pub even: Option<Even>,
    /// The expected shape of each recording.
    pub shape: Vec<Shape>,
}

impl Entry {
    /// An entry that is run in the default mode.
    pub fn new(name: impl Into<String>, script: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            needs: Vec::new(),
            prepare: String::new(),
            script: script.into(),
            attaches: false,
            modes: vec![String::new()],
            is_unprivileged: false,
            even: None,
            shape: Vec::new(),
        }
    }

    /// Adds required commands and paths.
    pub fn needs(mut self, needs: &[&str]) -> Self {
        self.needs.extend(needs.iter().map(|&need| need.to_owned()));
        self
    }

    /// Sets the lines that are run once before.
    pub fn prepare(mut self, lines: impl Into<String>) -> Self {
        self.prepare = lines.into();
        self
    }

    /// Sets the options of `record` for each run.
    pub fn modes(mut self, modes: &[&str]) -> Self {
        self.modes = modes.iter().map(|&mode| mode.to_owned()).collect();
        self
    }

    /// Makes the profiler attach to what the script has started.
    pub fn attaches(mut self) -> Self {
        self.attaches = true;
        self
    }

    /// Root runs it as `nobody`.
    pub fn unprivileged(mut self) -> Self {
        self.is_unprivileged = true;
        self
    }

    /// Sets the change to both outputs before they are compared.
    pub fn even(mut self, even: Even) -> Self {
        self.even = Some(even);
        self
    }

    /// Adds an expected shape of the recording.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape.push(shape);
        self
    }

    /// The first requirement that this machine lacks.
    pub fn missing(&self) -> Option<&str> {
        let found = |name: &str| match name.contains('/') {
            true => Path::new(name).exists(),
            false => env::var_os("PATH").is_some_and(|list| {
                env::split_paths(&list).any(|folder| folder.join(name).is_file())
            }),
        };
        let mut needs = self.needs.iter().map(String::as_str);
        needs.find(|name| !found(name))
    }
}

/// Replaces each run of digits, and of hexadecimal digits after `0x`, by `N`.
pub fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_hex = rest
            .strip_prefix("0x")
            .map(|digits| digits.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
            .filter(|after| after.len() + 2 < rest.len());
        let after = after_hex.unwrap_or(rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        if after.len() < rest.len() {
            out.push('N');
            rest = after;
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or("");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_evened_out() {
        assert_eq!(
            without_numbers("==12==a at 0x60f0c, 3.5 s"),
            "==N==a at N, N.N s"
        );
        assert_eq!(without_numbers("0x and é"), "Nx and é");
    }

    #[test]
    fn what_is_missing_is_named() {
        let entry = Entry::new("a", "$P true").needs(&["sh", "/no/such/file"]);
        assert_eq!(entry.missing(), Some("/no/such/file"));
        assert_eq!(
            Entry::new("a", "$P true").needs(&["sh", "/"]).missing(),
            None
        );
    }
}
