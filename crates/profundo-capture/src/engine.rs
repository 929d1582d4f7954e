//! The engine of a CPU session: a clock on every thread, by the best means permitted.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use profundo_probe::Probe;
use profundo_probe::handlers::{self, PERF_TAG, Periods, value};
use profundo_wire::recording;

use crate::config::{Config, Delivery, EngineChoice};
use crate::error::{Error, Refusal};
use crate::perf::{Signal, TaskClock};
use crate::proc;
use crate::timer::CpuTimer;

/// Counts sessions in the upper half of a tag's number.
static SESSIONS: AtomicU64 = AtomicU64::new(1 << 16);

/// System time is asked for at this rate, which is that of most kernels' own ticks: they charge a
/// tick to where it hits.
const SYSTEM_PERIOD: Duration = Duration::from_millis(4);

/// The period is drawn from this part of the nominal one, up and down. It need not be much: a
/// period that is three parts in a hundred off goes through all phases of a loop of the nominal
/// length in thirty samples.
const JITTER: f64 = 0.03;

/// The clocks of all threads.
#[derive(Debug)]
pub(crate) struct Engine {
    kind: recording::Engine,
    /// Whether threads that start later inherit their clock.
    inherits: bool,
    period: u64,
    clocks: Vec<TaskClock>,
    /// Per-thread clocks that are not inherited: these threads have one.
    urgent: HashMap<u32, TaskClock>,
    timers: HashMap<u32, CpuTimer>,
    system_timers: HashMap<u32, CpuTimer>,
    tags: u64,
    random: Random,
    /// How far the next period is from the nominal one, if that was drawn already: deviations
    /// come in pairs that cancel, so that the rate is right on average.
    opposite: Option<u64>,
    pub(crate) notes: Vec<String>,
}

