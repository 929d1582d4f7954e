//! Where files lie: a folder, or an object store. A file is there whole or not at all.

mod folder;
#[cfg(feature = "s3")]
mod s3;

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

use crate::Error;

pub use folder::Folder;
#[cfg(feature = "s3")]
pub use s3::S3;

/// A file of a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its path below the root, with `/` between its parts.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A place for files.
pub trait Store: Debug + Send + Sync {
    /// All files below a folder, whose path ends with `/` or is empty, sorted by path.
    fn list(&self, folder: &str) -> Result<Vec<Entry>, Error>;

    /// A part of a file. [`Error::Gone`] if the file is not there.
    fn read(&self, path: &str, range: Range<u64>) -> Result<Bytes, Error>;

    /// Writes a file whole or not at all, in place of one of this name.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<(), Error>;

    /// Writes a file whole or not at all, unless there is one of this name. Of several writers, one
    /// gets `true`.
    fn put_new(&self, path: &str, bytes: &[u8]) -> Result<bool, Error>;

    /// Deletes a file, if it is there.
    fn delete(&self, path: &str) -> Result<(), Error>;
}

/// The store at a place: a folder's path, or `s3://bucket/prefix`.
pub fn open(place: &str) -> Result<Box<dyn Store>, Error> {
    if place.starts_with("s3://") {
        #[cfg(feature = "s3")]
        return Ok(Box::new(S3::from_environment(place)?));
        #[cfg(not(feature = "s3"))]
        return Err(Error::Store {
            verb: "open",
            path: place.to_owned(),
            source: std::io::Error::new(
                std::io::ErrorKind::Unsupported,
                "this build of Profundo has no access to S3",
            ),
        });
    }
    Ok(Box::new(Folder::new(place)))
}
