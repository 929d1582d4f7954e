//! All processes of the machine, sampled by a clock on each CPU.
//!
//! A process is entered at its first sample: most of a machine's processes have none. What the
//! kernel reports of it before (its parent, its program, its mappings) is kept until then, so that
//! a process which is gone when its sample is read has its name and its code all the same.

mod chosen;
mod waiting;

use std::collections::{HashMap, HashSet};

use profundo_linux::perf::{Gathered, MachineSampler, Record, Sample};
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_process::modules::{MappingHistory, ModuleList};
use profundo_process::reading::Process;
use profundo_wire::recording::Event;

use super::outside::OutsideSampling;
use crate::core::Core;
use crate::outside::Outside;
use crate::program::{Program, Way};

use chosen::Choosing;
use waiting::Waiting;

/// The sampling of a machine.
#[derive(Debug)]
pub(crate) struct Machine {
    sampler: MachineSampler,
    choosing: Choosing,
    /// Processes that have begun, or executed a program, and have no sample since.
    begun: HashMap<u32, Begun>,
    /// Processes that are not chosen.
    left_out: HashSet<u32>,
    /// User and system time of processes when the recording began.
    times_before: HashMap<u32, (u64, u64)>,
    /// Programs that their processes have replaced by others, or whose processes have ended so long
    /// ago that others have their numbers.
    over: Vec<Over>,
    waiting: Waiting,
    /// The number of processes that ended without a sample.
    unseen: u64,
    /// Nanoseconds of samples of processes that are not chosen.
    others: u64,
    /// Nanoseconds of samples of processes in namespaces that are not visible from here.
    hidden: u64,
}

/// A program that is over, by its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Over {
    pub(crate) key: u32,
    /// Whether its process has executed another program.
    pub(crate) is_replaced: bool,
}

/// A process that has begun.
#[derive(Debug)]
struct Begun {
    by: By,
    /// The time, in cycles.
    at: u64,
    /// The name of the program that it has executed.
    name: Option<String>,
    mappings: MappingHistory,
}

/// The call that a process or its program has begun by.
#[derive(Debug, Clone, Copy)]
enum By {
    /// A fork by this process.
    Fork(u32),
    /// An exec, in place of this program.
    Exec(u32),
}

impl Machine {
    /// Takes the clocks.
    pub(super) fn new(sampler: MachineSampler, chosen: &crate::options::Chosen) -> Self {
        let all = proc::children();
        let times = |pid: u32| Some((pid, proc::times(pid, &proc::stat(pid)?)));
        Self {
            sampler,
            choosing: Choosing::new(chosen, &all),
            begun: HashMap::new(),
            left_out: HashSet::new(),
            times_before: all.iter().filter_map(|&(pid, _)| times(pid)).collect(),
            over: Vec::new(),
            waiting: Waiting::default(),
            unseen: 0,
            others: 0,
            hidden: 0,
        }
    }

    pub(super) fn sampler(&self) -> &MachineSampler {
        &self.sampler
    }

    /// The programs that are over since the last call.
    pub(super) fn take_over(&mut self) -> Vec<Over> {
        std::mem::take(&mut self.over)
    }

    /// Turns the kernel's records since the last call into events. Returns whether there were
    /// samples.
    pub(super) fn sample(
        &mut self,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        let Gathered {
            samples,
            records,
            lost,
        } = self.sampler.read();
        outside.count_lost(lost, core, sink);
        for pid in self.waiting.at_epoch(core.transport.store.epoch) {
            if !is_compiling(pid, core) {
                self.record_waiting(pid, outside, core, sink);
            }
        }
        let has_samples = !samples.is_empty();
        let mut batch = Batch::default();
        let mut records = records.into_iter().peekable();
        for sample in samples {
            while let Some((time, record)) = records.next_if(|(time, _)| *time <= sample.time) {
                self.follow(time, record, &mut batch, outside, core, sink);
            }
            batch.0.entry(sample.pid).or_default().push(sample);
        }
        for (time, record) in records {
            self.follow(time, record, &mut batch, outside, core, sink);
        }
        for (pid, samples) in std::mem::take(&mut batch.0) {
            self.record(pid, samples, outside, core, sink);
        }
        has_samples
    }

