//! The name of a thread: the one that `threading.Thread` keeps, not the kernel's.
//!
//! The outermost frame of such a thread runs `Thread._bootstrap`, whose first local variable is the
//! `Thread`. Its name is an attribute, and each version keeps those in another place. The names of
//! an object's attributes are looked through one by one: `_name` is among the first.

use crate::code::{TextShape, text};
use crate::dict::attribute;
use crate::layout::Layout;
use crate::layout::objects::object::TYPE;
use crate::memory::Memory;
use crate::method::Method;

/// The function that each thread begins with.
const BEGINNING: Method = Method {
    name: b"_bootstrap",
    name_in_class: b"Thread._bootstrap",
    file: b"threading.py",
};

/// The place of the name of the thread whose outermost frame this is, with this code object. `None`
/// if the module `threading` did not start it, or if anything is not as expected.
pub fn thread_name(
    layout: &Layout,
    memory: &mut impl Memory,
    frame: u64,
    code: u64,
) -> Option<TextShape> {
    let thread = BEGINNING.object(layout, memory, frame, code)?;
    let (key, name) = attribute(layout, memory, thread, b"_name")?;
    // A value whose type is not that of its own attribute's name is no text.
    let kind = memory.word(layout.field(name, TYPE))?;
    (kind == memory.word(layout.field(key, TYPE))?).then_some(())?;
    text(layout, memory, name)
}
