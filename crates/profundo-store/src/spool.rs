//! Segments on their way to a store that may be unreachable.
//!
//! A segment is first written to a local folder, whole or not at all, and removed from it once the
//! store has all of its files. A kill between the two makes it go out again under the same names,
//! so the store has it once. The folder has a bound: the samples of the oldest segments are dropped
//! beyond it, and counted. Their definitions stay longer, because later segments refer to them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::names::FRESH;
use crate::store::Store;
use crate::table::{SampleRow, SegmentRow, Table};
use crate::writer::Segment;

/// The file of an entry that lists its other files: the path in the store of each.
const LIST: &str = "list";
/// The folder of entries that are being written or removed.
const UNFINISHED: &str = ".unfinished";
const DROPPED: &str = "dropped";

/// A folder of segments that are on their way.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    most: u64,
    entries: Vec<Waiting>,
    dropped: Dropped,
    next: u64,
    /// Held as long as the spool is in use.
    _lock: File,
}

/// A segment in the spool.
#[derive(Debug)]
struct Waiting {
    number: u64,
    bytes: u64,
    has_samples: bool,
}

/// What a spool has dropped since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// Segments.
    pub segments: u64,
    /// Their samples.
    pub samples: u64,
    /// Segments whose definitions were dropped too: see [`crate::Writer::forget`].
    pub definitions: u64,
    /// The last segment that was counted.
    last: Option<u64>,
}

/// The outcome of sending.
#[derive(Debug, Default)]
pub struct Sent {
    /// Segments that the store has now.
    pub segments: u64,
    /// Segments that still wait.
    pub waiting: u64,
    /// Why those wait.
    pub because: Option<Error>,
}

impl Spool {
    /// The spool in a folder, which is made if it is not there. It holds at most `most` bytes.
    pub fn open(folder: impl Into<PathBuf>, most: u64) -> Result<Self, Error> {
        let folder = folder.into();
        let unfinished = folder.join(UNFINISHED);
        let lock = fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join("lock")))
            .map_err(|error| failed("open", &folder, error))?;
        if lock.try_lock().is_err() {
            return Err(Error::InUse {
                path: folder.display().to_string(),
            });
        }
        let mut spool = Self {
            dropped: read_dropped(&folder),
            folder,
            most,
            entries: Vec::new(),
            next: 1,
            _lock: lock,
        };
        // A writer that was killed has left these.
        let read = remove(&unfinished).and_then(|()| spool.read());
        read.map_err(|error| failed("read", &spool.folder, error))?;
        Ok(spool)
    }

    /// The number of segments that wait.
    pub fn waiting(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// What was dropped.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Takes a segment. It is safe once this returns. The oldest segments are dropped where there
    /// is no room for it.
    pub fn push(&mut self, segment: &Segment) -> Result<(), Error> {
        if segment.files.is_empty() {
            return Ok(());
        }
        let written = loop {
            match self.write(segment) {
                // A full disk is a bound like the other.
                Err(error) if error.kind() == ErrorKind::StorageFull && self.drop_oldest()? => {}
                written => break written,
            }
        };
        written.map_err(|error| failed("write", &self.folder, error))?;
        while self.bytes() > self.most && self.drop_oldest()? {}
        Ok(())
    }

    /// Sends what waits, the oldest first, until the store fails.
    pub fn send(&mut self, store: &dyn Store) -> Result<Sent, Error> {
        let mut sent = Sent::default();
        while let Some(first) = self.entries.first() {
            let entry = self.path_of(first.number);
            match self.send_one(&entry, store) {
                Ok(()) => {}
                Err(error) if error.is_passing() => {
                    sent.because = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
            self.remove_entry(&entry)?;
            sent.segments += 1;
        }
        sent.waiting = self.waiting();
        Ok(sent)
    }

    fn send_one(&self, entry: &Path, store: &dyn Store) -> Result<(), Error> {
        let list = fs::read_to_string(entry.join(LIST));
        let list = list.map_err(|error| failed("read", entry, error))?;
        for (name, path) in files_of(&list) {
            let bytes = fs::read(entry.join(name));
            let bytes = bytes.map_err(|error| failed("read", entry, error))?;
            store.put(path, &bytes)?;
        }
        Ok(())
    }

    /// Finds the entries.
    fn read(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let Some(number) = number else { continue };
            let list = fs::read_to_string(entry.path().join(LIST))?;
            self.next = self.next.max(number + 1);
            self.entries.push(Waiting {
                number,
                bytes: size_of(&entry.path())?,
                has_samples: files_of(&list).any(|(_, path)| is_of_samples(path)),
            });
        }
        self.entries.sort_by_key(|entry| entry.number);
        self.next = self.next.max(self.dropped.last.map_or(0, |last| last + 1));
        Ok(())
    }

    fn write(&mut self, segment: &Segment) -> io::Result<()> {
        let number = self.next;
        let unfinished = self.folder.join(UNFINISHED).join(number.to_string());
        let written = write_entry(&unfinished, segment).and_then(|()| {
            fs::rename(&unfinished, self.path_of(number))?;
            File::open(&self.folder)?.sync_all()
        });
        if written.is_err() {
            remove(&unfinished)?;
            return written;
        }
        self.next += 1;
        self.entries.push(Waiting {
            number,
            bytes: size_of(&self.path_of(number))?,
            has_samples: true,
        });
        Ok(())
    }

    /// Drops the samples of the oldest segment that has some besides the newest, or else the oldest
    /// definitions, or else the newest segment. False if there is nothing.
    fn drop_oldest(&mut self) -> Result<bool, Error> {
        let Some(newest) = self.entries.len().checked_sub(1) else {
            return Ok(false);
        };
        let oldest = self.entries[..newest]
            .iter()
            .position(|entry| entry.has_samples);
        let dropped = match oldest {
            Some(at) => self.drop_samples(at),
            None => self.drop_entry(0),
        };
        dropped.map_err(|error| failed("drop", &self.folder, error))?;
        Ok(true)
    }

    fn drop_samples(&mut self, at: usize) -> io::Result<()> {
        let number = self.entries[at].number;
        let entry = self.path_of(number);
        let list = fs::read_to_string(entry.join(LIST))?;
        self.count(number, &list, false)?;
        let (gone, stays): (Vec<_>, Vec<_>) =
            files_of(&list).partition(|(_, path)| is_of_samples(path) || is_of_segments(path));
        if stays.is_empty() {
            return self.remove_entry(&entry).map_err(io::Error::other);
        }
        let mut rest = String::new();
        for (name, path) in stays {
            rest += &format!("{name} 0 {path}\n");
        }
        write_whole(&entry, LIST, rest.as_bytes())?;
        for (name, _) in gone {
            fs::remove_file(entry.join(name))?;
        }
        let bytes = size_of(&entry)?;
        let waiting = &mut self.entries[at];
        (waiting.bytes, waiting.has_samples) = (bytes, false);
        Ok(())
    }

    fn drop_entry(&mut self, at: usize) -> io::Result<()> {
        let number = self.entries[at].number;
        let entry = self.path_of(number);
        let list = fs::read_to_string(entry.join(LIST))?;
        self.count(number, &list, true)?;
        self.remove_entry(&entry).map_err(io::Error::other)
    }

    /// Counts a dropped segment, before it is dropped and only once.
    fn count(&mut self, number: u64, list: &str, has_definitions: bool) -> io::Result<()> {
        let dropped = &mut self.dropped;
        if dropped.last.is_none_or(|last| last < number) {
            let samples = list
                .lines()
                .filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok());
            dropped.segments += 1;
            dropped.samples += samples.sum::<u64>();
            dropped.last = Some(number);
        }
        dropped.definitions += u64::from(has_definitions);
        let Dropped {
            segments,
            samples,
            definitions,
            last,
        } = *dropped;
        let text = format!("{segments} {samples} {definitions} {}\n", last.unwrap_or(0));
        write_whole(&self.folder, DROPPED, text.as_bytes())
    }

    fn remove_entry(&mut self, entry: &Path) -> Result<(), Error> {
        let unfinished = self.folder.join(UNFINISHED);
        let name = entry.file_name().unwrap_or_default();
        let removed = fs::create_dir_all(&unfinished)
            .and_then(|()| fs::rename(entry, unfinished.join(name)))
            .and_then(|()| remove(&unfinished.join(name)));
        removed.map_err(|error| failed("remove", entry, error))?;
        self.entries
            .retain(|waiting| self.folder.join(waiting.name()) != *entry);
        Ok(())
    }

    fn path_of(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:016}"))
    }
}

