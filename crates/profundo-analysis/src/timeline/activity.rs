//! What a thread does: the kind of its code while it runs, and what it waits for while it does not.

use profundo_model::{Gil, Kind, Kinds, LocationKind, Profile, Sample, StackId, ThreadId, Wait};
use rustc_hash::FxHashSet;

use crate::garbage::collecting;
use crate::waits::idle_threads;
use crate::{Selection, Shown};

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Activity {
    /// It runs Python code.
    Python,
    /// It runs native code.
    Native,
    /// It is in a system call, on a CPU.
    System,
    /// It runs; the interpreter's frames could not be read.
    Unreadable,
    /// It waits for the interpreter's lock.
    Gil,
    /// It waits for a lock or a condition.
    Lock,
    /// It waits for files, sockets, pipes or pages.
    Io,
    /// It waits for time to pass.
    Sleep,
    /// It waits for a free CPU.
    Cpu,
    /// It waits for something else: a child, a thread, a signal.
    Waiting,
    /// It only waits for work, as threads of a pool do.
    Idle,
}

impl Activity {
    /// The number of activities.
    pub const COUNT: usize = 11;

    /// All of them, in the order of a column: what runs stands at the bottom.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Python,
        Self::Native,
        Self::System,
        Self::Unreadable,
        Self::Gil,
        Self::Lock,
        Self::Io,
        Self::Sleep,
        Self::Cpu,
        Self::Waiting,
        Self::Idle,
    ];

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Native => "native",
            Self::System => "system",
            Self::Unreadable => "unreadable",
            Self::Gil => "gil",
            Self::Lock => "lock",
            Self::Io => "io",
            Self::Sleep => "sleep",
            Self::Cpu => "cpu",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
        }
    }

    /// Whether the thread is on a CPU.
    pub fn is_busy(self) -> bool {
        self <= Self::Unreadable
    }

    fn of_wait(wait: Option<Wait>, gil: Gil) -> Self {
        match wait {
            Some(Wait::Gil) => Self::Gil,
            Some(Wait::Lock | Wait::FileLock) => Self::Lock,
            Some(
                Wait::Read | Wait::Write | Wait::Accept | Wait::Connect | Wait::Poll | Wait::Fault,
            ) => Self::Io,
            Some(Wait::Sleep) => Self::Sleep,
            Some(Wait::Cpu) => Self::Cpu,
            None if gil == Gil::Waiting => Self::Gil,
            _ => Self::Waiting,
        }
    }
}

/// The activities of a profile's samples, worked out once by stack.
pub(super) struct Activities<'a> {
    profile: &'a Profile,
    kinds: &'a Kinds,
    idle: FxHashSet<ThreadId>,
    /// By stack, whether an interpreter collects garbage on it.
    collecting: Option<Vec<bool>>,
}

impl<'a> Activities<'a> {
    pub(super) fn new(profile: &'a Profile, selection: &'a Selection) -> Self {
        // Whether a thread is idle does not depend on the filter.
        let whole = selection.whole(profile);
        let has_waits = whole.sums(profile).split.waiting > 0;
        Self {
            profile,
            kinds: selection.kinds(profile),
            idle: match has_waits {
                true => idle_threads(profile, whole, Shown::ALL),
                false => FxHashSet::default(),
            },
            collecting: collecting(profile),
        }
    }

    pub(super) fn of(&self, sample: &Sample) -> Activity {
        match self.kinds.kind(sample) {
            Kind::Python => Activity::Python,
            Kind::Native => Activity::Native,
            Kind::System => Activity::System,
            Kind::Unreadable => Activity::Unreadable,
            Kind::Waiting => match (self.wait(sample.stack), sample.gil) {
                // Waiting for a CPU or for the lock is no wait for work.
                (wait @ Some(Wait::Cpu | Wait::Gil), gil) => Activity::of_wait(wait, gil),
                _ if self.idle.contains(&sample.thread) => Activity::Idle,
                (wait, gil) => Activity::of_wait(wait, gil),
            },
        }
    }

    pub(super) fn collects(&self, stack: StackId) -> bool {
        (self.collecting.as_ref())
            .is_some_and(|by_stack| by_stack.get(stack.index()) == Some(&true))
    }

    fn wait(&self, stack: StackId) -> Option<Wait> {
        let innermost = self.profile.stacks.locations(stack).next()?;
        match self.profile.locations.get(innermost).kind {
            LocationKind::Wait { wait, .. } => Some(wait),
            _ => None,
        }
    }
}
