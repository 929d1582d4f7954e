//! Rules for the files that output may replace. A slip of the hand must not cost a source file, nor
//! the recording that is being read.
//!
//! An existing file is replaced if it is empty, or begins like the new one; an input is never
//! replaced, under whatever name. Pipes and character devices are written to. An unfinished text
//! leaves the earlier file.

mod ending;
mod kind;
mod refusal;
mod stdout;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use kind::{Kind, REPORT, TIME};
pub use refusal::why_not_written;
pub use stdout::{Detour, is_stdout};

/// The bytes that show the kind of a file.
const START: u64 = 4096;

/// The reason why a path may not be written: an error of usage.
#[derive(Debug)]
pub struct Refused(String);

impl Refused {
    /// A refusal with this reason.
    pub fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Refuses to overwrite data. `inputs` are the files being read; `force` permits to replace any
/// other file.
pub fn check(path: &Path, kind: Kind, inputs: &[&Path], force: bool) -> Result<(), Refused> {
    let shown = path.display();
    if is_stdout(path) {
        return Ok(());
    }
    let ends_well = || match ending::expected(path, kind) {
        Some(ending) if !force => Err(Refused(format!(
            "a {kind} is written, and {shown} ends otherwise: name a file that ends in .{ending} (`--force` writes it all the same)"
        ))),
        _ => Ok(()),
    };
    // A path that cannot be examined cannot be written either; the write reports that.
    let Ok(metadata) = fs::metadata(path) else {
        return ends_well();
    };
    if inputs.iter().any(|input| is_same(&metadata, input)) {
        return Err(Refused(format!(
            "{shown} is what is being read; name another file"
        )));
    }
    ends_well()?;
    let is = metadata.file_type();
    if kind.has_to_be_a_file() && (is.is_fifo() || is.is_socket()) {
        return Err(Refused(format!(
            "cannot write {shown}: a {kind} has to be a file"
        )));
    }
    if is.is_block_device() && !force {
        return Err(Refused(format!(
            "{shown} is a disk; name a file (`--force` writes there all the same)"
        )));
    }
    if !is.is_file() || force {
        return Ok(());
    }
    match is_foreign(path, |start| kind.is_start_of(start)) {
        true => Err(Refused(format!(
            "{shown} is there and is no {kind}; name another file (`--force` replaces it)"
        ))),
        false => Ok(()),
    }
}

/// True if the file exists, is not empty, and does not begin as `is_it` wants. A file that cannot
/// be read may be anything.
pub fn is_foreign(path: &Path, is_it: impl Fn(&[u8]) -> bool) -> bool {
    let is_empty = fs::metadata(path).is_ok_and(|file| file.len() == 0);
    if !path.is_file() || is_empty {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    read.is_err() || !is_it(&start)
}

/// True if another path leads to the same file, by a symbolic link, a hard link, or its name.
fn is_same(metadata: &fs::Metadata, path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|file| file.dev() == metadata.dev() && file.ino() == metadata.ino())
        && metadata.is_file()
}

/// A text that is to be written. Whether that is possible is known before there is anything to
/// write.
#[derive(Debug)]
pub struct Text {
    path: PathBuf,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Stdout,
    /// A pipe or a device; or a file that is appended to, or whose folder is not writable.
    Direct(File),
    /// A file beside the one that it will replace.
    Beside {
        file: Option<File>,
        beside: PathBuf,
        place: PathBuf,
    },
}

impl Text {
    /// Begins a text of `kind` at a path, if that may be written.
    pub fn create(path: &Path, kind: Kind, inputs: &[&Path], force: bool) -> Result<Self> {
        check(path, kind, inputs, force)?;
        let way = Way::to(path, kind).with_context(|| cannot(path))?;
        let path = path.to_owned();
        Ok(Self { path, way })
    }

    /// Appends to the file.
    pub fn append(path: &Path) -> Result<Self> {
        let way = match is_stdout(path) {
            true => Way::Stdout,
            false => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Way::Direct(file.with_context(|| cannot(path))?)
            }
        };
        let path = path.to_owned();
        Ok(Self { path, way })
    }

    /// True if the text is a file of its own, not appended to another or in a stream.
    pub fn begins_a_file(&self) -> bool {
        match &self.way {
            Way::Stdout => false,
            Way::Direct(file) => file
                .metadata()
                .is_ok_and(|file| file.is_file() && file.len() == 0),
            Way::Beside { .. } => true,
        }
    }

    /// Writes the whole text.
    pub fn write(mut self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let written = || -> Result<()> {
            match &mut self.way {
                Way::Stdout => filled(io::stdout().lock(), fill),
                Way::Direct(file) => filled(file, fill),
                Way::Beside {
                    file,
                    beside,
                    place,
                } => {
                    if let Some(file) = file.take() {
                        filled(&file, fill)?;
                        like_before(&file, place);
                    }
                    Ok(fs::rename(beside, place)?)
                }
            }
        };
        written().with_context(|| cannot(&self.path))
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        if let Way::Beside { beside, .. } = &self.way {
            // It still exists only if the text was not written.
            let _ = fs::remove_file(beside);
        }
    }
}

impl Way {
    fn to(path: &Path, kind: Kind) -> io::Result<Self> {
        if is_stdout(path) {
            return Ok(Self::Stdout);
        }
        let place = match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return Self::direct(path),
            // A symbolic link is kept.
            Ok(_) => fs::canonicalize(path)?,
            Err(_) => path.to_owned(),
        };
        let Some(name) = place.file_name() else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.new", std::process::id()));
        let beside = place.with_file_name(hidden);
        let mut options = OpenOptions::new();
        let mode = if kind.is_private() { 0o600 } else { 0o666 };
        options.write(true).create(true).truncate(true).mode(mode);
        match options.open(&beside) {
            Ok(file) => Ok(Self::Beside {
                file: Some(file),
                beside,
                place,
            }),
            // A user who may write the file need not be allowed to create others.
            Err(_) if place.is_file() => Self::direct(path),
            Err(error) => Err(error),
        }
    }

    fn direct(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).truncate(true).open(path)?;
        Ok(Self::Direct(file))
    }
}

/// Gives a file the mode and the owner of the one that it replaces, as far as permitted.
fn like_before(file: &File, place: &Path) {
    let Ok(before) = fs::metadata(place) else {
        return;
    };
    let _ = std::os::unix::fs::fchown(file, Some(before.uid()), Some(before.gid()));
    let _ = file.set_permissions(before.permissions());
}

fn filled(out: impl Write, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(out);
    fill(&mut out)?;
    Ok(out.flush()?)
}

fn cannot(path: &Path) -> String {
    match is_stdout(path) {
        true => "cannot write to the standard output".into(),
        false => format!("cannot write {}", path.display()),
    }
}

#[cfg(test)]
mod tests;
