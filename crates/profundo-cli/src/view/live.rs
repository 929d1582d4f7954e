//! A process that runs, on a page that follows it: `attach` records it, and the page reads what is
//! there so far.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use profundo_console::stderr;
use profundo_launch::process_program;

use super::{PATIENCE, Served, Shown, Warnings, editor, library, listen, show};
use crate::options::View;
use crate::recordings::Destination;

/// How often the beginning of the recording is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Records a process until its page is closed.
pub(super) fn view(options: &View, pid: u32) -> Result<ExitCode> {
    let destination = Destination::new(None, false, &process_program(pid))?;
    let path = destination.path().to_owned();
    let mut recorder = record(pid, &path)?;
    while !has_begun(&path) {
        if let Some(status) = recorder.try_wait()? {
            // It has said why, in the words of `attach`.
            let mut said = Vec::new();
            if let Some(mut stderr) = recorder.stderr.take() {
                stderr.read_to_end(&mut said)?;
            }
            std::io::stderr().write_all(&said)?;
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(ExitCode::from(code.filter(|code| *code != 0).unwrap_or(1)));
        }
        std::thread::sleep(LOOK);
    }
    let served = serve(options, &path);
    end(&mut recorder);
    destination.arrive()?;
    let shown = stderr::path(&path);
    stderr::note(&format!(
        "the recording is {shown}; `profundo view {shown}` shows it again"
    ));
    served.map(|()| ExitCode::SUCCESS)
}

fn serve(options: &View, path: &Path) -> Result<()> {
    let shown = Shown {
        paths: vec![path.to_owned()],
        before: None,
        value: None,
    };
    let (server, _entry) = listen(options, &shown.files())?;
    show(options, &server.url(), Served::Here)?;
    let library = library(&shown, Warnings::Left)?.editor(editor(options));
    server.serve(library, PATIENCE)?;
    Ok(())
}

/// Starts `attach`. Ctrl-C is for us, who end it. If we are killed, the kernel ends it in the same
/// way, and it completes its recording.
fn record(pid: u32, path: &Path) -> Result<Child> {
    let myself = std::env::current_exe().context("cannot find this command")?;
    let us = std::process::id();
    let mut command = Command::new(myself);
    // SAFETY: only two system calls are made between fork and exec.
    unsafe { command.pre_exec(move || end_with(us)) };
    let recorder = command
        .args(["attach", &pid.to_string(), "-o"])
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // The few sentences that it says fit into a pipe.
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    recorder.context("cannot start the recorder")
}

/// Asks the kernel to send SIGINT to this process when its parent has ended.
fn end_with(parent: u32) -> io::Result<()> {
    // SAFETY: it takes numbers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGINT) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The parent may have ended before that.
    // SAFETY: it takes nothing, and cannot fail.
    match unsafe { libc::getppid() } as u32 == parent {
        true => Ok(()),
        false => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Whether the recording can be read.
fn has_begun(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() > 0)
        && profundo_formats::overview_file(path).is_ok()
}

/// Ends the recorder as Ctrl-C would, and waits until the recording is whole.
fn end(recorder: &mut Child) {
    let pid = recorder.id() as i32;
    // SAFETY: the child has not been waited for, so the number is its own.
    unsafe { libc::kill(pid, libc::SIGINT) };
    let _ = recorder.wait();
}
