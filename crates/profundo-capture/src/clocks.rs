//! The task clocks of a session: each thread has its own, or one that it has inherited.
//!
//! Threads that exist at the start get clocks of their own. Those that begin later inherit one, from their first instruction on and
//! at no cost, also where threads of one parent take turns on a CPU. But the period of an inherited clock never
//! changes (`profundo_probe::task_clock`), so a thread that runs on and on asks for its own.
//!
//! The kernel takes an inherited clock off a thread only when the one that it comes from is closed, and then off all
//! others that have it. So when somebody asks, all threads get clocks of their own, and the clocks that were
//! inherited are closed, their owners' replaced by new ones.
//!
//! A clock of its own costs a thread several microseconds at each switch (`profundo_probe::pace`). A thread that is switched often
//! gets a CPU timer in its place.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use profundo_probe::handlers::{PERF_TAG, value};
use profundo_probe::phase::PeriodDraw;
use profundo_probe::task_clock::set_open;
use profundo_probe::{Probe, sys};

use crate::error::{Error, Refusal};
use crate::perf::{Signal, TaskClock};
use crate::proc;
use crate::timer::CpuTimer;

/// So many threads get a clock of their own after the start, if the program may have four times as many descriptors: there
/// must be enough for the program itself.
const MOST: usize = 256;

/// How often the period of a thread changes that does not run: only for the threads that it begins. A clock starts anew then, so
/// a thread that runs for less than half of a period between two changes would never be sampled.
const IDLE: Duration = Duration::from_secs(1);

/// So many clocks of ended threads are kept for those that have inherited them, before all get their own.
const ENDED: usize = 16;

/// The clocks.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// Whether threads inherit them: they do, unless SIGTRAP is somebody else's.
    pub(crate) inherit: bool,
    /// The nominal period.
    period: u64,
    /// The last tag that was given.
    tag: u64,
    own: HashMap<u32, Own>,
    /// The timers of threads that are switched often.
    timers: HashMap<u32, CpuTimer>,
    /// Clocks of threads that have ended, which others may have inherited.
    ended: Vec<(u32, Own)>,
    /// Clocks that were taken off their threads, whose handlers may be about to change their periods.
    leaving: Vec<(u32, Own)>,
    is_running: bool,
    /// When the periods of threads change that do not run.
    next_change: Instant,
}

/// The clock of one thread.
#[derive(Debug)]
struct Own {
    clock: TaskClock,
    /// 0 where signals do not carry it.
    tag: u64,
    periods: PeriodDraw,
    /// The thread's samples at the last change of periods.
    samples: u64,
}

impl Own {
    fn enable(&self) -> Result<(), Error> {
        self.clock.enable().map_err(|source| Error::Refused {
            what: Refusal::PerfEvents,
            source,
        })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        set_open(self.tag, false);
    }
}

impl Clocks {
    /// No clocks yet. `session` is the part of their tags that is this session's.
    pub(crate) fn new(inherit: bool, period: u64, session: u64) -> Self {
        Self {
            inherit,
            period,
            tag: session,
            own: HashMap::new(),
            timers: HashMap::new(),
            ended: Vec::new(),
            leaving: Vec::new(),
            is_running: false,
            next_change: Instant::now() + IDLE,
        }
    }

    /// Opens clocks on all threads that have none of their own.
    pub(crate) fn open_on_all(&mut self) -> Result<(), Error> {
        // A thread that starts while we look either inherits its clock or is found in the next
        // round, or both: one of the two counts.
        loop {
            let new = self.without_own(&proc::threads()?);
            if new.is_empty() {
                return Ok(());
            }
            let mut have_all_ended = true;
            for tid in new {
                have_all_ended &= !self.open_on(tid)?;
            }
            if have_all_ended {
                return Ok(());
            }
        }
    }

    /// Those that have neither a clock of their own nor a timer.
    fn without_own(&self, tids: &[u32]) -> Vec<u32> {
        let has = |tid: &u32| self.own.contains_key(tid) || self.timers.contains_key(tid);
        tids.iter().copied().filter(|tid| !has(tid)).collect()
    }

