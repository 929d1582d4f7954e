//! The engine of a CPU session: a clock on every thread, by the best permitted means.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use profundo_linux::random::Random;
use profundo_probe::Probe;
use profundo_probe::handlers::{self, Periods, value};
use profundo_probe::task_clock;
use profundo_wire::recording;

use crate::clocks::{Clocks, has_ended};
use crate::config::{Config, Delivery, EngineChoice};
use crate::error::{Error, Refusal};
use crate::proc;
use crate::timer::CpuTimer;

/// Counts sessions in the upper half of a tag's number.
static SESSIONS: AtomicU64 = AtomicU64::new(1 << 16);

/// The rate of looks at system time, which is that of most kernels' own ticks: they charge a tick
/// to the code that it hits.
const SYSTEM_PERIOD: Duration = Duration::from_millis(4);

/// The pause after threads could not get clocks of their own.
const REFUSED: Duration = Duration::from_secs(1);

/// The clocks of all threads.
#[derive(Debug)]
pub(crate) struct Engine {
    kind: recording::Engine,
    period: u64,
    /// None where timers are the clocks.
    clocks: Option<Clocks>,
    /// When threads may ask for clocks of their own again.
    next_giving: Instant,
    timers: HashMap<u32, CpuTimer>,
    system_timers: HashMap<u32, CpuTimer>,
    random: Random,
    pub(crate) notes: Vec<String>,
}

impl Engine {
    /// Opens clocks on all threads; they do not run yet.
    pub(crate) fn open(config: &Config, wall: bool, probe: &'static Probe) -> Result<Self, Error> {
        let period = config.delay.as_nanos() as u64;
        let mut engine = Self {
            kind: recording::Engine::PerfSignal,
            period,
            clocks: None,
            next_giving: Instant::now(),
            timers: HashMap::new(),
            system_timers: HashMap::new(),
            random: Random::begin(),
            notes: Vec::new(),
        };
        handlers::set_periods(Periods {
            clock: period,
            timer: period,
            wall: if wall { period } else { 0 },
        });
        if !handlers::install_urg(probe) {
            return Err(Error::refused(Refusal::SignalHandler));
        }
        match config.engine {
            EngineChoice::CpuTimer => engine.open_timers()?,
            EngineChoice::PerfSignal => engine.open_perf(config.delivery, probe)?,
            EngineChoice::Auto => {
                if let Err(refused) = engine.open_perf(config.delivery, probe) {
                    engine.notes.push(format!("{refused}"));
                    engine.clocks = None;
                    engine.open_timers()?;
                }
            }
        }
        if !wall && engine.kind == recording::Engine::PerfSignal {
            engine.refresh_system_timers(&proc::threads()?);
        }
        Ok(engine)
    }

    fn open_perf(&mut self, delivery: Delivery, probe: &'static Probe) -> Result<(), Error> {
        self.kind = recording::Engine::PerfSignal;
        let trap = match delivery {
            Delivery::Trap => true,
            Delivery::Urgent => false,
            Delivery::Auto => !handlers::trap_is_taken() && !proc::is_traced(),
        };
        if trap && !handlers::install_trap(probe) {
            return Err(Error::refused(Refusal::SignalHandler));
        }
        // The session's number, so that ticks of an earlier one do not count.
        let session = SESSIONS.fetch_add(1 << 16, Ordering::Relaxed) & 0x7FFF_0000;
        let clocks = Clocks::new(trap, self.period, session);
        self.clocks.insert(clocks).open_on_all()
    }

    fn open_timers(&mut self) -> Result<(), Error> {
        self.kind = recording::Engine::CpuTimer;
        let tids = proc::threads()?;
        self.refresh_timers(&tids)
    }

