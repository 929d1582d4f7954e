//! The frames of each address. Where the file was cut, the later addresses have none.

use std::borrow::Cow;

use profundo_model::{FrameId, Language};
use rustc_hash::FxHashMap;

use super::head::Input;
use crate::{Builder, Named, Warning, language_of};

/// The bytes of an address without frames, and those of a frame without texts.
const LEAST_OF_ADDRESS: usize = 12;
const LEAST_OF_FRAME: usize = 18;

/// The frames of addresses, where they stand in the file.
pub(super) struct Names<'a> {
    /// The number of frames, and the bytes that begin with them.
    frames: FxHashMap<u64, (usize, Input<'a>)>,
}

impl<'a> Names<'a> {
    pub(super) fn read(input: &mut Input<'a>, builder: &mut Builder) -> Self {
        let mut frames = FxHashMap::default();
        let count = input.count(LEAST_OF_ADDRESS);
        let mut is_whole = matches!(count, Some((_, true)));
        for _ in 0..count.map_or(0, |(count, _)| count) {
            let Some((address, row)) = address(input) else {
                is_whole = false;
                break;
            };
            frames.insert(address, row);
        }
        if !is_whole {
            builder.warn(Warning::Damaged {
                offset: input.offset(),
                what: "the names of some addresses are missing".into(),
            });
        }
        Self { frames }
    }

    /// The frames of an address, the innermost first. One without a name has a frame without.
    pub(super) fn frames(&self, builder: &mut Builder, address: u64) -> Vec<FrameId> {
        let mut frames = Vec::new();
        if let Some(&(count, mut input)) = self.frames.get(&address) {
            let next = || frame(&mut input);
            let read = std::iter::from_fn(next).take(count);
            frames.extend(read.map(|frame| frame.intern(builder)));
        }
        if frames.is_empty() {
            frames.push(builder.profile.frame(Default::default()));
        }
        frames
    }
}

/// An address, and where its frames stand.
fn address<'a>(input: &mut Input<'a>) -> Option<(u64, (usize, Input<'a>))> {
    let address = input.word()?;
    let count = input.short_count(LEAST_OF_FRAME)?;
    let start = *input;
    for _ in 0..count {
        frame(input)?;
    }
    Some((address, (count, start)))
}

/// A frame of the file.
struct Frame<'a> {
    function: Cow<'a, str>,
    file: Cow<'a, str>,
    line: u32,
    is_c: bool,
    is_inlined: bool,
}

fn frame<'a>(input: &mut Input<'a>) -> Option<Frame<'a>> {
    Some(Frame {
        function: String::from_utf8_lossy(input.text()?),
        file: String::from_utf8_lossy(input.text()?),
        // Unknown lines are -1.
        line: u32::try_from(input.word()?.cast_signed()).unwrap_or(0),
        is_c: input.byte()? != 0,
        is_inlined: input.byte()? != 0,
    })
}

impl Frame<'_> {
    fn intern(&self, builder: &mut Builder) -> FrameId {
        if self.function.is_empty() && self.file.is_empty() {
            return builder.profile.frame(Default::default());
        }
        let language = match (language_of(&self.function, &self.file), self.is_c) {
            (Language::Julia, true) => Language::Native,
            (Language::Native, false) => Language::Julia,
            (language, _) => language,
        };
        builder.frame(Named {
            function: &self.function,
            file: &self.file,
            line: self.line,
            language: Some(language),
            is_inlined: self.is_inlined,
            ..Named::default()
        })
    }
}
