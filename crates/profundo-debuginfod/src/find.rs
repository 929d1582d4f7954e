//! elfutils' own client, `debuginfod-find`: it knows the servers, and keeps the files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Answer, failed, last_line};

/// The client.
#[derive(Debug)]
pub struct Find {
    program: PathBuf,
    has_failed: AtomicBool,
}

impl Find {
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            has_failed: AtomicBool::new(false),
        }
    }

    /// The debug information of a file with this build id.
    pub fn debug_file(&self, id: &str) -> Answer {
        /// The client's words for a file that no server has.
        const UNKNOWN: &str = "No such file or directory";
        if self.has_failed.load(Ordering::Relaxed) {
            return Answer::NotAsked;
        }
        let mut command = Command::new(&self.program);
        command.args(["debuginfo", id]).stdin(Stdio::null());
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => return failed(&self.program, &error),
        };
        if output.status.success() {
            let path: Vec<u8> = (output.stdout.into_iter())
                .take_while(|&byte| byte != b'\n')
                .collect();
            return Answer::File(OsString::from_vec(path).into());
        }
        let message = last_line(&output.stderr);
        match message.ends_with(UNKNOWN) {
            true => Answer::Unknown,
            false => {
                self.has_failed.store(true, Ordering::Relaxed);
                Answer::Failed(message)
            }
        }
    }
}
