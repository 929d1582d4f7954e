//! `attach --inside` and `--memory`: the agent comes into the processes, whose threads sample
//! themselves from then on, and leaves them in the end.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use profundo_console::stderr;
use profundo_inject::{Entry, Injection, Refused, part};
use profundo_linux::proc;
use profundo_recorder::Recorder;

use crate::agent_file::{self, For};
use crate::options::{Attached, Processes};

/// The file from which the programs that are executed later load the agent.
pub fn agent(options: &Attached) -> Result<PathBuf> {
    agent_file::file(match options.has_allocations() {
        true => For::Memory,
        false => For::Time,
    })
}

/// The sentence that says what entering means.
pub fn sentence(first: u32, others: &[u32]) -> String {
    let (what, them, they) = match others {
        [] => ("process", "it", "it records"),
        _ => ("processes", "them", "they record"),
    };
    let pids: Vec<String> = std::iter::once(&first)
        .chain(others)
        .map(u32::to_string)
        .collect();
    format!(
        "entering {what} {}: a library is loaded into {them}, and {they} from inside until it leaves",
        pids.join(", ")
    )
}

/// True if a process has ended meanwhile, as children do.
fn has_ended(pid: u32) -> bool {
    proc::stat(pid).is_none_or(|stat| stat.has_ended())
}

/// The processes that the agent comes into.
pub struct Entered {
    library: Cow<'static, [u8]>,
    pids: Vec<u32>,
    filtered: bool,
    /// The option that enters, and the parts that begin in interpreters.
    option: &'static str,
    parts: u32,
}

/// The time for an interpreter to let us in.
const PATIENCE: Duration = Duration::from_secs(3);

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
            option: match options.has_allocations() {
                true => "--memory",
                false => "--inside",
            },
            parts: match options.has_allocations() {
                true => part::MEMORY,
                false => 0,
            },
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
                Err(_) if Some(pid) != first && has_ended(pid) => {}
                Err(why) if Some(pid) != first => {
                    stderr::note(&format!("process {pid} is not recorded: {why}"));
                }
                Err(why) => {
                    self.pids = entered;
                    let option = self.option;
                    return Err(anyhow!(
                        "process {pid} cannot be entered: {why}; without {option} it is sampled from outside"
                    ));
                }
            }
        }
        self.pids = entered;
        Ok(())
    }

    /// Has the agent record allocations, if those are wanted: in native code, and in interpreters,
    /// whose locks it needs for that. The recorder has answered it before.
    pub fn follow_memory(&self) {
        if self.parts & part::MEMORY == 0 {
            return;
        }
        for &pid in &self.pids {
            let followed =
                Entry::of(pid, &self.library, true).and_then(|mut entry| entry.follow_memory());
            match followed {
                Ok(()) => {}
                Err(Refused::Gone | Refused::Another) => continue,
                Err(why) => {
                    let what = "the allocations of process";
                    stderr::note(&format!("{what} {pid} are not recorded: {why}"));
                    continue;
                }
            }
            let begun = self.with_interpreter(pid, |injection| {
                injection.begin_parts(part::MEMORY, PATIENCE)
            });
            if let Some(Err(why)) = begun {
                stderr::note(&format!(
                    "what Python allocates in process {pid} is seen only where it calls the C library: {why}"
                ));
            }
        }
    }

    /// Has it end in a process's interpreter.
    fn end_parts(&self, pid: u32) {
        let ended =
            self.with_interpreter(pid, |injection| injection.end_parts(self.parts, PATIENCE));
        let stay = match ended {
            Some(Ok(0) | Err(Refused::Gone | Refused::Another)) | None => return,
            Some(Err(_)) if has_ended(pid) => return,
            Some(Ok(_)) => "another tool has put itself in front of them".to_owned(),
            Some(Err(why)) => why.to_string(),
        };
        stderr::note(&format!(
            "Profundo's allocators stay in the Python of process {pid}, and only pass calls on: {stay}"
        ));
    }

    /// Calls `f` with a process's interpreter. `None`: it has none, or nothing is wanted there.
    fn with_interpreter<T>(
        &self,
        pid: u32,
        f: impl FnOnce(&mut Injection<'_>) -> Result<T, Refused>,
    ) -> Option<Result<T, Refused>> {
        if self.parts == 0 {
            return None;
        }
        match Injection::of(pid, &self.library, true) {
            Ok(mut injection) => Some(f(&mut injection)),
            Err(Refused::NoPython) => None,
            Err(why) => Some(Err(why)),
        }
    }

    /// Has the agent leave them, and the children that they have forked meanwhile.
    pub fn leave(self, recorder: &mut Recorder) {
        for pid in recorder.release_agents() {
            self.end_parts(pid);
            let left = Entry::of(pid, &self.library, true).and_then(|mut entry| entry.leave());
            match left {
                Ok(()) | Err(Refused::Gone | Refused::Another) => {}
                Err(_) if has_ended(pid) => {}
                Err(why) => stderr::note(&format!(
                    "the agent stays in process {pid}, and does nothing there: {why}"
                )),
            }
        }
    }
}
