//! Finding the session of a process from another command, to start and stop its sampling.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use profundo_linux::map::SharedMap;
use profundo_linux::sys;
use profundo_probe::shared::{Control, SessionState, entry_state, file, memory_kind, start_kind};
use profundo_scan::map_lines;

use crate::directory::{is_recorded, open_control};
use crate::rings::RingMap;
use crate::stale::list;

/// A session that is being recorded.
#[derive(Debug)]
pub struct SessionHandle {
    path: PathBuf,
    control: SharedMap,
}

impl SessionHandle {
    fn open(path: PathBuf) -> Option<Self> {
        let (file, control) = open_control(&path).ok()?;
        let session = Self { path, control };
        // A session that is being made counts as over.
        let state = session.control().state.load(Ordering::Acquire);
        (is_recorded(&file) && state != SessionState::Over as u32).then_some(session)
    }

    pub(super) fn control(&self) -> &Control {
        // SAFETY: it is made of atomics.
        unsafe { self.control.as_ref() }
    }

    /// The session's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process id of the command that records.
    pub fn command(&self) -> u32 {
        self.control().command.load(Ordering::Relaxed)
    }

    /// Whether sampling is paused.
    pub fn is_paused(&self) -> bool {
        self.control().state.load(Ordering::Relaxed) == SessionState::Paused as u32
    }

    /// Pauses or resumes the sampling. The command does it at once.
    pub fn set_paused(&self, paused: bool) {
        let (from, to) = if paused {
            (SessionState::Running, SessionState::Paused)
        } else {
            (SessionState::Paused, SessionState::Running)
        };
        let control = self.control();
        // Not by a plain store: a session that is over stays over.
        let _ = control.state.compare_exchange(
            from as u32,
            to as u32,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&control.doorbell);
    }

    /// Has the command clear the recording. Returns whether it did in this time.
    pub fn clear(&self, patience: Duration) -> bool {
        let control = self.control();
        self.ask(&control.request, &control.heeded, patience)
    }

    /// Has the command write all until now to the recording's file. Returns whether it did in this
    /// time.
    pub fn write(&self, patience: Duration) -> bool {
        let control = self.control();
        self.ask(&control.wanted, &control.written, patience)
    }

    /// Increments a request, and waits until the command has done it.
    fn ask(&self, request: &AtomicU32, done: &AtomicU32, patience: Duration) -> bool {
        let control = self.control();
        let wanted = request.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&control.doorbell);
        let end = Instant::now() + patience;
        loop {
            let heeded = done.load(Ordering::Acquire);
            if heeded.wrapping_sub(wanted) as i32 >= 0 {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            let is_over = control.state.load(Ordering::Acquire) == SessionState::Over as u32;
            if is_over || left.is_zero() {
                return false;
            }
            // The command may end without an answer.
            sys::futex_wait(done, heeded, left.min(Duration::from_millis(100)));
        }
    }

    fn counted(self, pid: u32, maps: &[u8]) -> Option<Counted> {
        let rings = self.control().rings.iter().enumerate();
        let (shadow, agent_memory, is_forked) = rings
            .filter(|(_, ring)| {
                ring.state.load(Ordering::Relaxed) == entry_state::TAKEN
                    && ring.pid.load(Ordering::Relaxed) == pid
            })
            .find_map(|(number, _)| {
                let path = self.path.join(format!("{}{number}", file::RING));
                // The file may be of a program that the process ran before.
                let name = path.as_os_str().as_bytes();
                map_lines(maps).find(|(_, line)| line.plain_path() == name)?;
                let map = RingMap::open(&path).ok()?;
                let search = &map.ring().header.search;
                // Acquire pairs with the agent's release.
                let shadow = search.shadow.load(Ordering::Acquire);
                let agent_memory = search
                    .own_memory
                    .each_ref()
                    .map(|word| word.load(Ordering::Relaxed));
                let kind = map.ring().header.kind.load(Ordering::Relaxed);
                (shadow != 0).then_some((shadow, agent_memory, kind == start_kind::FORK))
            })?;
        Some(Counted {
            session: self.path,
            shadow,
            agent_memory,
            is_forked,
        })
    }

    fn concerns(&self, pid: u32) -> bool {
        self.command() == pid || self.has_agent_of(pid)
    }

    fn has_agent_of(&self, pid: u32) -> bool {
        let has_it = |ring: &profundo_probe::shared::RingEntry| {
            ring.state.load(Ordering::Relaxed) == entry_state::TAKEN
                && ring.pid.load(Ordering::Relaxed) == pid
        };
        self.control().rings.iter().any(has_it)
    }
}

/// The session that records a process, or that the command of this id records. Only this user's
/// sessions are found.
pub fn find_session(pid: u32) -> Option<SessionHandle> {
    sessions().find(|session| session.concerns(pid))
}

/// Whether a process is recorded from inside. A recorder is not, by its own session.
pub fn is_recorded_inside(pid: u32) -> bool {
    sessions().any(|session| session.has_agent_of(pid))
}

/// Whether the session whose control file a process has mapped under this path, which is one of its
/// own root directory, is being recorded.
pub fn is_recorded_within(pid: u32, control: &[u8]) -> bool {
    let below = Path::new(std::ffi::OsStr::from_bytes(control));
    let below = below.strip_prefix("/").unwrap_or(below);
    let mut options = std::fs::OpenOptions::new();
    let options = options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(Path::new(&format!("/proc/{pid}/root")).join(below));
    file.is_ok_and(|file| is_recorded(&file))
}

/// The addresses of a process's table of live blocks, where all allocations are counted.
#[derive(Debug)]
pub struct Counted {
    /// The directory of its session.
    pub session: PathBuf,
    /// The address of the table of blocks.
    pub shadow: u64,
    /// The address of the list of the agent's own memory, and its capacity.
    pub agent_memory: [u64; 2],
    /// Whether it is the child of a fork: blocks from its parent are not in the table.
    pub is_forked: bool,
}

/// The table of a process, if it has one.
pub fn find_counted(pid: u32) -> Option<Counted> {
    let maps = profundo_linux::proc::read(pid, "maps");
    sessions().find_map(|session| session.counted(pid, &maps))
}

/// Whether a process runs below a command that counts all allocations, but has no agent.
pub fn lacks_agent(pid: u32) -> bool {
    /// More ancestors than any process has.
    const MANY: usize = 1000;
    let parent =
        |of: &u32| Some(profundo_linux::proc::stat(*of)?.parent).filter(|&parent| parent > 1);
    let above: Vec<u32> = std::iter::successors(Some(pid), parent)
        .take(MANY)
        .collect();
    sessions().any(|session| {
        session.control().memory.load(Ordering::Relaxed) == memory_kind::EXACT
            && above.contains(&session.command())
            && session.command() != pid
            && !session.concerns(pid)
    })
}

/// The sessions of this user that are being recorded.
pub(super) fn sessions() -> impl Iterator<Item = SessionHandle> {
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    places
        .into_iter()
        .flat_map(|place| list(&place))
        .filter_map(SessionHandle::open)
}
