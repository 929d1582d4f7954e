//! The bytes of a file. Large ones are mapped, not copied.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use crate::{Error, Options};

/// The unpacked file for a reader.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The path, if it is a file: some formats need a second one beside it.
    pub path: Option<&'a Path>,
    /// The reader's choices.
    pub options: &'a Options,
}

/// The loaded bytes of a file.
#[derive(Debug)]
pub(crate) enum Loaded {
    Read(Vec<u8>),
    Mapped(memmap2::Mmap),
}

impl Deref for Loaded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// Loads a file.
pub(crate) fn load(path: &Path) -> Result<Loaded, Error> {
    /// A smaller file is read, so that another program may change it meanwhile.
    const LARGE: u64 = 32 << 20;
    let error = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(error)?;
    let about = file.metadata().map_err(error)?;
    if about.is_file() && about.len() >= LARGE {
        return map(&file).map(Loaded::Mapped).map_err(error);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(error)?;
    Ok(Loaded::Read(bytes))
}

/// Loads a second file of a format that has several. Unlike the first, which the user names, it is
/// never a pipe or a device: these may have no end.
pub(crate) fn load_beside(path: &Path) -> Result<Loaded, Error> {
    let error = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    if !path.metadata().map_err(error)?.is_file() {
        let what = "it is no regular file";
        return Err(error(io::Error::new(io::ErrorKind::InvalidInput, what)));
    }
    load(path)
}

/// The bytes of a program's file, which are looked at here and there.
pub(crate) fn load_program(path: &Path) -> Option<Loaded> {
    // A read of a pipe or a device may never end.
    if !path.metadata().is_ok_and(|about| about.is_file()) {
        return None;
    }
    map(&File::open(path).ok()?).ok().map(Loaded::Mapped)
}

#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is read as bytes only, so any content is valid. If another program cuts the
    // file meanwhile, a read ends this program with SIGBUS, which loses nothing: we only read.
    unsafe { memmap2::Mmap::map(file) }
}
