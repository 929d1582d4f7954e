//! The signal handlers: they distinguish our signals from the program's own, and pass the latter
//! on.
//!
//! | signal | code | means |
//! |---|---|---|
//! | SIGTRAP | `TRAP_PERF`, our `sig_data` | a perf task clock ran out on this thread |
//! | SIGURG | `SI_TIMER`, our value | a CPU timer of this thread ran out |
//! | SIGURG | `POLL_*`, one of our descriptors | a perf task clock ran out (under a debugger) |
//!
//! SIGURG, because its default is to be ignored: one still pending at an `exec` does the new
//! program no harm.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_wire::State;

use crate::event::{Event, SystemCall};
use crate::probe::Probe;
use crate::sys;

/// The `sig_data` of our perf events: this, plus a number for each event.
pub const PERF_TAG: u64 = 0x5052_4F46_0000_0000;
pub(crate) const PERF_TAG_MASK: u64 = 0xFFFF_FFFF_0000_0000;

/// The values of our timers and queued signals.
pub mod value {
    /// A CPU timer that drives the sampling.
    pub const CPU_TIMER: u64 = 0x5052_4F46_0001;
    /// A CPU timer that looks for system time only.
    pub const SYSTEM_TIMER: u64 = 0x5052_4F46_0002;
}

pub(crate) const TRAP_PERF: i32 = 6;

/// The codes of a signal that a descriptor sends, from the first to the last.
const POLL_IN: i32 = 1;
const POLL_HUP: i32 = 6;

/// The state that handlers share, set before the first of them is installed.
#[derive(Debug)]
struct Shared {
    probe: AtomicPtr<Probe>,
    /// The nominal period of the task clocks.
    perf_period: AtomicU64,
    /// The period of the CPU timers.
    timer_period: AtomicU64,
    /// The weight of a wall-clock sample; 0 while CPU time is sampled.
    wall_period: AtomicU64,
    /// While set, perf signals are counted and otherwise ignored: the cost of delivery is measured.
    calibrating: AtomicBool,
    /// The number of signals counted meanwhile.
    calibrated: AtomicU64,
}

static SHARED: Shared = Shared {
    probe: AtomicPtr::new(ptr::null_mut()),
    perf_period: AtomicU64::new(0),
    timer_period: AtomicU64::new(0),
    wall_period: AtomicU64::new(0),
    calibrating: AtomicBool::new(false),
    calibrated: AtomicU64::new(0),
};

/// One bit for each descriptor number that is, or was, a perf event of ours. It is never taken
/// back: a signal may still be pending when its descriptor is closed, and the program's own handler
/// must not see it.
static OUR_DESCRIPTORS: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// The program's action for a signal before ours.
struct Previous {
    /// Before our first installation, and before our last: a program that installs a handler
    /// after our first session is chained behind us by the second one.
    oldest: UnsafeCell<MaybeUninit<libc::sigaction>>,
    newest: UnsafeCell<MaybeUninit<libc::sigaction>>,
    /// The number of known actions of the two.
    known: AtomicU32,
}

// SAFETY: an action is written before `known` counts it, with release order, and read after.
unsafe impl Sync for Previous {}

static PREVIOUS_TRAP: Previous = Previous::new();
static PREVIOUS_URG: Previous = Previous::new();

/// The threads that are passing a signal on, by the low bits of their ids. 0 is none.
static PASSING_ON: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

impl Previous {
    const fn new() -> Self {
        Self {
            oldest: UnsafeCell::new(MaybeUninit::uninit()),
            newest: UnsafeCell::new(MaybeUninit::uninit()),
            known: AtomicU32::new(0),
        }
    }

    /// Remembers the installed action just before ours replaces it.
    fn remember(&self, action: libc::sigaction) {
        let first = self.known.load(Ordering::Relaxed) == 0;
        let place = if first { &self.oldest } else { &self.newest };
        // SAFETY: `known` does not count it while we write, or it is replaced by an equal one:
        // sessions are serialised by the caller.
        unsafe { (*place.get()).write(action) };
        // Release pairs with the acquire in `pass_on`.
        self.known
            .store(if first { 1 } else { 2 }, Ordering::Release);
    }

