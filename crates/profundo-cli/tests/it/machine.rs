//! The command, and programs to run it on.

use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use profundo_testing as testing;

/// An empty folder that goes with its owner, and the command in it.
pub struct Folder(testing::Folder);

impl Folder {
    pub fn new() -> Self {
        Self(testing::Folder::within(env!("CARGO_TARGET_TMPDIR"), "cli"))
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        self.write(name, text)
    }

    /// The command in this folder.
    pub fn profundo<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profundo"));
        command
            .args(words)
            .current_dir(self.path())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    /// Runs the command, and returns its outputs and its exit code.
    pub fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Outcome {
        Outcome::of(self.profundo(words).output().unwrap())
    }

    /// The recordings that lie here.
    pub fn recordings(&self) -> Vec<PathBuf> {
        let folders = [self.path().to_owned(), self.join(".profundo")];
        let entries = folders
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok());
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension() == Some(OsStr::new("profundo")))
            .collect();
        found.sort();
        found
    }
}

impl Deref for Folder {
    type Target = testing::Folder;

    fn deref(&self) -> &testing::Folder {
        &self.0
    }
}

/// An output as text.
#[derive(Debug)]
pub struct Outcome {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Outcome {
    pub fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            signal: output.status.signal(),
        }
    }

    /// It failed with this code and one sentence with this in it.
    #[track_caller]
    pub fn refused(&self, code: i32, part: &str) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.out, "", "nothing on the standard output");
        assert!(self.err.starts_with("profundo: "), "{self:#?}");
        assert_eq!(self.err.trim_end().lines().count(), 1, "{self:#?}");
        assert!(self.err.contains(part), "{self:#?}");
        self
    }

    /// It is wrong usage, of which more than one sentence may be said.
    #[track_caller]
    pub fn refused_with_usage(&self, part: &str) -> &Self {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert_eq!(self.out, "", "nothing on the standard output");
        assert!(self.err.starts_with("profundo: "), "{self:#?}");
        assert!(self.err.contains(part), "{self:#?}");
        self
    }

    #[track_caller]
    pub fn succeeded(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}

/// A program of C, compiled in a folder; `None`, and skipped, where there is no compiler.
pub fn c_program(folder: &Folder, name: &str, source: &str) -> Option<PathBuf> {
    testing::compile_text("gcc", folder, &format!("{name}.c"), source, &["-O1", "-g"])
}

/// Some work in two functions of known shares.
pub const SPIN_C: &str = r#"
#include <stdlib.h>
#include <time.h>
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static volatile unsigned sink;
__attribute__((noinline)) void hot(double until) { while (seconds() < until) for (int i = 0; i < 5000; i++) sink += i; }
__attribute__((noinline)) void cool(double until) { while (seconds() < until) for (int i = 0; i < 5000; i++) sink += i; }
int main(int argc, char **argv) {
    double all = argc > 1 ? atof(argv[1]) : 0.4;
    hot(all * 0.75);
    cool(all);
    return 0;
}
"#;

/// Like [`SPIN_C`], in Python.
pub const SPIN_PY: &str = r#"
import sys, time
def hot(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i
def cool(until):
    while time.process_time() < until:
        total = 0
        for i in range(2000):
            total += i * i
def main():
    now = time.process_time()
    all = float(sys.argv[1]) if len(sys.argv) > 1 else 0.4
    hot(now + all * 0.75)
    cool(now + all)
main()
"#;
