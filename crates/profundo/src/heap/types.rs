//! What blocks are, by where they were asked for.

use std::sync::Mutex;

use profundo_analysis::held;
use profundo_capture::heap::{self, Sites};
use profundo_ingest::graph::Type;
use profundo_model::{Language, Profile, StackId};

use crate::allocs::own::Trimmer;
use crate::names::SYMBOLIZER;

const UNKNOWN: &str = "UnknownType";

/// What is known already, by the numbers of the sites: what a site is does not change.
static KNOWN: Mutex<Vec<Type>> = Mutex::new(Vec::new());

/// The types by the numbers of the sites, as far as there are some by now.
pub(super) fn types() -> Vec<Type> {
    // In the child of a fork it may be held by nobody who is there: then all are found anew.
    match KNOWN.try_lock() {
        Ok(mut known) => {
            find_rest(&mut known);
            known.clone()
        }
        Err(_) => {
            let mut types = Vec::new();
            find_rest(&mut types);
            types
        }
    }
}

/// Finds the types of the sites that have come since.
fn find_rest(types: &mut Vec<Type>) {
    let known = types.len().saturating_sub(1) as u32;
    let Sites { count, stacks } = heap::sites(known);
    let unknown = Type {
        name: UNKNOWN.to_owned(),
        ..Type::default()
    };
    types.resize(types.len().max(count as usize + 1), unknown);
    if count <= known {
        return;
    }
    let mut profile = profundo_ingest::ingest(&stacks);
    let samples = std::mem::take(&mut profile.samples);
    SYMBOLIZER.name_profile(&mut profile);
    let mut trimmer = Trimmer::default();
    for sample in &samples {
        if let Some(place) = types.get_mut(sample.weight.0 as usize)
            && let Some(stack) = trimmer.trim(&mut profile, sample.stack)
        {
            *place = type_of(&profile, stack);
        }
    }
}

fn type_of(profile: &Profile, stack: StackId) -> Type {
    let held = held(profile, stack);
    let is_known = !held.type_name.is_empty();
    let name = match is_known {
        true => held.type_name,
        // Only who asked is known.
        false => match asker(profile, stack) {
            Some(function) => format!("{UNKNOWN} ({function})"),
            None => UNKNOWN.to_owned(),
        },
    };
    Type {
        name,
        is_known,
        shows_text: false,
    }
}

/// The innermost function that is not the library's way to a block.
fn asker(profile: &Profile, stack: StackId) -> Option<&str> {
    const LIBRARY: [&str; 4] = ["alloc::", "core::", "std::", "hashbrown::"];
    let locations = profile.stacks.locations(stack);
    let frames = locations.flat_map(|at| profile.locations.get(at).frames.iter().copied());
    let is_librarys = |name: &str| {
        let bare = name.trim_start_matches('<');
        LIBRARY.iter().any(|library| bare.starts_with(library))
    };
    frames
        .filter(|&frame| profile.frames.get(frame).language != Language::Runtime)
        .map(|frame| profile.function_name(frame))
        .find(|name| !name.is_empty() && !is_librarys(name))
}

/// Whether a block of this type holds text.
pub(super) fn is_text(name: &str) -> bool {
    matches!(name, "String" | "Box<str>" | "Box<[u8]>" | "Vec<u8>")
}
