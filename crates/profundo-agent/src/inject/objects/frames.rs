//! The threads of the interpreter, their frames, and what the variables of these hold.

use core::ops::ControlFlow;

use profundo_cpython::{Memory, Start, Step, walk};
use profundo_probe::sys;
use profundo_wire::graph::EdgeKind;

use super::Failure;
use super::holders::Known;
use super::names::{self, Text};
use super::pages::Pages;
use super::rows::Row;
use super::search::Search;
use super::types::{TYPE, word};
use crate::inject::api::Object;

/// Our own memory, read only where it is mapped.
struct Checked;

impl Memory for Checked {
    fn word(&mut self, address: u64) -> Option<u64> {
        sys::read_word(address)
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        sys::copy_checked(address, out) == out.len()
    }
}

/// A variable that holds something.
struct Variable {
    held: u64,
    name: Option<Text>,
}

/// Tells of every thread below the row of all threads.
pub fn tell(search: &mut Search<'_, '_>, threads: Row) -> Result<(), Failure> {
    let mut states = Pages::new();
    let api = search.api;
    let mut failed = None;
    api.threads.each(&mut Checked, api.runtime, |state, _| {
        failed = failed.or(states.push(state).err());
    });
    if let Some(failure) = failed {
        return Err(failure);
    }
    let kind = search.synthetic(c"(Thread)")?;
    let link = search.text(c"thread")?;
    for &state in states.as_slice() {
        let row = search.place(kind, None)?;
        search.tell_inner_edge(threads, row, EdgeKind::Internal, link);
        tell_frames(search, state, row)?;
    }
    Ok(())
}

fn tell_frames(search: &mut Search<'_, '_>, state: u64, thread: Row) -> Result<(), Failure> {
    let api = search.api;
    let mut frames = Pages::new();
    let mut failed = None;
    let start = Start {
        state,
        code_type: api.code_type as u64,
        is_settled: true,
        ..Start::default()
    };
    walk(&api.layout, &mut Checked, start, |_, step| {
        if let Step::Frame(frame) = step {
            failed = failed.or(frames.push((frame.address, frame.code)).err());
        }
        ControlFlow::Continue(())
    });
    if let Some(failure) = failed {
        return Err(failure);
    }
    let kind = search.synthetic(c"(Frame)")?;
    let link = search.text(c"frame")?;
    for &(address, code) in frames.as_slice() {
        if api.layout.minor < 11 {
            // A frame is an object there.
            search.tell_root_edge(thread, address, EdgeKind::Internal, link)?;
            continue;
        }
        // SAFETY: a code object has its name there.
        let name = unsafe { word(code + u64::from(api.layout.name)) } as Object;
        let name = search.texts.of_object(search.out, api, name)?;
        let row = search.place(kind, name)?;
        search.tell_inner_edge(thread, row, EdgeKind::Internal, link);
        tell_new_frame(search, address, code, row)?;
    }
    Ok(())
}

/// From 3.11 on.
fn tell_new_frame(
    search: &mut Search<'_, '_>,
    frame: u64,
    code: u64,
    row: Row,
) -> Result<(), Failure> {
    let function = match search.api.layout.minor {
        11 => 0,
        _ => 16,
    };
    // SAFETY: the frame is one.
    let function = unsafe { word(frame + function) };
    for index in 0..count_of_variables(search, code) {
        // SAFETY: the frame is one with that code, which has so many variables.
        match unsafe { variable(search, frame, code, index) }? {
            Variable { held: 0, .. } => {}
            Variable {
                held,
                name: Some(name),
            } => search.tell_root_edge(row, held, EdgeKind::Named, name)?,
            Variable { held, name: None } => {
                search.tell_root_edge(row, held, EdgeKind::Element, index as u32)?;
            }
        }
    }
    for (held, name) in [(function, c"(function)"), (code, c"(code)")] {
        if held != 0 {
            let name = search.text(name)?;
            search.tell_root_edge(row, held, EdgeKind::Internal, name)?;
        }
    }
    Ok(())
}

