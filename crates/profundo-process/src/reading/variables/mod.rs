//! The variables of a thread's Python frames, read from outside.
//!
//! They are read right after the stack, in the same moment: while the thread is held, or while it
//! blocks. Other threads may change objects meanwhile. So each object is checked before it is
//! believed, and the words that led to it are read a second time. If one has changed, the variable
//! is read again, and the second time it has no value.
//!
//! A thread that is held waits for it, so its time is limited. The innermost frames come first.

mod memory;
mod object;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use profundo_cpython::{Frame, Layout, Origin, Variable, variables};

pub use memory::Live;
pub use object::{Beginning, Integer, Object, Shape, Value};
use object::{ObjectReader, text};

/// The time to read the variables of a thread that is held.
pub const MOST_WHILE_HELD: Duration = Duration::from_millis(3);
/// The time to read those of a thread that blocks.
pub const MOST_WHILE_BLOCKED: Duration = Duration::from_millis(300);
/// The most variables of a frame.
const MOST_OF_A_FRAME: usize = 100;

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedObject {
    /// Its name.
    pub name: String,
    /// Its origin.
    pub origin: Origin,
    /// Its value.
    pub object: Object,
}

/// The reason why variables are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The thread went on while they were read.
    Moved,
    /// There was no time left.
    Late,
    /// The frame, or its code, cannot be read.
    Unreadable,
    /// There are more than are read.
    Many,
}

/// The variables of a frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrameVariables {
    /// Those that have values.
    pub variables: Vec<NamedObject>,
    /// Why some are missing.
    pub missing: Option<Missing>,
}

/// The variables of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadVariables {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Those of each Python frame, innermost first.
    pub frames: Vec<FrameVariables>,
}

/// The frames of a thread's last reading.
#[derive(Debug, Default)]
pub struct Variables {
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
    /// Their variables.
    pub found: Vec<FrameVariables>,
}

impl Variables {
    /// Reads the variables of all frames, for at most this long.
    pub fn read(&mut self, layout: &Layout, memory: &mut impl Live, most: Duration) {
        let began = Instant::now();
        self.found.clear();
        for frame in &self.frames {
            let frame = match began.elapsed() < most {
                true => read_frame(layout, memory, frame, began + most),
                false => missing(Missing::Late),
            };
            self.found.push(frame);
        }
    }

    /// Forgets what was read, because the thread went on.
    pub fn forget(&mut self) {
        for frame in &mut self.found {
            *frame = missing(Missing::Moved);
        }
    }
}

fn missing(why: Missing) -> FrameVariables {
    FrameVariables {
        variables: Vec::new(),
        missing: Some(why),
    }
}

/// The variables of one frame.
pub fn read_frame(
    layout: &Layout,
    memory: &mut impl Live,
    frame: &Frame,
    deadline: Instant,
) -> FrameVariables {
    let mut found = FrameVariables::default();
    let read = variables(layout, memory, frame, |memory, variable| {
        let why = match Instant::now() >= deadline {
            true => Some(Missing::Late),
            false if found.variables.len() >= MOST_OF_A_FRAME => Some(Missing::Many),
            false => None,
        };
        if why.is_some() {
            found.missing = why;
            return ControlFlow::Break(());
        }
        memory.make_room();
        let Some(name) = text(memory, &variable.name) else {
            found.missing = Some(Missing::Unreadable);
            return ControlFlow::Continue(());
        };
        found.variables.push(NamedObject {
            name: name.text,
            origin: variable.origin,
            object: read_object(layout, memory, &variable),
        });
        ControlFlow::Continue(())
    });
    if read.is_none() {
        found.missing = Some(Missing::Unreadable);
    }
    found
}

/// Reads an object, and what it holds, a second time if that changes.
fn read_object(layout: &Layout, memory: &mut impl Live, variable: &Variable) -> Object {
    /// Bits of a pointer that are not part of the address.
    const TAGS: u64 = 7;
    let mut address = variable.value;
    let mut object;
    let mut tries = 2;
    loop {
        let mut reader = ObjectReader::new(layout);
        object = reader.read(memory, variable.place, address);
        tries -= 1;
        let is_unchanged = reader.is_unchanged(memory);
        // What has just been freed may have been replaced by something at the same address.
        if is_unchanged && (tries == 0 || !reader.has_lost) {
            return object;
        }
        if tries == 0 {
            break;
        }
        memory.forget();
        address = memory.word(variable.place).map_or(0, |word| word & !TAGS);
    }
    object.value = Value::Changing;
    object
}

#[cfg(test)]
mod tests;
