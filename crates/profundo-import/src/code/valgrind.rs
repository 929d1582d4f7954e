//! Frames as Valgrind's tools print them, for Massif and DHAT: `0x1091A2: push (heap.c:5)`,
//! `0x48417B4: malloc (in /usr/lib/libc.so)`.

use std::borrow::Cow;

use profundo_model::LocationId;
use rustc_hash::FxHashMap;

use crate::{Builder, Named};

/// A frame in parts. Unknown ones are empty, or 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Frame<'a> {
    pub address: u64,
    pub function: &'a str,
    pub file: &'a str,
    pub line: u32,
    pub object: &'a str,
}

impl<'a> Frame<'a> {
    /// The parts of a frame's text.
    pub(crate) fn of(text: &'a str) -> Self {
        let text = text.trim();
        let mut frame = Self::default();
        let mut name = text;
        if let Some((address, rest)) = text.split_once(": ")
            && let Some(digits) = address.strip_prefix("0x")
            && let Ok(address) = u64::from_str_radix(digits, 16)
        {
            (frame.address, name) = (address, rest);
        }
        if let Some((function, place)) = name.strip_suffix(')').and_then(|name| split(name)) {
            if let Some(object) = place.strip_prefix("in ") {
                (name, frame.object) = (function, object);
            } else if let Some((file, line)) = place_of(place) {
                name = function;
                (frame.file, frame.line) = (file, line);
            }
        }
        frame.function = if name == "???" { "" } else { name };
        frame
    }
}

/// The last ` (` opens the place.
fn split(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once(" (")
}

/// `heap.c:5`, and `src/main.rs:5:13` of Rust.
fn place_of(place: &str) -> Option<(&str, u32)> {
    let (file, last) = place.rsplit_once(':')?;
    let last = last.parse().ok()?;
    let with_column = file.rsplit_once(':');
    let with_column = with_column.and_then(|(file, line)| Some((file, line.parse().ok()?)));
    Some(with_column.unwrap_or((file, last)))
}

/// Locations of frames. Functions inlined into one another have one address.
#[derive(Debug, Default)]
pub(crate) struct Frames<'a> {
    locations: FxHashMap<Vec<Frame<'a>>, LocationId>,
}

impl<'a> Frames<'a> {
    /// The locations of a stack that begins with the innermost frame, in the same order.
    pub(crate) fn locations(
        &mut self,
        builder: &mut Builder,
        frames: &[Frame<'a>],
    ) -> Vec<LocationId> {
        let is_one = |a: &Frame<'_>, b: &Frame<'_>| a.address == b.address && a.address != 0;
        frames
            .chunk_by(is_one)
            .map(|frames| self.location(builder, frames))
            .collect()
    }

    /// The location of a function and of those inlined into it, the innermost first.
    pub(crate) fn location(&mut self, builder: &mut Builder, frames: &[Frame<'a>]) -> LocationId {
        if let Some(&known) = self.locations.get(frames) {
            return known;
        }
        let object = frames.iter().find(|frame| !frame.object.is_empty());
        let module = object.map(|frame| builder.module(frame.object));
        let ids: Vec<_> = (frames.iter().enumerate())
            .map(|(at, frame)| {
                let function: Cow<'_, str> = match frame.function {
                    "" => format!("{:#x}", frame.address).into(),
                    name => name.into(),
                };
                builder.frame(Named {
                    function: &function,
                    file: frame.file,
                    line: frame.line,
                    is_inlined: at + 1 < frames.len(),
                    ..Named::default()
                })
            })
            .collect();
        let location = builder.inlined(&ids, module);
        self.locations.insert(frames.to_vec(), location);
        location
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_parts() {
        let frame = Frame::of("0x1091A2: f(int (*)(char)) (a b.c:5)");
        assert_eq!(
            (frame.address, frame.function, frame.file, frame.line),
            (0x1091a2, "f(int (*)(char))", "a b.c", 5)
        );
        let frame = Frame::of("0x48417B4: malloc (in /usr/lib/libc.so)");
        assert_eq!(
            (frame.function, frame.object),
            ("malloc", "/usr/lib/libc.so")
        );
        let frame = Frame::of("0x5: app::{{closure}} (src/main.rs:6:84)");
        assert_eq!((frame.file, frame.line), ("src/main.rs", 6));
        assert_eq!(Frame::of("0x5: ???").function, "");
        assert_eq!(Frame::of("[root]").function, "[root]");
    }
}
