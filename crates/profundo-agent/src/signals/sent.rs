//! The signal that the clocks send, and the flag that there are handlers for it.

use core::sync::atomic::{AtomicBool, AtomicI32, Ordering, fence};

use profundo_probe::hidden::{self, ASKED, bit};

/// The signal that timers and the command's descriptors send; 0 if the program uses all possible
/// ones.
static SENT: AtomicI32 = AtomicI32::new(0);

/// The signal that timers and the command's descriptors send; 0: there is none.
pub fn sent() -> i32 {
    SENT.load(Ordering::Acquire)
}

/// True if the agent leaves, and no clock is to send a signal any more.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// Uses the first signal that may be hidden.
pub fn choose() {
    SENT.store(first_hidden(), Ordering::Release);
    // Another thread may have begun to leave: either it sees this signal, or it is seen here.
    fence(Ordering::SeqCst);
    if IS_SILENT.load(Ordering::Relaxed) {
        SENT.store(0, Ordering::Release);
    }
}

fn first_hidden() -> i32 {
    let hidden = hidden::hidden();
    let free = ASKED.into_iter().find(|&signal| hidden & bit(signal) != 0);
    free.unwrap_or(0)
}

/// From here on the clocks send no signal.
pub fn send_nothing() {
    IS_SILENT.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    SENT.store(0, Ordering::Release);
}

/// True if the agent leaves or has left.
pub fn is_silent() -> bool {
    IS_SILENT.load(Ordering::Relaxed)
}

/// The clocks may send signals again.
pub fn begin_anew() {
    IS_SILENT.store(false, Ordering::Relaxed);
}

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// True if our handler is there.
pub fn is_installed() -> bool {
    INSTALLED.load(Ordering::Acquire)
}

/// Sets whether our handler is installed.
pub fn set_installed(is_installed: bool) {
    INSTALLED.store(is_installed, Ordering::Release);
}
