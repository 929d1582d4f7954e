//! Methods of the standard library that are recognised by name and file: a frame of one leads to
//! its object.

use crate::code::text;
use crate::layout::Layout;
use crate::layout::objects::TAGS;
use crate::memory::{Memory, at};

/// A method that is written in Python.
#[derive(Debug)]
pub(crate) struct Method {
    /// Its name, as in code objects before 3.11.
    pub(crate) name: &'static [u8],
    /// Its qualified name, as in code objects since 3.11.
    pub(crate) name_in_class: &'static [u8],
    /// The end of the path of its file.
    pub(crate) file: &'static [u8],
}

impl Method {
    /// The object of a frame's call of the method: its first local variable. `None` if the code
    /// object is another method's.
    pub(crate) fn object(
        &self,
        layout: &Layout,
        memory: &mut impl Memory,
        frame: u64,
        code: u64,
    ) -> Option<u64> {
        let name = memory.word(at(code, layout.code.name))?;
        let is_it = is_text(layout, memory, name, self.name)?
            || is_text(layout, memory, name, self.name_in_class)?;
        let file = memory.word(at(code, layout.code.file))?;
        if !is_it || !ends_with(layout, memory, file, self.file)? {
            return None;
        }
        Some(memory.word(at(frame, layout.frame.locals))? & !TAGS)
    }
}

/// Whether an object is this text, of ASCII.
pub(crate) fn is_text(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    expected: &[u8],
) -> Option<bool> {
    let shape = text(layout, memory, object)?;
    let is_long = shape.bytes as usize == expected.len();
    Some(is_long && ends_with(layout, memory, object, expected)?)
}

/// Whether a text ends with this one, of ASCII.
fn ends_with(
    layout: &Layout,
    memory: &mut impl Memory,
    object: u64,
    expected: &[u8],
) -> Option<bool> {
    let shape = text(layout, memory, object)?;
    let mut buffer = [0; 4];
    let width = usize::from(shape.width);
    let skipped = (shape.bytes as usize).checked_sub(expected.len() * width);
    let Some(skipped) = skipped else {
        return Some(false);
    };
    // A path may have any characters; the last ones are compared one by one.
    for (index, &byte) in expected.iter().enumerate() {
        let character = buffer.get_mut(..width)?;
        let from = shape.address.wrapping_add((skipped + index * width) as u64);
        if !memory.bytes(from, character) {
            return None;
        }
        let (first, rest) = character.split_first()?;
        if *first != byte || rest.iter().any(|&byte| byte != 0) {
            return Some(false);
        }
    }
    Some(true)
}
