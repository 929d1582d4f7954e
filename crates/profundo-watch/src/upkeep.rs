//! The upkeep of a store: the segments of each hour are joined, and the oldest hours removed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use profundo_console::stderr;
use profundo_store::{Error, Joining, Limits, Store, join, retain, sweep};

/// The time between two rounds. What one has joined, the next one removes: readers that have listed
/// the files before have read them by then.
const ROUND: Duration = Duration::from_secs(300);

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Upkeep {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upkeep {
    /// Starts the thread.
    pub fn start(store: Box<dyn Store>, limits: Limits) -> Result<Self> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("profundo-upkeep".into());
        let thread = thread.spawn(move || run(&*store, &limits, &stopped));
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread.context("cannot start a thread")?),
        })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(store: &dyn Store, limits: &Limits, stopped: &Receiver<()>) {
    let mut has_failed = false;
    loop {
        match round(store, limits) {
            Ok(()) => has_failed = false,
            Err(error) => {
                if !std::mem::replace(&mut has_failed, true) {
                    let why = stderr::chain(&error);
                    stderr::note(&format!("the store is not tidied up for now: {why}"));
                }
            }
        }
        if stopped.recv_timeout(ROUND) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// A round of upkeep.
pub fn round(store: &dyn Store, limits: &Limits) -> Result<(), Error> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    });
    sweep(store)?;
    join(store, &Joining::at(now))?;
    if limits.bytes.is_some() || limits.age.is_some() {
        retain(store, limits, now)?;
    }
    Ok(())
}