impl Engine {
    /// Opens clocks on all threads; they do not run yet.
    pub(crate) fn open(config: &Config, wall: bool, probe: &'static Probe) -> Result<Self, Error> {
        let period = config.delay.as_nanos() as u64;
        let mut engine = Self {
            kind: recording::Engine::PerfSignal,
            inherits: false,
            period,
            clocks: Vec::new(),
            urgent: HashMap::new(),
            timers: HashMap::new(),
            system_timers: HashMap::new(),
            // The session's number, so that nothing seen in an earlier one counts.
            tags: SESSIONS.fetch_add(1 << 16, Ordering::Relaxed) & 0x7FFF_0000,
            random: Random::new(),
            opposite: None,
            notes: Vec::new(),
        };
        handlers::set_perf_period(period);
        handlers::set_periods(Periods {
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
                    engine.drop_clocks();
                    engine.open_timers()?;
                }
            }
        }
        if !wall && engine.kind == recording::Engine::PerfSignal {
            engine.refresh_system_timers(&proc::threads()?);
        }
        Ok(engine)
    }

    fn drop_clocks(&mut self) {
        self.clocks.clear();
        self.urgent.clear();
    }

    fn open_perf(&mut self, delivery: Delivery, probe: &'static Probe) -> Result<(), Error> {
        self.kind = recording::Engine::PerfSignal;
        let trap = match delivery {
            Delivery::Trap => true,
            Delivery::Urgent => false,
            Delivery::Auto => !handlers::trap_is_taken() && !proc::is_traced(),
        };
        self.inherits = trap;
        if !trap {
            return self.open_urgent(&proc::threads()?);
        }
        if !handlers::install_trap(probe) {
            return Err(Error::refused(Refusal::SignalHandler));
        }
        // A thread that starts while we look either inherits its clock or is found in the next
        // round, or both: the handler goes by the first clock that it sees on each thread.
        let mut seen: Vec<u32> = Vec::new();
        loop {
            let new: Vec<u32> = proc::threads()?
                .into_iter()
                .filter(|tid| !seen.contains(tid))
                .collect();
            if new.is_empty() {
                return Ok(());
            }
            for tid in new {
                self.tags = (self.tags & !0xFFFF) | ((self.tags + 1) & 0xFFFF);
                let signal = Signal::Trap {
                    tag: PERF_TAG | self.tags,
                };
                match TaskClock::open(tid, self.period, signal) {
                    Ok(clock) => self.clocks.push(clock),
                    Err(error) if has_ended(tid, &error) => {}
                    Err(source) => {
                        return Err(Error::Refused {
                            what: Refusal::PerfEvents,
                            source,
                        });
                    }
                }
                seen.push(tid);
            }
        }
    }

    fn open_urgent(&mut self, tids: &[u32]) -> Result<(), Error> {
        self.urgent.retain(|tid, _| tids.contains(tid));
        for &tid in tids {
            if self.urgent.contains_key(&tid) {
                continue;
            }
            match TaskClock::open(tid, self.period, Signal::Urgent) {
                Ok(clock) => {
                    self.urgent.insert(tid, clock);
                }
                Err(error) if has_ended(tid, &error) => {}
                Err(source) => {
                    return Err(Error::Refused {
                        what: Refusal::PerfEvents,
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    fn open_timers(&mut self) -> Result<(), Error> {
        self.kind = recording::Engine::CpuTimer;
        self.inherits = false;
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

    /// Lets the clocks run.
    pub(crate) fn enable(&self) -> Result<(), Error> {
        for clock in self.clocks.iter().chain(self.urgent.values()) {
            clock.enable().map_err(|source| Error::Refused {
                what: Refusal::PerfEvents,
                source,
            })?;
        }
        Ok(())
    }

    /// Stops all clocks; they are not started again.
    pub(crate) fn disable(&mut self) {
        for clock in self.clocks.iter().chain(self.urgent.values()) {
            clock.disable();
        }
        self.drop_clocks();
        self.timers.clear();
        self.system_timers.clear();
    }

    /// Whether new threads have to be found by looking, and so soon.
    pub(crate) fn must_look_for_threads(&self) -> bool {
        !self.inherits
    }

    /// Gives clocks to threads that have none, and takes those of ended threads back. What is
    /// refused now is tried again at the next look.
    pub(crate) fn attend(&mut self, tids: &[u32]) {
        if !self.timers.is_empty() || self.kind == recording::Engine::CpuTimer {
            let _ = self.refresh_timers(tids);
            return;
        }
        if !self.inherits && self.open_urgent(tids).is_ok() {
            for clock in self.urgent.values() {
                let _ = clock.enable();
            }
        }
        if !self.system_timers.is_empty() {
            self.refresh_system_timers(tids);
        }
    }

    /// Draws a new period for all task clocks, so that no loop of the program can hide behind
    /// the rate.
    ///
    /// It is done about once a second and not more often, because the kernel restarts a clock
    /// whose period changes: what had run of the old period is lost. At a hundred times a
    /// second a busy thread would lose five samples in a hundred, and a thread that runs for less
    /// than a period between two changes would never be sampled.
    pub(crate) fn vary_period(&mut self) {
        if self.kind != recording::Engine::PerfSignal {
            return;
        }
        let period = match self.opposite.take() {
            Some(period) => period,
            None => {
                let spread = (self.period as f64 * JITTER) as u64;
                let deviation = self.random.below(2 * spread + 1);
                self.opposite = Some(self.period + spread - deviation);
                self.period - spread + deviation
            }
        };
        handlers::set_perf_period(period);
        for clock in self.clocks.iter().chain(self.urgent.values()) {
            clock.set_period(period);
        }
    }

    /// What samples.
    pub(crate) fn kind(&self) -> recording::Engine {
        self.kind
    }

    /// Whether system time is seen.
    pub(crate) fn sees_system_time(&self) -> bool {
        self.kind == recording::Engine::CpuTimer || !self.system_timers.is_empty()
    }
}

/// Whether the kernel refused because the thread is no more. An old kernel says EINVAL of what it
/// does not know, too.
fn has_ended(tid: u32, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::ESRCH) => true,
        Some(libc::EINVAL) => !proc::is_alive(tid),
        _ => false,
    }
}

/// A small generator of numbers that need only be unlike the program's own rhythm.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(profundo_probe::clock::now() | 1)
    }

    /// A number below `bound`, 0 if that is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // xorshift64*, whose high bits are good.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(bits) * u128::from(bound)) >> 64) as u64
    }
}
