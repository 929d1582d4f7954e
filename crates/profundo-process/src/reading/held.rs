//! Holding one running thread for a moment, as a debugger does, and resuming it.
//!
//! After each holding the thread is detached, so its signals are delivered as usual, a debugger may
//! attach, and if we are killed the kernel resumes it. A blocked thread must not be held: see
//! [`activity`](super::activity). If it blocks in the instant between, in a system call that would
//! return `EINTR`, the call is restarted.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::call_before;
#[cfg(target_arch = "x86_64")]
use x86_64::call_before;

use std::time::{Duration, Instant};

use profundo_probe::regs::ALL;
use profundo_unwind::{General, Regs};

use super::blocked::{Activity, ActivityReader, Blocked};
use super::wake::wake_cost;

/// The time that a thread gets to stop. It ran a moment ago, so mostly it stops at once; but it may
/// have to wait for a CPU.
const PATIENCE: Duration = Duration::from_micros(1500);
/// The patience where a failed reading is not repeated soon.
const SOME_PATIENCE: Duration = Duration::from_millis(50);
/// The patience where every thread is to be read once.
const LONG_PATIENCE: Duration = Duration::from_millis(300);

/// Holds threads, and resumes all of them.
#[derive(Debug, Default)]
pub struct Stopper {
    activities: ActivityReader,
    /// Threads that were asked to stop and have not done so yet.
    late: Vec<Late>,
    /// The time for which threads that stopped too late were held, at most, in nanoseconds.
    held_late: u64,
    /// Whether to wait for a thread that has to wait for a CPU.
    pub is_patient: bool,
    /// Whether to wait for it for a while.
    pub has_some_patience: bool,
    /// A process that is reaped elsewhere.
    pub child: Option<i32>,
}

/// A thread that was asked to stop and has not done so yet.
#[derive(Debug)]
struct Late {
    tid: i32,
    /// When it was last seen running.
    running: Instant,
    /// Whether it may have waited for long when it was asked.
    may_have_waited: bool,
    /// The call that it waited in before.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(dead_code, reason = "the kernel tells it")
    )]
    call: Option<Blocked>,
}

/// The reason why a thread is not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotHeld {
    /// It is blocked, and can be read without holding it.
    Blocked,
    /// It has stopped at the end of a system call.
    Calling,
    /// It has ended.
    Gone,
    /// It did not stop in time.
    Late,
    /// The kernel does not permit it, or a debugger has it.
    Refused,
}

/// A held thread. It resumes when this is dropped.
#[derive(Debug)]
pub struct Held {
    pid: u32,
    tid: i32,
    /// A signal that was about to be delivered.
    signal: i32,
    /// The time at which it was last seen running.
    since: Instant,
    /// Whether it has stopped at the end of a system call.
    is_after_a_call: bool,
    /// The call that it waited in before, where the kernel does not tell it of a held thread.
    call: Option<Blocked>,
    /// Whether its call would return `EINTR`, and begins anew.
    is_restarted: bool,
    /// The contents of its registers.
    pub registers: Registers,
}

/// The registers of a held thread.
#[derive(Debug, Clone)]
pub struct Registers {
    /// The instruction, stack and frame pointers.
    pub place: Regs,
    /// The general registers.
    pub general: General,
    /// The general registers, and where the kernel gives them with those, the vector registers.
    pub all: [u64; ALL],
}

impl Stopper {
    /// Holds a running thread.
    pub fn hold(&mut self, pid: u32, tid: u32) -> Result<Held, NotHeld> {
        self.resume_late_threads();
        if self.is_late(tid as i32) {
            return Err(NotHeld::Late);
        }
        match self.activities.read(pid, tid) {
            Activity::Running => {}
            Activity::Blocked(_) => return Err(NotHeld::Blocked),
            Activity::Ended => return Err(NotHeld::Gone),
            Activity::Hidden => return Err(NotHeld::Refused),
        }
        self.hold_any(pid, tid, false, None)
    }

    /// Holds a thread in any state. Its wait goes on afterwards.
    pub fn hold_in_any_state(&mut self, pid: u32, tid: u32) -> Result<Held, NotHeld> {
        self.hold_any(pid, tid, true, call_before(pid, tid))
    }

    /// Holds a thread that was not in a long wait a moment ago. If it has begun a wait since, that
    /// one begins anew.
    pub fn hold_awake(&mut self, pid: u32, tid: u32) -> Result<Held, NotHeld> {
        self.hold_any(pid, tid, false, call_before(pid, tid))
    }