    /// Passes a signal that is not ours to its previous handler.
    ///
    /// A handler that was installed over ours may pass it back to ours, as the one before it. Then
    /// it goes to the oldest: otherwise it would go round for ever.
    ///
    /// # Safety
    /// The arguments are those of a running handler.
    unsafe fn pass_on(&self, signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // Acquire pairs with the release in `remember`.
        let action = match self.known.load(Ordering::Acquire) {
            0 => return,
            1 => &self.oldest,
            _ => {
                let me = sys::thread_id();
                let place = PASSING_ON.get(me as usize % PASSING_ON.len());
                let taken = place.map(|place| {
                    place.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed)
                });
                match taken {
                    Some(Err(other)) if other == me => &self.oldest,
                    taken => {
                        // SAFETY: passed on; the newest is known.
                        unsafe { hand_over(&*self.newest.get(), signal, info, context) };
                        if let (Some(place), Some(Ok(_))) = (place, taken) {
                            place.store(0, Ordering::Relaxed);
                        }
                        return;
                    }
                }
            }
        };
        // SAFETY: passed on; the oldest is known.
        unsafe { hand_over(&*action.get(), signal, info, context) }
    }
}

/// Applies an action to a signal.
///
/// # Safety
/// The action is initialised; the others are the arguments of a running handler.
pub(crate) unsafe fn hand_over(
    action: &MaybeUninit<libc::sigaction>,
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the caller vouches for it.
    let action = unsafe { action.assume_init_ref() };
    match action.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL if signal == libc::SIGURG => {}
        libc::SIG_DFL => {
            // A breakpoint without a handler: the program dies of it, as it would have without us.
            // SAFETY: a zeroed action is SIG_DFL; both calls are allowed in a handler.
            unsafe {
                let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
                libc::sigaction(signal, &default, ptr::null_mut());
                libc::raise(signal);
            }
        }
        handler if action.sa_flags & libc::SA_SIGINFO != 0 => {
            type WithInfo = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: SA_SIGINFO says that the program's handler has this signature.
            unsafe { core::mem::transmute::<usize, WithInfo>(handler)(signal, info, context) }
        }
        // SAFETY: without SA_SIGINFO the program's handler takes the signal's number alone.
        handler => unsafe { core::mem::transmute::<usize, extern "C" fn(i32)>(handler)(signal) },
    }
}

/// A word of a `siginfo_t` at a byte offset, for the members that libc does not name.
///
/// # Safety
/// `info` is valid and the offset lies within it.
pub unsafe fn word_at(info: *const libc::siginfo_t, offset: usize) -> u64 {
    // SAFETY: the caller vouches; the struct is 128 bytes and eight-byte aligned.
    unsafe { info.cast::<u8>().add(offset).cast::<u64>().read() }
}

fn probe() -> Option<&'static Probe> {
    let pointer = SHARED.probe.load(Ordering::Acquire);
    // SAFETY: the probe is leaked before its address is published here.
    unsafe { pointer.as_ref() }
}

/// A tick of the clock that drives the session: a sample of its own, or, on the wall clock, the
/// moment for a running thread to record the stack that was requested.
fn tick(weight: u64, tag: u64) -> Event {
    let plain = Event {
        weight,
        state: State::Running,
        tag,
        system_call: SystemCall::Never,
        only_if_wanted: false,
    };
    match SHARED.wall_period.load(Ordering::Relaxed) {
        0 => plain,
        weight => Event {
            weight,
            state: State::WallRunning,
            only_if_wanted: true,
            ..plain
        },
    }
}

/// The weight of a timer's tick, which includes missed ticks.
fn with_overrun(info: u64, period: &AtomicU64) -> u64 {
    let ticks = (info >> 32).saturating_add(1);
    period.load(Ordering::Relaxed).saturating_mul(ticks)
}

