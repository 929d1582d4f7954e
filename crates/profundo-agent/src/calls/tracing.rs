//! Exceptions up to 3.11, from the events of a trace function.
//!
//! An exception is reported in each frame that it reaches, but not that a handler gets it, nor
//! that a handler raises it on. The first follows from the frame's own list of handlers. The second
//! follows from what comes next: a line of another `except` clause begins, or the frame ends by an
//! exception although none was reported since.

use profundo_cpython::objects::{bytes, object};
use profundo_cpython::{Blocks, Profiler};
use profundo_probe::calls::{Course, End, Pile, Site};

use super::exceptions::{
    Arrival, Arrived, arrive, begin_with, catch, is_hidden, leave, line, note, running,
};
use super::state::State;
use crate::inject::{field, field_at, word};

/// The most handlers of the compiler's own that an exception passes in a frame.
const HIDDEN: usize = 32;
/// From the beginning of such a handler to the instruction that raises on.
const TO_RAISE: u32 = 4;

/// An exception that a handler of a frame has got.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Handled {
    frame: u64,
    exception: u64,
    /// 1 if the handler is one of groups, `except*`.
    is_of_groups: u64,
}

/// The exceptions of a thread. All zero is none.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Frames {
    /// Those that handlers have got, in frames that have not ended.
    handled: Pile<Handled>,
    /// A frame without a handler for its exception.
    leaving: Handled,
    /// True right after a frame has ended by an exception.
    has_ended: bool,
    /// The exception that was taken to be raised on then, and the line that had caught it.
    guess: Option<(Handled, Site)>,
}

impl Frames {
    /// Drops everything: another thread begins.
    pub fn empty(&mut self) {
        self.handled.empty();
        self.leaving = Handled::default();
        (self.has_ended, self.guess) = (false, None);
    }

    /// A handled exception of the frame, the last one.
    #[inline]
    fn top(&self, frame: u64) -> Option<Handled> {
        let top = self.handled.top().copied();
        top.filter(|handled| handled.frame == frame)
    }
}

/// An exception arrives in a frame. `event` is the tuple of its type, itself and its traceback.
///
/// # Safety
/// The lock is held, and `frame` is the frame object of this code.
#[cold]
pub unsafe fn exception(state: &mut State, fields: &Profiler, frame: u64, code: u64, event: u64) {
    let Some(frames) = state.frames() else { return };
    // SAFETY: the caller vouches; a tuple has its items at this place.
    unsafe {
        let items = event + u64::from(state.layout.objects.tuple_items);
        let (exception, traceback) = (word(items + 8), word(items + 16));
        let Some(running) = running(state).filter(|running| running.frame.code == code) else {
            return;
        };
        let offset = u32::try_from(running.frame.offset).unwrap_or(0);
        let arrival = Arrival {
            exception,
            traceback,
            frame,
            goes_on: frames.has_ended,
        };
        let before = state.tree.course(exception);
        let guess = frames.guess.take().filter(|(other, _)| {
            frames.has_ended
                && other.exception != exception
                && before != Course::Underway
                && state.tree.course(other.exception) == Course::Underway
        });
        if let Some((other, site)) = guess {
            match other.is_of_groups {
                // It was another one that was raised on.
                0 => state.tree.ends(other.exception, End::Caught(site)),
                // What the handler has left over is a new one.
                _ => state.tree.becomes(other.exception, exception),
            }
        }
        if arrive(state, (code, offset), arrival) == Arrived::Consumed {
            return;
        }

        frames.has_ended = false;
        frames.leaving = Handled::default();
        let mut handled = Handled {
            frame,
            exception,
            is_of_groups: 0,
        };
        let mut next = handler(fields, frame, code, offset);
        for _ in 0..HIDDEN {
            let hidden = next.filter(|&at| is_hidden(state, (code, at)));
            let Some(at) = hidden else { break };
            next = handler(fields, frame, code, at + TO_RAISE);
        }
        match next {
            None => frames.leaving = handled,
            Some(at) => {
                if let Some(site) = catch(state, (code, at), exception) {
                    handled.is_of_groups = u64::from(site.notes & note::GROUPS != 0);
                    frames.handled.push(handled, state.tree.memory());
                }
            }
        }
    }
}

/// A frame ends, or pauses. `result` is null if it ends by an exception.
///
/// # Safety
/// The lock is held.
#[inline]
pub unsafe fn end(state: &mut State, frame: u64, result: u64) {
    let Some(frames) = state.frames() else { return };
    frames.has_ended = result == 0;
    if result == 0 {
        frames.guess = None;
        let last = match frames.leaving.frame == frame {
            true => Some(frames.leaving),
            false => frames.top(frame),
        };
        if let Some(last) = last {
            let exception = last.exception;
            if frames.leaving.frame != frame {
                let catcher = state.tree.catcher(exception);
                frames.guess = catcher.map(|site| (last, site));
                state.tree.goes_on(exception);
            }
            // SAFETY: the caller vouches.
            unsafe { leave(state, exception) };
        }
        frames.leaving = Handled::default();
    }
    while frames.top(frame).is_some() {
        frames.handled.pop();
    }
}

/// A line of a frame begins.
///
/// # Safety
/// The lock is held, and `code` is the frame's code object.
#[inline]
pub unsafe fn begin_line(state: &mut State, frame: u64, code: u64, number: u32) {
    let Some(frames) = state.frames() else { return };
    frames.has_ended = false;
    if let Some(top) = frames.top(frame) {
        // SAFETY: the caller vouches.
        unsafe {
            if !line(state, code, number)
                && let Some(running) = running(state).filter(|running| running.frame.code == code)
                && let Ok(offset) = u32::try_from(running.frame.offset)
            {
                begin_with(state, (code, offset), top.exception);
            }
        }
    }
}

/// A frame begins, or goes on.
#[inline]
pub fn begin(state: &mut State) {
    if let Some(frames) = state.frames() {
        frames.has_ended = false;
    }
}

/// The handler that an exception gets to from an instruction of a frame.
///
/// # Safety
/// The lock is held, and `frame` is the frame object of this code.
unsafe fn handler(fields: &Profiler, frame: u64, code: u64, offset: u32) -> Option<u32> {
    // SAFETY: the caller vouches; these are parts of the frame and of its code.
    unsafe {
        let number = |address: u64| (address as *const u32).read();
        if let Some(Blocks { count, first, unit }) = fields.blocks {
            let count = number(frame + u64::from(count)).min(Blocks::MOST);
            let block = |at: u32| frame + u64::from(first) + u64::from(at) * Blocks::BYTES;
            let mut handlers = (0..count).rev().map(block);
            let found = handlers.find(|&block| number(block) == Blocks::HAS_HANDLER)?;
            return number(found + 4).checked_mul(unit);
        }
        let table = word(code + u64::from(fields.handlers?));
        let length = field(table, object::SIZE) as usize;
        let table = core::slice::from_raw_parts(field_at(table, bytes::FIRST) as *const u8, length);
        profundo_cpython::handlers::handler_in(table, offset)
    }
}
