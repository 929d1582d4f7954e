//! Counting that a program begins and ends by itself, as often as it likes, while it is recorded.
//!
//! The agent counts in a file of its own each time. The program says when one is complete, or is
//! cut off and another one is in use. It does not cut again until that was taken.

use std::io;

use profundo_session::take_cut_calls;
use profundo_wire::traced::TracedCalls;

use super::Recorder;
use super::create::{flags_of, leave_list};
use crate::options::Calls;

impl Recorder {
    /// Prepares the session for a program that is about to count. Returns the flags by which its
    /// agent begins.
    pub fn prepare_counts(&self, calls: &Calls) -> io::Result<u32> {
        if let Some(lines) = &calls.lines {
            leave_list(self.directory(), lines)?;
        }
        Ok(flags_of(calls))
    }

    /// Takes what a program has counted, with its number in the recording. `None`: nothing.
    pub fn take_counts(&self, pid: u32) -> Option<(u32, TracedCalls)> {
        let mut programs = self.core.processes.programs.values();
        let program = programs.find(|program| program.pid == pid)?;
        let counted = take_cut_calls(self.directory(), program.agent()?.index)?;
        Some((program.key, counted))
    }
}
