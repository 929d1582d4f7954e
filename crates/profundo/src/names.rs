//! Names for the addresses in some data: Julia's `lidict`. With the data they are independent of
//! the machine.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use profundo_capture::heap;
use profundo_model::{LocationId, Profile};
use profundo_symbols::Symbolizer;

use crate::data::{Data, fetch};
use crate::error::Result;
use crate::frames::StackFrame;
use crate::words;

/// The frames of each address, innermost inlined function first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    frames: BTreeMap<u64, Vec<StackFrame>>,
}

/// Names are looked up once per address and process.
pub(crate) static SYMBOLIZER: LazyLock<Symbolizer> =
    // The threads end when they are done: until then their allocations count as ours.
    LazyLock::new(|| {
        Symbolizer::new().with_beginning(|| std::mem::forget(heap::exclude_allocations()))
    });

/// All samples and their names: can be saved, and printed on another machine.
pub fn retrieve() -> Result<(Data, Names)> {
    let data = fetch()?;
    let names = names_of(&data);
    Ok((data, names))
}

/// Names the addresses of data of this very process: Julia's `getdict`.
pub fn names_of(data: &Data) -> Names {
    let mut profile = data.profile().clone();
    SYMBOLIZER.name_profile(&mut profile);
    Names::of(&profile)
}

impl Names {
    /// An empty set of names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names of a profile.
    pub(crate) fn of(profile: &Profile) -> Self {
        let mut names = Self::default();
        let words = words::of_locations(profile);
        for ((_, location), word) in profile.locations.iter().zip(words) {
            let frames = location
                .frames
                .iter()
                .map(|&id| StackFrame::of(profile, id, word));
            names.frames.insert(word, frames.collect());
        }
        names
    }

    /// The frames of an address as in [`Data::words`]; innermost inlined function first, the real
    /// function last.
    pub fn get(&self, ip: u64) -> Option<&[StackFrame]> {
        self.frames.get(&ip).map(Vec::as_slice)
    }

    /// Names an address, replacing any earlier name.
    pub fn insert(&mut self, ip: u64, frames: Vec<StackFrame>) {
        self.frames.insert(ip, frames);
    }

    /// The number of named addresses.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no address has a name.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// All addresses with their frames, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[StackFrame])> {
        self.frames
            .iter()
            .map(|(&ip, frames)| (ip, frames.as_slice()))
    }

    /// The data's profile with these names.
    pub(crate) fn apply(&self, data: &Data) -> Arc<Profile> {
        let mut profile = data.profile().clone();
        for (index, word) in words::of_locations(&profile).into_iter().enumerate() {
            if let Some(frames) = self.frames.get(&word) {
                let frames: Vec<_> = frames
                    .iter()
                    .map(|frame| frame.intern(&mut profile))
                    .collect();
                let id = LocationId::from_index(index);
                profile.locations.set_frames(id, &frames);
            }
        }
        profile.name_reasons();
        Arc::new(profile)
    }
}

impl FromIterator<(u64, Vec<StackFrame>)> for Names {
    fn from_iter<I: IntoIterator<Item = (u64, Vec<StackFrame>)>>(iter: I) -> Self {
        Self {
            frames: iter.into_iter().collect(),
        }
    }
}

/// Adds names; a new one replaces the address's old one.
impl Extend<(u64, Vec<StackFrame>)> for Names {
    fn extend<I: IntoIterator<Item = (u64, Vec<StackFrame>)>>(&mut self, iter: I) {
        self.frames.extend(iter);
    }
}

impl IntoIterator for Names {
    type Item = (u64, Vec<StackFrame>);
    type IntoIter = std::collections::btree_map::IntoIter<u64, Vec<StackFrame>>;

    fn into_iter(self) -> Self::IntoIter {
        self.frames.into_iter()
    }
}
