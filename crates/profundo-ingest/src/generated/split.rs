//! Samples of one address with several meanings: each gets the frame of its own time.
//!
//! A location has one name for all its samples, so those of other times get a location of their
//! own, at the same address in a module of its own.

use profundo_model::{Avma, FrameId, LocationId, Module, ModuleId, Profile, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::naming::Extents;

/// The names of a location with their starts, in cycles; `None`: unknown.
type Timeline = Vec<(u64, Option<FrameId>)>;

/// The samples to split. It holds for the profile that it was made from, and for the contents of a
/// file that this profile was written to.
#[derive(Debug, Default)]
pub struct Split {
    /// The meanings of each location, and its frame in the profile.
    pub(super) meanings: FxHashMap<LocationId, (Timeline, Option<FrameId>)>,
    stacks: FxHashSet<StackId>,
}

impl Split {
    /// True if there are samples to split.
    pub fn is_needed(&self) -> bool {
        !self.stacks.is_empty()
    }

    /// Finds the stacks that were sampled at times when they had other names.
    pub(super) fn settle(&mut self, profile: &Profile, extents: &Extents) {
        if self.meanings.is_empty() {
            return;
        }
        for (&stack, &(first, last)) in extents {
            let is_other = profile.stacks.locations(stack).any(|location| {
                let Some((timeline, named)) = self.meanings.get(&location) else {
                    return false;
                };
                let later = timeline.iter().filter(|(at, _)| first < *at && *at <= last);
                let mut frames = later.map(|(_, frame)| *frame);
                frame_at(timeline, first) != *named || frames.any(|frame| frame != *named)
            });
            if is_other {
                self.stacks.insert(stack);
            }
        }
    }

    /// Gives the samples of a profile their own stacks.
    pub fn apply(&self, profile: &mut Profile) {
        if !self.is_needed() {
            return;
        }
        let mut variants = Variants::default();
        let mut known: FxHashMap<(StackId, Vec<LocationId>), StackId> = FxHashMap::default();
        for index in 0..profile.samples.len() {
            let sample = profile.samples[index];
            if !self.stacks.contains(&sample.stack) {
                continue;
            }
            let locations: Vec<LocationId> = profile.stacks.locations(sample.stack).collect();
            let own: Vec<LocationId> = locations
                .iter()
                .map(|&location| match self.meanings.get(&location) {
                    None => location,
                    Some((timeline, named)) => match frame_at(timeline, sample.clock) {
                        frame if frame == *named => location,
                        frame => variants.of(profile, location, frame),
                    },
                })
                .collect();
            if own == locations {
                continue;
            }
            let key = (sample.stack, own);
            let stack = match known.get(&key) {
                Some(&stack) => stack,
                None => {
                    let root_first = key.1.iter().rev();
                    let stack = root_first.fold(None, |parent, &location| {
                        Some(profile.stacks.intern(parent, location))
                    });
                    let stack = stack.unwrap_or(sample.stack);
                    known.insert(key, stack);
                    stack
                }
            };
            profile.samples[index].stack = stack;
        }
    }
}

fn frame_at(timeline: &Timeline, clock: u64) -> Option<FrameId> {
    let after = timeline.partition_point(|(at, _)| *at <= clock);
    // Code is noticed a moment after its start.
    timeline.get(after.saturating_sub(1))?.1
}

/// Locations for other meanings, and their modules.
#[derive(Debug, Default)]
struct Variants {
    locations: FxHashMap<(LocationId, Option<FrameId>), LocationId>,
    /// The number of variants of a location.
    counts: FxHashMap<LocationId, usize>,
    modules: FxHashMap<(Option<ModuleId>, usize), ModuleId>,
}

impl Variants {
    fn of(
        &mut self,
        profile: &mut Profile,
        location: LocationId,
        frame: Option<FrameId>,
    ) -> LocationId {
        if let Some(&known) = self.locations.get(&(location, frame)) {
            return known;
        }
        let count = self.counts.entry(location).or_default();
        let row = profile.locations.get(location);
        let (kind, module) = (row.kind, row.module);
        let another = *self.modules.entry((module, *count)).or_insert_with(|| {
            let row = match module {
                Some(module) => profile.modules.get(module).clone(),
                None => Module {
                    path: profile.strings.intern("[JIT]"),
                    end: Avma(u64::MAX),
                    ..Module::default()
                },
            };
            profile.modules.push(row)
        });
        *count += 1;
        let new = profile.locations.intern(kind, Some(another));
        profile.locations.set_frames(new, frame.as_slice());
        self.locations.insert((location, frame), new);
        new
    }
}