    /// Records the samples of one process, or lets them wait.
    fn record(
        &mut self,
        pid: u32,
        samples: Vec<Sample>,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        /// The number of all processes of namespaces that are not visible from here.
        const HIDDEN: u32 = u32::MAX;
        let weight: u64 = samples.iter().map(|sample| sample.weight).sum();
        match pid {
            // The kernel's thread that runs where a CPU has nothing to do.
            0 => return,
            HIDDEN => {
                self.hidden += weight;
                return;
            }
            _ => {}
        }
        let first = samples.first().map_or(0, |sample| sample.time);
        let is_known = core.processes.program_of(pid).is_some();
        if self.left_out.contains(&pid) || !is_known && !self.enter(pid, first, outside, core, sink)
        {
            self.others += weight;
            return;
        }
        let now = profundo_probe::clock::now();
        if let Some(program) = core.processes.program_mut(pid) {
            program.refresh_modules(now, &mut core.transport.store, sink);
            program.find_python(sink);
            // Threads of Python are read now or never.
            let may_wait = !program.reads_python() && !program.modules.being_compiled().is_empty();
            if may_wait || self.waiting.has(pid) {
                let Some(samples) = self.waiting.add(pid, samples) else {
                    return;
                };
                self.record_waiting(pid, outside, core, sink);
                return outside.record(core, pid, &samples.iter().collect::<Vec<_>>(), sink);
            }
        }
        outside.record(core, pid, &samples.iter().collect::<Vec<_>>(), sink);
    }

    /// Records the samples of a process that wait.
    pub(super) fn record_waiting(
        &mut self,
        pid: u32,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let samples = self.waiting.take(pid);
        if !samples.is_empty() {
            outside.record(core, pid, &samples.iter().collect::<Vec<_>>(), sink);
        }
    }

    /// Records all samples that wait.
    pub(super) fn record_all_waiting(
        &mut self,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        for pid in self.waiting.pids() {
            self.record_waiting(pid, outside, core, sink);
        }
    }

    /// Enters a process that has its first sample, unless it is not chosen.
    fn enter(
        &mut self,
        pid: u32,
        time: u64,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        let begun = self.begun.remove(&pid);
        let by = begun.as_ref().map(|begun| begun.by);
        let parent = match by {
            Some(By::Exec(key)) => key,
            Some(By::Fork(parent)) => self.ancestor(parent, outside, core, sink),
            None => match proc::stat(pid) {
                Some(stat) => self.ancestor(stat.parent, outside, core, sink),
                None => 0,
            },
        };
        let of_parent = core.processes.programs.get(&parent);
        let name = begun.as_ref().and_then(|begun| begun.name.as_deref());
        // By now it may have executed another program than at its sample.
        let is_fork = matches!(by, Some(By::Fork(_))) && name.is_none();
        let forker = of_parent.filter(|_| is_fork);
        let command = match forker {
            Some(parent) => parent.command.clone(),
            None => command_of(pid, name),
        };
        let labels = match labels_of(pid) {
            Some(labels) => labels,
            // It has ended, and its parent is in the same place.
            None => of_parent.map_or_else(Vec::new, |parent| parent.labels.clone()),
        };
        let modules = forker.map_or_else(ModuleList::default, |parent| parent.modules.clone());
        if !self.choosing.takes(pid, by.is_some(), &command) {
            self.left_out.insert(pid);
            return false;
        }
        let at = core.scale.cycles_at(time);
        let started = begun.as_ref().map_or(at, |begun| begun.at);
        let mut program = self.program(pid, started, modules, outside, core);
        program.command = command;
        program.labels = labels;
        if let Some(begun) = begun {
            program.mapping_history = begun.mappings;
        }
        let before = match by {
            Some(By::Exec(_)) => core.processes.times_at_exec.get(&pid),
            Some(By::Fork(_)) => None,
            None => self.times_before.get(&pid),
        };
        program.times_before = before.copied().unwrap_or_default();
        let (user, system) = program.times_before;
        program.user.go(user);
        program.system.go(system);
        core.enter(program, parent, sink);
        true
    }