/// From 3.11 on: how many variables a code object has.
fn count_of_variables(search: &Search<'_, '_>, code: u64) -> u64 {
    let count = match search.api.layout.minor {
        11 => 76,
        _ => 72,
    };
    // SAFETY: a code object has that field.
    u64::from(unsafe { word(code + count) } as u32)
}

/// From 3.11 on: a variable of a frame.
///
/// # Safety
/// The frame is one with that code, which has more variables than `index`.
unsafe fn variable(
    search: &mut Search<'_, '_>,
    frame: u64,
    code: u64,
    index: u64,
) -> Result<Variable, Failure> {
    /// Of a code object: the tuple of the names.
    const NAMES: u64 = 96;
    const ITEMS: u64 = 24;
    let api = search.api;
    // SAFETY: the caller vouches; there are as many names.
    let (name, held) = unsafe {
        let name = word(word(code + NAMES) + ITEMS + index * 8) as Object;
        let held = word(frame + u64::from(api.layout.locals) + index * 8);
        (name, held)
    };
    let name = match held {
        0 => None,
        _ => search.texts.of_object(search.out, api, name)?,
    };
    Ok(Variable { held, name })
}

/// From 3.11 on: notes what the variables are called of the frame that lies in a generator or a coroutine, or that a frame
/// object stands for.
pub fn know_inner_locals(
    search: &mut Search<'_, '_>,
    object: u64,
    basic_size: u64,
) -> Result<(), Failure> {
    /// Where a frame object says where its frame is.
    const FRAME: u64 = 24;
    /// Before a generator's frame: the byte of its state, which is above 0 once there are no variables any more.
    const STATE: u64 = 5;
    let api = search.api;
    // SAFETY: an object of one of these types; a generator's size is counted up to the variables of its frame.
    let frame = unsafe {
        if word(object + TYPE) == api.frame_type as u64 {
            word(object + FRAME)
        } else {
            let frame = object + basic_size - u64::from(api.layout.locals);
            match ((frame - STATE) as *const i8).read() {
                1.. => return Ok(()),
                _ => frame,
            }
        }
    };
    // Nothing but a frame has a code object there.
    let code = sys::read_word(frame + u64::from(api.layout.code));
    let Some(code) = code.filter(|&it| sys::read_word(it + TYPE) == Some(api.code_type as u64))
    else {
        return Ok(());
    };
    for index in 0..count_of_variables(search, code) {
        // SAFETY: it is a frame with that code.
        let found = unsafe { variable(search, frame, code, index) }?;
        if let Variable {
            held,
            name: Some(name),
        } = found
        {
            search.known.push(Known {
                object: held,
                kind: EdgeKind::Named,
                name,
            })?;
        }
    }
    Ok(())
}

/// Before 3.11: notes what a frame's variables are called.
pub fn know_locals(search: &mut Search<'_, '_>, frame: u64) -> Result<(), Failure> {
    /// Of a code object: the tuples of names, in the order in which the variables lie in a frame.
    const NAMES: [u64; 3] = [72, 88, 80];
    const COUNT: u64 = 16;
    const ITEMS: u64 = 24;
    let api = search.api;
    let mut place = frame + u64::from(api.layout.locals);
    // SAFETY: a frame has a code object, which has these tuples of names.
    let code = unsafe { word(frame + u64::from(api.layout.code)) };
    for tuple in NAMES {
        // SAFETY: as above.
        let (names, count) = unsafe {
            let names = word(code + tuple);
            (names, word(names + COUNT))
        };
        for index in 0..count {
            // SAFETY: there are as many variables as names.
            let variable = unsafe {
                let name = word(names + ITEMS + index * 8) as Object;
                let name = names::bytes_of(api, name)
                    .and_then(|_| search.texts.of_object(search.out, api, name).transpose())
                    .transpose()?;
                Variable {
                    held: word(place),
                    name,
                }
            };
            place += 8;
            if let Variable {
                held,
                name: Some(name),
            } = variable
                && held != 0
            {
                search.known.push(Known {
                    object: held,
                    kind: EdgeKind::Named,
                    name,
                })?;
            }
        }
    }
    Ok(())
}
