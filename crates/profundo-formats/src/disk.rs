//! Files by path. A profile appears under its name only when it is whole, and only its owner can
//! read it: it holds command lines and paths.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use profundo_model::{Meta, Nanos, Profile};

use crate::current::{self, Manner};
use crate::{Error, Overview, StreamWriter, Warning, header, read, write};

/// Writes `profile` to `path` for the owner alone (mode 0600).
///
/// It is written beside its place and renamed when it is on the disk, so a reader sees the old file
/// or the new one. A symbolic link is followed. A pipe or a device (`/dev/stdout`) is written
/// directly.
pub fn write_file(path: impl AsRef<Path>, profile: &Profile) -> Result<(), Error> {
    write_whole(path.as_ref(), |out| write(profile, out))
}

/// Has `fill` write a file that appears at `path` only when it is whole, like [`write_file`].
pub(crate) fn write_whole<T>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<T, Error>,
) -> Result<T, Error> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let file = OpenOptions::new().write(true).open(path);
            let file = file.map_err(|source| failed("open", path, source))?;
            filled(file, path, fill).map(|(_, answer)| answer)
        }
        Ok(_) => {
            let place = fs::canonicalize(path).map_err(|source| failed("find", path, source))?;
            replace(&place, fill)
        }
        Err(_) => replace(path, fill),
    }
}

/// Creates a file at `path` that is written while a recording goes on, for the owner alone (mode
/// 0600). A former file there is lost: a recording that is cut must be found under its name.
pub fn create_file(
    path: impl AsRef<Path>,
    meta: &Meta,
) -> Result<StreamWriter<BufWriter<File>>, Error> {
    let path = path.as_ref();
    // A file that others could read before is not filled, but replaced.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        fs::remove_file(path).map_err(|source| failed("replace", path, source))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path);
    let file = file.map_err(|source| failed("create", path, source))?;
    // Where files cannot be locked, the state of writing is unknown.
    let _ = file.try_lock_shared();
    StreamWriter::new(BufWriter::with_capacity(1 << 16, file), meta)
}

/// Whether the file at `path` is still written by [`create_file`]'s writer, in this process or
/// another one.
pub fn is_being_written(path: impl AsRef<Path>) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

/// The start of the recording at `path`, in nanoseconds since 1970. `None` where the file does not
/// have it.
pub fn begun_file(path: impl AsRef<Path>) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let mut first = [0; header::LEN];
    file.read_exact(&mut first).ok()?;
    let is_known = header::read(&first).ok()? == current::VERSION;
    is_known.then(|| current::began(&mut file, header::LEN))?
}

/// Reads the facts about the recording at `path`, and none of its samples. A cut file gives those
/// before the cut.
pub fn overview_file(path: impl AsRef<Path>) -> Result<Overview, Error> {
    let path = path.as_ref();
    let mut file = File::open(path).map_err(|source| failed("read", path, source))?;
    let mut first = [0; header::LEN];
    let content = match file.read_exact(&mut first) {
        Ok(()) => header::read(&first).and_then(|version| match version {
            current::VERSION => current::overview(&mut file, header::LEN),
            version => Err(Error::UnknownVersion {
                version,
                newest: current::VERSION,
            }),
        }),
        Err(_) => Err(Error::NotAProfile),
    };
    content.map_err(|source| Error::Content {
        path: path.into(),
        source: Box::new(source),
    })
}

/// Reads the profile at `path`.
pub fn read_file(path: impl AsRef<Path>) -> Result<(Profile, Vec<Warning>), Error> {
    let path = path.as_ref();
    let bytes = bytes_of(path).map_err(|source| failed("read", path, source))?;
    read(&bytes).map_err(|source| Error::Content {
        path: path.into(),
        source: Box::new(source),
    })
}

/// The limit of unpacked sample bytes, some millions of samples; above it, samples are gathered.
const MANY: u64 = 48 << 20;

/// Reads the profile at `path` for reports.
///
/// If it has many millions of samples, equal ones are gathered into rows while they are read: see
/// [`profundo_model::Gathered`]. Those `within` a stretch of time are kept apart from those before
/// it and after it. The memory for this depends on the number of distinct samples.
pub fn gather_file(
    path: impl AsRef<Path>,
    within: Range<Nanos>,
) -> Result<(Profile, Vec<Warning>), Error> {
    let path = path.as_ref();
    let manner = Manner {
        least: MANY,
        within,
    };
    let mut file = File::open(path).map_err(|source| failed("read", path, source))?;
    let gathered = gather(&mut file, &manner).map_err(|source| Error::Content {
        path: path.into(),
        source: Box::new(source),
    })?;
    match gathered {
        Some(read) => Ok(read),
        None => read_file(path),
    }
}

/// `None` where the file is to be read as a whole.
fn gather(file: &mut File, manner: &Manner) -> Result<Option<(Profile, Vec<Warning>)>, Error> {
    // A pipe can be read once only.
    let is_large = |metadata: fs::Metadata| {
        metadata.is_file() && metadata.len() > manner.least / current::MOST_PACKED
    };
    if !file.metadata().is_ok_and(is_large) {
        return Ok(None);
    }
    let mut first = [0; header::LEN];
    if file.read_exact(&mut first).is_err() || header::read(&first).ok() != Some(current::VERSION) {
        return Ok(None);
    }
    current::gather(file, header::LEN, manner)
}

/// The file's bytes, or its first few if it has another format: such a file may have no end.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    (&mut file)
        .take(header::LEN as u64)
        .read_to_end(&mut bytes)?;
    if header::is_profundo(&bytes) {
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        // A wrong size costs nothing but another allocation.
        let _ = bytes.try_reserve(usize::try_from(size).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn replace<T>(
    place: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (file, beside) = create_beside(place)?;
    let written = filled(file, place, fill)
        .and_then(|(file, answer)| {
            file.sync_all()
                .map_err(|source| failed("write", place, source))?;
            Ok(answer)
        })
        .and_then(|answer| {
            fs::rename(&beside, place).map_err(|source| failed("rename", place, source))?;
            Ok(answer)
        });
    if written.is_err() {
        // The reason is already on its way to the caller.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn filled<T>(
    file: File,
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<T, Error>,
) -> Result<(File, T), Error> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let answer = fill(&mut out).map_err(|error| match error {
        Error::Write(source) => failed("write", path, source),
        error => error,
    })?;
    out.flush()
        .map_err(|source| failed("write", path, source))?;
    let file = out
        .into_inner()
        .map_err(|error| failed("write", path, error.into_error()))?;
    Ok((file, answer))
}

/// A new file in the folder of `place`: a rename is atomic only within a file system.
fn create_beside(place: &Path) -> Result<(File, PathBuf), Error> {
    let Some(name) = place.file_name() else {
        return Err(failed(
            "create",
            place,
            io::ErrorKind::InvalidFilename.into(),
        ));
    };
    let mut number = 0;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{number}.tmp", std::process::id()));
        let beside = place.with_file_name(hidden);
        match private().open(&beside) {
            Ok(file) => return Ok((file, beside)),
            // It is another thread's, or left by a process that had our id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {
                number += 1;
            }
            Err(source) => return Err(failed("create", place, source)),
        }
    }
}

/// Creates files that did not exist, for the owner alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(crate) fn failed(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::File {
        action,
        path: path.into(),
        source,
    }
}
