//! Names for addresses while more of them come. Reading debug information may take long, so it is
//! done in a thread beside, for all addresses that are new, and seldom enough to cost little.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use profundo_model::{FrameId, LocationId, LocationKind, Profile};
use profundo_symbols::{Symbolizer, Unnamed};

use super::keeper::Message;
use crate::naming::of_the_runtime;
use crate::roots;

/// How many times as long as it took the next one waits.
const PAUSE: u32 = 20;
const SHORTEST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(10);

/// Names that have been looked up.
#[derive(Debug)]
pub struct Named {
    symbolizer: Symbolizer,
    took: Duration,
}

/// Who has names, and when others are looked for.
#[derive(Debug)]
pub struct Naming {
    /// By location, the frames as they were found, before plumbing was marked.
    plain: Vec<Box<[FrameId]>>,
    /// How many locations there were when names were looked for last.
    asked: usize,
    is_busy: bool,
    next: Instant,
}

impl Naming {
    /// Nothing has a name yet.
    pub fn new() -> Self {
        Self {
            plain: Vec::new(),
            asked: 0,
            is_busy: false,
            next: Instant::now(),
        }
    }

    /// Whether names are looked for at present.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Begins to look for names, if there is something without one and it is time; or at once, if someone waits for them.
    pub fn begin(&mut self, profile: &Profile, to: &Sender<Message>, is_awaited: bool) {
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
            .with_other_roots(roots::of(profile))
            .with_cache(profundo_remote::user_cache())
            .with_threads(1);
        let to = to.clone();
        let looking = move || {
            let began = Instant::now();
            symbolizer.look_up(&unnamed);
            let took = began.elapsed();
            // Nobody waits for them any more if this fails.
            let _ = to.send(Message::Named(Box::new(Named { symbolizer, took })));
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

    /// Says again what is plumbing. Which of an interpreter's functions Python code calls is known
    /// ever better, so it is always found out from the names as they were at first.
    fn mark(&mut self, profile: &mut Profile) {
        for index in 0..profile.locations.len() {
            let id = LocationId::from_index(index);
            let location = profile.locations.get(id);
            let is_named = |frames: &[FrameId]| {
                let mut names = frames.iter().map(|&frame| profile.function_name(frame));
                names.any(|name| !name.is_empty())
            };
            match self.plain.get_mut(index) {
                // The recorder has named it meanwhile; no file has its name.
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
