//! A place is one level of a stack as a reader sees it: a named function, the reason why the stack
//! has nothing there, or an unnamed address.

use profundo_model::{
    FileId, FrameId, Language, LocationId, LocationKind, Profile, Reason, StringId,
};

/// One level of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A function at a line.
    Frame(FrameId),
    /// The reason why there is no address, in a profile without names yet.
    Reason(Reason),
    /// An address without a name.
    Unknown,
}

impl Place {
    /// Whether the place is hidden unless C frames are requested. An unnamed address counts as C; a
    /// reason is always shown, because its weight must not be lost.
    pub fn is_c(self, profile: &Profile) -> bool {
        match self {
            Self::Frame(frame) => profile.frames.get(frame).is_c(),
            Self::Reason(_) => false,
            Self::Unknown => true,
        }
    }

    /// A small number for hashing: frames have their own, the others count down from the top.
    pub(crate) fn key(self) -> u32 {
        match self {
            Self::Frame(frame) => frame.0,
            Self::Reason(reason) => u32::MAX - 1 - reason as u32,
            Self::Unknown => u32::MAX,
        }
    }
}

/// The places of a location, the real function first and the innermost inlined callee last.
pub(crate) fn places(
    profile: &Profile,
    location: LocationId,
) -> impl DoubleEndedIterator<Item = Place> + '_ {
    let location = profile.locations.get(location);
    let nameless = location.frames.is_empty().then_some(match location.kind {
        LocationKind::Reason(reason) => Place::Reason(reason),
        _ => Place::Unknown,
    });
    let frames = location.frames.iter();
    nameless
        .into_iter()
        .chain(frames.rev().map(|&frame| place(profile, frame)))
}

/// A frame, or the unknown place for an empty one: an address that was looked up in vain has such a
/// frame.
fn place(profile: &Profile, frame: FrameId) -> Place {
    let row = profile.frames.get(frame);
    let is_unknown = row.function == StringId(0) && row.file == FileId(0);
    if is_unknown && row.language != Language::Synthetic {
        Place::Unknown
    } else {
        Place::Frame(frame)
    }
}
