//! A program on a terminal of its own, with a script of keys, and the text that it shows.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use profundo_testing::wait_for;

use crate::program::wait;

/// The text that a terminal showed, and how its program ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Session {
    pub shown: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// Pairs of texts: when the first one has been shown, the second is typed.
pub type Script<'a> = &'a [(&'a str, &'a str)];

/// Runs a command as the first of a session, in the foreground of a terminal.
pub fn on_terminal(mut command: Command, folder: &Path, script: Script<'_>) -> Session {
    let (master, slave) = open_terminal();
    command
        .current_dir(folder)
        .env("TERM", "dumb")
        .env("PS1", "$ ");
    command.stdin(slave.try_clone().unwrap());
    command.stdout(slave.try_clone().unwrap());
    command.stderr(slave.try_clone().unwrap());
    // SAFETY: only system calls, which are allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    // Only the program has the terminal open now, so reading ends with the program.
    drop(command);
    drop(slave);
    let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
    let mut screen = master.try_clone().unwrap();
    let reader = {
        let shown = Arc::clone(&shown);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                shown.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        })
    };
    type_script(&mut child, master, &shown, script);
    let status = wait(&mut child, "the program on the terminal");
    reader.join().unwrap();
    let bytes = shown.lock().unwrap();
    Session {
        shown: String::from_utf8_lossy(&bytes).into_owned(),
        code: status.code(),
        signal: status.signal(),
    }
}

fn type_script(child: &mut Child, mut keyboard: File, shown: &Mutex<Vec<u8>>, script: Script<'_>) {
    let mut from = 0;
    for (awaited, typed) in script {
        from = wait_for(&format!("{awaited:?}"), || {
            let bytes = shown.lock().unwrap();
            let text = String::from_utf8_lossy(&bytes[from..]).into_owned();
            let found = text.find(awaited).map(|at| from + at + awaited.len());
            if found.is_none() && child.try_wait().unwrap().is_some() {
                panic!("it ended before {awaited:?}: {text}");
            }
            found
        });
        keyboard.write_all(typed.as_bytes()).unwrap();
    }
}

fn open_terminal() -> (File, File) {
    let (mut master, mut slave) = (-1, -1);
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: both descriptors are ours to be written to, and the size is read.
    let done = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut slave,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw const size as *mut libc::winsize,
        )
    };
    assert_eq!(done, 0, "no terminal");
    // SAFETY: they were just opened, with no other owner.
    let [master, slave] = [master, slave].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    for fd in [&master, &slave] {
        // SAFETY: sets a flag of a descriptor of ours.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    (master.into(), slave.into())
}
