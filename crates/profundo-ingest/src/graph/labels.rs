//! What references are called: which word it is that may point.

use profundo_model::graph::{Label, NameId, Sink};

const WORD: u64 = 8;
/// Words that lie farther from the beginning have no name that is kept.
const NEAR: usize = 1 << 17;

/// The names of words, each told once.
#[derive(Debug)]
pub(super) struct Labels(Vec<Option<NameId>>);

impl Labels {
    pub(super) fn new() -> Self {
        Self(vec![None; NEAR])
    }

    /// The word so many bytes behind the beginning.
    #[inline]
    pub(super) fn of<S: Sink>(&mut self, offset: u64, sink: &mut S) -> Result<Label, S::Error> {
        // Where a block begins within a word, its words do not begin at multiples of eight.
        let place = match offset.is_multiple_of(WORD) {
            true => self.0.get_mut((offset / WORD) as usize),
            false => None,
        };
        if let Some(Some(known)) = place {
            return Ok(Label::Name(*known));
        }
        let name = sink.name(format!("may +{offset}").as_bytes())?;
        if let Some(place) = place {
            *place = Some(name);
        }
        Ok(Label::Name(name))
    }

    /// The word at an address.
    pub(super) fn of_place<S: Sink>(at: u64, sink: &mut S) -> Result<Label, S::Error> {
        let name = sink.name(format!("may at 0x{at:x}").as_bytes())?;
        Ok(Label::Name(name))
    }
}
