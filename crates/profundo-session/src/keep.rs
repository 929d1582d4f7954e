//! Requests to write the last minutes of a recording, of which no more is kept.
//!
//! The asker leaves a file in the session's directory that names the file to write, and increments
//! a word. The recorder takes the file away, and leaves another one with its answer.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_linux::sys;
use profundo_probe::shared::SessionState;

use crate::find::SessionHandle;

/// The starts of the files' names, before the asker's process id.
const ASKED: &str = "keep-";
const ANSWERED: &str = "kept-";
/// The start of the name of a file that is being written.
const DRAFT: &str = "draft-";

/// The first byte of an answer: a path follows, or a sentence.
const DONE: u8 = b'+';
const FAILED: u8 = b'-';

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepRequest {
    directory: PathBuf,
    asker: String,
    /// The file to write. `None`: one of the recorder's choice.
    pub file: Option<PathBuf>,
}

/// Why the last minutes were not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotKept {
    /// The recording is kept as a whole.
    #[error("the recording is kept as a whole")]
    Whole,
    /// The recorder has said why.
    #[error("{0}")]
    Failed(String),
    /// The recorder has ended, or does not answer.
    #[error("the recorder does not answer")]
    NoAnswer,
}

/// Whether a name in a session's directory is that of a request or an answer.
pub(crate) fn is_one(name: &str) -> bool {
    [ASKED, ANSWERED, DRAFT]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Writes a file that appears when it is whole.
fn leave(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let draft = directory.join(format!("{DRAFT}{name}"));
    fs::write(&draft, content)?;
    fs::rename(draft, directory.join(name))
}

impl SessionHandle {
    /// Has the recorder write the last minutes to this file, or one of its choice, whose path is
    /// returned.
    pub fn keep(&self, file: Option<&Path>, patience: Duration) -> Result<PathBuf, NotKept> {
        let control = self.control();
        if control.keep.load(Ordering::Acquire) == 0 {
            return Err(NotKept::Whole);
        }
        let asker = std::process::id();
        let content = file.map_or(&[][..], |file| file.as_os_str().as_bytes());
        let asked = leave(self.path(), &format!("{ASKED}{asker}"), content);
        asked.map_err(|error| NotKept::Failed(error.to_string()))?;
        // Release pairs with the acquire of the recorder: the file is there.
        control.keep.fetch_add(1, Ordering::Release);
        control.doorbell.fetch_add(1, Ordering::Release);
        sys::futex_wake(&control.doorbell);
        let answer = self.path().join(format!("{ANSWERED}{asker}"));
        let end = Instant::now() + patience;
        loop {
            // The recorder writes its answers before it ends.
            let is_over = control.state.load(Ordering::Acquire) == SessionState::Over as u32;
            if let Ok(found) = fs::read(&answer) {
                let _ = fs::remove_file(&answer);
                return read_answer(&found);
            }
            let is_there = Path::new(&format!("/proc/{}", self.command())).exists();
            if is_over && !is_there || Instant::now() > end {
                return Err(NotKept::NoAnswer);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn read_answer(found: &[u8]) -> Result<PathBuf, NotKept> {
    match found.split_first() {
        Some((&DONE, path)) => Ok(PathBuf::from(OsStr::from_bytes(path))),
        Some((&FAILED, why)) => Err(NotKept::Failed(String::from_utf8_lossy(why).into_owned())),
        _ => Err(NotKept::NoAnswer),
    }
}

impl KeepRequest {
    /// Takes the requests in a session's directory.
    pub fn take_all(directory: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(directory) else {
            return Vec::new();
        };
        let take = |entry: fs::DirEntry| {
            let name = entry.file_name();
            let asker = name.to_str()?.strip_prefix(ASKED)?.to_owned();
            let content = fs::read(entry.path()).ok()?;
            fs::remove_file(entry.path()).ok()?;
            let file = PathBuf::from(OsStr::from_bytes(&content));
            Some(Self {
                directory: directory.to_owned(),
                asker,
                file: (!content.is_empty()).then_some(file),
            })
        };
        entries.flatten().filter_map(take).collect()
    }

    /// Answers with the path of the written file, or with the reason why there is none.
    pub fn answer(&self, outcome: Result<&Path, &str>) {
        let content = match outcome {
            Ok(path) => [&[DONE], path.as_os_str().as_bytes()].concat(),
            Err(why) => [&[FAILED], why.as_bytes()].concat(),
        };
        // An asker that gets no answer says so.
        let _ = leave(
            &self.directory,
            &format!("{ANSWERED}{}", self.asker),
            &content,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_once_and_answered() {
        let folder = std::env::temp_dir().join(format!("profundo-keep-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        leave(&folder, "keep-7", b"/tmp/a b.profundo").unwrap();
        leave(&folder, "keep-8", b"").unwrap();
        fs::write(folder.join("draft-keep-9"), "/tm").unwrap();
        let mut taken = KeepRequest::take_all(&folder);
        taken.sort_by(|a, b| a.asker.cmp(&b.asker));
        let files: Vec<_> = taken.iter().map(|request| request.file.clone()).collect();
        assert_eq!(files, [Some("/tmp/a b.profundo".into()), None]);
        assert!(KeepRequest::take_all(&folder).is_empty());
        taken[0].answer(Ok(Path::new("/tmp/a b.profundo")));
        taken[1].answer(Err("no room"));
        let read = |name: &str| read_answer(&fs::read(folder.join(name)).unwrap());
        assert_eq!(read("kept-7"), Ok("/tmp/a b.profundo".into()));
        assert_eq!(read("kept-8"), Err(NotKept::Failed("no room".to_owned())));
        fs::remove_dir_all(folder).unwrap();
    }
}
