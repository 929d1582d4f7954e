//! Processes that are sampled from outside: their clocks, and what becomes of their samples.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use profundo_linux::perf::{
    Gathered, MachineSampler, Record, Sample, Sampled, Sampler, kernel_is_permitted,
};
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_permits::{perf_refused, without_forked_memory};
use profundo_process::kernel::KernelNames;
use profundo_process::loading::why_nothing;
use profundo_process::modules::{MappingHistory, cache_folder, executable_of};
use profundo_process::reading::Process;
use profundo_wire::recording::{Engine, Event};

use super::machine::{Machine, Over};
use super::polling::Polling;
use crate::core::Core;
use crate::options::{Chosen, EngineChoice};
use crate::outside::Outside;
use crate::program::{Program, Way};

/// Sampling from outside; the sampler is opened when the first process needs it.
#[derive(Debug, Default)]
pub(crate) struct OutsideSampling {
    sampler: Option<Sampler>,
    /// Used where perf events are not permitted.
    pub(super) polling: Option<Polling>,
    /// The number of processes sampled from outside.
    processes: usize,
    kernel: bool,
    names: Option<KernelNames>,
    /// The cache folder; by default the user's.
    cache: Option<PathBuf>,
    lost: u64,
    /// Whether threads of processes with an interpreter are read when they are sampled.
    pub(crate) reads: bool,
    /// The kernel's side-band records since the last turn.
    pub(crate) records: Vec<(u64, Record)>,
    /// All processes of the machine, if those are sampled.
    machine: Option<Box<Machine>>,
}

impl OutsideSampling {
    /// Uses this cache folder.
    pub(crate) fn keeping_in(cache: Option<PathBuf>) -> Self {
        Self {
            cache,
            ..Self::default()
        }
    }

    /// Whether anything is sampled from outside.
    pub(crate) fn is_active(&self) -> bool {
        self.processes > 0 || self.machine.is_some()
    }

    /// Whether all processes of the machine are sampled.
    pub(crate) fn has_machine(&self) -> bool {
        self.machine.is_some()
    }

    /// Opens clocks on all CPUs, which do not run yet.
    pub(crate) fn open_machine(&mut self, period: u64, chosen: &Chosen) -> std::io::Result<()> {
        self.reads = true;
        self.kernel = kernel_is_permitted().is_ok();
        let cache = || cache_folder(self.cache.as_deref());
        self.names = self.kernel.then(|| KernelNames::begin(cache()));
        let what = Sampled {
            kernel: self.kernel,
            sideband: true,
            wakes: true,
        };
        let sampler = MachineSampler::open(period, what)?;
        self.machine = Some(Box::new(Machine::new(sampler, chosen)));
        Ok(())
    }

    /// Lets the clocks of all CPUs run, or stops them.
    pub(crate) fn set_machine_running(&self, running: bool) {
        if let Some(machine) = &self.machine {
            machine.sampler().set_running(running);
        }
    }

    /// The programs of the machine that are over since the last call.
    pub(crate) fn take_over(&mut self) -> Vec<Over> {
        let machine = self.machine.as_mut();
        machine.map_or_else(Vec::new, |machine| machine.take_over())
    }

    /// Records the samples of the machine that wait for tables: of a process, or all of them.
    pub(crate) fn record_waiting(
        &mut self,
        pid: Option<u32>,
        core: &mut Core,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        if let Some(mut machine) = self.machine.take() {
            match pid {
                Some(pid) => machine.record_waiting(pid, self, core, sink),
                None => machine.record_all_waiting(self, core, sink),
            }
            self.machine = Some(machine);
        }
    }

    /// The sentences about what is not in a recording of the machine.
    pub(crate) fn machine_notes(&self) -> Vec<String> {
        let machine = self.machine.as_ref();
        machine.map_or_else(Vec::new, |machine| machine.notes())
    }

    pub(super) fn sees_kernel(&self) -> bool {
        self.kernel
    }

    pub(super) fn count_process(&mut self) {
        self.processes += 1;
    }

