//! Names for the addresses of a recording, and what follows from them: which frames are plumbing.

use std::collections::BTreeSet;

use profundo_model::{LocationKind, Profile, Role};
use profundo_symbols::Symbolizer;

use crate::progress::Progress;
use crate::{roots, unnamed, unseen};

/// For so few samples threads are not worth their start.
const FEW: usize = 300;

/// Names what has no name yet, in a recording of so many samples.
pub fn complete(profile: &mut Profile, samples: usize) {
    let is_unnamed = profile.locations.iter().any(|(_, location)| {
        matches!(location.kind, LocationKind::Code(_)) && location.frames.is_empty()
    });
    if is_unnamed {
        let _progress = Progress::start("looking up names");
        // The debug information of the interpreter and of the C library is large, and reading it
        // may take longer than what was recorded. Their functions have names without it, and
        // nobody asks for their lines.
        let mut symbolizer = Symbolizer::new()
            .with_symbols_only(of_the_runtime(profile))
            .with_other_roots(roots::of(profile))
            .with_cache(profundo_remote::user_cache());
        if samples < FEW {
            symbolizer = symbolizer.with_threads(1);
        }
        symbolizer.name_profile(profile);
    }
    profile.name_reasons();
    profile.mark_runtime();
    unnamed::note(profile);
    unseen::note(profile);
}

/// The modules whose lines nobody asks for.
pub fn of_the_runtime(profile: &Profile) -> BTreeSet<String> {
    profile
        .modules
        .iter()
        .filter(|(_, module)| module.role != Role::Ordinary)
        .map(|(_, module)| profile.strings.get(module.path).to_owned())
        .collect()
}
