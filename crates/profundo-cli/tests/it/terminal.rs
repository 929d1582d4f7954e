//! The terminal belongs to the program: Ctrl-C, Ctrl-Z and the colours of our own report.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use profundo_testing::wait_until_or;

use crate::machine::Folder;

/// A terminal, seen from the user's side.
struct Terminal {
    keys: File,
    screen: std::thread::JoinHandle<String>,
    seen: std::sync::Arc<std::sync::Mutex<String>>,
}

/// Starts a command on a terminal of its own.
fn on_terminal(mut command: Command) -> (Child, Terminal) {
    let (mut leader, mut follower) = (0, 0);
    // SAFETY: two descriptors are written to places of ours.
    let opened = unsafe {
        libc::openpty(
            &mut leader,
            &mut follower,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    assert_eq!(opened, 0);
    // SAFETY: both are new, with no other owner.
    let (leader, follower) =
        unsafe { (OwnedFd::from_raw_fd(leader), OwnedFd::from_raw_fd(follower)) };
    let stdio = || Stdio::from(follower.try_clone().unwrap());
    command.stdin(stdio()).stdout(stdio()).stderr(stdio());
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    let child = command.spawn().unwrap();
    drop(command);
    drop(follower);
    let mut screen = File::from(leader.try_clone().unwrap());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let shared = seen.clone();
    let screen = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        // The last one to close the terminal makes this fail.
        while let Ok(count) = screen.read(&mut bytes) {
            if count == 0 {
                break;
            }
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            shared.lock().unwrap().push_str(&text);
        }
        shared.lock().unwrap().clone()
    });
    let keys = File::from(leader);
    (child, Terminal { keys, screen, seen })
}

impl Terminal {
    fn until(&self, text: &str) {
        let seen = || self.seen.lock().unwrap().clone();
        wait_until_or(
            || seen().contains(text),
            || format!("no {text:?} in {:?}", seen()),
        );
    }

    fn all(self) -> String {
        drop(self.keys);
        self.screen.join().unwrap()
    }
}

#[test]
fn control_c_is_the_programs() {
    let folder = Folder::new();
    let script = "trap 'echo caught once' INT; echo ready; sleep 5; echo after; exit 4";
    let command = folder.profundo(&["record", "-o", "x.profundo", "/bin/sh", "-c", script]);
    let (mut child, mut terminal) = on_terminal(command);
    terminal.until("ready");
    terminal.keys.write_all(b"\x03").unwrap();
    let status = child.wait().unwrap();
    let seen = terminal.all();
    assert_eq!(status.code(), Some(4), "{seen:?}");
    assert_eq!(seen.matches("caught once").count(), 1, "{seen:?}");
    assert!(seen.contains("after"), "{seen:?}");
}

#[test]
fn control_c_that_kills_the_program_kills_us_after_the_report() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    let script = "echo ready; while :; do :; done";
    let command = folder.profundo(&["run", "-o", "x.profundo", "/bin/sh", "-c", script]);
    let (mut child, mut terminal) = on_terminal(command);
    terminal.until("ready");
    // It works for a while, so that there is something to report.
    std::thread::sleep(Duration::from_millis(300));
    terminal.keys.write_all(b"\x03").unwrap();
    let status = child.wait().unwrap();
    let seen = terminal.all();
    assert_eq!(status.signal(), Some(libc::SIGINT), "{seen:?}");
    assert!(seen.contains("Quality"), "{seen:?}");
}

#[test]
fn control_z_stops_both_and_they_go_on() {
    for verb in ["record -o x.profundo", "time"] {
        let folder = Folder::new();
        // A shell with job control starts us, as a person would.
        let profundo = env!("CARGO_BIN_EXE_profundo");
        let script = format!(
            "set -m; {profundo} {verb} /bin/sh -c 'echo ready; read line; echo \"[$line]\"; exit 6'; \
             echo \"stopped $?\"; fg; echo \"ended $?\""
        );
        let mut command = Command::new("/bin/bash");
        command.args(["-c", &script]).current_dir(folder.path());
        let (mut child, mut terminal) = on_terminal(command);
        terminal.until("ready");
        terminal.keys.write_all(b"\x1a").unwrap();
        terminal.until("stopped 148");
        terminal.keys.write_all(b"typed\n").unwrap();
        child.wait().unwrap();
        let seen = terminal.all();
        assert!(seen.contains("[typed]"), "{seen:?}");
        assert!(seen.contains("ended 6"), "{seen:?}");
    }
}

#[test]
fn colours_are_for_terminals_without_no_color() {
    let folder = Folder::new();
    let run = |variable: &str, value: &str| {
        let mut command = folder.profundo(&[
            "run",
            "sh",
            "-c",
            "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done",
        ]);
        command.env("TERM", "xterm-256color").env(variable, value);
        let (mut child, terminal) = on_terminal(command);
        child.wait().unwrap();
        terminal.all()
    };
    assert!(run("NO_COLOR", "").contains("\x1b["));
    assert!(!run("NO_COLOR", "1").contains("\x1b["));
    assert!(!run("TERM", "dumb").contains("\x1b["));
    // And none where there is no terminal.
    let outcome = folder.run(&["run", "true"]);
    assert!(!outcome.err.contains('\x1b'), "{outcome:#?}");
}
