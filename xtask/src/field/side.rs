//! One run of an entry's script, without or with the profiler, and the comparison of both.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, process};

use anyhow::{Context, Result};

use super::entry::Entry;
use super::shape;

/// Longer than any script takes on any machine.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The user and group `nobody`.
const NOBODY: u32 = 65534;

/// Helper functions for scripts.
const HELPERS: &str = r#"set -u
until_true() {
    local i
    for i in $(seq 600); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done
    echo "waited in vain for: $*" >&2
    exit 99
}
"#;

/// The reason for a failure, in a few lines.
#[derive(Debug)]
pub struct Failure(pub String);

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The folder of the runs, and the profiler.
#[derive(Debug)]
pub struct Field {
    profundo: PathBuf,
    root: PathBuf,
    folder: PathBuf,
}

impl Drop for Field {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The output of a run, and its exit status.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    stdout: String,
    stderr: String,
    code: Option<i32>,
    signal: Option<i32>,
}

impl Field {
    pub fn new(profundo: &Path, root: &Path) -> Result<Self> {
        // Short: the path of a socket may have no more than a hundred characters.
        let folder = env::temp_dir().join(format!("field-{}", process::id()));
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        let profundo = fs::canonicalize(profundo).context("there is no profundo")?;
        let root = root.to_owned();
        Ok(Self {
            profundo,
            root,
            folder,
        })
    }

    /// The folder of an entry, empty.
    pub fn place(&self, entry: &Entry) -> Result<PathBuf> {
        let place = self.folder.join(&entry.name);
        fs::create_dir_all(&place)?;
        if self.is_nobodys(entry) {
            chown(&place, Some(NOBODY), Some(NOBODY))?;
        }
        Ok(place)
    }

    /// True if we are root and the entry must not be.
    fn is_nobodys(&self, entry: &Entry) -> bool {
        let user = fs::metadata(&self.folder).map(|facts| facts.uid());
        entry.is_unprivileged && user.is_ok_and(|user| user == 0)
    }

    /// Runs the lines that come once before both sides.
    pub fn prepare(&self, entry: &Entry, place: &Path) -> Result<(), Failure> {
        if entry.prepare.is_empty() {
            return Ok(());
        }
        let script = format!("set -e\n{}", entry.prepare);
        let outcome = self.run(entry, &script, place, place, "prepare", "")?;
        if outcome.code == Some(0) {
            return Ok(());
        }
        let why = outcome.stderr.lines().next().unwrap_or("no reason given");
        Err(Failure(format!("it cannot be prepared: {why}")))
    }

    /// Runs both sides, one after the other, and compares them.
    pub fn compare(&self, entry: &Entry, mode: &str, place: &Path) -> Result<(), Failure> {
        let recording = place.join("recording.profundo");
        let _ = fs::remove_file(&recording);
        let (profundo, file) = (self.profundo.display(), recording.display());
        let (without, profundo) = match entry.attaches {
            true => ("true", format!("{profundo} attach -o {file} {mode}")),
            false => ("", format!("{profundo} record -o {file} {mode} --")),
        };
        let plain = self.side(entry, place, without)?;
        let recorded = self.side(entry, place, &profundo)?;
        if plain != recorded {
            return Err(Failure(difference(&plain, &recorded)));
        }
        shape::check(&self.profundo, &recording, &entry.shape)
    }

    fn side(&self, entry: &Entry, place: &Path, profiler: &str) -> Result<Outcome, Failure> {
        // The same for both, so that output about the folder is the same.
        let work = place.join("work");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work)?;
        if self.is_nobodys(entry) {
            chown(&work, Some(NOBODY), Some(NOBODY))?;
        }
        let mut outcome = self.run(entry, &entry.script, place, &work, "side", profiler)?;
        let is_ours = |line: &&str| !line.starts_with("profundo: ");
        let lines: Vec<&str> = outcome.stderr.lines().filter(is_ours).collect();
        outcome.stderr = lines.join("\n");
        if let Some(even) = entry.even {
            outcome.stdout = even(&outcome.stdout);
            outcome.stderr = even(&outcome.stderr);
        }
        Ok(outcome)
    }

    fn run(
        &self,
        entry: &Entry,
        script: &str,
        here: &Path,
        work: &Path,
        name: &str,
        profiler: &str,
    ) -> Result<Outcome, Failure> {
        let mut command = match self.is_nobodys(entry) {
            false => Command::new("bash"),
            true => {
                let mut command = Command::new("setpriv");
                let user = NOBODY.to_string();
                command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "bash"]);
                command
            }
        };
        // Into files: a daemon that outlives its script would keep a pipe open.
        let out = here.join(format!("{name}.out"));
        let err = here.join(format!("{name}.err"));
        let mut child = command
            .arg("-c")
            .arg(format!("{HELPERS}{script}"))
            .current_dir(work)
            .env("HERE", here)
            .env("HOME", here)
            .env("ROOT", &self.root)
            .env("P", profiler)
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .process_group(0)
            .spawn()?;
        let status = wait(&mut child)?;
        let text = |path: &Path| -> std::io::Result<String> {
            Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
        };
        Ok(Outcome {
            stdout: text(&out)?,
            stderr: text(&err)?,
            code: status.code(),
            signal: status.signal(),
        })
    }
}

/// Waits for a script. One that hangs is killed with all its processes.
fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > PATIENCE {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = child.wait();
            let seconds = PATIENCE.as_secs();
            return Err(Failure(format!("it did not end within {seconds} s")));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The first difference.
fn difference(plain: &Outcome, recorded: &Outcome) -> String {
    let ends = |outcome: &Outcome| (outcome.code, outcome.signal);
    if ends(plain) != ends(recorded) {
        let said = recorded.stderr.lines().next().unwrap_or("");
        return format!(
            "it ends with (code, signal) {:?}, and with the profiler {:?}: {said}",
            ends(plain),
            ends(recorded)
        );
    }
    for (name, a, b) in [
        ("output", &plain.stdout, &recorded.stdout),
        ("stderr", &plain.stderr, &recorded.stderr),
    ] {
        let (mut left, mut right) = (a.lines(), b.lines());
        loop {
            match (left.next(), right.next()) {
                (None, None) => break,
                (a, b) if a == b => {}
                (a, b) => {
                    return format!("{name}: {a:?}, and with the profiler {b:?}");
                }
            }
        }
    }
    "outputs differ in the ends of their lines".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stdout: &str, code: i32) -> Outcome {
        Outcome {
            stdout: stdout.to_owned(),
            stderr: String::new(),
            code: Some(code),
            signal: None,
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let named = difference(&outcome("a\nb\n", 0), &outcome("a\nc\n", 0));
        assert_eq!(
            named,
            "output: Some(\"b\"), and with the profiler Some(\"c\")"
        );
        let named = difference(&outcome("a", 0), &outcome("b", 1));
        assert!(named.contains("(Some(0), None)"), "{named}");
    }
}