    /// Enters a process that is only the ancestor of one with samples. Returns its key; 0 if there
    /// is none.
    fn ancestor(
        &mut self,
        pid: u32,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> u32 {
        if let Some(&key) = core.processes.last_of.get(&pid) {
            return key;
        }
        // Where some are chosen, only those are shown.
        if pid == 0 || !self.choosing.takes_all() {
            return 0;
        }
        match self.enter(
            pid,
            sys::nanoseconds(libc::CLOCK_MONOTONIC),
            outside,
            core,
            sink,
        ) {
            true => core.processes.last_of.get(&pid).copied().unwrap_or(0),
            false => 0,
        }
    }

    fn program(
        &self,
        pid: u32,
        started: u64,
        modules: ModuleList,
        outside: &mut OutsideSampling,
        core: &mut Core,
    ) -> Program {
        let key = core.processes.next_key();
        let mut side = Outside::of(pid);
        side.sees_the_kernel = outside.sees_kernel();
        let most_held = core.options.most_held;
        side.process = Some(Box::new(Process::held_at_most(most_held)));
        let mut program = Program::new(key, pid, started, Way::Outside(side), modules);
        program.pidfd = sys::pidfd_open(pid).ok();
        // Its maps are read with its first sample.
        program.maps_changed = true;
        outside.count_process();
        program
    }

    /// Follows what the kernel reports.
    fn follow(
        &mut self,
        time: u64,
        record: Record,
        batch: &mut Batch,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let at = core.scale.cycles_at(time);
        match record {
            Record::Fork { pid, parent, .. } if pid != parent => {
                self.flush(pid, batch, outside, core, sink);
                self.record_waiting(pid, outside, core, sink);
                self.leave(pid, false, core);
                let begun = Begun {
                    by: By::Fork(parent),
                    at,
                    name: None,
                    mappings: MappingHistory::default(),
                };
                self.begun.insert(pid, begun);
                self.choosing.forked(pid, parent);
            }
            Record::Fork { .. } => {}
            Record::Comm {
                pid,
                name,
                exec: true,
                ..
            } => {
                self.flush(pid, batch, outside, core, sink);
                self.record_waiting(pid, outside, core, sink);
                let by = match (self.leave(pid, true, core), self.begun.get(&pid)) {
                    (Some(key), _) => By::Exec(key),
                    (None, Some(begun)) => begun.by,
                    (None, None) => By::Fork(proc::stat(pid).map_or(0, |stat| stat.parent)),
                };
                let begun = Begun {
                    by,
                    at,
                    name: Some(String::from_utf8_lossy(&name).into_owned()),
                    mappings: MappingHistory::default(),
                };
                self.begun.insert(pid, begun);
            }
            Record::Comm { pid, tid, name, .. } => {
                let program = core.processes.program_mut(pid);
                if let Some(Way::Outside(outside)) = program.map(|program| &mut program.way) {
                    outside.rename(tid, &name);
                }
            }
            Record::Mmap { pid, mapping } => {
                let begun = self.begun.get_mut(&pid).map(|begun| &mut begun.mappings);
                let history = match (begun, core.processes.program_mut(pid)) {
                    (Some(mappings), _) => Some(mappings),
                    (None, Some(program)) => {
                        program.maps_changed = true;
                        Some(&mut program.mapping_history)
                    }
                    (None, None) => None,
                };
                if let (Some(history), Some(mapping)) = (history, mapping) {
                    history.add(at, mapping);
                }
            }
            Record::Exit { pid, tid } if pid == tid => {
                self.left_out.remove(&pid);
                self.times_before.remove(&pid);
                // Its samples may still come: those of another CPU are read after these.
                if self.begun.contains_key(&pid) && !batch.0.contains_key(&pid) {
                    self.begun.remove(&pid);
                    self.unseen += 1;
                }
            }
            Record::Exit { pid, tid } => {
                self.flush(pid, batch, outside, core, sink);
                if self.waiting.has(pid) {
                    // Its samples may wait, too: it ends with its process.
                    return;
                }
                let now = profundo_probe::clock::now();
                let scale = core.scale;
                let Some(program) = core.processes.program_mut(pid) else {
                    return;
                };
                let key = program.key;
                if let Way::Outside(outside) = &mut program.way {
                    outside.thread_ended(key, tid, now, &scale, sink);
                }
            }
            // The lost records may be about any process: everything is checked.
            Record::Lost { .. } => {
                for program in core.processes.programs.values_mut() {
                    program.maps_changed = true;
                }
            }
        }
    }

    /// Records the samples of a process that were taken before what is followed now.
    fn flush(
        &mut self,
        pid: u32,
        batch: &mut Batch,
        outside: &mut OutsideSampling,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        if let Some(samples) = batch.0.remove(&pid) {
            self.record(pid, samples, outside, core, sink);
        }
    }

    /// Takes leave of the program of a process. Returns its key, if it was recorded.
    fn leave(&mut self, pid: u32, is_replaced: bool, core: &mut Core) -> Option<u32> {
        self.left_out.remove(&pid);
        self.times_before.remove(&pid);
        let key = core.processes.program_of(pid)?;
        core.processes.last_of.remove(&pid);
        let program = core.processes.programs.get_mut(&key)?;
        if is_replaced {
            program.read_times();
        }
        program.is_over = true;
        core.processes.times_at_exec.insert(pid, program.times);
        self.over.push(Over { key, is_replaced });
        Some(key)
    }

    /// The sentences about what is not in the recording.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        if self.hidden > 0 {
            notes.push(format!(
                "{:.1} s of CPU time were used in namespaces that this container does not show; on the host they \
                 are recorded, too",
                seconds(self.hidden)
            ));
        }
        if !self.choosing.takes_all() && self.others > 0 {
            notes.push(format!(
                "other processes used {:.1} s of CPU time, and are left out",
                seconds(self.others)
            ));
        }
        if self.unseen > 0 {
            let (processes, were) = match self.unseen {
                1 => ("process", "was"),
                _ => ("processes", "were"),
            };
            notes.push(format!(
                "{} {processes} began and ended without a sample, and {were} too short to be seen at this rate",
                self.unseen
            ));
        }
        notes
    }
}

