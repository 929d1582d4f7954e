//! The number of instructions that a program executes, as the processor counts them.

use std::io;
use std::os::fd::OwnedFd;

use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, perf_event_attr,
};

use super::sampler::read_count;

/// A counter of a program's instructions in user code, with those of its children.
#[derive(Debug)]
pub struct Instructions {
    event: OwnedFd,
}

impl Instructions {
    /// Counts from the `exec` of the process on.
    pub fn of_program(pid: u32) -> io::Result<Self> {
        let mut attr = perf_event_attr::default();
        attr.type_ = PERF_TYPE_HARDWARE;
        attr.config = u64::from(PERF_COUNT_HW_INSTRUCTIONS);
        attr.set_inherit(1);
        attr.set_disabled(1);
        attr.set_enable_on_exec(1);
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        let event = super::open(&mut attr, pid, -1)?;
        Ok(Self { event })
    }

    /// The number so far.
    pub fn read(&self) -> Option<u64> {
        read_count(&self.event)
    }
}
