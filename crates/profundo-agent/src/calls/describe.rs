//! The names of the interpreter's functions, read from their objects without any call that could
//! let another thread run.

use core::ffi::{CStr, c_char, c_void};
use core::ops::ControlFlow;

use profundo_cpython::objects::{c_function, method_descriptor, object, type_object};
use profundo_cpython::{Layout, Start, Step, TextShape, text, thread_name, walk};
use profundo_probe::calls::Described;
use profundo_probe::shared::function_kind;

use super::api::{Calls, Object};
use crate::inject::{There, field, word};

/// A text that is being put together; it is cut where the room ends.
struct Room {
    bytes: [u8; 1024],
    used: usize,
}

impl Room {
    const fn new() -> Self {
        Self {
            bytes: [0; 1024],
            used: 0,
        }
    }

    fn add(&mut self, text: &[u8]) {
        let room = self.bytes.get_mut(self.used..).unwrap_or_default();
        for (to, from) in room.iter_mut().zip(text) {
            *to = *from;
        }
        self.used += text.len().min(room.len());
    }

    /// Adds a text object, in UTF-8.
    fn add_text(&mut self, layout: &Layout, object: u64) {
        if let Some(shape) = text(layout, &mut There, object) {
            self.add_shape(shape);
        }
    }

    fn add_shape(&mut self, shape: TextShape) {
        let TextShape {
            address,
            bytes,
            width,
        } = shape;
        let width = u64::from(width);
        for index in 0..u64::from(bytes) / width {
            let at = address + index * width;
            // SAFETY: the characters lie in the object.
            let number = unsafe {
                match width {
                    1 => u32::from((at as *const u8).read()),
                    2 => u32::from((at as *const u16).read_unaligned()),
                    _ => (at as *const u32).read_unaligned(),
                }
            };
            let mut encoded = [0; 4];
            let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            self.add(character.encode_utf8(&mut encoded).as_bytes());
            if self.used == self.bytes.len() {
                return;
            }
        }
    }