    /// Counts lost samples.
    pub(super) fn count_lost(&mut self, lost: u64, core: &Core, sink: &mut dyn FnMut(Event<'_>)) {
        self.lost += lost;
        if lost > 0 {
            self.emit_loss(core, sink);
        }
    }

    pub(crate) fn set_period(&self, period: u64) {
        if let Some(machine) = &self.machine {
            machine.sampler().set_period(period);
        }
        if let Some(sampler) = &self.sampler {
            sampler.set_period(period);
        }
    }

    /// Notes the count of a program's clocks.
    pub(crate) fn count(&self, program: &mut Program) {
        let pid = program.pid;
        if let (Some(sampler), Way::Outside(outside)) = (&self.sampler, &mut program.way)
            && !outside.has_heirs
        {
            outside.counted = Some(sampler.counted(pid)).filter(|&counted| counted > 0);
        }
    }

    pub(crate) fn set_running(&self, program: &Program, running: bool) {
        if let (Some(sampler), Way::Outside(_)) = (&self.sampler, &program.way) {
            sampler.set_running(program.pid, running);
        }
    }

    /// Forgets a process that has ended or runs another program.
    pub(crate) fn forget(&mut self, pid: u32) {
        self.processes = self.processes.saturating_sub(1);
        if let Some(sampler) = &mut self.sampler {
            sampler.remove(pid);
        }
    }

    /// Waits for samples, at most this long, and records them.
    pub(crate) fn wait_and_read(
        &mut self,
        core: &mut Core,
        most: Duration,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        if let Some(polling) = &self.polling {
            std::thread::sleep(most.min(polling.until_tick()));
            self.read_due_runners(core, sink);
            return;
        }
        match (&self.machine, &self.sampler) {
            (Some(machine), _) => machine.sampler().wait(most),
            (None, Some(sampler)) => sampler.wait(most),
            (None, None) => std::thread::sleep(most),
        }
        self.sample(core, sink);
    }

    /// Resumes after a pause.
    pub(crate) fn begin_anew(&mut self) {
        if let Some(polling) = &mut self.polling {
            polling.begin_anew();
        }
    }

    /// Closes the clocks of a process.
    pub(crate) fn close(&mut self, pid: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.remove(pid);
        }
        self.sampler = None;
    }

    /// Samples time in the kernel too.
    pub(crate) fn sees_the_kernel(&mut self) {
        self.kernel = true;
    }

    fn open(&mut self) -> std::io::Result<&mut Sampler> {
        if self.sampler.is_none() {
            self.kernel = kernel_is_permitted().is_ok();
            let cache = || cache_folder(self.cache.as_deref());
            self.names = self.kernel.then(|| KernelNames::begin(cache()));
            self.sampler = Some(Sampler::open(Sampled {
                kernel: self.kernel,
                sideband: self.reads,
                wakes: self.reads,
            })?);
        }
        self.sampler
            .as_mut()
            .ok_or_else(|| std::io::ErrorKind::Unsupported.into())
    }
}

/// Whether the file that a process executes can have no agent.
pub(crate) fn is_closed_to_agents(pid: u32, have_agent: bool) -> bool {
    if !have_agent || why_nothing(pid).is_some() {
        return true;
    }
    // A program without a loader ignores the environment.
    executable_of(pid).is_some_and(|elf| elf.interpreter().is_none())
}

/// The period of a fork's child, and of one whose threads are read, in nanoseconds: the recorder
/// had no time for its agent, so it has none for many samples either.
const CHILD_PERIOD: u64 = 4_000_000;
const READING_PERIOD: u64 = 10_000_000;

/// The beginning of a process that is sampled from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// By an exec, or before the recording: its earlier CPU time is not counted.
    Before,
    /// By the fork of a process with an agent. The child found no ring, so its agent records
    /// nothing.
    ByFork,
}

/// The reason why a process is not sampled from outside.
#[derive(Debug)]
enum Unsampled {
    /// The kernel refuses.
    Refused(std::io::Error),
    /// The chosen engine works only inside of programs.
    EngineIsInside,
}

impl From<std::io::Error> for Unsampled {
    fn from(error: std::io::Error) -> Self {
        Self::Refused(error)
    }
}

