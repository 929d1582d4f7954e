//! The handler of an agent, and what the program believes of the signals that it handles: SIGURG, the
//! one that takes its place in a program that uses SIGURG itself, and SIGTRAP ([`crate::traps`]).
//!
//! Our handler stays where it is once it was installed. What the program installs is written down
//! here instead, given back when it asks, and called for every signal that is not ours, with the
//! mask that it would have had. A signal that the program blocks and the kernel does not
//! ([`crate::hidden`]) is sent once more, and is really blocked from then on.

use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use profundo_wire::State;

use crate::handlers::{TRAP_PERF, hand_over, value, word_at};
use crate::hidden::{self, ALL, bit};
use crate::sample::{Event, Probe, SystemCall};
use crate::{sys, traps};

/// The codes of a signal that a descriptor sends, from the first to the last.
const POLL_IN: i32 = 1;
const POLL_HUP: i32 = 6;

static PROBE: AtomicPtr<Probe> = AtomicPtr::new(ptr::null_mut());

/// What does the rest of a process's entry when a clock ticks and there is no probe yet: a function, or 0.
static WAKER: AtomicUsize = AtomicUsize::new(0);

/// What the program has installed, as far as it knows. One thread at a time writes it; any thread and any
/// handler reads it and never waits: the writer fills in the copy that nobody reads, and then makes it the
/// current one. A writer that is preempted half way leaves the old action in force.
struct Believed {
    /// How often it was written. Its lowest bit says which copy is current.
    version: AtomicU32,
    copies: [Kept; 2],
}

/// An [`Action`] that is read while it may be written.
struct Kept {
    handler: AtomicUsize,
    flags: AtomicU32,
    mask: AtomicU64,
}

/// One for each of [`ALL`].
static BELIEVED: [Believed; ALL.len()] = [const { Believed::new() }; ALL.len()];

fn believed_of(signal: i32) -> Option<&'static Believed> {
    let index = ALL.iter().position(|&it| it == signal)?;
    BELIEVED.get(index)
}

impl Believed {
    const fn new() -> Self {
        Self {
            version: AtomicU32::new(0),
            copies: [const {
                Kept {
                    handler: AtomicUsize::new(libc::SIG_DFL),
                    flags: AtomicU32::new(0),
                    mask: AtomicU64::new(0),
                }
            }; 2],
        }
    }

    /// The copy that is current in a version.
    fn copy(&self, version: u32) -> &Kept {
        let [even, odd] = &self.copies;
        if version & 1 == 0 { even } else { odd }
    }

    fn read(&self) -> Action {
        /// A second attempt means that the action was set twice during the first.
        const TURNS: usize = 100;
        // Acquire pairs with the release in `write`; the fence keeps the loads before the second look
        // at the version.
        let mut version = self.version.load(Ordering::Acquire);
        let mut action = self.copy(version).get();
        for _ in 0..TURNS {
            fence(Ordering::Acquire);
            let now = self.version.load(Ordering::Acquire);
            if now == version {
                break;
            }
            version = now;
            action = self.copy(version).get();
        }
        action
    }

    fn write(&self, action: Action) {
        let version = self.version.load(Ordering::Relaxed).wrapping_add(1);
        // Whoever sees one of the stores below sees the version that came before them.
        fence(Ordering::Release);
        let copy = self.copy(version);
        copy.handler.store(action.handler, Ordering::Relaxed);
        copy.flags.store(action.flags as u32, Ordering::Relaxed);
        copy.mask.store(action.mask, Ordering::Relaxed);
        self.version.store(version, Ordering::Release);
    }
}

impl Kept {
    fn get(&self) -> Action {
        Action {
            handler: self.handler.load(Ordering::Relaxed),
            flags: self.flags.load(Ordering::Relaxed) as i32,
            mask: self.mask.load(Ordering::Relaxed),
        }
    }
}

/// What the program has installed for a signal: handler, flags and mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub handler: usize,
    /// `SA_RESTART` and the like.
    pub flags: i32,
    /// The signals that are blocked meanwhile: bit n for signal n + 1.
    pub mask: u64,
}

impl Action {
    /// What there is at first.
    pub const DEFAULT: Self = Self {
        handler: libc::SIG_DFL,
        flags: 0,
        mask: 0,
    };

    /// As libc has it.
    pub fn from_libc(action: &libc::sigaction) -> Self {
        Self {
            handler: action.sa_sigaction,
            flags: action.sa_flags,
            // SAFETY: a set is longer than the kernel's eight bytes, which come first.
            mask: unsafe { (&raw const action.sa_mask).cast::<u64>().read() },
        }
    }