    fn refresh_timers(&mut self, tids: &[u32]) -> Result<(), Error> {
        self.timers.retain(|tid, _| tids.contains(tid));
        for &tid in tids {
            if self.timers.contains_key(&tid) {
                continue;
            }
            let first = self.random.below(self.period);
            match CpuTimer::start(tid, self.period, first, value::CPU_TIMER) {
                Ok(timer) => {
                    self.timers.insert(tid, timer);
                }
                Err(error) if has_ended(tid, &error) => {}
                Err(source) => {
                    return Err(Error::Refused {
                        what: Refusal::CpuTimer,
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// System time is extra: where a timer is refused, it stays unseen and nothing else suffers.
    fn refresh_system_timers(&mut self, tids: &[u32]) {
        self.system_timers.retain(|tid, _| tids.contains(tid));
        let period = SYSTEM_PERIOD.as_nanos() as u64;
        for &tid in tids {
            if self.system_timers.contains_key(&tid) {
                continue;
            }
            let first = self.random.below(period);
            if let Ok(timer) = CpuTimer::start(tid, period, first, value::SYSTEM_TIMER) {
                self.system_timers.insert(tid, timer);
            }
        }
    }

    /// Starts the clocks.
    pub(crate) fn enable(&mut self, probe: &Probe) -> Result<(), Error> {
        match &mut self.clocks {
            Some(clocks) => clocks.enable(probe),
            None => Ok(()),
        }
    }

    /// Stops all clocks; they are not started again.
    pub(crate) fn disable(&mut self, probe: &Probe) {
        if let Some(mut clocks) = self.clocks.take() {
            clocks.close(probe);
        }
        self.timers.clear();
        self.system_timers.clear();
    }

    /// Whether new threads have to be found by looking, and soon.
    pub(crate) fn must_look_for_threads(&self) -> bool {
        self.clocks.as_ref().is_none_or(|clocks| !clocks.inherit)
    }

    /// Gives clocks to threads without one, and closes those of ended threads. A refused one is
    /// tried again at the next look.
    pub(crate) fn attend(&mut self, tids: &[u32], probe: &Probe) {
        if self.kind == recording::Engine::CpuTimer {
            let _ = self.refresh_timers(tids);
            return;
        }
        if let Some(clocks) = &mut self.clocks {
            clocks.attend(tids, probe);
        }
        self.attend_system_timers(tids);
    }

    /// Has the system time counted of threads with clocks. The ticks of a timer stand for all time.
    fn attend_system_timers(&mut self, tids: &[u32]) {
        if self.system_timers.is_empty() {
            return;
        }
        let clocks = self.clocks.as_ref();
        let has_timer = |tid: &u32| clocks.is_some_and(|clocks| clocks.has_timer(*tid));
        let others: Vec<u32> = tids.iter().copied().filter(|tid| !has_timer(tid)).collect();
        self.refresh_system_timers(&others);
    }

    /// Gives threads that never wait clocks of their own, if one has asked.
    pub(crate) fn give_clocks(&mut self, probe: &Probe, now: Instant) {
        let Some(clocks) = self.clocks.as_mut().filter(|clocks| clocks.inherit) else {
            return;
        };
        if now < self.next_giving || !(task_clock::take_asked() || clocks.has_many_of_ended()) {
            return;
        }
        if !clocks.give_to_all(probe) {
            self.next_giving = now + REFUSED;
        } else if let Ok(tids) = proc::threads() {
            self.attend_system_timers(&tids);
        }
    }

    /// Gives a clock to a thread that has run without any.
    pub(crate) fn give_clock(&mut self, tid: u32, probe: &Probe) {
        if let Some(clocks) = &mut self.clocks {
            // A refused one is tried again when the thread has run on.
            let _ = clocks.give(tid, probe);
        }
    }

    /// The source of the samples.
    pub(crate) fn kind(&self) -> recording::Engine {
        self.kind
    }

    /// Whether system time is seen.
    pub(crate) fn sees_system_time(&self) -> bool {
        self.kind == recording::Engine::CpuTimer || !self.system_timers.is_empty()
    }
}