/// The reason why a process is not sampled from outside, in words, and the remedy.
fn why_unsampled(pid: u32, has_agent: bool, why: &Unsampled) -> String {
    let name = proc::command_line(pid);
    let Unsampled::Refused(error) = why else {
        return format!(
            "{name} (process {pid}) takes no agent, and the engine cpu-timer samples by its agent alone: without \
             --engine the process is sampled from outside"
        );
    };
    let not_permitted = matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES));
    match proc::effective_user(pid) {
        Some(user) if not_permitted && user != sys::user() => format!(
            "{name} (process {pid}) has the rights of another user (setuid), so it ran as always \
             but could not be sampled; root can do it: sudo profundo run -- …"
        ),
        _ => {
            let refused = perf_refused(error);
            let begin = match has_agent.then(without_forked_memory) {
                Some(Some(gap)) => format!("takes no agent, because {gap}. It "),
                Some(None) => "takes no agent, and ".to_owned(),
                None => String::new(),
            };
            format!("{name} (process {pid}) {begin}cannot be sampled from outside: {refused}")
        }
    }
}

/// A process that is to be sampled, held by its descriptor.
#[derive(Debug)]
pub(crate) struct Opened {
    pid: u32,
    pidfd: OwnedFd,
}

impl Opened {
    /// Opens a process, or says why it is not sampled.
    pub(crate) fn new(core: &mut Core, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> Option<Self> {
        match sys::pidfd_open(pid) {
            Ok(pidfd) => Some(Self { pid, pidfd }),
            Err(error) => {
                note_unsampled(core, pid, &error.into(), sink);
                None
            }
        }
    }
}

impl OutsideSampling {
    /// Begins to sample a process from outside.
    pub(crate) fn begin(
        &mut self,
        core: &mut Core,
        process: Opened,
        parent: u32,
        begun: Begun,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let Opened { pid, pidfd } = process;
        let pidfd = Some(pidfd);
        let key = core.processes.next_key();
        let started = profundo_probe::clock::now();
        let of_parent = core.processes.programs.get(&parent);
        // The parent's agent would have read its Python frames.
        let reads_too =
            begun == Begun::ByFork && of_parent.is_none_or(|parent| parent.runtime_emitted);
        let opened = if core.processes.aimed == Some(pid) && !core.is_polling() {
            Ok(())
        } else if core.can_sample_outside() {
            let period = core.clock_plan().period.max(1);
            let times = match begun {
                Begun::Before => 1,
                Begun::ByFork if reads_too => READING_PERIOD.div_ceil(period),
                Begun::ByFork => CHILD_PERIOD.div_ceil(period),
            };
            self.open_rarer(core, pid, times).map_err(Unsampled::from)
        } else if core.options.engine == EngineChoice::CpuTimer {
            Err(Unsampled::EngineIsInside)
        } else {
            Err(std::io::Error::from_raw_os_error(libc::EPERM).into())
        };
        let mut outside = Outside::of(pid);
        outside.records_calls = core.options.wall.is_some() && core.options.traffic;
        outside.sees_the_kernel = self.kernel;
        let most_held = core.options.most_held;
        // It may have an interpreter, or load one.
        let reads = self.reads || reads_too || begun == Begun::Before;
        outside.process = reads.then(|| Box::new(Process::held_at_most(most_held)));
        let way = Way::Outside(outside);
        let mut program = Program::new(key, pid, started, way, Default::default());
        program.pidfd = pidfd;
        self.processes += 1;
        let maps = proc::read(pid, "maps");
        program.modules.refresh(
            pid,
            &maps,
            started,
            &MappingHistory::default(),
            &mut core.transport.store,
        );
        program.read_times();
        if let Way::Outside(outside) = &mut program.way {
            outside.used_before = program.times;
        }
        if begun == Begun::Before {
            program.times_before = program.times;
        }
        if opened.is_ok() {
            program.user.go(program.times_before.0);
            program.system.go(program.times_before.1);
            if !core.running {
                program.pause();
            }
        }
        core.enter(program, parent, sink);
        if let Err(why) = opened
            && core.engine != Engine::Wall
            // For an agent without a ring there is another note.
            && !(begun == Begun::ByFork && matches!(why, Unsampled::EngineIsInside))
        {
            note_unsampled(core, pid, &why, sink);
        }
    }

