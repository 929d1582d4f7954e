//! `ctl`: starts and stops the sampling of a program that another `profundo` records, drops its
//! samples, or has the last minutes of them written.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use profundo_console::{output, stderr};
use profundo_session::{NotKept, SessionHandle, find_session};

use crate::options::{self, Ctl, Request};

/// The time that a recorder has to answer a request. It may have many samples to take in before.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time that a recorder has to write the last minutes, with the names of all functions.
const PATIENCE_WITH_NAMES: Duration = Duration::from_secs(600);

pub fn ctl(options: &Ctl) -> Result<ExitCode> {
    let pid = options.pid;
    if options.file.is_some() && options.request != Request::Keep {
        options::refuse("only `keep` writes a file");
    }
    let session = find_session(pid).ok_or_else(|| why_not(pid))?;
    let is_done = match options.request {
        Request::Start | Request::Stop => {
            let paused = options.request == Request::Stop;
            session.set_paused(paused);
            // A session that ends just now does not change any more.
            session.is_paused() == paused
        }
        Request::Clear => session.clear(PATIENCE),
        Request::Keep => {
            keep(options, &session)?;
            true
        }
    };
    if !is_done {
        bail!("the recording of process {pid} is over, or does not answer");
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the last minutes written, and says where.
fn keep(options: &Ctl, session: &SessionHandle) -> Result<()> {
    let file = match &options.file {
        None => None,
        Some(file) if output::is_stdout(file) => {
            options::refuse("the recorder writes a file: `-` is none")
        }
        Some(file) => {
            output::check(file, output::Kind::Recording, &[], false)?;
            let shown = || format!("cannot find the place of {}", file.display());
            Some(std::path::absolute(file).with_context(shown)?)
        }
    };
    let kept = session.keep(file.as_deref(), PATIENCE_WITH_NAMES);
    let path = kept.map_err(|why| match why {
        NotKept::Whole => anyhow!(
            "the recording of process {} is kept as a whole; start it with `--last 5m` to keep its last minutes",
            options.pid
        ),
        why => anyhow!("nothing was written: {why}"),
    })?;
    stderr::note(&format!(
        "wrote {0}; `profundo report {0}` shows it",
        stderr::path(&path)
    ));
    Ok(())
}

fn why_not(pid: u32) -> anyhow::Error {
    // SAFETY: asks for our user id, and cannot fail.
    let user = unsafe { libc::geteuid() };
    match fs::metadata(format!("/proc/{pid}")) {
        Err(_) => anyhow!("there is no process {pid}"),
        Ok(process) if user != 0 && process.uid() != user => {
            anyhow!("process {pid} is another user's, who alone can control its recording")
        }
        Ok(_) => {
            anyhow!("process {pid} is not being recorded; start it with `profundo record -- CMD`")
        }
    }
}