    /// Opens a clock on a thread, not yet running. False: it has ended.
    fn open_on(&mut self, tid: u32) -> Result<bool, Error> {
        let mut periods = PeriodDraw::new(tid.into());
        let period = periods.next(self.period);
        let (tag, signal) = match self.inherit {
            true => {
                self.tag = (self.tag & !0xFFFF) | ((self.tag + 1) & 0xFFFF);
                let tag = PERF_TAG | self.tag;
                (tag, Signal::Trap { tag })
            }
            false => (0, Signal::Urgent),
        };
        match TaskClock::open(tid, period, signal) {
            Ok(clock) => {
                if tag != 0 {
                    set_open(tag, true);
                }
                let own = Own {
                    clock,
                    tag,
                    periods,
                    samples: 0,
                };
                self.own.insert(tid, own);
                Ok(true)
            }
            Err(error) if has_ended(tid, &error) => Ok(false),
            Err(source) => Err(Error::Refused {
                what: Refusal::PerfEvents,
                source,
            }),
        }
    }

    /// Tells a thread's handler which clock the thread has. A thread that was met a moment ago is told at the next look.
    fn tell(&self, tid: u32, probe: &Probe) {
        let Some((slot, own)) = probe.threads.find(tid).zip(self.own.get(&tid)) else {
            return;
        };
        let descriptor = own.clock.descriptor();
        if !slot.clock.has_own(descriptor) {
            slot.clock.set_own(own.tag, descriptor, own.periods);
        }
    }

    fn tell_all(&self, probe: &Probe) {
        for tid in self.own.keys() {
            self.tell(*tid, probe);
        }
    }

    /// Lets the clocks run.
    pub(crate) fn enable(&mut self, probe: &Probe) -> Result<(), Error> {
        for slot in probe.threads.slots() {
            slot.begin(crate::clock::cpu_of(slot.tid()));
        }
        self.tell_all(probe);
        self.is_running = true;
        self.own.values().try_for_each(Own::enable)
    }

    /// Looks at the threads there are: gives clocks to those that cannot inherit one, and closes those of threads that have ended.
    pub(crate) fn attend(&mut self, tids: &[u32], probe: &Probe) {
        self.close_left(probe);
        let has_ended = |tid: &u32, _: &mut Own| !tids.contains(tid);
        self.ended.extend(self.own.extract_if(has_ended));
        let without = self.without_own(tids);
        self.timers.retain(|tid, _| tids.contains(tid));
        if !self.inherit && self.is_running {
            for tid in &without {
                // What is refused now is tried again at the next look.
                if self.give(*tid, probe).is_err() {
                    break;
                }
            }
        }
        if !self.inherit || without.is_empty() {
            // Nobody has inherited one.
            self.ended.clear();
        }
        self.tell_all(probe);
        let now = Instant::now();
        if self.inherit && now >= self.next_change {
            self.next_change = now + IDLE;
            self.change_idle(probe);
        }
    }

    /// Changes the periods of threads that have not run for a while. Those that they begin would else all have the same one, which
    /// may be longer than they live.
    fn change_idle(&mut self, probe: &Probe) {
        for (&tid, own) in &mut self.own {
            let samples = probe.threads.find(tid).map_or(0, |slot| slot.samples());
            if std::mem::replace(&mut own.samples, samples) == samples {
                let period = own.periods.next(self.period);
                sys::set_perf_period(own.clock.descriptor(), period);
            }
        }
    }

    /// Whether many clocks are kept of threads that have ended.
    pub(crate) fn has_many_of_ended(&self) -> bool {
        self.ended.len() > ENDED
    }

