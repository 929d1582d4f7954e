//! The threads of the interpreter, their frames, and the objects that their variables hold.

use core::ops::ControlFlow;

use profundo_cpython::objects::{object, of_frame_word};
use profundo_cpython::{Memory, Start, Step, VariableNames, walk};
use profundo_probe::sys;
use profundo_wire::graph::EdgeKind;

use super::Failure;
use super::holders::Known;
use super::names::{self, Text};
use super::pages::Pages;
use super::rows::Row;
use super::search::Search;
use crate::inject::api::Object;
use crate::inject::{field, field_at, word};

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

/// Reports every thread below the row of all threads.
pub fn write_threads(search: &mut Search<'_, '_>, threads: Row) -> Result<(), Failure> {
    let mut states = Pages::new();
    let api = search.api;
    let mut failed = None;
    api.layout
        .threads
        .each(&mut Checked, api.runtime, |state, _| {
            failed = failed.or(states.push(state).err());
        });
    if let Some(failure) = failed {
        return Err(failure);
    }
    let kind = search.synthetic(c"(Thread)")?;
    let link = search.text(c"thread")?;
    for &state in states.as_slice() {
        let row = search.place(kind, None)?;
        search.write_inner_edge(threads, row, EdgeKind::Internal, link);
        write_frames(search, state, row)?;
    }
    Ok(())
}

fn write_frames(search: &mut Search<'_, '_>, state: u64, thread: Row) -> Result<(), Failure> {
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
        if api.layout.has_frame_objects() {
            // A frame is an object there.
            search.write_root_edge(thread, address, EdgeKind::Internal, link)?;
            continue;
        }
        // SAFETY: a code object has its name there.
        let name = unsafe { word(code + u64::from(api.layout.code.name)) } as Object;
        let name = search.texts.of_object(search.out, api, name)?;
        let row = search.place(kind, name)?;
        search.write_inner_edge(thread, row, EdgeKind::Internal, link);
        write_new_frame(search, address, code, row)?;
    }
    Ok(())
}

/// From 3.11 on.
fn write_new_frame(
    search: &mut Search<'_, '_>,
    frame: u64,
    code: u64,
    row: Row,
) -> Result<(), Failure> {
    // SAFETY: the frame is one.
    let function = unsafe { word(frame + u64::from(search.api.layout.frame.function)) };
    let function = of_frame_word(function);
    for index in 0..count_of_variables(search, code) {
        // SAFETY: the frame is one with that code, which has so many variables.
        match unsafe { variable(search, frame, code, index) }? {
            Variable { held: 0, .. } => {}
            Variable {
                held,
                name: Some(name),
            } => search.write_root_edge(row, held, EdgeKind::Named, name)?,
            Variable { held, name: None } => {
                search.write_root_edge(row, held, EdgeKind::Element, index as u32)?;
            }
        }
    }
    for (held, name) in [(function, c"(function)"), (code, c"(code)")] {
        if held != 0 {
            let name = search.text(name)?;
            search.write_root_edge(row, held, EdgeKind::Internal, name)?;
        }
    }
    Ok(())
}

/// From 3.11 on: the number of variables of a code object.
fn count_of_variables(search: &Search<'_, '_>, code: u64) -> u64 {
    match search.api.layout.code.variable_names {
        // SAFETY: a code object has that field.
        VariableNames::One { count, .. } => unsafe { word(code + u64::from(count)) & 0xFFFF_FFFF },
        VariableNames::Several(_) => 0,
    }
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
    let api = search.api;
    let VariableNames::One { names, .. } = api.layout.code.variable_names else {
        return Ok(Variable {
            held: 0,
            name: None,
        });
    };
    // SAFETY: the caller vouches; there are as many names.
    let (name, held) = unsafe {
        let names = word(code + u64::from(names));
        let name = word(names + u64::from(api.layout.objects.tuple_items) + index * 8) as Object;
        let held = word(frame + u64::from(api.layout.frame.locals) + index * 8);
        (name, of_frame_word(held))
    };
    let name = match held {
        0 => None,
        _ => search.texts.of_object(search.out, api, name)?,
    };
    Ok(Variable { held, name })
}

/// From 3.11 on: notes the names of the variables of the frame that lies in a generator or a
/// coroutine, or that a frame object stands for.
pub fn know_inner_locals(search: &mut Search<'_, '_>, object: u64) -> Result<(), Failure> {
    let api = search.api;
    let (Some(frame_of_object), Some(generator)) = (
        api.layout.objects.frame_of_object,
        api.layout.objects.generator,
    ) else {
        return Ok(());
    };
    // SAFETY: an object of one of these types.
    let frame = unsafe {
        if field(object, object::TYPE) == api.frame_type as u64 {
            word(object + u64::from(frame_of_object))
        } else {
            let state = ((object + u64::from(generator.state)) as *const i8).read();
            if state >= generator.ended {
                return Ok(());
            }
            object + u64::from(generator.frame)
        }
    };
    // Only a frame has a code object there.
    let code = sys::read_word(frame + u64::from(api.layout.frame.code)).map(of_frame_word);
    let Some(code) = code
        .filter(|&code| sys::read_word(field_at(code, object::TYPE)) == Some(api.code_type as u64))
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

/// Before 3.11: notes the names of a frame's variables.
pub fn know_locals(search: &mut Search<'_, '_>, frame: u64) -> Result<(), Failure> {
    let api = search.api;
    let VariableNames::Several(tuples) = api.layout.code.variable_names else {
        return Ok(());
    };
    let mut place = frame + u64::from(api.layout.frame.locals);
    // SAFETY: a frame has a code object, which has these tuples of names.
    let code = unsafe { word(frame + u64::from(api.layout.frame.code)) };
    for place_of_names in tuples {
        // SAFETY: as above.
        let (names, count) = unsafe {
            let names = word(code + u64::from(place_of_names));
            (names, field(names, object::SIZE))
        };
        for index in 0..count {
            // SAFETY: there are as many variables as names.
            let variable = unsafe {
                let name =
                    word(names + u64::from(api.layout.objects.tuple_items) + index * 8) as Object;
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
