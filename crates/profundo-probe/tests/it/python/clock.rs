//! A clock that interrupts the calling thread and those that it starts, many times a second.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use profundo_probe::{Event, Probe, SystemCall};
use profundo_wire::State;

/// The number of handlers by duration, in steps of some cycles.
static TOOK: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
const STEP: u64 = 64;

/// The median duration of the handlers since the last call, in cycles.
pub fn median() -> u64 {
    let counts: Vec<u64> = TOOK
        .iter()
        .map(|count| count.swap(0, Ordering::Relaxed))
        .collect();
    let half = counts.iter().sum::<u64>() / 2;
    let mut below = 0;
    let median = counts.iter().position(|count| {
        below += count;
        below >= half
    });
    median.unwrap_or(0) as u64 * STEP
}

static PROBE: AtomicPtr<Probe> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let event = Event {
        weight: 1,
        state: State::Running,
        tag: 0,
        // Like a thread's own timer, which needs no command to open it.
        system_call: SystemCall::Check,
        only_if_wanted: false,
    };
    let began = profundo_probe::clock::now();
    // SAFETY: the probe lives for ever; the context is what the kernel gave us.
    unsafe {
        if let Some(probe) = PROBE.load(Ordering::Relaxed).as_ref() {
            probe.sample(event, context.cast());
        }
    }
    let took = profundo_probe::clock::now().wrapping_sub(began) / STEP;
    let place = TOOK.get(took as usize).or(TOOK.last());
    if let Some(count) = place {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// `perf_event_attr` up to `config3`.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 9],
    sig_data: u64,
    config3: u64,
}

/// Samples the calling thread, and each one that it starts, each `period` nanoseconds of its CPU
/// time. False: not permitted here.
pub fn start(probe: &'static Probe, period: u64) -> bool {
    const SOFTWARE: u32 = 1;
    const TASK_CLOCK: u64 = 1;
    const INHERIT: u64 = 1 << 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HV: u64 = 1 << 6;
    const INHERIT_THREAD: u64 = 1 << 35;
    const REMOVE_ON_EXEC: u64 = 1 << 36;
    const SIGTRAP: u64 = 1 << 37;
    PROBE.store(std::ptr::from_ref(probe).cast_mut(), Ordering::Relaxed);
    // SAFETY: the handler is signal-safe; the attributes have the kernel's layout and their size.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: TASK_CLOCK,
            period,
            flags: INHERIT
                | EXCLUDE_KERNEL
                | EXCLUDE_HV
                | INHERIT_THREAD
                | REMOVE_ON_EXEC
                | SIGTRAP,
            ..Attributes::default()
        };
        let cloexec = 8;
        let event = libc::syscall(libc::SYS_perf_event_open, &attributes, 0, -1, -1, cloexec);
        event >= 0
    }
}