    /// Gives each thread a clock of its own, or a timer if it is switched often, and closes the clocks that others had
    /// inherited. False: there are too many threads, or some of those with inherited clocks are switched often, and nobody is slowed
    /// down.
    pub(crate) fn give_to_all(&mut self, probe: &Probe) -> bool {
        let Ok(tids) = proc::threads() else {
            return false;
        };
        let slot = |tid: &u32| probe.threads.find(*tid);
        let is_switched = |tid: &u32| slot(tid).is_some_and(|it| it.clock.is_switched_often());
        let calm = |tid: &u32, _: &mut CpuTimer| !is_switched(tid);
        let without = self.without_own(&tids);
        let slowed: Vec<u32> = self.own.keys().copied().filter(is_switched).collect();
        let is_too_much = without.len() + self.own.len() > most();
        let is_harmful = slowed.is_empty() && without.iter().any(is_switched);
        if !without.is_empty() && (is_too_much || is_harmful) {
            return false;
        }
        let inherited = without.iter().filter_map(slot).map(|it| it.clock.tag());
        let doubles = tids.iter().filter_map(slot);
        let doubles = doubles.map(|slot| slot.clock.take_double());
        let shared: Vec<u64> = inherited.chain(doubles).collect();
        let is_left = |tid: &u32, own: &mut Own| shared.contains(&own.tag) || slowed.contains(tid);
        let left: Vec<(u32, Own)> = self.own.extract_if(is_left).collect();
        let calmed: Vec<(u32, CpuTimer)> = self.timers.extract_if(calm).collect();
        for tid in self.without_own(&tids) {
            let has_timer = is_switched(&tid) && self.start_timer(tid, probe);
            if !has_timer {
                // Who gets none now is found to run without samples.
                let _ = self.give(tid, probe);
            }
        }
        drop(calmed);
        self.leaving.extend(left);
        self.leaving.append(&mut self.ended);
        self.close_left(probe);
        true
    }

    /// Gives a thread that has neither a clock of its own.
    pub(crate) fn give(&mut self, tid: u32, probe: &Probe) -> Result<(), Error> {
        if self.timers.contains_key(&tid) || self.own.contains_key(&tid) || !self.open_on(tid)? {
            return Ok(());
        }
        // The handler knows it before it ticks.
        self.tell(tid, probe);
        match self.own.get(&tid) {
            Some(own) => own.enable(),
            None => Ok(()),
        }
    }

    /// Starts a thread's timer. False: there are no more, or the handler does not know the thread.
    fn start_timer(&mut self, tid: u32, probe: &Probe) -> bool {
        let Some(slot) = probe.threads.find(tid) else {
            return false;
        };
        let Ok(timer) = CpuTimer::start(tid, self.period, self.period, value::CPU_TIMER) else {
            return false;
        };
        slot.clock.set_timed();
        self.timers.insert(tid, timer);
        true
    }

    /// Whether a timer samples the thread, in user code and in the kernel.
    pub(crate) fn has_timer(&self, tid: u32) -> bool {
        self.timers.contains_key(&tid)
    }

    /// Closes the clocks that were taken off their threads, as soon as no handler uses their descriptors.
    fn close_left(&mut self, probe: &Probe) {
        for (tid, own) in std::mem::take(&mut self.leaving) {
            let slot = probe.threads.find(tid);
            let is_in_use = slot.is_some_and(|slot| {
                if slot.clock.has_own(own.clock.descriptor()) {
                    slot.clock.forget_own();
                }
                slot.clock.is_in_use()
            });
            match is_in_use {
                true => self.leaving.push((tid, own)),
                false => drop(own),
            }
        }
    }

    /// Stops and closes all clocks.
    pub(crate) fn close(&mut self, probe: &Probe) {
        const LOOKS: usize = 1000;
        self.is_running = false;
        self.timers.clear();
        self.leaving.extend(self.own.drain());
        self.leaving.append(&mut self.ended);
        for (_, own) in &self.leaving {
            own.clock.disable();
        }
        for _ in 0..LOOKS {
            self.close_left(probe);
            if self.leaving.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        // A thread that was stopped in its handler. The clock ticks no more, and its descriptor stays.
        for (_, own) in self.leaving.drain(..) {
            set_open(own.tag, false);
            std::mem::forget(own);
        }
    }
}

/// How many clocks there may be.
fn most() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is ours and is written to.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    match told {
        0 => MOST.min((limit.rlim_cur / 4) as usize),
        _ => 0,
    }
}

/// Whether the kernel refused because the thread is no more. An old kernel says EINVAL of what it
/// does not know, too.
pub(crate) fn has_ended(tid: u32, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::ESRCH) => true,
        Some(libc::EINVAL) => !proc::is_alive(tid),
        _ => false,
    }
}