    fn hold_any(
        &mut self,
        pid: u32,
        tid: u32,
        may_have_waited: bool,
        call: Option<Blocked>,
    ) -> Result<Held, NotHeld> {
        let id = tid as i32;
        // Measured on the first call, while no thread is held.
        wake_cost();
        // A thread that has not stopped yet is traced by us already.
        self.resume_late_threads();
        if self.is_late(id) {
            return Err(NotHeld::Late);
        }
        if request(libc::PTRACE_SEIZE, id, 0, 0).is_err() {
            return Err(match profundo_linux::sys::is_alive(tid) {
                true => NotHeld::Refused,
                false => NotHeld::Gone,
            });
        }
        if request(libc::PTRACE_INTERRUPT, id, 0, 0).is_err() {
            return Err(NotHeld::Gone);
        }
        let (signal, since) = match self.wait(id) {
            Ok((Stop::Held { signal }, since)) => (signal, since),
            Ok((Stop::Gone, _)) => return Err(NotHeld::Gone),
            Err(running) => {
                self.late.push(Late {
                    tid: id,
                    running,
                    may_have_waited,
                    call,
                });
                return Err(NotHeld::Late);
            }
        };
        // From here on the thread resumes when `held` is dropped.
        let mut held = Held {
            pid,
            tid: id,
            signal,
            since,
            is_after_a_call: false,
            call,
            is_restarted: false,
            registers: Registers {
                place: Regs::default(),
                general: General([0; 16]),
                all: [0; ALL],
            },
        };
        match held.read_registers(may_have_waited) {
            true => Ok(held),
            false => Err(NotHeld::Gone),
        }
    }