    /// As libc wants it.
    pub fn to_libc(self) -> libc::sigaction {
        // SAFETY: zeroed is a valid action; the set's first eight bytes are the kernel's.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = self.handler;
            action.sa_flags = self.flags;
            (&raw mut action.sa_mask).cast::<u64>().write(self.mask);
            action
        }
    }

    /// Whether it is a function of the program's.
    pub fn is_function(self) -> bool {
        self.handler != libc::SIG_DFL && self.handler != libc::SIG_IGN
    }

    /// What has to be installed for it: our handler of this signal, which must not make a system call fail
    /// that the program's would not.
    pub fn installed(self, signal: i32) -> libc::sigaction {
        let mut flags = libc::SA_RESTART | libc::SA_ONSTACK;
        if self.is_function() {
            flags &= self.flags;
        }
        let mut action = Self {
            handler: match signal {
                libc::SIGTRAP => traps::handler(),
                _ => on_urgent as *const () as usize,
            },
            flags: flags | libc::SA_SIGINFO,
            mask: u64::MAX,
        }
        .to_libc();
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGABRT,
        ] {
            // SAFETY: the set is ours. Faults of our own must stay deliverable.
            unsafe { libc::sigdelset(&mut action.sa_mask, fault) };
        }
        action
    }
}

/// What the program believes to be installed for one of [`ALL`].
pub fn believed(signal: i32) -> Action {
    believed_of(signal).map_or(Action::DEFAULT, Believed::read)
}

/// Writes down what the program has installed for one of [`ALL`]. One thread at a time, with that signal
/// blocked.
pub fn believe(signal: i32, action: Action) {
    if let Some(believed) = believed_of(signal) {
        believed.write(action);
    }
}

/// Says whom our signals are for from now on. `None`: they are thrown away.
pub fn set_probe(probe: Option<&'static Probe>) {
    let pointer = probe.map_or(ptr::null_mut(), |probe| ptr::from_ref(probe).cast_mut());
    PROBE.store(pointer, Ordering::Release);
}

/// Has a function see to a probe when a clock ticks and there is none. The handler calls it.
pub fn set_waker(waker: extern "C" fn()) {
    WAKER.store(waker as usize, Ordering::Relaxed);
}

/// Asks for a probe, on behalf of a clock that has ticked without one.
#[cold]
pub(crate) fn wake() -> Option<&'static Probe> {
    let waker = WAKER.load(Ordering::Relaxed);
    if waker != 0 {
        // SAFETY: `set_waker` has stored the address of such a function.
        unsafe { core::mem::transmute::<usize, extern "C" fn()>(waker)() };
    }
    probe()
}

/// Whether an action is our own handler.
pub fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == on_urgent as *const () as usize
}

pub(crate) fn probe() -> Option<&'static Probe> {
    // SAFETY: the probe lives as long as the process, and was made before it was published.
    unsafe { PROBE.load(Ordering::Acquire).as_ref() }
}

/// What a signal means.
enum Meaning {
    /// A clock of ours.
    Ours(Event),
    /// A clock of ours, on a thread that has told its end and is about to go.
    Late,
    /// Nothing of ours.
    Theirs,
}

/// # Safety
/// `info` is the kernel's, of this signal.
unsafe fn meaning(signal: i32, info: *const libc::siginfo_t, probe: Option<&Probe>) -> Meaning {
    // SAFETY: the kernel's structure; what offset 24 holds depends on the code, and is only
    // interpreted below.
    let (code, value) = unsafe { ((*info).si_code, word_at(info, 24)) };
    // What it stands for is found out by the thread: `crate::phase`.
    let tick = |system_call| {
        Meaning::Ours(Event {
            weight: 0,
            state: State::Running,
            tag: 0,
            system_call,
            only_if_wanted: false,
        })
    };
    match (code, value) {
        (libc::SI_TIMER, value::CPU_TIMER) => tick(SystemCall::Tell),
        (libc::SI_TIMER, value::SYSTEM_TIMER) => tick(SystemCall::Counted),
        (POLL_IN..=POLL_HUP, value) => match probe {
            Some(probe) if probe.is_own_clock(value as u32) => tick(SystemCall::Never),
            Some(probe) if !probe.knows_this_thread() => Meaning::Late,
            // The agent begins or leaves, and a clock of the command's may still run. The program means a
            // descriptor of its own only if it has a handler for it.
            None if !believed(signal).is_function() => Meaning::Late,
            _ => Meaning::Theirs,
        },
        _ => Meaning::Theirs,
    }
}

/// Whether a signal that was taken from the calling thread's queue is a clock of ours.
///
/// # Safety
/// `info` is the kernel's.
pub unsafe fn is_clock(signal: i32, info: *const libc::siginfo_t) -> bool {
    // SAFETY: passed on.
    !matches!(unsafe { meaning(signal, info, probe()) }, Meaning::Theirs)
}

extern "C" fn on_urgent(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let probe = probe();
    // SAFETY: the kernel's arguments.
    match (unsafe { meaning(signal, info, probe) }, probe) {
        // SAFETY: this is a handler, and `context` is the kernel's.
        (Meaning::Ours(event), Some(probe)) => unsafe { probe.sample(event, context.cast()) },
        (Meaning::Ours(event), None) => {
            if let Some(probe) = wake() {
                // SAFETY: as above.
                unsafe { probe.sample(event, context.cast()) }
            }
        }
        (Meaning::Late, _) => {}
        // SAFETY: passed on.
        (Meaning::Theirs, _) => unsafe { pass_on(signal, info, context) },
    }
}

