//! The code that CPython's own JIT compiler made, which has no names.
//!
//! It is known by its place. The loop that evaluates bytecode calls it directly, and in a stack of
//! the profile, Python lines stand where the loop's frame was. From 3.15 on, a function stands
//! between. It does what the loop does otherwise,
//! so it is the interpreter's own. Other compilers' code is called by functions of theirs.

use rustc_hash::FxHashSet;

use crate::{Frame, Language, Location, LocationId, LocationKind, Profile, is_generated_code};

/// The function through which 3.15 enters such code.
const ENTRY: &str = "_PyJIT_Entry";

/// The name of such code where it is shown.
const NAME: &str = "[code of CPython's JIT]";

/// Gives the locations in such code a name, and marks them as the interpreter's own.
pub(super) fn mark(profile: &mut Profile) {
    let found = of_cpython(profile);
    if found.is_empty() {
        return;
    }
    let frame = Frame {
        function: profile.strings.intern(NAME),
        language: Language::Runtime,
        ..Frame::default()
    };
    let frame = profile.frames.intern(frame);
    for location in found {
        profile.locations.set_frames(location, &[frame]);
    }
}

fn of_cpython(profile: &Profile) -> FxHashSet<LocationId> {
    let enters = |id| {
        let location = profile.locations.get(profile.stacks.get(id).location);
        let mut frames = location.frames.iter();
        matches!(location.kind, LocationKind::Python { .. })
            || frames.any(|&frame| profile.function_name(frame) == ENTRY)
    };
    (profile.stacks.iter())
        .filter(|stack| stack.parent.is_some_and(enters))
        .map(|stack| stack.location)
        .filter(|&id| is_unnamed_and_generated(profile, profile.locations.get(id)))
        .collect()
}

fn is_unnamed_and_generated(profile: &Profile, location: &Location) -> bool {
    let is_unnamed = || {
        let mut frames = location.frames.iter();
        frames.all(|&frame| profile.function_name(frame).is_empty())
    };
    let is_generated = || {
        let module = location.module.map(|module| profile.modules.get(module));
        module.is_some_and(|module| is_generated_code(profile.strings.get(module.path)))
    };
    matches!(location.kind, LocationKind::Code(_)) && is_unnamed() && is_generated()
}
