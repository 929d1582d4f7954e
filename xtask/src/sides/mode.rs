//! The ways in which tests are recorded.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// A way to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Run,
    Memory,
    Exact,
    Wall,
    Trace,
    /// The recorder comes when the tests have begun.
    Late,
}

const NAMES: &[(&str, Mode, &[&str])] = &[
    ("run", Mode::Run, &["record"]),
    ("memory", Mode::Memory, &["record", "--memory"]),
    ("exact", Mode::Exact, &["record", "--memory=exact"]),
    ("wall", Mode::Wall, &["record", "--wall"]),
    ("trace", Mode::Trace, &["trace"]),
    ("late", Mode::Late, &["attach", "--inside"]),
];

impl Mode {
    /// The mode of this name.
    pub fn named(name: &str) -> Result<Self> {
        let found = NAMES.iter().find(|(known, ..)| *known == name);
        let names: Vec<&str> = NAMES.iter().map(|(name, ..)| *name).collect();
        found
            .map(|(_, mode, _)| *mode)
            .with_context(|| format!("there is no mode {name}: they are {}", names.join(", ")))
    }

    fn row(self) -> (&'static str, &'static [&'static str]) {
        let found = NAMES.iter().find(|(_, mode, _)| *mode == self);
        found.map_or(("", &[]), |(name, _, words)| (name, words))
    }

    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Adds to a command the words that come before the program's own.
    pub fn words(self, command: &mut Command, profundo: &Path, recording: &Path) {
        let (_, words) = self.row();
        if self != Self::Late {
            command.arg(profundo).args(words).arg("-o").arg(recording);
            command.arg("--");
            return;
        }
        // The recorder must not be a child of the tests: some of them wait for any child.
        const SCRIPT: &str = r#"(pid=$$; (sleep 0.4; exec "$0" attach --inside "$pid" -o "$1" >"$1.log" 2>&1) &)
shift; exec "$@""#;
        command.args(["bash", "-c", SCRIPT]);
        command.arg(profundo).arg(recording);
    }
}
