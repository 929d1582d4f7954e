//! `--last`: of a recording without an end the last minutes are kept, and written when the program
//! ends, by a signal, or by `profundo ctl PID keep`.
//!
//! Files are written by another thread, so that sampling and recording go on meanwhile.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use profundo_console::stderr;
use profundo_recorder::Recorder;
use profundo_save::flight::{FlightRecorder, Written, is_in_use};
use profundo_save::recording_writer::Saved;
use profundo_session::KeepRequest;
use profundo_wire::recording::{Event, Finish};

use crate::recordings::Keep;

/// The last part of a folder's name, before the process id of its recorder.
const FOLDER: &str = ".last-";
/// The files that may be written beside each other with numbers.
const MOST: u32 = 100_000;

/// A recording of which the last minutes are kept.
pub struct Last {
    flight: FlightRecorder,
    /// The file that was named, and the one that is written at the end: they differ where the named
    /// one is written by a detour.
    named: PathBuf,
    path: PathBuf,
    keeps_source: bool,
    /// The limit on recordings in the folder, where the files have names of ours.
    limit: Option<Keep>,
    /// Whether sampling is paused: no time passes then.
    is_paused: bool,
    /// The files that are being written.
    writing: Vec<JoinHandle<()>>,
    /// The names that were given so far.
    given: Vec<PathBuf>,
}

impl Last {
    /// Begins the recording.
    pub fn create(
        named: &Path,
        path: &Path,
        recorder: &Recorder,
        last: Duration,
        max_size: u64,
    ) -> Result<Self> {
        let named = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
        remove_stale(&named);
        let folder = folder_of(&named, std::process::id());
        let flight = FlightRecorder::create(&folder, recorder.start(), last, max_size)?;
        recorder.accept_keeping();
        Ok(Self {
            flight,
            named,
            path: path.to_owned(),
            keeps_source: true,
            limit: None,
            is_paused: false,
            writing: Vec::new(),
            given: Vec::new(),
        })
    }

    /// Sets the rules for own code.
    pub fn own_code(mut self, mine: &[String]) -> Self {
        self.flight = self.flight.own_code(mine);
        self
    }

    /// Sets the labels of the recordings.
    pub fn labels(mut self, labels: &[(String, String)]) -> Self {
        self.flight = self.flight.labels(labels);
        self
    }

    /// Sets whether lines of source are kept.
    pub fn keeps_source(mut self, keeps_source: bool) -> Self {
        self.keeps_source = keeps_source;
        self
    }

    /// Sets the limit on recordings in the folder, where the files have names of ours: there may be
    /// many of them until the end.
    pub fn limit(mut self, limit: Option<Keep>) -> Self {
        self.limit = limit;
        self
    }

    /// Adds an event of the recorder.
    pub fn event(&mut self, event: Event<'_>) {
        self.flight.event(event);
    }

    /// The time until the next piece is due.
    pub fn until_due(&self) -> Duration {
        match self.is_paused {
            true => Duration::MAX,
            false => self.flight.until_due(),
        }
    }

    /// Writes what is ready, if it is due.
    pub fn turn(&mut self) {
        self.flight.turn();
    }

    /// Begins the next piece if it is due, and writes the last minutes if that is requested.
    pub fn answer(&mut self, recorder: &mut Recorder, wants_keeping: bool) {
        let requests = recorder.keep_requests();
        let is_asked = wants_keeping || !requests.is_empty();
        self.is_paused = recorder.is_paused();
        if !is_asked && !self.until_due().is_zero() {
            return;
        }
        if is_asked {
            // Twice: samples wait until the time is known on both sides of them.
            for _ in 0..2 {
                recorder.turn_now(&mut |event| self.flight.event(event));
            }
        }
        let so_far = recorder.mark(&mut |event| self.flight.event(event));
        self.flight.divide(&so_far);
        self.writing.retain(|thread| !thread.is_finished());
        for request in requests {
            self.keep(Some(request));
        }
        if wants_keeping {
            self.keep(None);
        }
    }

    /// Writes the last minutes in another thread.
    fn keep(&mut self, request: Option<KeepRequest>) {
        let file = request.as_ref().and_then(|request| request.file.clone());
        let path = file.unwrap_or_else(|| self.free_path());
        let (kept, keeps_source) = (self.flight.kept(), self.keeps_source);
        let limit = self.limit;
        let write = move || {
            let written = kept.write(&path, keeps_source);
            drop(kept);
            if let (Ok(_), Some(limit)) = (&written, limit) {
                limit.tidy(&path);
            }
            match (&written, request) {
                (Ok(_), Some(request)) => request.answer(Ok(&path)),
                (Err(error), Some(request)) => request.answer(Err(&format!("{error:#}"))),
                (Ok(written), None) => stderr::note(&format!(
                    "wrote the last {} to {}",
                    naming_time(Duration::from_nanos(written.length.0)),
                    stderr::path(&path)
                )),
                (Err(error), None) => stderr::error(error),
            }
        };
        let thread = std::thread::Builder::new().name("profundo-keep".into());
        match thread.spawn(write) {
            Ok(thread) => self.writing.push(thread),
            Err(error) => stderr::error(&error.into()),
        }
    }

