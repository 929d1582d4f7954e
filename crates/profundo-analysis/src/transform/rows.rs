//! The stack table in the making: the end of each recorded stack, after each transform.

use profundo_model::{LocationId, LocationKind, Profile, StackId, StackTable};

/// The fate of the innermost frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// The frame is there.
    Kept,
    /// The frame is one with an earlier call of the same function.
    Folded,
    /// The frame was taken away; its time is its caller's.
    Merged,
}

/// The end of a stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The stack that is left; `None` if all frames were taken away.
    pub stack: Option<StackId>,
    /// The fate of its innermost frame.
    pub fate: Fate,
    /// Whether samples with this stack are left out.
    pub is_dropped: bool,
}

impl End {
    /// The end of a stack without frames.
    pub(super) const ROOT: Self = Self {
        stack: None,
        fate: Fate::Merged,
        is_dropped: false,
    };

    /// One more frame below this one.
    pub(super) fn call(self, table: &mut StackTable, location: LocationId) -> Self {
        Self {
            stack: Some(table.intern(self.stack, location)),
            fate: Fate::Kept,
            ..self
        }
    }

    /// A frame below this one that is taken away.
    pub(super) fn merged(self) -> Self {
        Self {
            fate: Fate::Merged,
            ..self
        }
    }
}

/// A row of the stack table that is rewritten.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// The number of its caller's row.
    pub caller: Option<usize>,
    /// Its location.
    pub location: LocationId,
}

/// The stacks after some of the transforms.
#[derive(Debug)]
pub(super) struct Rows {
    /// The stacks that are left.
    pub table: StackTable,
    /// By stack as recorded.
    pub ends: Vec<End>,
}

impl Rows {
    /// The stacks as recorded, with a level for each frame: inlined ones come apart, so that each
    /// can be taken away alone.
    pub(super) fn new(profile: &mut Profile) -> Self {
        let levels = levels(profile);
        let mut table = StackTable::default();
        let mut ends: Vec<End> = Vec::with_capacity(profile.stacks.len());
        for stack in profile.stacks.iter() {
            let caller = stack
                .parent
                .map_or(End::ROOT, |caller| ends[caller.index()]);
            let end = match &levels[stack.location.index()][..] {
                [] => caller.call(&mut table, stack.location),
                levels => (levels.iter()).fold(caller, |end, &level| end.call(&mut table, level)),
            };
            ends.push(end);
        }
        Self { table, ends }
    }

    /// Rewrites each row once, from its caller's end. `empty` is the end of stacks of which nothing
    /// was left before.
    pub(super) fn rewrite(
        &mut self,
        empty: End,
        mut step: impl FnMut(&mut StackTable, End, Row) -> End,
    ) {
        let mut table = StackTable::default();
        let mut ends: Vec<End> = Vec::with_capacity(self.table.len());
        for stack in self.table.iter() {
            let caller = stack.parent.map(StackId::index);
            let above = caller.map_or(End::ROOT, |caller| ends[caller]);
            let row = Row {
                caller,
                location: stack.location,
            };
            ends.push(step(&mut table, above, row));
        }
        for end in &mut self.ends {
            let next = end.stack.map_or(empty, |stack| ends[stack.index()]);
            *end = End {
                stack: next.stack,
                fate: end.fate.max(next.fate),
                is_dropped: end.is_dropped || next.is_dropped,
            };
        }
        self.table = table;
    }
}

/// By location, the locations of its frames, the outermost first. None, where there is one at most.
fn levels(profile: &mut Profile) -> Vec<Vec<LocationId>> {
    let count = profile.locations.len();
    (0..count)
        .map(|index| {
            let of = LocationId::from_index(index);
            let location = profile.locations.get(of);
            if location.frames.len() < 2 {
                return Vec::new();
            }
            let (module, frames) = (location.module, location.frames.clone());
            let frames = (0..).zip(&frames).collect::<Vec<(u16, _)>>();
            let of_frame = |&(frame, &id): &(u16, &profundo_model::FrameId)| {
                let ends = None;
                let kind = LocationKind::Part { of, frame, ends };
                let level = profile.locations.intern(kind, module);
                profile.locations.set_frames(level, &[id]);
                level
            };
            frames.iter().rev().map(of_frame).collect()
        })
        .collect()
}
