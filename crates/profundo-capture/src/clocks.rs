//! The task clocks of a session: each thread has its own, or one that it has inherited.
//!
//! Threads that exist at the start get clocks of their own. Those that begin later inherit one,
//! from their first instruction on and at no cost, also where threads of one parent take turns on a
//! CPU. But the period of an inherited clock never changes (`profundo_probe::task_clock`), so a
//! thread that never waits asks for its own.
//!
//! The kernel takes an inherited clock off a thread only when its original is closed, and then off
//! all other threads that have it. So when a thread asks, all threads get clocks of their own, and
//! the inherited clocks are closed, those of their owners replaced by new ones.
//!
//! A clock of its own costs a thread several microseconds at each switch (`profundo_probe::pace`).
//! A thread that is switched often gets a CPU timer in its place. When it has become calm, it gets
//! a clock again. The helper judges that: where threads take turns within a tick of the kernel, few
//! ticks hit the thread, and its handler hardly runs.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use profundo_probe::handlers::{PERF_TAG, value};
use profundo_probe::pace::{self, Stretch};
use profundo_probe::random::PeriodDraw;
use profundo_probe::task_clock::{TICK, set_open};
use profundo_probe::{Probe, sys};

use crate::error::{Error, Refusal};
use crate::perf::{Signal, TaskClock};
use crate::proc;
use crate::timer::CpuTimer;

/// The number of threads that get a clock of their own after the start, if the program may have
/// four times as many descriptors: there must be enough for the program itself.
const MOST: usize = 256;

/// The interval of period changes for a thread that does not run: only for the threads that it
/// starts. A clock restarts at a change, so a thread that runs for less than half of a period
/// between two changes would never be sampled.
const IDLE: Duration = Duration::from_secs(1);

/// The number of clocks of ended threads that are kept for their heirs, before all get their own.
const ENDED: usize = 16;

/// The clocks.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// Whether threads inherit them: they do, unless SIGTRAP has another user.
    pub(crate) inherit: bool,
    /// The nominal period.
    period: u64,
    /// The last tag given.
    tag: u64,
    own_clocks: HashMap<u32, OwnClock>,
    /// The timers of threads that are switched often.
    timers: HashMap<u32, Timed>,
    /// Clocks of ended threads, which others may have inherited.
    ended: Vec<(u32, OwnClock)>,
    /// Clocks taken off their threads, whose handlers may be about to change their periods.
    leaving: Vec<(u32, OwnClock)>,
    is_running: bool,
    /// The time of the next period change for threads that do not run.
    next_change: Instant,
}

/// The timer of a thread that is switched often.
#[derive(Debug)]
struct Timed {
    /// Stops when this is dropped.
    _timer: CpuTimer,
    /// Its CPU time and its switches when it was last judged.
    judged: Option<Stretch>,
}

/// The clock of one thread.
#[derive(Debug)]
struct OwnClock {
    clock: TaskClock,
    /// 0 where signals do not carry it.
    tag: u64,
    periods: PeriodDraw,
    /// The thread's samples at the last change of periods.
    samples: u64,
}

impl OwnClock {
    fn enable(&self) -> Result<(), Error> {
        self.clock.enable().map_err(|source| Error::Refused {
            what: Refusal::PerfEvents,
            source,
        })
    }
}

impl Drop for OwnClock {
    fn drop(&mut self) {
        set_open(self.tag, false);
    }
}

impl Clocks {
    /// No clocks yet. `session` is the session's part of their tags.
    pub(crate) fn new(inherit: bool, period: u64, session: u64) -> Self {
        Self {
            inherit,
            period,
            tag: session,
            own_clocks: HashMap::new(),
            timers: HashMap::new(),
            ended: Vec::new(),
            leaving: Vec::new(),
            is_running: false,
            next_change: Instant::now() + IDLE,
        }
    }

