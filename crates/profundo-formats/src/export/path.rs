//! An export by path: it appears under its name only when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use profundo_model::Profile;

use super::{Format, Options, write};
use crate::Error;

/// Writes `profile` to `path`, or to the standard output where `path` is `-`; in `format`, or in
/// the format of the path's ending.
///
/// A file is written beside its place and renamed when it is whole, so a full disk leaves the
/// former file, and nothing half done. A symbolic link is followed. A pipe or a device
/// (`/dev/stdout`) is written directly. Unlike a saved profile, it is for others to read: its mode
/// is the usual one.
pub fn to_path(
    profile: &Profile,
    format: Option<Format>,
    options: &Options,
    path: impl AsRef<Path>,
) -> Result<(), Error> {
    let path = path.as_ref();
    let known = format.or_else(|| Format::of_path(path));
    let format = known.ok_or_else(|| Error::NoFormat { path: path.into() })?;
    if path == Path::new("-") {
        let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        return fill(out, profile, format, options).map(drop);
    }
    let at = |error| placed(error, path);
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let file = OpenOptions::new().write(true).open(path);
            let file = file.map_err(|source| failed("open", path, source))?;
            fill(BufWriter::new(file), profile, format, options)
                .map(drop)
                .map_err(at)
        }
        Ok(metadata) => {
            let place = fs::canonicalize(path).map_err(|source| failed("find", path, source))?;
            let mode = Some(metadata.permissions());
            replace(&place, mode, profile, format, options)
        }
        Err(_) => replace(path, None, profile, format, options),
    }
}

fn replace(
    place: &Path,
    mode: Option<fs::Permissions>,
    profile: &Profile,
    format: Format,
    options: &Options,
) -> Result<(), Error> {
    let (file, beside) = create_beside(place)?;
    let written = fill(
        BufWriter::with_capacity(1 << 16, file),
        profile,
        format,
        options,
    )
    .map_err(|error| placed(error, place))
    .and_then(|file| {
        // An existing file keeps its mode if possible.
        let _ = mode.map(|mode| file.set_permissions(mode));
        file.sync_all()
            .map_err(|source| failed("write", place, source))
    })
    .and_then(|()| fs::rename(&beside, place).map_err(|source| failed("rename", place, source)));
    if written.is_err() {
        // The reason is already on its way to the caller.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn fill<W: Write>(
    mut out: BufWriter<W>,
    profile: &Profile,
    format: Format,
    options: &Options,
) -> Result<W, Error> {
    write(profile, format, options, &mut out)?;
    out.flush().map_err(Error::Write)?;
    out.into_inner()
        .map_err(|error| Error::Write(error.into_error()))
}

/// A new file in the folder of `place`: a rename is atomic only within a file system.
fn create_beside(place: &Path) -> Result<(File, PathBuf), Error> {
    let Some(name) = place.file_name() else {
        let source = io::ErrorKind::InvalidFilename.into();
        return Err(failed("create", place, source));
    };
    let mut number = 0;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{number}.tmp", std::process::id()));
        let beside = place.with_file_name(hidden);
        match File::create_new(&beside) {
            Ok(file) => return Ok((file, beside)),
            // It is another thread's, or left by a process that had our id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {
                number += 1;
            }
            Err(source) => return Err(failed("create", place, source)),
        }
    }
}

/// Adds the path to a failed write.
fn placed(error: Error, path: &Path) -> Error {
    match error {
        Error::Write(source) => failed("write", path, source),
        error => error,
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::File {
        action,
        path: path.into(),
        source,
    }
}
