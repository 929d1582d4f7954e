//! The reader's own line in a stack.

use profundo_model::{Language, Profile, StackId};

use crate::shown::Sieve;
use crate::{Hidden, Libraries, Place, Shown};

/// Finds the reader's own line in stacks.
pub(crate) struct OwnLines<'a> {
    profile: &'a Profile,
    own: Sieve<'a>,
    all: Sieve<'a>,
    everything: Sieve<'a>,
}

impl<'a> OwnLines<'a> {
    pub(crate) fn new(profile: &'a Profile, shown: Shown) -> Self {
        let of = |libraries| Sieve::new(profile, Shown { libraries, ..shown });
        Self {
            profile,
            own: of(Libraries::Hidden),
            all: of(Libraries::Shown),
            everything: Sieve::new(
                profile,
                Shown {
                    hidden: Hidden::Nothing,
                    libraries: Libraries::Shown,
                },
            ),
        }
    }

    /// The innermost own line; a library's, where there is none.
    pub(crate) fn of(&self, stack: StackId) -> Option<Place> {
        let is_code = |place| is_code(self.profile, place);
        innermost_of(&self.own, stack, is_code)
            .or_else(|| innermost_of(&self.all, stack, is_code))
            .or_else(|| innermost_of(&self.everything, stack, is_code))
    }

    /// The innermost own line, if there is one.
    pub(crate) fn own(&self, stack: StackId) -> Option<Place> {
        innermost_of(&self.own, stack, |place| is_code(self.profile, place))
    }

    /// The innermost line of Python, of any owner.
    pub(crate) fn python(&self, stack: StackId) -> Option<Place> {
        innermost_of(&self.everything, stack, |place| match place {
            Place::Frame(frame) => self.profile.frames.get(frame).language == Language::Python,
            Place::Reason(_) | Place::Unknown => false,
        })
    }

    /// The innermost place, code or not.
    pub(crate) fn innermost(&self, stack: StackId) -> Option<Place> {
        innermost_of(&self.everything, stack, |_| true)
    }
}

fn innermost_of(
    sieve: &Sieve<'_>,
    stack: StackId,
    is_wanted: impl Fn(Place) -> bool,
) -> Option<Place> {
    let mut path = Vec::new();
    sieve.path(stack, &mut path);
    let places = path.iter().rev().map(|&(place, _)| place);
    places.into_iter().find(|&place| is_wanted(place))
}

/// Whether a place is code, rather than a name for a gap.
fn is_code(profile: &Profile, place: Place) -> bool {
    match place {
        Place::Frame(frame) => profile.frames.get(frame).language != Language::Synthetic,
        Place::Reason(_) | Place::Unknown => false,
    }
}