extern "C" fn on_trap(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's arguments; `si_perf_data` lies at offset 24 for TRAP_PERF.
    let (code, data) = unsafe { ((*info).si_code, word_at(info, 24)) };
    if code != TRAP_PERF || data & PERF_TAG_MASK != PERF_TAG {
        // SAFETY: passed on.
        return unsafe { PREVIOUS_TRAP.pass_on(signal, info, context) };
    }
    if SHARED.calibrating.load(Ordering::Relaxed) {
        SHARED.calibrated.fetch_add(1, Ordering::Relaxed);
        return;
    }
    if let Some(probe) = probe() {
        let event = tick(SHARED.perf_period.load(Ordering::Relaxed), data);
        // SAFETY: this is a handler, and `context` is the kernel's.
        unsafe { probe.sample(event, context.cast()) }
    }
}

extern "C" fn on_urg(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel's arguments; what offset 16 and 24 hold depends on the code and is
    // only interpreted below.
    let (code, low, value) = unsafe { ((*info).si_code, word_at(info, 16), word_at(info, 24)) };
    let event = match (code, value) {
        (libc::SI_TIMER, value::CPU_TIMER) => {
            let weight = with_overrun(low, &SHARED.timer_period);
            Some(Event {
                system_call: SystemCall::Check,
                ..tick(weight, 0)
            })
        }
        (libc::SI_TIMER, value::SYSTEM_TIMER) => Some(Event {
            weight: 0,
            state: State::System,
            tag: 0,
            system_call: SystemCall::Counted,
            only_if_wanted: false,
        }),
        // The signals of a socket for urgent data have another code, and nothing at this offset.
        (POLL_IN..=POLL_HUP, value) if is_our_descriptor(value as u32) => {
            if SHARED.calibrating.load(Ordering::Relaxed) {
                SHARED.calibrated.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Some(tick(SHARED.perf_period.load(Ordering::Relaxed), 0))
        }
        _ => None,
    };
    match (event, probe()) {
        // SAFETY: this is a handler, and `context` is the kernel's.
        (Some(event), Some(probe)) => unsafe { probe.sample(event, context.cast()) },
        (Some(_), None) => {}
        // SAFETY: passed on.
        (None, _) => unsafe { PREVIOUS_URG.pass_on(signal, info, context) },
    }
}

fn is_our_descriptor(descriptor: u32) -> bool {
    OUR_DESCRIPTORS
        .get(descriptor as usize / 64)
        .is_some_and(|bits| bits.load(Ordering::Relaxed) & (1 << (descriptor % 64)) != 0)
}

/// Notes that signals from this descriptor are ours. False if its number is too high to note.
pub fn add_our_descriptor(descriptor: i32) -> bool {
    let descriptor = descriptor as u32;
    let Some(bits) = OUR_DESCRIPTORS.get(descriptor as usize / 64) else {
        return false;
    };
    bits.fetch_or(1 << (descriptor % 64), Ordering::Relaxed);
    true
}

/// The weights of samples by source, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Periods {
    /// Of the task clocks: the nominal one.
    pub clock: u64,
    /// Of the CPU timers.
    pub timer: u64,
    /// Of wall-clock samples; 0 to sample CPU time.
    pub wall: u64,
}

/// Sets the fixed periods.
pub fn set_periods(periods: Periods) {
    SHARED.perf_period.store(periods.clock, Ordering::Relaxed);
    SHARED.timer_period.store(periods.timer, Ordering::Relaxed);
    SHARED.wall_period.store(periods.wall, Ordering::Relaxed);
}

/// While calibrating, perf signals are only counted. Returns the count so far.
pub fn set_calibrating(on: bool) -> u64 {
    SHARED.calibrating.store(on, Ordering::Relaxed);
    SHARED.calibrated.load(Ordering::Relaxed)
}

