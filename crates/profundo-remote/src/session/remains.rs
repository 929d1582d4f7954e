//! Which file a session is recorded into and how the recording began: what somebody has to know
//! who finishes it after the command was killed.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use profundo_probe::shared::COPIES;
use profundo_wire::recording::{Allocations, Engine, Instant, Start};

use super::directory::RECORDING;
use super::stale::list;

/// What a command left behind that was killed, or what one has that is at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The session's directory.
    pub directory: PathBuf,
    /// The file that it is recorded into.
    pub recording: PathBuf,
    /// How the recording began.
    pub start: Start,
}

/// Which engines there are, by their numbers in the file.
const ENGINES: [Engine; 4] = [
    Engine::PerfSignal,
    Engine::CpuTimer,
    Engine::PerfRing,
    Engine::None,
];

impl Remains {
    /// Writes it into the session's directory.
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
            .open(self.directory.join(RECORDING))?
            .write_all(&text)
    }

    /// The recording begins anew, here.
    pub(crate) fn begin_anew(directory: &Path, at: Instant) {
        if let Some(mut remains) = Self::read(directory.to_owned()) {
            remains.start.started = at;
            // Without it, what is left after a kill has times that are too late.
            let _ = remains.leave();
        }
    }

    /// What was left in a session's directory.
    pub(crate) fn read(directory: PathBuf) -> Option<Self> {
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

/// Which copies are told of beside these allocations.
pub(crate) fn copies_with(allocations: Allocations) -> (u64, Allocations) {
    match allocations {
        Allocations::None => (0, Allocations::None),
        _ => (COPIES.floor, Allocations::Bytes(COPIES.mean)),
    }
}

/// What is left of the session that was recorded into this file, of which the absolute path is
/// given. Only this user's sessions are found.
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