/// Whether files of a process are being compiled.
fn is_compiling(pid: u32, core: &mut Core) -> bool {
    let program = core.processes.program_mut(pid);
    program.is_some_and(|program| !program.modules.being_compiled().is_empty())
}

/// Samples that are not recorded yet, by process.
#[derive(Debug, Default)]
struct Batch(HashMap<u32, Vec<Sample>>);

/// The command line of a process; of a thread of the kernel its name in brackets, as `ps` has it.
/// `name`: that of the program that it has executed, if it has ended.
fn command_of(pid: u32, name: Option<&str>) -> String {
    let line = proc::command_line(pid);
    if !line.is_empty() {
        return line;
    }
    if let Some(name) = name {
        return name.to_owned();
    }
    match proc::thread_name(pid, pid) {
        name if name.is_empty() => format!("process {pid}"),
        name => format!("[{name}]"),
    }
}

/// The labels of a process; `None` if it has ended.
fn labels_of(pid: u32) -> Option<Vec<(String, String)>> {
    let user = proc::effective_user(pid)?;
    let mut labels = vec![("user".to_owned(), profundo_linux::users::name(user))];
    let place = profundo_linux::cgroup::Place::of(pid).unwrap_or_default();
    let named = [
        ("pod", place.pod),
        ("container", place.container),
        ("unit", place.unit),
        ("cgroup", Some(place.path).filter(|path| path.len() > 1)),
    ];
    for (key, value) in named {
        labels.extend(value.map(|value| (key.to_owned(), value)));
    }
    Some(labels)
}
