//! Which processes are sampled from outside, and their samples.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use profundo_wire::recording::{Engine, Event};

use super::Recorder;
use crate::copied_stack::modules;
use crate::kernel::KernelNames;
use crate::loading::why_nothing;
use crate::modules::{MappingHistory, cache_folder, executable_of};
use crate::options::EngineChoice;
use crate::outside::Outside;
use crate::perf::{Gathered, Record, Sample, Sampled, Sampler, kernel_is_permitted};
use crate::permits::perf_refused;
use crate::proc;
use crate::program::{Program, Way};
use crate::reading::Process;
use crate::sys;

/// The sampler, once there is something for it to sample.
#[derive(Debug, Default)]
pub(super) struct OutsideSampling {
    sampler: Option<Sampler>,
    processes: usize,
    kernel: bool,
    names: Option<KernelNames>,
    /// Where what is worth keeping is kept; the user's cache, if none is said.
    cache: Option<PathBuf>,
    lost: u64,
    /// Whether threads are read when they are sampled, of processes that have an interpreter.
    pub(super) reads: bool,
    /// What the kernel has told of processes meanwhile.
    pub(super) told: Vec<(u64, Record)>,
}

impl OutsideSampling {
    /// With a place for what is worth keeping.
    pub(super) fn keeping_in(cache: Option<PathBuf>) -> Self {
        Self {
            cache,
            ..Self::default()
        }
    }

    /// Whether anything is sampled from outside.
    pub(super) fn is_active(&self) -> bool {
        self.processes > 0
    }

    pub(super) fn set_period(&self, period: u64) {
        if let Some(sampler) = &self.sampler {
            sampler.set_period(period);
        }
    }

    /// Takes down what the clocks of a program have counted.
    pub(super) fn count(&self, program: &mut Program) {
        let pid = program.pid;
        if let (Some(sampler), Way::Outside(outside)) = (&self.sampler, &mut program.way)
            && !outside.has_heirs
        {
            outside.counted = Some(sampler.counted(pid)).filter(|&counted| counted > 0);
        }
    }

    pub(super) fn set_running(&self, program: &Program, running: bool) {
        if let (Some(sampler), Way::Outside(_)) = (&self.sampler, &program.way) {
            sampler.set_running(program.pid, running);
        }
    }

    /// A process has ended, or runs another program.
    pub(super) fn forget(&mut self, pid: u32) {
        self.processes = self.processes.saturating_sub(1);
        if let Some(sampler) = &mut self.sampler {
            sampler.remove(pid);
        }
    }

    /// Waits until something was sampled, so long at most.
    pub(super) fn wait(&self, most: Duration) {
        match &self.sampler {
            Some(sampler) => sampler.wait(most),
            None => std::thread::sleep(most),
        }
    }

    /// No clocks are to be open any more.
    pub(super) fn close(&mut self, pid: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.remove(pid);
        }
        self.sampler = None;
    }

    /// What is sampled has system time in it.
    pub(super) fn sees_the_kernel(&mut self) {
        self.kernel = true;
    }

    fn open(&mut self) -> std::io::Result<&mut Sampler> {
        if self.sampler.is_none() {
            self.kernel = kernel_is_permitted().is_ok();
            let cache = || cache_folder(self.cache.as_deref());
            self.names = self.kernel.then(|| KernelNames::begin(cache()));
            self.sampler = Some(Sampler::open(Sampled {
                kernel: self.kernel,
                tells: self.reads,
                wakes: self.reads,
            })?);
        }
        self.sampler
            .as_mut()
            .ok_or_else(|| std::io::ErrorKind::Unsupported.into())
    }
}

/// Whether what a process executes can have no agent, by what its file says.
pub(super) fn is_closed_to_agents(pid: u32, have_agent: bool) -> bool {
    if !have_agent || why_nothing(pid).is_some() {
        return true;
    }
    // One without a loader has the variables, and can do nothing with them.
    executable_of(pid).is_some_and(|elf| elf.interpreter().is_none())
}

/// How often the child of a fork is sampled, in nanoseconds, and one whose threads are read: the recorder had
/// no time for its agent, so it has none for many samples either.
const CHILD_PERIOD: u64 = 4_000_000;
const READING_PERIOD: u64 = 10_000_000;

/// How a process began that is to be sampled from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    /// By an exec, or before the recording: what it has used so far is not counted.
    Before,
    /// By the fork of a process that has an agent. The child's found no ring, so it records nothing.
    ByFork,
}

