//! `attach --inside`: the agent comes into the processes, whose threads sample themselves from then
//! on, and leaves them in the end.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use profundo_console::stderr;
use profundo_inject::{Entry, Refused, Staying};
use profundo_linux::proc;
use profundo_recorder::Recorder;

use crate::agent_file::{self, For};
use crate::options::{Attached, Processes};

/// The file from which the programs that are executed later load the agent.
pub fn agent() -> Result<PathBuf> {
    agent_file::file(For::Time)
}

/// The processes that the agent comes into.
pub struct Entered {
    library: Cow<'static, [u8]>,
    pids: Vec<u32>,
    filtered: bool,
    /// The longest time for which a thread was stopped.
    longest: Duration,
}

impl Entered {
    /// The processes that were named, and their descendants if those are followed.
    pub fn find(processes: &Processes, options: &Attached) -> Result<Self> {
        let (first, others) = processes.first_and_others();
        let mut pids = vec![first];
        pids.extend(others);
        if !options.no_children {
            let recorder = std::process::id();
            for pid in pids.clone() {
                let children = proc::descendants(pid).into_iter().map(|(child, _)| child);
                pids.extend(children.filter(|&child| child != recorder));
            }
        }
        let mut known = Vec::new();
        pids.retain(|pid| {
            let is_new = !known.contains(pid);
            known.push(*pid);
            is_new
        });
        Ok(Self {
            library: agent_file::library()?,
            pids,
            filtered: options.filtered,
            longest: Duration::ZERO,
        })
    }

    /// Has the agent enter all of them. A child that cannot be entered is named, and left alone.
    pub fn begin(&mut self, recorder: &mut Recorder, agent: &Path) -> Result<()> {
        recorder.expect_agents(&self.pids)?;
        let directory = recorder.directory().to_owned();
        let (first, mut entered) = (self.pids.first().copied(), Vec::new());
        for &pid in &self.pids {
            let result = Entry::of(pid, &self.library, self.filtered).and_then(|mut entry| {
                let entered = entry.enter(&directory, agent);
                self.longest = self.longest.max(entry.longest_pause());
                entered
            });
            match result {
                Ok(()) => entered.push(pid),
                Err(Refused::Gone) if Some(pid) != first => {}
                Err(why) if Some(pid) != first => {
                    stderr::note(&format!("process {pid} is not recorded: {why}"));
                }
                Err(why) => {
                    self.pids = entered;
                    return Err(anyhow!(
                        "process {pid} cannot be entered: {why}; without --inside it is sampled from outside"
                    ));
                }
            }
        }
        self.pids = entered;
        Ok(())
    }

    /// Has the agent leave them, and the children that they have forked meanwhile.
    pub fn leave(mut self, recorder: &mut Recorder) {
        for pid in recorder.release_agents() {
            let mut pause = Duration::ZERO;
            let left = Entry::of(pid, &self.library, true).and_then(|mut entry| {
                let left = entry.leave();
                pause = entry.longest_pause();
                left
            });
            self.longest = self.longest.max(pause);
            match left {
                Ok(staying) => {
                    if let Some(text) = what_stays(staying) {
                        stderr::note(&format!("the agent has left process {pid}, but {text}"));
                    }
                }
                Err(Refused::Gone | Refused::Another) => {}
                Err(why) => stderr::note(&format!(
                    "the agent stays in process {pid}, and does nothing there: {why}"
                )),
            }
        }
        stderr::note(&format!(
            "a thread of the program was stopped for {:.1} ms at most, when the agent came or left",
            self.longest.as_secs_f64() * 1000.0
        ));
    }
}

/// What stays in a program, in words. `None`: nothing does.
fn what_stays(staying: Staying) -> Option<String> {
    let mut parts = Vec::new();
    let signals = [
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGURG, "SIGURG"),
        (libc::SIGSTKFLT, "SIGSTKFLT"),
    ];
    for (signal, name) in signals {
        if staying.handlers & 1 << (signal - 1) != 0 {
            parts.push(format!(
                "its handler of {name} stays, for one that still waits for a thread"
            ));
        }
    }
    if staying.masks > 0 {
        parts.push(format!(
            "{} of its threads may let SIGTRAP, SIGURG and SIGSTKFLT in, although the program blocks them",
            staying.masks
        ));
    }
    if staying.memory {
        parts.push("its memory stays, because a thread is still in a handler".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
