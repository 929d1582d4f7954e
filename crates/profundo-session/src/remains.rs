//! The recording that a session writes to, and how it began: what a recovery needs after the
//! command was killed.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use profundo_probe::shared::COPIES;
use profundo_wire::recording::{Allocations, Engine, Instant, Start};

use super::stale::list;
use crate::files::RECORDING;

/// The session that a killed command left behind, or that a running one has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The session's directory.
    pub directory: PathBuf,
    /// The file of the recording.
    pub recording: PathBuf,
    /// The beginning of the recording.
    pub start: Start,
}

/// The engines, by their numbers in the file.
const ENGINES: [Engine; 4] = [
    Engine::PerfSignal,
    Engine::CpuTimer,
    Engine::PerfRing,
    Engine::None,
];

impl Remains {
    /// Writes the file into the session's directory.
    pub fn leave(&self) -> io::Result<()> {
        let Start {
            engine,
            period,
            is_wall,
            allocations,
            started,
            ..
        } = self.start;
        let allocations = match allocations {
            Allocations::None => 0,
            Allocations::Bytes(mean) => mean,
            Allocations::All => u64::MAX,
        };
        let engine = ENGINES.iter().position(|&known| known == engine);
        let numbers = [
            engine.unwrap_or(ENGINES.len() - 1) as u64,
            period,
            u64::from(is_wall),
            allocations,
            started.cycles,
            started.monotonic,
            started.unix,
        ];
        let mut text: Vec<u8> = Vec::new();
        for number in numbers {
            writeln!(text, "{number}")?;
        }
        text.extend_from_slice(self.recording.as_os_str().as_bytes());
        fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            // The recorded program may have written to the directory.
            .custom_flags(libc::O_NOFOLLOW)
            .open(self.directory.join(RECORDING))?
            .write_all(&text)
    }

    /// The recording was cleared, and begins at this time.
    pub fn begin_anew(directory: &Path, at: Instant) {
        if let Some(mut remains) = Self::read(directory.to_owned()) {
            remains.start.started = at;
            // Without the file, times after a recovery are too late.
            let _ = remains.leave();
        }
    }

    /// Reads what was left in a session's directory.
    pub fn read(directory: PathBuf) -> Option<Self> {
        let bytes = fs::read(directory.join(RECORDING)).ok()?;
        let mut lines = bytes.splitn(8, |&byte| byte == b'\n');
        let mut number = || std::str::from_utf8(lines.next()?).ok()?.parse::<u64>().ok();
        let engine = *ENGINES.get(number()? as usize)?;
        let period = number()?;
        let is_wall = number()? != 0;
        let allocations = match number()? {
            0 => Allocations::None,
            u64::MAX => Allocations::All,
            mean => Allocations::Bytes(mean),
        };
        let started = Instant {
            cycles: number()?,
            monotonic: number()?,
            unix: number()?,
        };
        let recording = PathBuf::from(OsStr::from_bytes(lines.next()?));
        Some(Self {
            directory,
            recording,
            start: Start {
                engine,
                period,
                is_wall,
                allocations,
                copies: copies_with(allocations),
                started,
            },
        })
    }
}

/// The copies of memory that are recorded beside these allocations: the smallest size, and the
/// rate.
pub fn copies_with(allocations: Allocations) -> (u64, Allocations) {
    match allocations {
        Allocations::None => (0, Allocations::None),
        _ => (COPIES.floor, Allocations::Bytes(COPIES.mean)),
    }
}

/// The remains of the session that recorded into this file, given by its absolute path. Only this
/// user's sessions are found.
pub fn find_remains(recording: &Path) -> Option<Remains> {
    [PathBuf::from("/dev/shm"), std::env::temp_dir()]
        .into_iter()
        .flat_map(|place| list(&place))
        .filter_map(Remains::read)
        .find(|remains| remains.recording == recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_can_be_read() {
        let directory = std::env::temp_dir().join(format!("remains-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let remains = Remains {
            directory: directory.clone(),
            recording: "/some/file\nwith two lines".into(),
            start: Start {
                engine: Engine::CpuTimer,
                period: 1,
                is_wall: true,
                allocations: Allocations::Bytes(5),
                copies: copies_with(Allocations::Bytes(5)),
                started: Instant {
                    cycles: 2,
                    monotonic: 3,
                    unix: 4,
                },
            },
        };
        remains.leave().unwrap();
        assert_eq!(Remains::read(directory.clone()), Some(remains));
        fs::write(directory.join(RECORDING), "1\n2\nno number").unwrap();
        assert_eq!(Remains::read(directory.clone()), None);
        fs::remove_dir_all(directory).unwrap();
    }
}