    /// Opens clocks on all threads without one of their own.
    pub(crate) fn open_on_all(&mut self) -> Result<(), Error> {
        // A thread that starts meanwhile either inherits its clock or is found in the next round,
        // or both: one of the two counts.
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

    /// The threads with neither a clock of their own nor a timer.
    fn without_own(&self, tids: &[u32]) -> Vec<u32> {
        let has = |tid: &u32| self.own_clocks.contains_key(tid) || self.timers.contains_key(tid);
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
                let own_clock = OwnClock {
                    clock,
                    tag,
                    periods,
                    samples: 0,
                };
                self.own_clocks.insert(tid, own_clock);
                Ok(true)
            }
            Err(error) if has_ended(tid, &error) => Ok(false),
            Err(source) => Err(Error::Refused {
                what: Refusal::PerfEvents,
                source,
            }),
        }
    }

    /// Gives a thread's handler the thread's clock. A thread that has just appeared gets it at the
    /// next look.
    fn hand_over(&self, tid: u32, probe: &Probe) {
        let Some((slot, own_clock)) = probe.threads.find(tid).zip(self.own_clocks.get(&tid)) else {
            return;
        };
        let descriptor = own_clock.clock.descriptor();
        if !slot.clock.has_own(descriptor) {
            slot.clock
                .set_own(own_clock.tag, descriptor, own_clock.periods);
        }
    }

    fn hand_over_all(&self, probe: &Probe) {
        for tid in self.own_clocks.keys() {
            self.hand_over(*tid, probe);
        }
    }

    /// Starts the clocks.
    pub(crate) fn enable(&mut self, probe: &Probe) -> Result<(), Error> {
        for slot in probe.threads.slots() {
            slot.begin(crate::clock::cpu_of(slot.tid()));
        }
        self.hand_over_all(probe);
        self.is_running = true;
        self.own_clocks.values().try_for_each(OwnClock::enable)
    }

    /// Looks at the present threads: gives clocks to those that cannot inherit one, and closes
    /// those of ended threads.
    pub(crate) fn attend(&mut self, tids: &[u32], probe: &Probe) {
        self.close_left(probe);
        let has_ended = |tid: &u32, _: &mut OwnClock| !tids.contains(tid);
        self.ended.extend(self.own_clocks.extract_if(has_ended));
        let without = self.without_own(tids);
        self.timers.retain(|tid, _| tids.contains(tid));
        if !self.inherit && self.is_running {
            for tid in &without {
                // A refused clock is tried again at the next look.
                if self.give(*tid, probe).is_err() {
                    break;
                }
            }
        }
        if !self.inherit || without.is_empty() {
            // No thread has inherited one.
            self.ended.clear();
        }
        self.calm_down(probe);
        self.hand_over_all(probe);
        let now = Instant::now();
        if self.inherit && now >= self.next_change {
            self.next_change = now + IDLE;
            self.change_idle(probe);
        }
    }

    /// Gives clocks to threads with timers that are seldom switched now.
    fn calm_down(&mut self, probe: &Probe) {
        let is_calm = |tid: &u32, timed: &mut Timed| {
            let now = stretch_of(*tid);
            let Some((now, before)) = now.zip(timed.judged) else {
                timed.judged = now;
                return false;
            };
            let since = Stretch {
                ran: now.ran.saturating_sub(before.ran),
                switches: now.switches.saturating_sub(before.switches),
            };
            let Some(judged) = pace::judge(pace::TICKS, since, TICK) else {
                return false;
            };
            timed.judged = Some(now);
            judged == pace::CLOCK
        };
        let calm: Vec<(u32, Timed)> = self.timers.extract_if(is_calm).collect();
        for (tid, Timed { judged, .. }) in &calm {
            if let Some((slot, now)) = probe.threads.find(*tid).zip(*judged) {
                slot.clock.judge_from(now.ran, now.switches);
            }
            // A thread that gets none now is later found to run without samples.
            let _ = self.give(*tid, probe);
        }
    }

    /// Changes the periods of threads that have not run for a while. Otherwise the threads that
    /// they start would all have the same period, which may be longer than they live.
    fn change_idle(&mut self, probe: &Probe) {
        for (&tid, own_clock) in &mut self.own_clocks {
            let samples = probe.threads.find(tid).map_or(0, |slot| slot.samples());
            if std::mem::replace(&mut own_clock.samples, samples) == samples {
                let period = own_clock.periods.next(self.period);
                sys::set_perf_period(own_clock.clock.descriptor(), period);
            }
        }
    }

    /// Whether many clocks of ended threads are kept.
    pub(crate) fn has_many_of_ended(&self) -> bool {
        self.ended.len() > ENDED
    }

    /// Gives each thread a clock of its own, or a timer if it is switched often, and closes the
    /// inherited clocks. False: there are too many threads, or some of those with inherited clocks
    /// are switched often and would be slowed down.
    pub(crate) fn give_to_all(&mut self, probe: &Probe) -> bool {
        let Ok(tids) = proc::threads() else {
            return false;
        };
        let slot = |tid: &u32| probe.threads.find(*tid);
        let is_switched = |tid: &u32| slot(tid).is_some_and(|slot| slot.clock.is_switched_often());
        let calm = |tid: &u32, _: &mut Timed| !is_switched(tid);
        let without = self.without_own(&tids);
        let slowed: Vec<u32> = self
            .own_clocks
            .keys()
            .copied()
            .filter(is_switched)
            .collect();
        let is_too_much = without.len() + self.own_clocks.len() > most();
        let is_harmful = slowed.is_empty() && without.iter().any(is_switched);
        if !without.is_empty() && (is_too_much || is_harmful) {
            return false;
        }
        let inherited = without.iter().filter_map(slot).map(|slot| slot.clock.tag());
        let doubles = tids.iter().filter_map(slot);
        let doubles = doubles.map(|slot| slot.clock.take_double());
        let shared: Vec<u64> = inherited.chain(doubles).collect();
        let is_left = |tid: &u32, own_clock: &mut OwnClock| {
            shared.contains(&own_clock.tag) || slowed.contains(tid)
        };
        let left: Vec<(u32, OwnClock)> = self.own_clocks.extract_if(is_left).collect();
        let calmed: Vec<(u32, Timed)> = self.timers.extract_if(calm).collect();
        for tid in self.without_own(&tids) {
            let has_timer = is_switched(&tid) && self.start_timer(tid, probe);
            if !has_timer {
                // A thread that gets none now is later found to run without samples.
                let _ = self.give(tid, probe);
            }
        }
        drop(calmed);
        self.leaving.extend(left);
        self.leaving.append(&mut self.ended);
        self.close_left(probe);
        true
    }

    /// Gives a thread a clock or a timer.
    pub(crate) fn give(&mut self, tid: u32, probe: &Probe) -> Result<(), Error> {
        if self.timers.contains_key(&tid)
            || self.own_clocks.contains_key(&tid)
            || !self.open_on(tid)?
        {
            return Ok(());
        }
        // The handler knows it before it ticks.
        self.hand_over(tid, probe);
        match self.own_clocks.get(&tid) {
            Some(own_clock) => own_clock.enable(),
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
        let timed = Timed {
            _timer: timer,
            judged: stretch_of(tid),
        };
        self.timers.insert(tid, timed);
        true
    }

    /// Whether a timer samples the thread, in user code and in the kernel.
    pub(crate) fn has_timer(&self, tid: u32) -> bool {
        self.timers.contains_key(&tid)
    }

    /// Closes the clocks taken off their threads, as soon as no handler uses their descriptors.
    fn close_left(&mut self, probe: &Probe) {
        for (tid, own_clock) in std::mem::take(&mut self.leaving) {
            let slot = probe.threads.find(tid);
            let is_in_use = slot.is_some_and(|slot| {
                if slot.clock.has_own(own_clock.clock.descriptor()) {
                    slot.clock.forget_own();
                }
                slot.clock.is_in_use()
            });
            match is_in_use {
                true => self.leaving.push((tid, own_clock)),
                false => drop(own_clock),
            }
        }
    }

    /// Stops and closes all clocks.
    pub(crate) fn close(&mut self, probe: &Probe) {
        const LOOKS: usize = 1000;
        self.is_running = false;
        self.timers.clear();
        self.leaving.extend(self.own_clocks.drain());
        self.leaving.append(&mut self.ended);
        for (_, own_clock) in &self.leaving {
            own_clock.clock.disable();
        }
        for _ in 0..LOOKS {
            self.close_left(probe);
            if self.leaving.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
        // A thread that was stopped in its handler. The clock has stopped, and its descriptor
        // stays.
        for (_, own_clock) in self.leaving.drain(..) {
            set_open(own_clock.tag, false);
            std::mem::forget(own_clock);
        }
    }
}

/// The CPU time of a thread and its switches so far.
fn stretch_of(tid: u32) -> Option<Stretch> {
    Some(Stretch {
        ran: crate::clock::cpu_of(tid),
        switches: proc::switches(tid)?,
    })
}

/// The largest number of clocks.
fn most() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is ours and is written to.
    let outcome = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    match outcome {
        0 => MOST.min((limit.rlim_cur / 4) as usize),
        _ => 0,
    }
}

/// Whether the kernel refused because the thread has ended. An old kernel says EINVAL for unknown
/// threads, too.
pub(crate) fn has_ended(tid: u32, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::ESRCH) => true,
        Some(libc::EINVAL) => !proc::is_alive(tid),
        _ => false,
    }
}
