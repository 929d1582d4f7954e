//! The saved profile: a file that carries its names with it, so that it opens on any machine.
//!
//! A `.profundo` file is a header and a row of checked chunks. The rows that a batch of samples
//! needs stand before the batch, so a file that was cut anywhere gives the samples before the
//! cut. `docs/file-format.md` describes it to the byte.
//!
//! Files for other tools are written by [`export`]; a heap as a graph of objects is another file,
//! V8's ([`heapsnapshot`]). Nothing is named here: the file has the contents of the [`Profile`].
//!
//! Constraints: no unsafe code; no input makes the reader panic, and its allocations are in
//! proportion to the file; every version ever released stays readable.
//!
//! ```
//! use profundo_model::Profile;
//!
//! let profile = Profile::from_folded("main;work 3\nmain;idle 1").unwrap();
//! let mut file = Vec::new();
//! profundo_formats::write(&profile, &mut file)?;
//!
//! let (again, warnings) = profundo_formats::read(&file)?;
//! assert_eq!(again.samples, profile.samples);
//! assert!(warnings.is_empty());
//!
//! // A file that was cut still gives what came before the cut.
//! let (_, warnings) = profundo_formats::read(&file[..file.len() - 1])?;
//! assert_eq!(warnings.len(), 1);
//! # Ok::<(), profundo_formats::Error>(())
//! ```

#![forbid(unsafe_code)]

mod coarse;
mod disk;
mod error;
pub mod export;
mod header;
pub mod heapsnapshot;
pub mod mem;
mod overview;
mod stream;
mod v1;

use std::io::Write;

use profundo_model::Profile;

// The version that is written. Older ones are only read.
use v1 as current;

pub use disk::{
    begun_file, create_file, gather_file, is_being_written, overview_file, read_file, write_file,
};
pub use error::{Damage, Error, Warning};
pub use header::is_profundo;
pub use overview::{Holds, Overview};
pub use stream::StreamWriter;

/// The version of the format that [`write()`] writes.
pub const VERSION: u32 = current::VERSION;

/// Writes `profile` in the newest version of the format.
///
/// It makes many small writes; give it a buffer where they are expensive, as [`write_file`] does.
pub fn write(profile: &Profile, out: &mut impl Write) -> Result<(), Error> {
    header::write(out, current::VERSION)?;
    current::write(profile, out, header::LEN)
}

/// Reads a file of any version.
///
/// A damaged or cut file is not an error: the part before the damage is returned, with a
/// [`Warning`] about the rest. Every id in the profile is in range.
pub fn read(bytes: &[u8]) -> Result<(Profile, Vec<Warning>), Error> {
    match header::read(bytes)? {
        v1::VERSION => v1::read(bytes, header::LEN),
        version => Err(Error::UnknownVersion {
            version,
            newest: VERSION,
        }),
    }
}
