//! On this processor no thread is borrowed: how its registers and the frame of a signal are put
//! back is known for x86-64 only, and a program must not be entered without a way back.

use std::io;
use std::ops::Range;

use profundo_process::reading::{Held, Registers};

use super::safe_point::Instructions;
use super::stacks::Stacks;

/// A borrowed thread, of which there is none.
#[derive(Debug)]
pub(super) enum Borrowed {}

/// The reason why a call failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The kernel refused a request, or the thread has ended.
    System(io::Error),
    /// It did not return.
    #[expect(dead_code, reason = "there is no call")]
    Late,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

#[expect(clippy::unused_self, reason = "there is none")]
impl Borrowed {
    pub(super) fn take(_: Held, _: Instructions, _: &Stacks) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn is_on_usual_stack(&self) -> bool {
        match *self {}
    }

    pub(super) fn put_frame(&mut self, _: u64) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn put_frame_on_own_stack(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn system(&mut self, _: i64, _: [u64; 6]) -> Result<i64, Failed> {
        match *self {}
    }

    pub(super) fn copy(&mut self, _: u64) -> Result<i64, Failed> {
        match *self {}
    }

    pub(super) fn tid(&self) -> i32 {
        match *self {}
    }

    pub(super) fn registers(&self) -> &Registers {
        match *self {}
    }

    pub(super) fn call(&mut self, _: u64, _: [u64; 3]) -> Result<(), Failed> {
        match *self {}
    }

    pub(super) fn ask(&mut self, _: u64, _: [u64; 3]) -> Result<u64, Failed> {
        match *self {}
    }

    pub(super) fn call_freely(
        &mut self,
        _: u64,
        _: [u64; 3],
        _: impl Fn() -> bool,
        _: impl FnOnce() -> io::Result<()>,
        _: Range<u64>,
    ) -> Result<(), Failed> {
        match *self {}
    }

    pub(super) fn is_back(&self) -> bool {
        match *self {}
    }
}
