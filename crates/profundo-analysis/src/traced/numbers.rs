//! The function of each row of the stack table, and whether the same is further up.
//!
//! The rows are visited once, like the program did: down into a call, and up again. On the way, the
//! open calls of each function, and of each pair of caller and callee, are counted.

use profundo_model::{FileId, LocationId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

use crate::Place;
use crate::place::places;

/// The facts about a row of the stack table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Row {
    /// The number of its function.
    pub function: u32,
    /// Whether the function is further up.
    pub is_recursive: bool,
    /// Whether the function is further up, called by the same caller.
    pub is_repeated: bool,
}

/// The functions of a profile.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// By number, one of its places.
    pub places: Vec<Place>,
    /// By stack.
    pub rows: Vec<Row>,
}

/// The identity of a function's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Function(FileId, u32, StringId),
    Other(Place),
}

impl Key {
    pub(super) fn of(profile: &Profile, place: Place) -> Self {
        match place {
            Place::Frame(frame) => {
                let frame = profile.frames.get(frame);
                Self::Function(frame.file, frame.line, frame.function)
            }
            other => Self::Other(other),
        }
    }
}

impl Numbers {
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut places = Vec::new();
        let mut known: FxHashMap<Key, u32> = FxHashMap::default();
        let functions: Vec<u32> = (0..profile.locations.len())
            .map(|index| {
                let place = innermost(profile, LocationId::from_index(index));
                *known.entry(Key::of(profile, place)).or_insert_with(|| {
                    places.push(place);
                    small(places.len() - 1)
                })
            })
            .collect();
        let rows = (profile.stacks.iter())
            .map(|stack| Row {
                function: functions[stack.location.index()],
                ..Row::default()
            })
            .collect();
        let mut numbers = Self { places, rows };
        numbers.look_up(profile);
        numbers
    }

    /// The calling function, at the line of the call.
    pub(super) fn caller(&self, profile: &Profile, stack: StackId) -> Option<u32> {
        let caller = profile.stacks.get(stack).parent?;
        Some(self.rows[caller.index()].function)
    }

    /// Finds out for each row which functions are further up.
    fn look_up(&mut self, profile: &Profile) {
        let mut pairs: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        // Rows without a caller have no pair.
        let pair_of: Vec<Option<u32>> = (0..self.rows.len())
            .map(|index| {
                let caller = self.caller(profile, StackId::from_index(index))?;
                let next = small(pairs.len());
                let pair = (caller, self.rows[index].function);
                Some(*pairs.entry(pair).or_insert(next))
            })
            .collect();
        let mut open_functions = vec![0_u32; self.places.len()];
        let mut open_pairs = vec![0_u32; pairs.len()];
        let below = Below::new(profile);
        let mut next = below.roots;
        let mut path: Vec<usize> = Vec::new();
        loop {
            while let Some(index) = next {
                let row = &mut self.rows[index];
                let level = &mut open_functions[row.function as usize];
                row.is_recursive = *level > 0;
                *level += 1;
                if let Some(pair) = pair_of[index] {
                    let level = &mut open_pairs[pair as usize];
                    row.is_repeated = *level > 0;
                    *level += 1;
                }
                path.push(index);
                next = below.first[index];
            }
            let Some(index) = path.pop() else {
                return;
            };
            open_functions[self.rows[index].function as usize] -= 1;
            if let Some(pair) = pair_of[index] {
                open_pairs[pair as usize] -= 1;
            }
            next = below.next[index];
        }
    }
}

/// The callees of each row: the first one, and the next of each.
struct Below {
    roots: Option<usize>,
    first: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
}

impl Below {
    fn new(profile: &Profile) -> Self {
        let length = profile.stacks.len();
        let mut below = Self {
            roots: None,
            first: vec![None; length],
            next: vec![None; length],
        };
        for (index, stack) in profile.stacks.iter().enumerate() {
            let first = match stack.parent {
                Some(caller) => &mut below.first[caller.index()],
                None => &mut below.roots,
            };
            below.next[index] = first.replace(index);
        }
        below
    }
}

/// The function that a location is in.
fn innermost(profile: &Profile, location: LocationId) -> Place {
    let innermost = places(profile, location).next_back();
    innermost.expect("a location has a place")
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 functions and stacks")
}
