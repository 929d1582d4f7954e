//! `attach --inside`: the agent comes into the processes, whose threads sample themselves from then
//! on, and leaves them in the end.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use profundo_console::stderr;
use profundo_inject::{Entry, Refused};
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
        })
    }

    /// Has the agent enter all of them. A child that cannot be entered is named, and left alone.
    pub fn begin(&mut self, recorder: &mut Recorder, agent: &Path) -> Result<()> {
        recorder.expect_agents(&self.pids)?;
        let directory = recorder.directory().to_owned();
        let (first, mut entered) = (self.pids.first().copied(), Vec::new());
        for &pid in &self.pids {
            let result = Entry::of(pid, &self.library, self.filtered)
                .and_then(|mut entry| entry.enter(&directory, agent));
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
    pub fn leave(self, recorder: &mut Recorder) {
        for pid in recorder.release_agents() {
            let left = Entry::of(pid, &self.library, true).and_then(|mut entry| entry.leave());
            match left {
                Ok(()) | Err(Refused::Gone | Refused::Another) => {}
                Err(why) => stderr::note(&format!(
                    "the agent stays in process {pid}, and does nothing there: {why}"
                )),
            }
        }
    }
}