    /// # Safety
    /// The text is one of C's.
    unsafe fn add_c(&mut self, text: u64) {
        if text != 0 {
            // SAFETY: the caller vouches.
            self.add(unsafe { CStr::from_ptr(text as *const c_char) }.to_bytes());
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

/// Describes a code object.
///
/// # Safety
/// `code` is a code object, and the lock is held.
#[cold]
pub unsafe fn code(layout: &Layout, code: u64, report: &mut dyn FnMut(Described<'_>)) {
    let at = |offset: u16| code + u64::from(offset);
    // SAFETY: the caller vouches; these are its parts.
    let (line, file, known) = unsafe {
        (
            word(at(layout.code.first_line)) as u32,
            word(at(layout.code.file)),
            word(at(layout.code.name)),
        )
    };
    let name = match layout.code.bare_name {
        // SAFETY: as above.
        Some(bare) => unsafe { word(at(bare)) },
        None => known,
    };
    let (mut names, mut qualified, mut files) = (Room::new(), Room::new(), Room::new());
    names.add_text(layout, name);
    if layout.code.bare_name.is_some() {
        qualified.add_text(layout, known);
    }
    files.add_text(layout, file);
    report(Described {
        kind: function_kind::PYTHON,
        line,
        name: names.as_bytes(),
        qualified: qualified.as_bytes(),
        file: files.as_bytes(),
        address: 0,
    });
}

/// True if the interpreter runs this code object as the program: a module's code without a caller,
/// or the code that looks for a module to run.
///
/// # Safety
/// `code` is a code object, and the lock is held.
pub unsafe fn is_program(layout: &Layout, code: u64) -> bool {
    const NAMES: [&[u8]; 2] = [b"<module>", b"_run_module_as_main"];
    // SAFETY: the caller vouches.
    let name = unsafe { word(code + u64::from(layout.code.name)) };
    let mut text = Room::new();
    text.add_text(layout, name);
    NAMES.contains(&text.as_bytes())
}

fn builtin(name: &Room, report: &mut dyn FnMut(Described<'_>)) {
    report(Described {
        kind: function_kind::BUILTIN,
        name: name.as_bytes(),
        ..Described::default()
    });
}

/// Describes a method of a C type, as it stands in the type.
///
/// # Safety
/// `method` is such a method, and the lock is held.
#[cold]
pub unsafe fn method(method: u64, report: &mut dyn FnMut(Described<'_>)) {
    let mut name = Room::new();
    // SAFETY: the caller vouches; definitions and types' names are texts of C's.
    unsafe { add_method(&mut name, method) };
    builtin(&name, report);
}

/// # Safety
/// As for [`method`].
unsafe fn add_method(name: &mut Room, method: u64) {
    // SAFETY: the caller vouches.
    unsafe {
        name.add(b"method '");
        name.add_c(word(field(method, method_descriptor::METHOD)));
        name.add(b"' of '");
        name.add_c(field(
            field(method, method_descriptor::TYPE),
            type_object::NAME,
        ));
        name.add(b"' objects");
    }
}

/// The interpreter's name of the calling thread, if it has one. `entered` is the frame that the
/// thread has just begun with, if the interpreter has not recorded it yet.
///
/// # Safety
/// The lock is held.
#[cold]
pub unsafe fn thread(
    calls: &Calls,
    layout: &Layout,
    entered: Option<u64>,
    report: impl FnOnce(&[u8]),
) {
    // SAFETY: the caller vouches.
    unsafe { thread_of(calls, layout, (calls.thread)(), entered, report) };
}

/// As [`thread`], for the thread with this state.
///
/// # Safety
/// The lock is held.
#[cold]
pub unsafe fn thread_of(
    calls: &Calls,
    layout: &Layout,
    state: u64,
    entered: Option<u64>,
    report: impl FnOnce(&[u8]),
) {
    let start = Start {
        state,
        code_type: calls.code_type as u64,
        is_settled: true,
        ..Start::default()
    };
    let mut first = None;
    let _ = walk(layout, &mut There, start, |_, step| {
        if let Step::Frame(frame) = step {
            first = Some((frame.address, frame.code));
        }
        ControlFlow::Continue(())
    });
    // SAFETY: the caller's frame has a code object.
    let of_entered = |frame| unsafe { (frame, word(frame + u64::from(layout.frame.code))) };
    let Some((frame, code)) = first.or_else(|| entered.map(of_entered)) else {
        return;
    };
    if let Some(shape) = thread_name(layout, &mut There, frame, code) {
        let mut name = Room::new();
        name.add_shape(shape);
        report(name.as_bytes());
    }
}

/// Describes a C function, or a method of one object.
///
/// # Safety
/// `function` is one of these, and the lock is held.
#[cold]
pub unsafe fn function(
    calls: &Calls,
    layout: &Layout,
    function: u64,
    report: &mut dyn FnMut(Described<'_>),
) {
    let mut name = Room::new();
    // SAFETY: the caller vouches; all of these are parts of the object.
    unsafe {
        let bare = word(field(function, c_function::METHOD));
        let (receiver, module) = (
            field(function, c_function::SELF),
            field(function, c_function::MODULE),
        );
        let is_text = module != 0 && field(module, object::TYPE) == calls.text_type as u64;
        let found = match receiver {
            0 => 0,
            _ => find(calls, field(receiver, object::TYPE), bare),
        };
        let found_type = if found == 0 {
            0
        } else {
            field(found, object::TYPE)
        };
        if receiver == 0 {
            let is_bare = !is_text || is(layout, module, b"builtins");
            if !is_bare {
                name.add_text(layout, module);
                name.add(b".");
            }
            name.add_c(bare);
        } else if found_type == calls.method_type as u64 {
            add_method(&mut name, found);
        } else if found_type == calls.function_type as u64 {
            let receiver = field(found, c_function::SELF);
            name.add(b"built-in method ");
            name.add_c(bare);
            if receiver != 0 {
                name.add(b" of ");
                name.add_c(field(field(receiver, object::TYPE), type_object::NAME));
                name.add(b" object");
            }
        } else {
            name.add(b"built-in method ");
            if is_text {
                name.add_text(layout, module);
                name.add(b".");
            }
            name.add_c(bare);
        }
    }
    builtin(&name, report);
}

/// The attribute of a type by this name; 0 if there is none.
///
/// # Safety
/// The lock is held.
unsafe fn find(calls: &Calls, of: u64, name: u64) -> u64 {
    if name == 0 {
        return 0;
    }
    // SAFETY: the name is a text of C's; what is found is borrowed. A lookup by a text makes no
    // call.
    unsafe {
        let text: Object = (calls.new_text)(name as *const c_char);
        if text.is_null() {
            // It is no Python text. A caller of a function has no pending exception.
            calls.drop_error();
            return 0;
        }
        let found = (calls.find_in_type)(of as *mut c_void, text);
        (calls.release)(text);
        found as u64
    }
}

fn is(layout: &Layout, object: u64, expected: &[u8]) -> bool {
    let mut text = Room::new();
    text.add_text(layout, object);
    text.as_bytes() == expected
}
