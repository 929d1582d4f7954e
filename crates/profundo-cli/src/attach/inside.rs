//! `attach --inside` and `--memory`: the agent comes into the processes, whose threads sample
//! themselves from then on, and leaves them in the end.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use profundo_console::stderr;
use profundo_inject::{Entry, Injection, Refused, Staying, part};
use profundo_linux::proc;
use profundo_recorder::Recorder;
use profundo_wire::recording::Event;

use crate::agent_file::{self, For};
use crate::options::{Attached, Processes};

/// The file from which the programs that are executed later load the agent.
pub fn agent(options: &Attached) -> Result<PathBuf> {
    let counts = options.counts.trace.is_some();
    agent_file::file(match options.has_allocations() {
        true => For::Memory,
        false if counts => For::Calls,
        false => For::Time,
    })
}

/// True if a process has ended meanwhile, as children do.
fn has_ended(pid: u32) -> bool {
    proc::stat(pid).is_none_or(|stat| stat.has_ended())
}

/// The processes that the agent comes into.
pub struct Entered {
    library: Cow<'static, [u8]>,
    pids: Vec<u32>,
    /// Those of the command line, the main one first.
    named: Vec<u32>,
    filtered: bool,
    /// The option that enters, and the parts that begin in interpreters.
    option: &'static str,
    parts: u32,
    /// The longest time for which a thread was stopped.
    longest: Duration,
}

/// The longest time for which a thread may be stopped without a word.
const MOST_PAUSE: Duration = Duration::from_millis(10);

/// The longest time until an interpreter lets us in.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest time where not much depends on it.
const SOON: Duration = Duration::from_secs(1);

