//! A process says hello to the command, and waits for its answer, if it needs one.

use core::sync::atomic::Ordering;

use profundo_probe::shared::{Control, MAGIC, ring_state};
use profundo_probe::{clock, sys, urgent};

use crate::home::{Home, home};
use crate::patience::Wait;
use crate::signals::{sent, traps};
use crate::{lifecycle, memory, process};

/// The time that the program waits for the command to be ready, in nanoseconds, while the command
/// has its turns.
const PATIENCE: u64 = 100_000_000;

/// The time that the program waits for a ring: a part of `PATIENCE`.
pub const PATIENCE_FOR_RING: u64 = 50_000_000;

/// Fills in the header, enters threads and says hello.
pub fn introduce(home: Home, kind: u32, enter_threads: impl FnOnce(Home)) {
    let header = &home.ring().header;
    let process = process::process_id();
    header.kind.store(kind, Ordering::Relaxed);
    header.pid.store(process, Ordering::Relaxed);
    header.parent.store(process::parent_id(), Ordering::Relaxed);
    header.started.store(clock::now(), Ordering::Relaxed);
    header.exit_code.store(-1, Ordering::Relaxed);
    let used = process::usage();
    let ends = &header.ends;
    ends.peak_before.store(used.peak, Ordering::Relaxed);
    header.magic.store(MAGIC, Ordering::Relaxed);
    enter_threads(home);
    let signal = sent::sent() as u32;
    header.signal.store(signal, Ordering::Relaxed);
    traps::offer();
    // Release pairs with the acquire of the command, which reads the rest after it.
    header.state.store(ring_state::HELLO, Ordering::Release);
    home.ring_bell();
}

/// Waits for the command's answer. Samples make sense only after it.
pub fn await_answer(home: Home, control: &Control) {
    if wait(home, control) == ring_state::REFUSED {
        urgent::set_probe(None);
        lifecycle::refused(home);
        return;
    }
    // SAFETY: the probe was made before.
    urgent::set_probe(Some(unsafe { home.probe() }));
}

/// Waits until the command is ready, within limits, and while there is a command that has its
/// turns.
fn wait(home: Home, control: &Control) -> u32 {
    /// The command may have been killed or stopped meanwhile.
    const TURN: u64 = 10_000_000;
    let state = &home.ring().header.state;
    let answered =
        || Some(state.load(Ordering::Acquire)).filter(|&answer| answer != ring_state::HELLO);
    if let Some(answer) = answered() {
        return answer;
    }
    // Without the command no stack can be walked, and where allocations are recorded every stack
    // counts.
    let wait = Wait::begin(
        control,
        match memory::is_on() {
            true => 20 * PATIENCE,
            false => PATIENCE,
        },
    );
    while wait.goes_on() {
        sys::futex_wait(state, ring_state::HELLO, TURN);
        if let Some(answer) = answered() {
            wait.is_answered();
            return answer;
        }
    }
    state.load(Ordering::Acquire)
}

/// The CPU time of this process in nanoseconds.
pub fn cpu_time() -> u64 {
    process::time(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Writes down the CPU time of a start, which began at `began`.
pub fn note_cost(began: u64) {
    if let Some(home) = home().filter(|home| home.records()) {
        let cost = cpu_time().saturating_sub(began);
        let place = &home.ring().header.ends.start_cost;
        place.store(cost, Ordering::Relaxed);
    }
}
