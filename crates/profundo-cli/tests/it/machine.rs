//! What the tests run: the command, and programs that every machine has.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An empty folder that goes with its owner.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cli-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The command in this folder.
    pub fn profundo<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profundo"));
        command
            .args(words)
            .current_dir(&self.0)
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    /// What the command says.
    pub fn said<S: AsRef<OsStr>>(&self, words: &[S]) -> Said {
        Said::of(self.profundo(words).output().unwrap())
    }

    /// The recordings that lie here.
    pub fn recordings(&self) -> Vec<PathBuf> {
        let folders = [self.0.clone(), self.0.join(".profundo")];
        let entries = folders.iter().filter_map(|it| fs::read_dir(it).ok());
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension() == Some(OsStr::new("profundo")))
            .collect();
        found.sort();
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An output as text.
#[derive(Debug)]
pub struct Said {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Said {
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

/// A test that this machine cannot run.
pub fn skip(why: &str) {
    if let Some(path) = std::env::var_os("PROFUNDO_SKIP_FILE") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.unwrap(), "skipped: {why}").unwrap();
    }
}

/// The Python of this machine, where there is one; every test asks for 3.12 first.
pub fn python() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let versions = Path::new(&home).join(".pyenv/versions");
    let mut found: Vec<PathBuf> = fs::read_dir(versions)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("3.12."))
        .map(|entry| entry.path().join("bin/python3"))
        .collect();
    found.push("/usr/bin/python3".into());
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        skip("there is no Python");
    }
    found
}

/// A program of C, compiled in a folder; `None`, and skipped, where there is no compiler.
pub fn c_program(folder: &Folder, name: &str, source: &str) -> Option<PathBuf> {
    let file = folder.file(&format!("{name}.c"), source);
    let program = folder.path().join(name);
    let compiled = Command::new("gcc")
        .args(["-O1", "-g", "-o"])
        .arg(&program)
        .arg(&file)
        .status();
    if compiled.is_ok_and(|status| status.success()) {
        Some(program)
    } else {
        skip("there is no C compiler");
        None
    }
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

/// The same in Python.
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