/// Why a process is not sampled from outside.
#[derive(Debug)]
enum Unsampled {
    /// The kernel refuses.
    Refused(std::io::Error),
    /// The engine that was asked for works inside of programs only.
    EngineIsInside,
}

impl From<std::io::Error> for Unsampled {
    fn from(error: std::io::Error) -> Self {
        Self::Refused(error)
    }
}

/// Why a process is not sampled from outside, and what helps.
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
            let others = if has_agent {
                "takes no agent, and "
            } else {
                ""
            };
            format!("{name} (process {pid}) {others}cannot be sampled from outside: {refused}")
        }
    }
}

impl Recorder {
    /// Whether perf permits to sample from outside.
    pub(super) fn can_sample_outside(&self) -> bool {
        !matches!(self.engine, Engine::CpuTimer | Engine::Wall)
    }

    /// Begins to sample a process from outside.
    pub(super) fn begin_outside(
        &mut self,
        pid: u32,
        parent: u32,
        begun: Begun,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let pidfd = match sys::pidfd_open(pid) {
            Ok(pidfd) => Some(pidfd),
            Err(error) => return self.tell_unsampled(pid, &error.into(), sink),
        };
        if self.options.agent.is_some() && begun == Begun::Before {
            self.note_special(pid);
        }
        self.keys += 1;
        let started = profundo_probe::clock::now();
        let of_parent = self.programs.get(&parent);
        // The parent's agent would have read what it runs in Python.
        let reads_too = begun == Begun::ByFork && of_parent.is_none_or(|it| it.runtime_told);
        let opened = if self.aimed == Some(pid) && !self.is_polling() {
            Ok(())
        } else if self.can_sample_outside() {
            let period = self.clock_plan().period.max(1);
            let times = match begun {
                Begun::Before => 1,
                Begun::ByFork if reads_too => READING_PERIOD.div_ceil(period),
                Begun::ByFork => CHILD_PERIOD.div_ceil(period),
            };
            self.open_rarer(pid, times).map_err(Unsampled::from)
        } else if self.options.engine == EngineChoice::CpuTimer {
            Err(Unsampled::EngineIsInside)
        } else {
            Err(std::io::Error::from_raw_os_error(libc::EPERM).into())
        };
        let mut outside = Outside::of(pid);
        outside.tells_calls = self.options.wall.is_some() && self.options.traffic;
        outside.sees_the_kernel = self.outside.kernel;
        let most_held = self.options.most_held;
        let reads = self.outside.reads || reads_too;
        outside.process = reads.then(|| Box::new(Process::held_at_most(most_held)));
        let way = Way::Outside(outside);
        let mut program = Program::new(self.keys, pid, started, way, Default::default());
        program.pidfd = pidfd;
        self.outside.processes += 1;
        let maps = proc::read(pid, "maps");
        program.modules.refresh(
            pid,
            &maps,
            started,
            &MappingHistory::default(),
            &mut self.store,
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
            if !self.running {
                program.pause();
            }
        }
        self.enter(program, parent, sink);
        if let Err(why) = opened
            && self.engine != Engine::Wall
            // Of an agent that got no ring another note says so.
            && !(begun == Begun::ByFork && matches!(why, Unsampled::EngineIsInside))
        {
            self.tell_unsampled(pid, &why, sink);
        }
    }

