//! Names and lines from a server of debug information, which the user may name.
//!
//! A recording that was made without it has names for its addresses already, from symbol tables.
//! Those without a line are looked up once more, and keep what they have if nothing better is
//! found: the program's files may not be on this machine.

use std::sync::{Arc, OnceLock};

use profundo_model::{FrameId, LocationId, LocationKind, Profile};
use profundo_symbols::DebugServer;

static SERVER: OnceLock<Arc<dyn DebugServer>> = OnceLock::new();

/// Has this server asked for debug information that is not on this machine, from now on.
pub fn ask(server: Arc<dyn DebugServer>) {
    // The first one stays.
    let _ = SERVER.set(server);
}

/// The server, if there is one.
pub fn server() -> Option<Arc<dyn DebugServer>> {
    SERVER.get().cloned()
}

/// The frames of addresses that have no line, which are looked up once more.
pub(crate) struct Poor(Vec<(LocationId, Vec<FrameId>)>);

/// Takes the frames of addresses without a line, if there is a server that may know better.
pub(crate) fn take_poor(profile: &mut Profile) -> Poor {
    if SERVER.get().is_none() {
        return Poor(Vec::new());
    }
    let is_poor = |frames: &[FrameId]| {
        let has_line = |&frame: &FrameId| profile.frames.get(frame).line > 0;
        !frames.is_empty() && !frames.iter().any(has_line)
    };
    let poor: Vec<(LocationId, Vec<FrameId>)> = (profile.locations.iter())
        .filter(|(_, location)| matches!(location.kind, LocationKind::Code(_)))
        .filter(|(_, location)| is_poor(&location.frames))
        .map(|(id, location)| (id, location.frames.to_vec()))
        .collect();
    for (id, _) in &poor {
        profile.locations.set_frames(*id, &[]);
    }
    Poor(poor)
}

impl Poor {
    /// Gives those their frames back for which nothing better was found.
    pub(crate) fn give_back(self, profile: &mut Profile) {
        for (id, before) in self.0 {
            let found = &profile.locations.get(id).frames;
            let is_better = found.iter().any(|&frame| {
                let frame = profile.frames.get(frame);
                let name = profile.strings.get(frame.function);
                frame.line > 0 || !(name.is_empty() || name.contains("+0x"))
            });
            if !is_better {
                profile.locations.set_frames(id, &before);
            }
        }
    }
}
