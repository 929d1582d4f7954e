//! `ctl`: starts and stops the sampling of a program that another `profundo` records, or drops its
//! samples.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use profundo_session::find_session;

use crate::options::{Ctl, Request};

/// The time that a recorder has to answer a request. It may have many samples to take in before.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn ctl(options: &Ctl) -> Result<ExitCode> {
    let pid = options.pid;
    let session = find_session(pid).ok_or_else(|| why_not(pid))?;
    let is_done = match options.request {
        Request::Start | Request::Stop => {
            let paused = options.request == Request::Stop;
            session.set_paused(paused);
            // A session that ends just now does not change any more.
            session.is_paused() == paused
        }
        Request::Clear => session.clear(PATIENCE),
    };
    if !is_done {
        bail!("the recording of process {pid} is over, or does not answer");
    }
    Ok(ExitCode::SUCCESS)
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