/// # Safety
/// The arguments are those of a running handler.
#[cold]
pub(crate) unsafe fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the context is the kernel's; the set's first eight bytes are the mask before.
    let mask = unsafe {
        let context = context.cast::<libc::ucontext_t>();
        (&raw mut (*context).uc_sigmask).cast::<u64>()
    };
    // SAFETY: as above.
    let before = unsafe { mask.read() };
    // SAFETY: the kernel's.
    let code = unsafe { (*info).si_code };
    let is_fault = signal == libc::SIGTRAP && code > 0 && code != TRAP_PERF;
    let is_blocked = hidden::shown(before) & !before & bit(signal) != 0;
    if is_blocked && !is_fault {
        // SAFETY: as above; from the handler's end on it is blocked.
        unsafe { mask.write(before | bit(signal)) };
        // SAFETY: passed on.
        return unsafe { send_again(signal, info) };
    }
    let action = believed(signal);
    // The kernel lets nobody block or ignore a breakpoint.
    let is_deadly = is_fault && (is_blocked || !action.is_function());
    let is_default = action.handler == libc::SIG_DFL && signal != libc::SIGURG;
    if is_deadly || is_default {
        return die(signal);
    }
    if !action.is_function() {
        return;
    }
    if action.flags & libc::SA_RESETHAND != 0
        && let Some(believed) = believed_of(signal)
    {
        // The kernel would have done this; a rare flag on a rare signal.
        let current = believed.copy(believed.version.load(Ordering::Acquire));
        current.handler.store(libc::SIG_DFL, Ordering::Relaxed);
    }
    // The handler may leave by a jump, and then its mask stays, so it has to be the one that it
    // would have had.
    let itself = match action.flags & libc::SA_NODEFER {
        0 => bit(signal),
        _ => 0,
    };
    sys::set_signal_mask(before | action.mask | itself);
    // SAFETY: passed on; the action was installed by the program.
    unsafe { hand_over(&MaybeUninit::new(action.to_libc()), signal, info, context) };
}

/// Sends a signal once more that was taken from the calling thread, which blocks it: to the process if it
/// was for the process.
///
/// # Safety
/// `info` is the kernel's.
pub unsafe fn send_again(signal: i32, info: *const libc::siginfo_t) {
    // SAFETY: the calls read the information, and the process is this one.
    unsafe {
        let process = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        let (number, place) = (signal as usize, info as usize);
        let is_for_thread = (*info).si_code == libc::SI_TKILL;
        let to_process = [process, number, place, 0, 0, 0];
        let sent = !is_for_thread && sys::call(libc::SYS_rt_sigqueueinfo, to_process) == 0;
        if sent {
            return;
        }
        if (*info).si_code == libc::SI_USER {
            // Of a thread that is not the first, the kernel takes this information for itself only.
            sys::call(libc::SYS_kill, [process, number, 0, 0, 0, 0]);
            return;
        }
        let thread = sys::thread_id() as usize;
        let to_thread = [process, thread, number, place, 0, 0];
        sys::call(libc::SYS_rt_tgsigqueueinfo, to_thread);
    }
}

/// A signal that nobody handles and that ends a program: the program dies of it, as it would have without
/// us, when the handler returns and the signal is let in.
#[cold]
fn die(signal: i32) {
    const SET_BYTES: usize = 8;
    /// The kernel's own structure: handler, flags, restorer, mask.
    static DEFAULT: [u64; 4] = [0; 4];
    let number = signal as usize;
    // SAFETY: a zeroed action is SIG_DFL; the signal goes to the calling thread.
    unsafe {
        let new = DEFAULT.as_ptr() as usize;
        let old = ptr::null::<u64>() as usize;
        sys::call(libc::SYS_rt_sigaction, [number, new, old, SET_BYTES, 0, 0]);
        let process = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        let thread = sys::thread_id() as usize;
        sys::call(libc::SYS_tgkill, [process, thread, number, 0, 0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Action = Action {
        handler: 0x1000,
        flags: 1,
        mask: 2,
    };
    const SECOND: Action = Action {
        handler: 0x2000,
        flags: 3,
        mask: 4,
    };

    #[test]
    fn an_action_that_is_half_written_is_not_read() {
        let believed = Believed::new();
        believed.write(FIRST);
        assert_eq!(believed.read(), FIRST);
        // A writer that is preempted for long.
        let next = believed.copy(believed.version.load(Ordering::Relaxed) + 1);
        next.handler.store(SECOND.handler, Ordering::Relaxed);
        assert_eq!(believed.read(), FIRST);
        believed.write(SECOND);
        assert_eq!(believed.read(), SECOND);
    }

    #[test]
    fn a_clock_is_no_signal_of_the_program_when_there_is_no_probe() {
        // SAFETY: zeroed is a valid siginfo, and so is one with a code.
        let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
        info.si_code = POLL_IN;
        for signal in hidden::ASKED {
            // SAFETY: the information is ours.
            assert!(unsafe { is_clock(signal, &info) });
        }
        info.si_code = libc::SI_USER;
        // SAFETY: as above.
        assert!(!unsafe { is_clock(libc::SIGSTKFLT, &info) });
    }
}
