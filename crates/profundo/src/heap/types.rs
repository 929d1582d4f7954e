//! The types of blocks, by allocation site.

use std::sync::Mutex;

use profundo_analysis::Named;
use profundo_capture::heap::{self, Sites};
use profundo_ingest::graph::Type;

use crate::allocs::hidden_frames::Trimmer;
use crate::names::SYMBOLIZER;

/// The types found so far, by site number: a site's type does not change.
static KNOWN: Mutex<Vec<Type>> = Mutex::new(Vec::new());

/// The types by site number, for all sites so far.
pub(super) fn types() -> Vec<Type> {
    // In a forked child a thread of the parent may hold the lock for ever: then all types are found
    // anew.
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

/// Finds the types of the sites added since.
fn find_rest(types: &mut Vec<Type>) {
    let known = types.len().saturating_sub(1) as u32;
    let Sites { count, stacks } = heap::sites(known);
    let unknown = type_of(Named::default());
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
            *place = type_of(Named::by(&profile, stack));
        }
    }
}

fn type_of(named: Named) -> Type {
    let Named { name, is_known } = named;
    Type {
        name,
        is_known,
        shows_text: false,
    }
}
