//! Names for the addresses of a recording, and what follows from them: which frames are plumbing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use profundo_console::progress::Progress;
use profundo_model::{LocationKind, Profile, Role};
use profundo_symbols::Symbolizer;

use crate::{missing_files, process_roots, served_names, stack_weights, unnamed_jit_code};

/// With fewer samples, threads cost more than they save.
const FEW: usize = 300;

/// Names all unnamed addresses of a whole recording, of this many samples.
pub fn complete(profile: &mut Profile, samples: usize) {
    complete_with_copies(profile, samples, Vec::new());
}

/// The same of a recording whose files may have copies in these folders, by their build ids.
pub fn complete_with_copies(profile: &mut Profile, samples: usize, copies: Vec<PathBuf>) {
    let mut times = Vec::new();
    stack_weights::add_times(&mut times, profile);
    name(profile, &times, samples, copies);
}

/// The same of a recording that has only its last samples in memory. `times` are those of the
/// stacks, from all samples.
pub fn complete_last(profile: &mut Profile, times: &[u64], samples: usize) {
    name(profile, times, samples, Vec::new());
}

fn name(profile: &mut Profile, times: &[u64], samples: usize, copies: Vec<PathBuf>) {
    let poor = served_names::take_poor(profile);
    let is_unnamed = profile.locations.iter().any(|(_, location)| {
        matches!(location.kind, LocationKind::Code(_)) && location.frames.is_empty()
    });
    if is_unnamed {
        let _progress = Progress::start("looking up names");
        // The debug information of the interpreter and of the C library is large, and reading it
        // may take longer than what was recorded. Their functions have names without it, and their
        // lines are of no interest.
        let mut symbolizer = Symbolizer::new()
            .with_symbols_only(of_the_runtime(profile))
            .with_other_roots(process_roots::of(profile))
            .with_kept_files(profundo_process::modules::kept_files::paths())
            .with_copies(copies)
            .with_server(served_names::server())
            .with_cache(profundo_process::modules::user_cache());
        if samples < FEW {
            symbolizer = symbolizer.with_threads(1);
        }
        symbolizer.name_profile(profile);
    }
    poor.give_back(profile);
    profile.name_reasons();
    profile.mark_runtime();
    unnamed_jit_code::note(profile, times, samples);
    missing_files::note(profile, times);
}

/// Names profiles one after another, and remembers what it has found: the pieces of a recording
/// that has no end.
#[derive(Debug)]
pub struct Namer {
    symbolizer: Symbolizer,
    since: Instant,
}

impl Namer {
    /// More names than these are not remembered: some 100 MB.
    const MOST: usize = 1 << 20;
    /// Files are looked at again after this time: those without a build id may have been replaced.
    const AGAIN: Duration = Duration::from_secs(6 * 3600);

    /// A namer that has found nothing yet. It uses one thread, since the programs have better use
    /// for the CPUs.
    pub fn new() -> Self {
        let symbolizer = Symbolizer::new()
            .with_server(served_names::server())
            .with_cache(profundo_process::modules::user_cache())
            .with_threads(1);
        Self {
            symbolizer,
            since: Instant::now(),
        }
    }

    /// Names all unnamed addresses of a profile whose programs have run on this machine just now.
    pub fn name(&mut self, profile: &mut Profile) {
        if self.symbolizer.remembered() > Self::MOST || self.since.elapsed() > Self::AGAIN {
            self.symbolizer.clear_cache();
            self.since = Instant::now();
        }
        self.symbolizer = std::mem::take(&mut self.symbolizer)
            .with_symbols_only(of_the_runtime(profile))
            .with_other_roots(process_roots::of(profile))
            .with_kept_files(profundo_process::modules::kept_files::paths());
        self.symbolizer.name_profile(profile);
        profile.mark_runtime();
    }
}

impl Default for Namer {
    fn default() -> Self {
        Self::new()
    }
}

/// The modules whose lines are of no interest.
pub fn of_the_runtime(profile: &Profile) -> BTreeSet<String> {
    profile
        .modules
        .iter()
        .filter(|(_, module)| module.role != Role::Ordinary)
        .map(|(_, module)| profile.strings.get(module.path).to_owned())
        .collect()
}