    /// Opens clocks on a process.
    pub(crate) fn open_clocks(&mut self, core: &mut Core, pid: u32) -> std::io::Result<()> {
        self.open_rarer(core, pid, 1)
    }

    /// Opens clocks on a process with a multiple of the others' period.
    fn open_rarer(&mut self, core: &mut Core, pid: u32, times: u64) -> std::io::Result<()> {
        if core.is_polling() {
            self.poll_process(core, pid);
            return Ok(());
        }
        let period = core.clock_plan().period;
        let running = core.running;
        let sampler = self.open()?;
        sampler.sample_rarer(pid, times);
        // Threads that start meanwhile inherit clocks, or are found in the next round.
        let mut seen: Vec<u32> = Vec::new();
        for _ in 0..4 {
            let mut new = proc::threads(pid);
            new.retain(|tid| !seen.contains(tid));
            if new.is_empty() {
                break;
            }
            sampler.add(pid, &new, period)?;
            seen.extend(new);
            if seen.len() == 1 {
                break;
            }
        }
        if running {
            sampler.set_running(pid, true);
        }
        Ok(())
    }

    /// Turns the kernel's samples into records. Returns whether there were any.
    pub(crate) fn sample(&mut self, core: &mut Core, sink: &mut dyn FnMut(Event<'_>)) -> bool {
        if !self.is_active() {
            return false;
        }
        let has_samples = match (self.machine.take(), &self.sampler) {
            (Some(mut machine), _) => {
                let has_samples = machine.sample(self, core, sink);
                self.machine = Some(machine);
                has_samples
            }
            (None, Some(sampler)) => {
                let Gathered {
                    samples,
                    records,
                    lost,
                } = sampler.read();
                self.records.extend(records);
                let mut by_process: HashMap<u32, Vec<&Sample>> = HashMap::new();
                for sample in &samples {
                    by_process.entry(sample.pid).or_default().push(sample);
                }
                for (pid, samples) in by_process {
                    self.record(core, pid, &samples, sink);
                }
                self.count_lost(lost, core, sink);
                !samples.is_empty()
            }
            (None, None) => return false,
        };
        for (&key, program) in &mut core.processes.programs {
            if let Way::Outside(outside) = &mut program.way {
                outside.settle(key, false, sink);
            }
        }
        has_samples
    }

    /// Records the samples of one process.
    pub(super) fn record(
        &mut self,
        core: &mut Core,
        pid: u32,
        samples: &[&Sample],
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let known = core.processes.program_of(pid);
        let Some(key) = known.or_else(|| self.inherit(core, pid, sink)) else {
            return;
        };
        let now = profundo_probe::clock::now();
        let (store, scale) = (&mut core.transport.store, &core.scale);
        let Some(program) = core.processes.programs.get_mut(&key) else {
            return;
        };
        program.refresh_modules(now, store, sink);
        let had_python = program.reads_python();
        program.find_python(sink);
        let is_python_new = !had_python && program.reads_python();
        let mut words = Vec::new();
        let list = program.modules_now(now, store);
        let Way::Outside(outside) = &mut program.way else {
            return;
        };
        if let Some(names) = &mut self.names {
            let kernel = samples.iter().flat_map(|sample| &sample.kernel);
            kernel.for_each(|&address| names.meet(address));
        }
        let reads = outside.reads_python();
        let (unread, mut leads_out) = match reads {
            true => outside.read(key, samples, &list, scale, &mut words, sink),
            false => (samples.to_vec(), false),
        };
        let read = words.len();
        leads_out |= outside.record(key, &unread, &list, scale, &mut words, sink);
        if leads_out {
            // Tried again with the present mappings. They are not reread often: see
            // `refresh_modules`.
            program.maps_changed = true;
            if program.refresh_modules(now, store, sink) {
                let list = program.modules_now(now, store);
                if let Way::Outside(outside) = &mut program.way {
                    outside.forget_last(&unread);
                    words.truncate(read);
                    outside.record(key, &unread, &list, scale, &mut words, sink);
                }
            }
        }
        let process = key;
        sink(Event::Words {
            process,
            words: &words,
        });
        if is_python_new && !self.reads {
            self.sample_python_rarer(core, pid, key, sink);
        }
    }

    /// Samples a process more rarely than others, because each of its threads is read.
    fn sample_python_rarer(
        &mut self,
        core: &mut Core,
        pid: u32,
        key: u32,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let of = core.processes.programs.get(&key);
        let has_heirs =
            of.is_none_or(|of| matches!(&of.way, Way::Outside(outside) if outside.has_heirs));
        // With its clocks, those that its children have inherited would be closed.
        if has_heirs || !proc::descendants(pid).is_empty() {
            return;
        }
        let Some(sampler) = &mut self.sampler else {
            return;
        };
        // Samples have the weight that is the period of their clock when it is opened.
        sampler.close(pid);
        let times = CHILD_PERIOD.div_ceil(core.clock_plan().period.max(1));
        if let Err(error) = self.open_rarer(core, pid, times) {
            note_unsampled(core, pid, &error.into(), sink);
        }
    }

    /// A child of a process that is sampled from outside has inherited its clocks.
    fn inherit(
        &mut self,
        core: &mut Core,
        pid: u32,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Option<u32> {
        if !core.options.follow {
            return None;
        }
        let parent = match core.processes.newcomers.get(&pid) {
            Some(newcomer) => newcomer.parent,
            None => {
                let parent = proc::stat(pid)?.parent;
                *core.processes.last_of.get(&parent)?
            }
        };
        let of = core.processes.programs.get_mut(&parent)?;
        let Way::Outside(from) = &mut of.way else {
            return None;
        };
        from.has_heirs = true;
        let reads_python = from.reads_python();
        let modules = of.modules.clone();
        let key = core.processes.next_key();
        let now = profundo_probe::clock::now();
        let mut outside = Outside::of(pid);
        outside.records_calls = core.options.wall.is_some() && core.options.traffic;
        outside.sees_the_kernel = self.kernel;
        let most_held = core.options.most_held;
        let reads = self.reads || reads_python;
        outside.process = reads.then(|| Box::new(Process::held_at_most(most_held)));
        let way = Way::Outside(outside);
        let mut program = Program::new(key, pid, now, way, modules);
        program.pidfd = sys::pidfd_open(pid).ok();
        program.user.go(0);
        program.system.go(0);
        self.processes += 1;
        core.enter(program, parent, sink);
        Some(key)
    }

    /// Emits the kernel functions of sampled addresses. With `is_last`, it waits until their names
    /// are known.
    pub(crate) fn emit_kernel_names(&mut self, is_last: bool, sink: &mut dyn FnMut(Event<'_>)) {
        // Kernel functions are the same for all programs; the first program always exists.
        const FIRST: u32 = 1;
        if let Some(names) = &mut self.names {
            names.emit(FIRST, is_last, sink);
        }
    }

    fn emit_loss(&self, core: &Core, sink: &mut dyn FnMut(Event<'_>)) {
        let outside = core
            .processes
            .programs
            .values()
            .find(|program| matches!(program.way, Way::Outside(_)));
        if let Some(program) = outside {
            let loss = profundo_wire::recording::LossCounts {
                buffer_full: self.lost,
                ..Default::default()
            };
            let process = program.key;
            sink(Event::Loss { process, loss });
        }
    }
}

/// Notes that a process cannot be sampled, if it still runs and is the first one.
fn note_unsampled(core: &mut Core, pid: u32, why: &Unsampled, sink: &mut dyn FnMut(Event<'_>)) {
    if sys::is_alive(pid) && !std::mem::replace(&mut core.emitted.unsampled, true) {
        let has_agent = core.options.agent.is_some();
        sink(Event::Note(why_unsampled(pid, has_agent, why)));
    }
}
