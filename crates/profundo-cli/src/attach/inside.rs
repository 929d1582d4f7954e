//! `attach --inside`: the agent comes into the processes, whose threads sample themselves from then
//! on, and leaves them in the end.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use profundo_console::stderr;
use profundo_inject::{Entry, Injection, Refused, part};
use profundo_linux::proc;
use profundo_recorder::Recorder;

use crate::agent_file::{self, For};
use crate::options::{Attached, Processes};

/// The file from which the programs that are executed later load the agent.
pub fn agent(counts: bool) -> Result<PathBuf> {
    agent_file::file(match counts {
        true => For::Calls,
        false => For::Time,
    })
}

/// The processes that the agent comes into.
pub struct Entered {
    library: Cow<'static, [u8]>,
    pids: Vec<u32>,
    filtered: bool,
    /// True if calls or lines are counted.
    counts: bool,
}

/// The longest time until an interpreter lets us in.
const PATIENCE: Duration = Duration::from_secs(10);

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
            counts: options.counts.trace.is_some(),
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
                    let instead = match self.counts {
                        true => "without --trace",
                        false => "without --inside",
                    };
                    return Err(anyhow!(
                        "process {pid} cannot be entered: {why}; {instead} it is sampled from outside"
                    ));
                }
            }
        }
        self.pids = entered;
        Ok(())
    }

    /// Has the interpreters in them count. Processes without one are recorded all the same, because
    /// they may begin one, but there must be one.
    pub fn count(&self) -> Result<()> {
        let mut counted = 0;
        let mut first = None;
        for &pid in &self.pids {
            let begun = Injection::of(pid, &self.library, true)
                .and_then(|mut injection| injection.begin_parts(part::CALLS, PATIENCE));
            match begun {
                Ok(()) => counted += 1,
                Err(Refused::Gone | Refused::Another | Refused::NoPython) if counted > 0 => {}
                Err(why) => _ = first.get_or_insert((pid, why)),
            }
        }
        match first {
            Some((pid, why)) if counted == 0 => bail!(
                "nothing is counted in process {pid}: {}; without --trace it is sampled",
                why_not(&why)
            ),
            Some((pid, why)) => stderr::note(&format!(
                "nothing is counted in process {pid}: {}",
                why_not(&why)
            )),
            None => {}
        }
        Ok(())
    }

    /// Has the agent leave them, and the children that they have forked meanwhile.
    pub fn leave(self, recorder: &mut Recorder) {
        for pid in recorder.release_agents() {
            if self.counts {
                self.end_counts(pid);
            }
            let left = Entry::of(pid, &self.library, true).and_then(|mut entry| entry.leave());
            match left {
                Ok(()) | Err(Refused::Gone | Refused::Another) => {}
                Err(why) => stderr::note(&format!(
                    "the agent stays in process {pid}, and does nothing there: {why}"
                )),
            }
        }
    }

    /// Has an interpreter count no more. Without an answer nothing is counted any more either, but
    /// the interpreter goes on reporting.
    fn end_counts(&self, pid: u32) {
        let ended = Injection::of(pid, &self.library, true)
            .and_then(|mut injection| injection.end_parts(part::CALLS, PATIENCE));
        match ended {
            Ok(_) | Err(Refused::Gone | Refused::Another | Refused::NoPython) => {}
            Err(why) => stderr::note(&format!(
                "process {pid} goes on reporting its calls, to nobody, until the next --trace: {}",
                why_not(&why)
            )),
        }
    }
}

/// The reason in words. There is no `--timeout` here.
fn why_not(why: &Refused) -> String {
    match why {
        Refused::Busy => format!(
            "its interpreter let nobody in within {} seconds: one of its threads keeps the lock (GIL), as an extension does \
             that never gives it back; try once more",
            PATIENCE.as_secs()
        ),
        other => other.to_string(),
    }
}