    /// Waits until the thread has stopped. Returns when it was last seen running, also if it does
    /// not stop in time.
    fn wait(&self, tid: i32) -> Result<(Stop, Instant), Instant> {
        /// The number of tries without giving up the CPU: the thread takes some microseconds to
        /// stop.
        const SPINS: u32 = 200;
        /// The thread waits for a CPU, so it may use ours.
        const PAUSE: Duration = Duration::from_micros(100);
        let patience = match (self.is_patient, self.has_some_patience) {
            (true, _) => LONG_PATIENCE,
            (false, true) => SOME_PATIENCE,
            (false, false) => PATIENCE,
        };
        let mut polls = 0;
        let mut began = None;
        let mut running = Instant::now();
        loop {
            let now = Instant::now();
            if let Some(stop) = stop_of(tid, self.child) {
                return Ok((stop, running));
            }
            running = now;
            polls += 1;
            if polls < SPINS {
                std::hint::spin_loop();
                continue;
            }
            let began = *began.get_or_insert_with(Instant::now);
            match began.elapsed() {
                waited if waited > patience => return Err(running),
                waited if waited > PATIENCE => std::thread::sleep(PAUSE),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Resumes threads that stopped too late. Returns whether some have still to stop.
    pub fn resume_late_threads(&mut self) -> bool {
        let child = self.child;
        let held = &mut self.held_late;
        self.late.retain_mut(|late| {
            let now = Instant::now();
            match stop_of(late.tid, child) {
                None => {
                    late.running = now;
                    true
                }
                Some(Stop::Gone) => false,
                Some(Stop::Held { signal }) => {
                    *held += late.running.elapsed().as_nanos() as u64;
                    late.resume(signal);
                    false
                }
            }
        });
        !self.late.is_empty()
    }

    fn is_late(&self, tid: i32) -> bool {
        self.late.iter().any(|late| late.tid == tid)
    }

    /// The time for which threads that stopped too late to be read were held since the last call,
    /// at most, in nanoseconds. They stopped at an unknown instant after they were last seen
    /// running.
    pub fn take_held_late(&mut self) -> u64 {
        std::mem::take(&mut self.held_late)
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        /// A thread that stops later resumes when this process ends, which may take a while, and a
        /// call of it may fail then.
        const LONGEST: Duration = Duration::from_secs(2);
        let began = Instant::now();
        while self.resume_late_threads() && began.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Held {
    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The thread.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Whether it has stopped at the end of a system call.
    pub fn is_after_a_call(&self) -> bool {
        self.is_after_a_call
    }

    /// Whether it was stopped by a signal of its own, which is delivered when it resumes.
    pub fn has_signal(&self) -> bool {
        self.signal != 0
    }

    /// The call that it waited in before it was held, where the kernel does not tell it of a held
    /// thread: on aarch64.
    pub fn call_before(&self) -> Option<&Blocked> {
        self.call.as_ref()
    }

    /// Whether its call would have returned `EINTR` because of us, and begins anew.
    pub fn is_restarted(&self) -> bool {
        self.is_restarted
    }

    /// Waits for the next stop of the thread, which was resumed in between. `None`: it has not
    /// stopped in time.
    pub fn wait_for_stop(&self, patience: Duration) -> Option<Stop> {
        wait_for_stop(self.tid, patience)
    }

    /// The thread has run on, and was stopped again, perhaps in a call that would return `EINTR`
    /// for that: the kernel restarts it.
    pub fn settle_call(&self) {
        self.restart_interrupted();
    }

    /// Sets the signal that is delivered when the thread resumes, after another stop.
    pub fn set_signal(&mut self, signal: i32) {
        self.signal = signal;
    }

    /// Resumes the thread. Returns the time for which it was kept from running, in nanoseconds.
    pub fn resume(self) -> u64 {
        // Read before it resumes: the thread may take our CPU.
        self.since.elapsed().as_nanos() as u64 + wake_cost()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = request(libc::PTRACE_DETACH, self.tid, 0, self.signal as usize);
    }
}

/// The stop of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The thread is held.
    Held {
        /// The signal that is about to be delivered, or 0.
        signal: i32,
    },
    /// The thread has ended.
    Gone,
}

/// Waits until a traced thread stops. `None`: it has not stopped in time.
pub fn wait_for_stop(tid: i32, patience: Duration) -> Option<Stop> {
    /// It mostly stops within some microseconds.
    const SPINS: u32 = 2000;
    const PAUSE: Duration = Duration::from_micros(50);
    let began = Instant::now();
    let mut polls = 0;
    loop {
        match stop_of(tid, None) {
            Some(stop) => return Some(stop),
            // On a slow machine, even the tries without a pause take long.
            None if began.elapsed() > patience => return None,
            None if polls < SPINS => std::hint::spin_loop(),
            None => std::thread::sleep(PAUSE),
        }
        polls += 1;
    }
}

/// The stop of a thread, if it has stopped. The child's end is left to the code that reaps it.
fn stop_of(tid: i32, child: Option<i32>) -> Option<Stop> {
    if child == Some(tid) && has_ended(tid) {
        return Some(Stop::Gone);
    }
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    let found = unsafe { libc::waitpid(tid, &mut status, libc::__WALL | libc::WNOHANG) };
    match found {
        0 => None,
        found if found < 0 => Some(Stop::Gone),
        _ if !libc::WIFSTOPPED(status) => Some(Stop::Gone),
        // Our interrupt and a clone have an event above the signal; any other stop is that of a
        // signal to be delivered.
        _ if status >> 16 != 0 => Some(Stop::Held { signal: 0 }),
        _ => Some(Stop::Held {
            signal: libc::WSTOPSIG(status),
        }),
    }
}

fn has_ended(tid: i32) -> bool {
    // SAFETY: a zeroed structure is a valid one to be filled in.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the structure is a place of ours; its fields are those of SIGCHLD.
    unsafe {
        let asked = libc::waitid(libc::P_PID, tid as libc::id_t, &mut info, how);
        asked == 0 && info.si_pid() != 0
    }
}

/// The number of a request, as the C library has it.
#[cfg(target_env = "gnu")]
type Request = libc::c_uint;
/// The number of a request, as the C library has it.
#[cfg(not(target_env = "gnu"))]
type Request = libc::c_int;

fn request(request: Request, tid: i32, address: usize, data: usize) -> std::io::Result<()> {
    // SAFETY: callers pass addresses only for requests that fill in what they own.
    let done = unsafe { libc::ptrace(request, tid, address, data) };
    match done {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_linux::proc;
    use profundo_testing::wait_until;
    use std::process::{Child, Command, Stdio};

    /// It ends by itself if the test fails.
    fn spinner() -> Child {
        Command::new("sh")
            .args([
                "-c",
                "i=0; while [ $i -lt 100000000 ]; do i=$((i + 1)); done",
            ])
            .stdin(Stdio::null())
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_thread_is_held_and_goes_on() {
        let mut child = spinner();
        let pid = child.id();
        let mut stopper = Stopper::default();
        stopper.has_some_patience = true;
        let mut held = 0;
        for _ in 0..200 {
            match stopper.hold(pid, pid) {
                Ok(thread) => {
                    let place = thread.registers.place;
                    assert!(place.ip != 0 && place.sp != 0);
                    let state = proc::stat(pid).unwrap().state;
                    assert_eq!(state, b't');
                    held += 1;
                }
                Err(NotHeld::Late | NotHeld::Blocked) => {}
                Err(why) => panic!("{why:?}"),
            }
        }
        assert!(held > 0);
        // On a busy machine it may stop only now.
        wait_until("late stops", || !stopper.resume_late_threads());
        drop(stopper);
        assert!(!proc::is_traced(pid));
        let before = proc::thread_cpu(pid, pid).unwrap();
        wait_until("the thread to go on", || {
            proc::thread_cpu(pid, pid).unwrap() != before
        });
        child.kill().unwrap();
        let _ = child.wait();
        assert_eq!(Stopper::default().hold(pid, pid).err(), Some(NotHeld::Gone));
    }

    #[test]
    fn a_sleeper_is_left_alone() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        wait_until("a sleep", || proc::stat(pid).unwrap().state == b'S');
        // It may still be starting; then it sleeps.
        let mut stopper = Stopper::default();
        wait_until("a sleeper that is left alone", || {
            stopper.hold(pid, pid).err() == Some(NotHeld::Blocked)
        });
        child.kill().unwrap();
        let _ = child.wait();
    }
}