impl Waiting {
    fn name(&self) -> String {
        format!("{:016}", self.number)
    }
}

/// The files of an entry: the name in the spool, and the path in the store.
fn files_of(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines().filter_map(|line| {
        let mut words = line.splitn(3, ' ');
        Some((words.next()?, words.nth(1)?))
    })
}

fn is_of_samples(path: &str) -> bool {
    is_of(path, SampleRow::NAME)
}

fn is_of_segments(path: &str) -> bool {
    is_of(path, SegmentRow::NAME)
}

fn is_of(path: &str, table: &str) -> bool {
    let path = path.strip_prefix(FRESH).unwrap_or(path);
    path.split('/').next() == Some(table)
}

fn write_entry(folder: &Path, segment: &Segment) -> io::Result<()> {
    remove(folder)?;
    fs::create_dir_all(folder)?;
    let (mut list, mut samples) = (String::new(), segment.samples);
    for (number, file) in segment.files.iter().enumerate() {
        // The number of samples stands beside the first file of them.
        let count = match is_of_samples(&file.path) {
            true => std::mem::take(&mut samples),
            false => 0,
        };
        list += &format!("{number} {count} {}\n", file.path);
        write_file(&folder.join(number.to_string()), &file.bytes)?;
    }
    write_file(&folder.join(LIST), list.as_bytes())?;
    File::open(folder)?.sync_all()
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Writes a file in place of one of this name.
fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = folder.join(format!(".{name}"));
    write_file(&unfinished, bytes)?;
    fs::rename(&unfinished, folder.join(name))?;
    File::open(folder)?.sync_all()
}

fn read_dropped(folder: &Path) -> Dropped {
    let text = fs::read_to_string(folder.join(DROPPED)).unwrap_or_default();
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    let mut next = || numbers.next().unwrap_or(0);
    Dropped {
        segments: next(),
        samples: next(),
        definitions: next(),
        last: Some(next()).filter(|&last| last > 0),
    }
}

fn size_of(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        size += entry?.metadata()?.len();
    }
    Ok(size)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn failed(verb: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Store {
        verb,
        path: path.display().to_string(),
        source,
    }
}
