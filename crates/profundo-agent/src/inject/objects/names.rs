//! The recorded texts, each once, and how they are read out of the interpreter's objects.

use core::ffi::{CStr, c_char};

use super::Failure;
use super::outlet::Out;
use super::pages::Map;
use crate::inject::api::{Api, Object};

/// The number of a text.
pub type Text = u32;

/// The longest part of a text that is recorded.
pub const LONGEST: usize = 1024;

/// The texts so far.
#[derive(Debug)]
pub struct Texts {
    /// The numbers by the address of the object, or of the C string.
    known: Map,
    count: u32,
}

impl Texts {
    pub fn new() -> Result<Self, Failure> {
        Ok(Self {
            known: Map::new()?,
            count: 0,
        })
    }

    /// Records a text that is not looked up again.
    pub fn write(&mut self, out: &mut Out<'_>, text: &[u8]) -> Text {
        out.put_text(text.get(..LONGEST).unwrap_or(text));
        self.count += 1;
        self.count - 1
    }

    /// The text of a C string that stays where it is.
    pub fn of_c(&mut self, out: &mut Out<'_>, text: *const c_char) -> Result<Text, Failure> {
        // SAFETY: the interpreter's own constants end in a NUL.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        self.of(out, text as u64, bytes)
    }

    /// The text of a constant of ours.
    pub fn of_ours(&mut self, out: &mut Out<'_>, text: &'static CStr) -> Result<Text, Failure> {
        self.of(out, text.as_ptr() as u64, text.to_bytes())
    }

    /// The text that an object holds, if it is one.
    pub fn of_object(
        &mut self,
        out: &mut Out<'_>,
        api: &Api,
        object: Object,
    ) -> Result<Option<Text>, Failure> {
        if let Some(known) = self.known.get(object as u64) {
            return Ok(Some(known));
        }
        match bytes_of(api, object) {
            Some(bytes) => self.of(out, object as u64, bytes).map(Some),
            None => Ok(None),
        }
    }

    fn of(&mut self, out: &mut Out<'_>, key: u64, bytes: &[u8]) -> Result<Text, Failure> {
        if let Some(known) = self.known.get(key) {
            return Ok(known);
        }
        let text = self.write(out, bytes);
        self.known.insert(key, text)?;
        Ok(text)
    }
}

/// A text's contents in UTF-8. `None`: it cannot be encoded.
pub fn bytes_of(api: &Api, object: Object) -> Option<&'static [u8]> {
    let mut length = 0;
    // SAFETY: the object is a text, which stays as it is.
    unsafe {
        let start = (api.text)(object, &mut length);
        if start.is_null() {
            (api.clear_error)();
            return None;
        }
        let length = usize::try_from(length).ok()?;
        Some(core::slice::from_raw_parts(start.cast(), length))
    }
}
