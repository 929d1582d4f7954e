//! Other users: programs with rights that we lack, folders and processes that are not ours.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{Folder, SPIN_C, Said, c_program, skip};

const NOBODY: u32 = 65534;

/// A folder of nobody's, with a copy of the command in it. The folder of the tests may be closed to
/// others, and mounted without the rights of owners.
pub struct Elsewhere(PathBuf);

impl Elsewhere {
    pub fn new(name: &str) -> Option<Self> {
        // SAFETY: asks who we are, and cannot fail.
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

    /// What the command says to nobody.
    pub fn said(&self, words: &[&str]) -> Said {
        let mut command = Command::new("setpriv");
        let nobody = NOBODY.to_string();
        command
            .args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"])
            .arg(self.0.join("profundo"))
            .args(words)
            .env("HOME", &self.0)
            .env_remove("XDG_CACHE_HOME")
            .current_dir(&self.0);
        Said::of(command.output().unwrap())
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
    let said = there.said(&["record", "-o", "x.profundo", "./spin", "0.3"]);
    said.succeeded();
    if !said.err.contains("0 samples in") {
        return skip("the folder gives no file the rights of its owner");
    }
    assert_eq!(said.err.matches(owner).count(), 1, "{said:#?}");
    assert!(said.err.contains("sudo profundo"), "{said:#?}");
    assert!(!said.err.contains("os error"), "{said:#?}");
    let said = there.said(&["report", "x.profundo", "--width", "300"]);
    said.succeeded();
    assert!(said.out.contains(owner), "{said:#?}");
    assert!(
        said.out.contains("no samples were taken, although") && !said.out.contains("too little"),
        "{said:#?}"
    );
    let said = there.said(&["flame", "x.profundo", "-o", "x.svg"]);
    assert!(said.succeeded().err.contains("no samples"), "{said:#?}");
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
    // Most of the work is in programs without those rights, so that the sums tell nothing.
    let script = "cp spin own; ./own 1; ./spin 0.3";
    let words = ["time", "--json", "--", "sh", "-c", script];
    let told = there.said(&words);
    if told.err.contains(&format!("{}null", counts[0])) {
        return skip("perf events are refused to others than root");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    let told = there.said(&words);
    for count in counts {
        assert!(told.err.contains(&format!("{count}null")), "{told:#?}");
    }
    assert!(
        told.err.contains("or a program that it has started"),
        "{told:#?}"
    );
}

#[test]
fn what_is_somebody_elses_is_said() {
    let Some(there) = Elsewhere::new("foreign") else {
        return;
    };
    let recording = there.0.join("closed.profundo");
    fs::write(&recording, "").unwrap();
    fs::set_permissions(&recording, fs::Permissions::from_mode(0o600)).unwrap();
    there
        .said(&["report", "closed.profundo"])
        .refused(1, "cannot read closed.profundo: permission denied");
    there
        .said(&["ctl", &std::process::id().to_string(), "stop"])
        .refused(1, "is another user's");
    // A folder that only root may write: nothing runs, and the way out is told.
    let closed = there.0.join("closed");
    fs::create_dir(&closed).unwrap();
    let said = there.said(&["record", "-o", "closed/x.profundo", "touch", "ran"]);
    said.refused(1, "cannot write closed/x.profundo");
    assert!(said.err.contains("-o FILE"), "{said:#?}");
    assert!(!there.0.join("ran").exists());
}

/// The kernel tells few what a process has read that has ended; whoever has waited for it knows all the same.
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
    let bytes = |said: Said, folder: &Path| {
        said.succeeded();
        let text = fs::read_to_string(folder.join("t.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let run = &json["runs"][0];
        (run["read_bytes"].as_u64(), run["written_bytes"].as_u64())
    };
    let folder = Folder::new();
    let ours = bytes(folder.said(&words), folder.path());
    assert_eq!(ours.1, Some(300_000));
    assert_eq!(bytes(there.said(&words), there.path()), ours);
}