impl Entered {
    /// The processes that were named, and their descendants if those are followed.
    pub fn find(processes: &Processes, options: &Attached) -> Result<Self> {
        let (first, others) = processes.first_and_others();
        let mut pids = vec![first];
        pids.extend(others);
        let named = pids.clone();
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
            named,
            filtered: options.filtered,
            option: match options.has_allocations() {
                true => "--memory",
                false if options.counts.trace.is_some() => "--trace",
                false => "--inside",
            },
            parts: part::SPANS
                | match options.has_allocations() {
                    true => part::MEMORY,
                    false if options.counts.trace.is_some() => part::CALLS,
                    false => 0,
                },
            longest: Duration::ZERO,
        })
    }

    /// Begins to sample those from outside that no agent is to come into.
    pub fn leave_some_outside(
        &mut self,
        recorder: &mut Recorder,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Result<()> {
        recorder.expect_agents(&self.pids)?;
        let lost = match self.option {
            "--memory" => ", and its allocations are not recorded",
            _ => "",
        };
        self.pids.retain(|&pid| {
            let is_outside = recorder.leave_outside(pid, sink);
            if is_outside {
                stderr::note(&format!(
                    "process {pid} is not entered, because Go has stacks and signals of its own: it is sampled from outside{lost}"
                ));
            }
            !is_outside
        });
        Ok(())
    }

    /// The sentence that says what entering means. `None`: no process that was named is entered.
    pub fn sentence(&self) -> Option<String> {
        let is_entered = |pid: &&u32| self.pids.contains(pid);
        let pids: Vec<String> = (self.named.iter().filter(is_entered))
            .map(u32::to_string)
            .collect();
        let (what, them, they) = match pids.len() {
            0 => return None,
            1 => ("process", "it", "it records"),
            _ => ("processes", "them", "they record"),
        };
        Some(format!(
            "entering {what} {}: a library is loaded into {them}, and {they} from inside until it leaves",
            pids.join(", ")
        ))
    }

    /// Has the agent enter all of them. A child that cannot be entered is named, and left alone.
    pub fn begin(&mut self, recorder: &mut Recorder, agent: &Path) -> Result<()> {
        let directory = recorder.directory_for_programs().to_owned();
        let (main, mut entered) = (self.named.first().copied(), Vec::new());
        for &pid in &self.pids {
            let reached = match recorder.is_reached_by(pid) || Some(pid) == main {
                true => Entry::of(pid, &self.library, self.filtered),
                false => Err(Refused::Elsewhere),
            };
            let result = reached.and_then(|mut entry| {
                let entered = entry.enter(&directory, agent);
                self.longest = self.longest.max(entry.longest_pause());
                entered
            });
            match result {
                Ok(()) => entered.push(pid),
                Err(_) if Some(pid) != main && has_ended(pid) => {}
                Err(why) if Some(pid) != main => {
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

    /// Has the interpreters in them count. Processes without one are recorded all the same, because
    /// they may begin one, but there must be one.
    pub fn count(&self) -> Result<()> {
        let mut counted = 0;
        let mut first = None;
        for &pid in &self.pids {
            let parts = part::CALLS | part::SPANS;
            let begun = Injection::of(pid, &self.library, self.filtered)
                .and_then(|mut injection| injection.begin_parts(parts, PATIENCE));
            match begun {
                Ok(()) => counted += 1,
                Err(Refused::Gone | Refused::Another | Refused::NoPython) if counted > 0 => {}
                Err(why) => _ = first.get_or_insert((pid, why)),
            }
        }
        if let (Some(pid), true) = (self.named.first(), self.pids.is_empty()) {
            bail!(
                "nothing is counted in process {pid}: {}; without --trace it is sampled",
                why_not(&Refused::NoPython)
            );
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

    /// Has the agent record allocations, if those are wanted: in native code, and in interpreters,
    /// whose locks it needs for that. The recorder has answered it before.
    pub fn follow_memory(&self) {
        if self.parts & part::MEMORY == 0 {
            return;
        }
        for &pid in &self.pids {
            let followed = Entry::of(pid, &self.library, self.filtered)
                .and_then(|mut entry| entry.follow_memory());
            match followed {
                Ok(()) => {}
                Err(Refused::Gone | Refused::Another) => continue,
                Err(_) if has_ended(pid) => continue,
                Err(why) => {
                    let what = "the allocations of process";
                    stderr::note(&format!("{what} {pid} are not recorded: {why}"));
                    continue;
                }
            }
            let begun = self.with_interpreter(pid, |injection| {
                injection.begin_parts(part::MEMORY | part::SPANS, PATIENCE)
            });
            if let Some(Err(why)) = begun {
                stderr::note(&format!(
                    "what Python allocates in process {pid} is seen only where it calls the C library: {why}"
                ));
            }
        }
    }

    /// Has the spans of Python programs recorded, where no other part brings the agent into the
    /// interpreter. An interpreter that does not let us in soon goes without.
    pub fn follow_spans(&self) {
        if self.parts != part::SPANS {
            return;
        }
        for &pid in &self.pids {
            // The program is recorded all the same.
            let _ =
                self.with_interpreter(pid, |injection| injection.begin_parts(part::SPANS, SOON));
        }
    }

    /// Has allocations no longer recorded in a process's interpreter.
    fn end_memory(&self, pid: u32) {
        let ended =
            self.with_interpreter(pid, |injection| injection.end_parts(part::MEMORY, PATIENCE));
        let stay = match ended {
            // Said when the agent leaves.
            Some(Err(Refused::Filtered)) => return,
            Some(Ok(0) | Err(Refused::Gone | Refused::Another)) | None => return,
            Some(Err(_)) if has_ended(pid) => return,
            Some(Ok(_)) => "another tool has put itself in front of them".to_owned(),
            Some(Err(why)) => why.to_string(),
        };
        stderr::note(&format!(
            "Profundo's allocators stay in the Python of process {pid}, and only pass calls on: {stay}"
        ));
    }

    /// Calls `f` with a process's interpreter. `None`: it has none.
    fn with_interpreter<T>(
        &self,
        pid: u32,
        f: impl FnOnce(&mut Injection<'_>) -> Result<T, Refused>,
    ) -> Option<Result<T, Refused>> {
        match Injection::of(pid, &self.library, self.filtered) {
            Ok(mut injection) => Some(f(&mut injection)),
            Err(Refused::NoPython) => None,
            Err(why) => Some(Err(why)),
        }
    }

    /// Has the agent leave them, and the children that they have forked meanwhile.
    pub fn leave(mut self, recorder: &mut Recorder, sink: &mut dyn FnMut(Event<'_>)) {
        for pid in recorder.release_agents(sink) {
            if self.parts & part::CALLS != 0 {
                self.end_counts(pid);
            }
            if self.parts & part::MEMORY != 0 {
                self.end_memory(pid);
            }
            let mut pause = Duration::ZERO;
            let left = Entry::of(pid, &self.library, self.filtered).and_then(|mut entry| {
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
                Err(_) if has_ended(pid) => {}
                Err(Refused::Filtered) => stderr::note(&format!(
                    "process {pid} restricts its own system calls (seccomp) since it was entered: the agent has left it \
                     by itself, and its memory stays"
                )),
                Err(why) => stderr::note(&format!(
                    "the agent stays in process {pid}, and does nothing there: {why}"
                )),
            }
        }
        if self.longest > MOST_PAUSE {
            stderr::note(&format!(
                "a thread of the program was stopped for {:.0} ms, when the agent came or left",
                self.longest.as_secs_f64() * 1000.0
            ));
        }
    }

    /// Has an interpreter count no more. Without an answer nothing is counted any more either, but
    /// the interpreter goes on reporting.
    fn end_counts(&self, pid: u32) {
        let ended = Injection::of(pid, &self.library, self.filtered)
            .and_then(|mut injection| injection.end_parts(part::CALLS, PATIENCE));
        match ended {
            Ok(_) | Err(Refused::Gone | Refused::Another | Refused::NoPython) => {}
            // Said when the agent leaves.
            Err(Refused::Filtered) => {}
            Err(_) if has_ended(pid) => {}
            Err(why) => stderr::note(&format!(
                "the interpreter of process {pid} goes on reporting calls until the next --trace, and they are not counted: {}",
                why_not(&why)
            )),
        }
    }
}

/// The reason in words. There is no `--timeout` here.
fn why_not(why: &Refused) -> String {
    match why {
        Refused::Busy => format!(
            "its interpreter did not give its lock within {} seconds: one of its threads keeps the lock (GIL), as an extension does \
             that never gives it back; try once more",
            PATIENCE.as_secs()
        ),
        other => other.to_string(),
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
