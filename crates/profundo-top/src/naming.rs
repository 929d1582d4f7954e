//! Names for addresses while more of them come. Reading debug information may take long, so another
//! thread does it, for all new addresses at once, and rarely enough to cost little.

use std::time::{Duration, Instant};

use profundo_model::{FrameId, LocationId, LocationKind, Profile};
use profundo_save::naming::of_the_runtime;
use profundo_save::{process_roots, served_names};
use profundo_symbols::{Symbolizer, Unnamed};

/// The pause before the next search, in multiples of the last one's duration.
const PAUSE: u32 = 20;
const SHORTEST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(10);

/// Names that were looked up.
#[derive(Debug)]
pub struct Named {
    symbolizer: Symbolizer,
    took: Duration,
}

/// The names so far, and the time of the next search.
#[derive(Debug)]
pub struct Naming {
    /// By location, the frames as they were found, before plumbing was marked.
    plain: Vec<Box<[FrameId]>>,
    /// The number of locations at the last search.
    asked: usize,
    is_busy: bool,
    next: Instant,
}

impl Naming {
    /// Nothing is named yet.
    pub fn new() -> Self {
        Self {
            plain: Vec::new(),
            asked: 0,
            is_busy: false,
            next: Instant::now(),
        }
    }

    /// True if a search is running.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Begins a search, if an address has no name and it is time, or at once if names are awaited.
    /// Another thread passes the names to `found`.
    pub fn begin(
        &mut self,
        profile: &Profile,
        is_awaited: bool,
        found: impl FnOnce(Named) + Send + 'static,
    ) {
        let is_due = !self.is_busy && (is_awaited || Instant::now() >= self.next);
        if !is_due || self.asked == profile.locations.len() {
            return;
        }
        self.asked = profile.locations.len();
        let unnamed = Unnamed::of(profile);
        if unnamed.is_empty() {
            return;
        }
        // One thread, because the program has better use for the CPUs.
        let symbolizer = Symbolizer::new()
            .with_symbols_only(of_the_runtime(profile))
            .with_other_roots(process_roots::of(profile))
            .with_kept_files(profundo_process::modules::kept_files::paths())
            .with_server(served_names::server())
            .with_cache(profundo_process::modules::user_cache())
            .with_threads(1);
        let looking = move || {
            let began = Instant::now();
            symbolizer.look_up(&unnamed);
            let took = began.elapsed();
            found(Named { symbolizer, took });
        };
        let thread = std::thread::Builder::new().name("profundo-names".into());
        self.is_busy = thread.spawn(looking).is_ok();
    }

    /// Gives the names to their addresses.
    pub fn end(&mut self, profile: &mut Profile, named: &Named) {
        self.is_busy = false;
        self.next = Instant::now() + (named.took * PAUSE).clamp(SHORTEST, LONGEST);
        named.symbolizer.name_known(profile);
        self.mark(profile);
    }

    /// Marks plumbing again. Which of an interpreter's functions Python code calls becomes clearer
    /// over time, so marking always starts from the original frames.
    fn mark(&mut self, profile: &mut Profile) {
        for index in 0..profile.locations.len() {
            let id = LocationId::from_index(index);
            let location = profile.locations.get(id);
            let is_named = |frames: &[FrameId]| {
                let mut names = frames.iter().map(|&frame| profile.function_name(frame));
                names.any(|name| !name.is_empty())
            };
            match self.plain.get_mut(index) {
                // The recorder has named it meanwhile; it is in no file.
                Some(plain) if is_named(&location.frames) && !is_named(plain) => {
                    *plain = location.frames.clone();
                }
                Some(plain) if !plain.is_empty() => {
                    if matches!(location.kind, LocationKind::Code(_)) && location.frames != *plain {
                        profile.locations.set_frames(id, plain);
                    }
                }
                Some(plain) => *plain = location.frames.clone(),
                None => self.plain.push(location.frames.clone()),
            }
        }
        profile.name_reasons();
        profile.mark_runtime();
    }
}
