//! Other users: programs with rights that we lack, folders and processes that are not ours.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_testing::skip;

use crate::machine::{Folder, Outcome, SPIN_C, c_program};

const NOBODY: u32 = 65534;

/// A folder of the user `nobody`, with a copy of the command in it. The folder of the tests may be
/// closed to others, and mounted without setuid.
pub struct Elsewhere(PathBuf);

impl Elsewhere {
    pub fn new(name: &str) -> Option<Self> {
        // SAFETY: asks for our user id, and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            skip("only root can become somebody else");
            return None;
        }
        if Command::new("setpriv").arg("--version").output().is_err() {
            skip("there is no setpriv");
            return None;
        }
        let name = format!("profundo-cli-{name}-{}", std::process::id());
        let path = Path::new("/var/tmp").join(name);
        fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_profundo"), path.join("profundo")).unwrap();
        Some(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The command's output for the user `nobody`.
    pub fn run(&self, words: &[&str]) -> Outcome {
        let mut command = Command::new("setpriv");
        let nobody = NOBODY.to_string();
        command
            .args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"])
            .arg(self.0.join("profundo"))
            .args(words)
            .env("HOME", &self.0)
            .env_remove("XDG_CACHE_HOME")
            .current_dir(&self.0);
        Outcome::of(command.output().unwrap())
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_program_with_more_rights_runs_and_the_reason_is_said() {
    let folder = Folder::new();
    let (Some(there), Some(program)) =
        (Elsewhere::new("setuid"), c_program(&folder, "spin", SPIN_C))
    else {
        return;
    };
    let file = there.0.join("spin");
    fs::copy(program, &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    let owner = "has the rights of another user (setuid)";
    let outcome = there.run(&["record", "-o", "x.profundo", "./spin", "0.3"]);
    outcome.succeeded();
    if !outcome.err.contains("0 samples in") {
        return skip("the folder gives no file the rights of its owner");
    }
    assert_eq!(outcome.err.matches(owner).count(), 1, "{outcome:#?}");
    assert!(outcome.err.contains("sudo profundo"), "{outcome:#?}");
    assert!(!outcome.err.contains("os error"), "{outcome:#?}");
    let outcome = there.run(&["report", "x.profundo", "--width", "300"]);
    outcome.succeeded();
    assert!(outcome.out.contains(owner), "{outcome:#?}");
    assert!(
        outcome.out.contains("no samples were taken, although")
            && !outcome.out.contains("too little"),
        "{outcome:#?}"
    );
    let outcome = there.run(&["flame", "x.profundo", "-o", "x.svg"]);
    assert!(
        outcome.succeeded().err.contains("no samples"),
        "{outcome:#?}"
    );
}

#[test]
fn what_a_program_with_more_rights_starts_is_said_to_be_missing() {
    let folder = Folder::new();
    let (Some(there), Some(program)) =
        (Elsewhere::new("timed"), c_program(&folder, "spin", SPIN_C))
    else {
        return;
    };
    let file = there.0.join("spin");
    fs::copy(program, &file).unwrap();
    let counts = [
        "\"unwaited_seconds\": ",
        "\"processes\": ",
        "\"still_running\": ",
    ];
    // Most of the work is in programs without those rights, so that the sums mean nothing.
    let script = "cp spin own; ./own 1; ./spin 0.3";
    let words = ["time", "--json", "--", "sh", "-c", script];
    let outcome = there.run(&words);
    if outcome.err.contains(&format!("{}null", counts[0])) {
        return skip("perf events are refused to others than root");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    let outcome = there.run(&words);
    for count in counts {
        assert!(
            outcome.err.contains(&format!("{count}null")),
            "{outcome:#?}"
        );
    }
    assert!(
        outcome.err.contains("or a program that it has started"),
        "{outcome:#?}"
    );
}

#[test]
fn what_belongs_to_another_user_is_said() {
    let Some(there) = Elsewhere::new("foreign") else {
        return;
    };
    let recording = there.0.join("closed.profundo");
    fs::write(&recording, "").unwrap();
    fs::set_permissions(&recording, fs::Permissions::from_mode(0o600)).unwrap();
    there
        .run(&["report", "closed.profundo"])
        .refused(1, "cannot read closed.profundo: permission denied");
    there
        .run(&["ctl", &std::process::id().to_string(), "stop"])
        .refused(1, "is another user's");
    // A folder that only root may write: nothing runs, and the message names the way out.
    let closed = there.0.join("closed");
    fs::create_dir(&closed).unwrap();
    let outcome = there.run(&["record", "-o", "closed/x.profundo", "touch", "ran"]);
    outcome.refused(1, "cannot write closed/x.profundo");
    assert!(outcome.err.contains("-o FILE"), "{outcome:#?}");
    assert!(!there.0.join("ran").exists());
}

/// The kernel shows the reads of an ended process to few users, but its parent knows them after
/// reaping it.
#[test]
fn bytes_are_counted_for_anybody() {
    let Some(there) = Elsewhere::new("bytes") else {
        return;
    };
    let words = [
        "time",
        "--json",
        "-o",
        "t.json",
        "--",
        "head",
        "-c",
        "300000",
        "/dev/zero",
    ];
    let bytes = |outcome: Outcome, folder: &Path| {
        outcome.succeeded();
        let text = fs::read_to_string(folder.join("t.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let run = &json["runs"][0];
        (run["read_bytes"].as_u64(), run["written_bytes"].as_u64())
    };
    let folder = Folder::new();
    let ours = bytes(folder.run(&words), folder.path());
    assert_eq!(ours.1, Some(300_000));
    assert_eq!(bytes(there.run(&words), there.path()), ours);
}