/// Installs our handler for SIGTRAP. Returns false if the kernel refuses.
///
/// Handlers stay for ever once installed: a signal may still be pending after the last session.
pub fn install_trap(probe: &'static Probe) -> bool {
    SHARED
        .probe
        .store(ptr::from_ref(probe).cast_mut(), Ordering::Release);
    install_one(libc::SIGTRAP, on_trap, &PREVIOUS_TRAP)
}

/// Installs our handler for SIGURG. Returns false if the kernel refuses.
pub fn install_urg(probe: &'static Probe) -> bool {
    SHARED
        .probe
        .store(ptr::from_ref(probe).cast_mut(), Ordering::Release);
    install_one(libc::SIGURG, on_urg, &PREVIOUS_URG)
}

/// Takes back a SIGTRAP of ours that is pending for the calling thread, which blocks it. After an
/// `exec` by the thread, the signal would kill the new program.
pub fn take_back_pending_trap() {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: set, time and info are ours. A signal that is not ours is queued again as it was.
    unsafe {
        let mut traps = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(traps.as_mut_ptr());
        libc::sigaddset(traps.as_mut_ptr(), libc::SIGTRAP);
        if libc::sigtimedwait(traps.as_ptr(), info.as_mut_ptr(), &now) != libc::SIGTRAP {
            return;
        }
        let ours = word_at(info.as_ptr(), 24) & PERF_TAG_MASK == PERF_TAG;
        if !ours || (*info.as_ptr()).si_code != TRAP_PERF {
            libc::syscall(
                libc::SYS_rt_tgsigqueueinfo,
                libc::getpid(),
                sys::thread_id(),
                libc::SIGTRAP,
                info.as_ptr(),
            );
        }
    }
}

/// The descriptor that the peek's handler writes to.
static PEEK_DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_peek(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    sys::write_one(PEEK_DESCRIPTOR.load(Ordering::Relaxed));
}

/// Has each `signal` write an eight-byte one to `descriptor` (an eventfd). Returns false if the
/// kernel refuses.
pub fn install_peek(signal: i32, descriptor: i32) -> bool {
    static PREVIOUS_PEEK: Previous = Previous::new();
    PEEK_DESCRIPTOR.store(descriptor, Ordering::Relaxed);
    install_one(signal, on_peek, &PREVIOUS_PEEK)
}

/// In the child of a fork: the descriptor is shared with the parent, whose peek it would wake.
pub fn forget_peek() {
    PEEK_DESCRIPTOR.store(-1, Ordering::Relaxed);
}

/// Whether SIGTRAP has another handler: perhaps a debugger built into the program.
pub fn trap_is_taken() -> bool {
    let present = trap_handler();
    present != libc::SIG_DFL && present != libc::SIG_IGN && !trap_is_ours()
}

/// Whether SIGTRAP comes to our handler.
pub fn trap_is_ours() -> bool {
    trap_handler() == on_trap as *const () as usize
}

fn trap_handler() -> usize {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null action, sigaction only reports the present one.
    unsafe {
        libc::sigaction(libc::SIGTRAP, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction
    }
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

fn install_one(signal: i32, handler: Handler, previous: &Previous) -> bool {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null action, sigaction only reports the present one; zeroed is a valid value.
    let present = unsafe {
        libc::sigaction(signal, ptr::null(), present.as_mut_ptr());
        present.assume_init()
    };
    if present.sa_sigaction == handler as *const () as usize {
        return true;
    }
    previous.remember(present);
    // SAFETY: zeroed is a valid sigaction; every field that matters is set below.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as *const () as usize;
    // SA_ONSTACK: a program whose threads have small stacks (Go's) has given its handlers another
    // one.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the set is ours. Faults of our own must stay deliverable, or the kernel kills.
    unsafe {
        libc::sigfillset(&mut action.sa_mask);
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGABRT,
        ] {
            libc::sigdelset(&mut action.sa_mask, fault);
        }
        libc::sigaction(signal, &action, ptr::null_mut()) == 0
    }
}