    /// The name of the next file.
    fn free_path(&mut self) -> PathBuf {
        let path = (1..MOST)
            .map(|number| numbered(&self.named, number))
            .find(|path| !path.exists() && !self.given.contains(path));
        let path = path.unwrap_or_else(|| numbered(&self.named, MOST));
        self.given.push(path.clone());
        path
    }

    /// Ends the recording, and writes its last minutes.
    pub fn finish(mut self, finish: Finish) -> Saved {
        let kept = self.flight.finish(finish);
        for thread in self.writing.drain(..) {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
        if let Some(failure) = self.flight.failure() {
            let failure = stderr::chain(failure);
            stderr::note(&format!("some of the recording is missing: {failure}"));
        }
        let (samples, notes) = match kept.write(&self.path, self.keeps_source) {
            Ok(Written { samples, notes, .. }) => (samples, notes),
            Err(error) => {
                stderr::error(&error);
                (0, Vec::new())
            }
        };
        Saved {
            samples,
            notes,
            failure: None,
        }
    }
}

/// The file of this number beside a recording.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-kept-{number}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The folder of the pieces of a recording.
fn folder_of(path: &Path, pid: u32) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!("{FOLDER}{pid}"));
    path.with_file_name(name)
}

/// Removes the folders beside a recording whose recorders were killed.
fn remove_stale(path: &Path) {
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let pid = name.rsplit_once(FOLDER).filter(|_| name.starts_with('.'));
        let pid = pid.and_then(|(_, pid)| pid.parse::<u32>().ok());
        let is_gone = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        // A recorder in a container has its number there.
        let is_stale = is_gone && !is_in_use(&entry.path());
        if is_stale && holds_pieces(&entry.path()) {
            // What stays does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// True if all files of a folder have the names of pieces.
fn holds_pieces(folder: &Path) -> bool {
    let is_piece = |entry: fs::DirEntry| entry.file_name().to_string_lossy().parse::<u64>().is_ok();
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().all(is_piece))
}

/// A sentence on what is kept, for the beginning.
pub fn sentence(last: Duration, what: &str, path: &Path) -> String {
    let own = std::process::id();
    format!(
        "keeping the last {} of {what}, which {} gets at the end; `profundo ctl {own} keep` or `kill -URG {own}` \
         writes them at any time",
        naming_time(last),
        stderr::path(path)
    )
}

/// A time in the unit that fits, as `5 minutes`.
fn naming_time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        ..90.0 => (seconds, "second"),
        ..5400.0 => (seconds / 60.0, "minute"),
        ..129_600.0 => (seconds / 3600.0, "hour"),
        _ => (seconds / 86_400.0, "day"),
    };
    let number = format!("{number:.1}");
    match number.strip_suffix(".0").unwrap_or(&number) {
        "1" => format!("1 {unit}"),
        number => format!("{number} {unit}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_numbers_before_their_endings() {
        let path = |number| numbered(Path::new("/a/b.c.profundo"), number);
        assert_eq!(path(1), Path::new("/a/b.c-kept-1.profundo"));
        assert_eq!(numbered(Path::new("/a/b"), 12), Path::new("/a/b-kept-12"));
        assert_eq!(folder_of(Path::new("/a/b"), 7), Path::new("/a/.b.last-7"));
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        for (seconds, text) in [
            (0.5, "0.5 seconds"),
            (1.0, "1 second"),
            (60.0, "60 seconds"),
            (300.0, "5 minutes"),
            (7200.0, "2 hours"),
            (604_800.0, "7 days"),
        ] {
            assert_eq!(naming_time(Duration::from_secs_f64(seconds)), text);
        }
    }

    #[test]
    fn folders_of_killed_recorders_go() {
        let folder = profundo_testing::Folder::new("last-stale");
        let path = folder.path().join("b.profundo");
        // No process has this number.
        let stale = folder_of(&path, u32::MAX);
        let own = folder_of(&path, std::process::id());
        let foreign = folder_of(&folder.path().join("c"), u32::MAX);
        for (folder, file) in [(&stale, "17"), (&own, "1"), (&foreign, "notes")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), "").unwrap();
        }
        remove_stale(&path);
        assert!(!stale.exists() && own.exists() && foreign.exists());

        // A recorder in a container may have a number that is not in use here.
        fs::create_dir(&stale).unwrap();
        let lock = fs::File::open(&stale).unwrap();
        lock.lock().unwrap();
        remove_stale(&path);
        assert!(stale.exists());
        drop(lock);
        remove_stale(&path);
        assert!(!stale.exists());
    }
}
