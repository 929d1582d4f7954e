//! The tracepoint of returning system calls, used as a clock that ticks with them: each so many
//! calls the thread gets SIGTRAP, just behind the call.
//!
//! A call that the kernel would make again, because a signal has interrupted it, does not tick:
//! with our signal it would fail with EINTR instead.

use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings;

use super::{control, open, request, set_period};

/// The results of calls that tick: all but `-ERESTARTSYS` to `-ERESTART_RESTARTBLOCK`, and some
/// numbers beside them.
const FILTER: &std::ffi::CStr = c"ret > -512 || ret < -531";

/// The clock of one thread.
#[derive(Debug)]
pub struct CallClock {
    event: OwnedFd,
}

impl CallClock {
    /// Opens a clock on a thread, not yet running, by the tracepoint's number. It ticks each so
    /// many calls. The kernel removes it when the thread executes another program.
    pub fn open(tid: u32, tracepoint: u64, every: u64) -> io::Result<Self> {
        let mut attr = bindings::perf_event_attr::default();
        attr.type_ = bindings::PERF_TYPE_TRACEPOINT;
        attr.config = tracepoint;
        attr.__bindgen_anon_1.sample_period = every.max(1);
        attr.sig_data = profundo_probe::traps::tag_of_calls(tid);
        attr.set_disabled(1);
        attr.set_sigtrap(1);
        attr.set_remove_on_exec(1);
        let event = open(&mut attr, tid, -1)?;
        control(&event, request::FILTER, FILTER.as_ptr() as usize)?;
        Ok(Self { event })
    }

    /// Lets it run.
    pub fn enable(&self) -> io::Result<()> {
        control(&self.event, request::ENABLE, 0)
    }

    /// Has it tick each so many calls from now on.
    pub fn set_every(&self, calls: u64) {
        set_period(&self.event, calls.max(1));
    }
}
