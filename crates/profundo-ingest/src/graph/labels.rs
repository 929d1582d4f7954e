//! The labels of references: the word that may be a pointer.

use profundo_model::graph::{Label, NameId, Sink};

const WORD: u64 = 8;
/// The limit of kept labels: words farther from the beginning are labelled anew each time.
const NEAR: usize = 1 << 17;

/// The labels of words, each passed to the sink once.
#[derive(Debug)]
pub(super) struct Labels(Vec<Option<NameId>>);

impl Labels {
    pub(super) fn new() -> Self {
        Self(vec![None; NEAR])
    }

    /// The label of the word at an offset.
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

    /// The label of the word at an address.
    pub(super) fn of_place<S: Sink>(at: u64, sink: &mut S) -> Result<Label, S::Error> {
        let name = sink.name(format!("may at 0x{at:x}").as_bytes())?;
        Ok(Label::Name(name))
    }
}
