//! The bytes of a file, mapped rather than read: of a debug file of hundreds of megabytes only
//! the pages that a lookup touches are ever loaded, and the kernel may drop them again.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

/// The contents of a file or of an image that the caller supplied.
#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    /// A mapped file.
    Mapped(Arc<Mmap>),
    /// Bytes in memory.
    Owned(Arc<[u8]>),
}

impl Bytes {
    /// Maps the file at `path`. Only regular files are taken: opening a pipe would wait for its
    /// writer.
    pub(crate) fn map(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let file = File::open(path)?;
        // SAFETY: the mapping is private and read-only, and it is only ever seen as bytes, of which
        // every value is valid. Programs and debug files are replaced by renaming rather than
        // rewritten in place (a running executable cannot be written at all), and a mapping of the
        // old file keeps its contents. If one is rewritten nevertheless, the parsers above check
        // every offset at each use and derive no pointer from the bytes, so they would read
        // nonsense names; if one is truncated, reading it raises SIGBUS, as it does for the dynamic
        // linker's own mapping of the same file.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self::Mapped(Arc::new(map)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}