    /// Says that a process cannot be sampled, if it goes on and this is the first one.
    fn tell_unsampled(&mut self, pid: u32, why: &Unsampled, sink: &mut dyn FnMut(Event<'_>)) {
        if sys::is_alive(pid) && !std::mem::replace(&mut self.told.unreachable, true) {
            let has_agent = self.options.agent.is_some();
            sink(Event::Note(why_unsampled(pid, has_agent, why)));
        }
    }

    pub(super) fn open_outside(&mut self, pid: u32) -> std::io::Result<()> {
        self.open_rarer(pid, 1)
    }

    /// The same, with so many times the period of the others.
    fn open_rarer(&mut self, pid: u32, times: u64) -> std::io::Result<()> {
        if self.is_polling() {
            self.poll_process(pid);
            return Ok(());
        }
        let period = self.clock_plan().period;
        let running = self.running;
        let sampler = self.outside.open()?;
        sampler.sample_rarer(pid, times);
        // Threads that start meanwhile are inherited, or found in the next round.
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

    /// Turns what the kernel has sampled into records; returns whether there was anything.
    pub(super) fn sample_outside(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> bool {
        if !self.outside.is_active() {
            return false;
        }
        let Some(sampler) = &self.outside.sampler else {
            return false;
        };
        let Gathered {
            samples,
            told,
            lost,
        } = sampler.read();
        self.outside.lost += lost;
        self.outside.told.extend(told);
        let mut by_process: HashMap<u32, Vec<&Sample>> = HashMap::new();
        for sample in &samples {
            by_process.entry(sample.pid).or_default().push(sample);
        }
        for (pid, samples) in by_process {
            self.record_outside(pid, &samples, sink);
        }
        for (&key, program) in &mut self.programs {
            if let Way::Outside(outside) = &mut program.way {
                outside.settle(key, false, sink);
            }
        }
        if lost > 0 {
            self.tell_lost(sink);
        }
        !samples.is_empty()
    }

    fn record_outside(&mut self, pid: u32, samples: &[&Sample], sink: &mut dyn FnMut(Event<'_>)) {
        let known = self.last_of.get(&pid).copied();
        let known = known.filter(|key| self.programs.contains_key(key));
        let Some(key) = known.or_else(|| self.inherit(pid, sink)) else {
            return;
        };
        let now = profundo_probe::clock::now();
        let Some(program) = self.programs.get_mut(&key) else {
            return;
        };
        program.refresh_modules(now, &mut self.store, sink);
        program.look_for_python(sink);
        let mut words = Vec::new();
        let list = modules(&program.modules, &self.store);
        let Way::Outside(outside) = &mut program.way else {
            return;
        };
        if let Some(names) = &mut self.outside.names {
            let kernel = samples.iter().flat_map(|sample| &sample.kernel);
            kernel.for_each(|&address| names.meet(address));
        }
        let reads = outside
            .process
            .as_ref()
            .is_some_and(|process| process.has_python());
        let (unread, mut leads_out) = match reads {
            true => outside.read(key, samples, &list, &self.scale, &mut words, sink),
            false => (samples.to_vec(), false),
        };
        let read = words.len();
        leads_out |= outside.record(key, &unread, &list, &self.scale, &mut words, sink);
        if leads_out {
            // Once more with what is mapped now. It is asked for seldom: see there.
            program.maps_changed = true;
            if program.refresh_modules(now, &mut self.store, sink) {
                let list = modules(&program.modules, &self.store);
                if let Way::Outside(outside) = &mut program.way {
                    outside.forget_last(&unread);
                    words.truncate(read);
                    outside.record(key, &unread, &list, &self.scale, &mut words, sink);
                }
            }
        }
        let process = key;
        sink(Event::Words {
            process,
            words: &words,
        });
    }

    /// A child of a process that is sampled from outside has inherited its clocks.
    fn inherit(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> Option<u32> {
        if !self.options.follow {
            return None;
        }
        let parent = match self.newcomers.get(&pid) {
            Some(newcomer) => newcomer.parent,
            None => {
                let parent = proc::stat(pid)?.parent;
                *self.last_of.get(&parent)?
            }
        };
        let of = self.programs.get_mut(&parent)?;
        let Way::Outside(from) = &mut of.way else {
            return None;
        };
        from.has_heirs = true;
        self.keys += 1;
        let now = profundo_probe::clock::now();
        let mut outside = Outside::of(pid);
        outside.tells_calls = self.options.wall.is_some() && self.options.traffic;
        outside.sees_the_kernel = self.outside.kernel;
        let most_held = self.options.most_held;
        let reads = self.outside.reads;
        outside.process = reads.then(|| Box::new(Process::held_at_most(most_held)));
        let way = Way::Outside(outside);
        let mut program = Program::new(self.keys, pid, now, way, of.modules.clone());
        program.pidfd = sys::pidfd_open(pid).ok();
        program.user.go(0);
        program.system.go(0);
        self.outside.processes += 1;
        let key = program.key;
        self.enter(program, parent, sink);
        Some(key)
    }

    /// Tells of the kernel's functions that were met. The last time it waits until they are known.
    pub(super) fn tell_kernel_names(&mut self, is_last: bool, sink: &mut dyn FnMut(Event<'_>)) {
        // They are the same for all; the first program is there as long as any.
        const FIRST: u32 = 1;
        if let Some(names) = &mut self.outside.names {
            names.tell(FIRST, is_last, sink);
        }
    }

    fn tell_lost(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let outside = self
            .programs
            .values()
            .find(|program| matches!(program.way, Way::Outside(_)));
        if let Some(program) = outside {
            let loss = profundo_wire::recording::LossCounts {
                buffer_full: self.outside.lost,
                ..Default::default()
            };
            let process = program.key;
            sink(Event::Loss { process, loss });
        }
    }
}
