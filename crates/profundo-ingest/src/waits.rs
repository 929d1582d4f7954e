//! The waits of blocked threads, as the innermost place of their stacks.

use profundo_model::{FrameKey, Language, LocationId, LocationKind, Profile, StackId, Wait};
use profundo_wire::WaitKind;
use rustc_hash::FxHashMap;

/// The limit of locks, files and children that a process waits for. Later ones are one place by
/// kind.
const MOST: usize = 4096;

/// The places of one process.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    places: FxHashMap<(WaitKind, String), LocationId>,
}

impl Waits {
    /// The location of a wait.
    pub(crate) fn place(
        &mut self,
        profile: &mut Profile,
        record: &profundo_wire::Wait<'_>,
    ) -> LocationId {
        let mut key = (record.kind, record.text());
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        if self.places.len() >= MOST {
            key.1.clear();
        }
        let wait = wait_of(key.0);
        let frame = profile.frame(FrameKey {
            function: &wait.frame_name(&key.1),
            language: Language::Synthetic,
            ..FrameKey::default()
        });
        let location = profile
            .locations
            .intern(LocationKind::Wait { frame, wait }, None);
        profile.locations.set_frames(location, &[frame]);
        self.places.insert(key, location);
        location
    }
}

/// The stack of a waiting thread, if there is room for it.
pub(crate) fn waiting(
    profile: &mut Profile,
    stack: StackId,
    wait: LocationId,
    most: usize,
) -> StackId {
    match profile.stacks.find(Some(stack), wait) {
        Some(known) => known,
        None if profile.stacks.len() >= most + most / 4 => stack,
        None => profile.stacks.intern(Some(stack), wait),
    }
}

fn wait_of(kind: WaitKind) -> Wait {
    match kind {
        WaitKind::Gil => Wait::Gil,
        WaitKind::Lock => Wait::Lock,
        WaitKind::Sleep => Wait::Sleep,
        WaitKind::Child => Wait::Child,
        WaitKind::Read => Wait::Read,
        WaitKind::Write => Wait::Write,
        WaitKind::Accept => Wait::Accept,
        WaitKind::Connect => Wait::Connect,
        WaitKind::FileLock => Wait::FileLock,
        WaitKind::Poll => Wait::Poll,
        WaitKind::Signal => Wait::Signal,
        WaitKind::Fault => Wait::Fault,
        WaitKind::Other => Wait::Other,
        WaitKind::Cpu => Wait::Cpu,
        WaitKind::Thread => Wait::Thread,
    }
}
