//! Making the gaps of a machine: calls that the kernel refuses, settings that are closed, places
//! without room. Each is made for one command alone.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use profundo_testing::{skip, wait_until};

use crate::machine::{Folder, Outcome, c_program};

/// Executes a program to which some calls are refused: `refuse ERRNO CALL[,CALL…] PROGRAM…`.
const REFUSE: &str = r#"
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter filter[40];
    int n = 0;
    if (argc < 4) return 99;
    filter[n++] = (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *call = strtok(argv[2], ","); call && n < 37; call = strtok(0, ",")) {
        filter[n++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) atoi(call), 0, 1);
        filter[n++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned) atoi(argv[1]));
    }
    filter[n++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short) n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 98;
    execvp(argv[3], argv + 3);
    return 97;
}
"#;

/// A folder with the program that has calls refused.
pub struct Refusing {
    pub folder: Folder,
    pub refuse: PathBuf,
}

impl Refusing {
    pub fn new() -> Option<Self> {
        let folder = Folder::new();
        let refuse = c_program(&folder, "refuse", REFUSE)?;
        Some(Self { folder, refuse })
    }

    /// The command, to which these calls are refused.
    pub fn run(&self, error: i32, calls: &[libc::c_long], words: &[&str]) -> Outcome {
        let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
        let mut command = Command::new(&self.refuse);
        command
            .arg(error.to_string())
            .arg(calls.join(","))
            .arg(env!("CARGO_BIN_EXE_profundo"))
            .args(words)
            .current_dir(self.folder.path())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        Outcome::of(command.output().unwrap())
    }
}

/// True if perf events are permitted here: only then does their refusal make a difference.
pub fn has_perf() -> bool {
    let outcome = Folder::new().run(&["doctor", "--json"]);
    let has = outcome
        .out
        .contains("{\"topic\": \"clocks\", \"verdict\": \"works\"");
    if !has {
        skip("perf events are not permitted");
    }
    has
}

/// The output of a shell that has mounts of its own; `None`, and skipped, where that is not
/// permitted.
pub fn with_own_mounts(folder: &Folder, script: &str) -> Option<Outcome> {
    let unshare = |script: &str| {
        Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-ec", script])
            .current_dir(folder.path())
            .env_remove("NO_COLOR")
            .env_remove("TMPDIR")
            .stdin(Stdio::null())
            .output()
    };
    let may = unshare("mount --bind . .").is_ok_and(|output| output.status.success());
    // SAFETY: asks for our user id, and cannot fail.
    if !may || unsafe { libc::geteuid() } != 0 {
        skip("mounts of one's own are not permitted");
        return None;
    }
    Some(Outcome::of(unshare(script).unwrap()))
}

/// A process that goes with its owner.
pub struct Running(Child);

impl Running {
    pub fn of<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, words: &[S]) -> Self {
        let child = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }

    pub fn number(&self) -> u32 {
        self.0.id()
    }

    /// Waits until it has so many threads and executes the program.
    pub fn until_threads(&self, count: usize) {
        wait_until("its threads", || {
            let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id()));
            tasks.is_ok_and(|tasks| tasks.count() >= count)
        });
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
