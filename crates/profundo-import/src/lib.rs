//! The profiles of other tools, read into a [`Profile`].
//!
//! A file is known by its content, never by its name: [`read()`] tries the rows of [`Reader::ALL`]
//! on its first bytes. Each format has a file or a folder of its own with its row, and fills a
//! [`Builder`], which makes the profile. A profile has what the file has; a note says what the
//! format lacks.
//!
//! | part | what it has |
//! |---|---|
//! | `reader`, `source`, `builder`, `error` | what each format is given and makes |
//! | `encoding` | what files are packed in or made of: gzip, JSON, protobuf, XML, UTF-16, bare bytes |
//! | `code` | names and addresses of code: languages, paths, modules, frames of Valgrind |
//! | `stacks` | stacks from what has none: who calls whom, indented text |
//! | `quantities` | the kinds of value in a file, sums without numbers of samples, sampled memory |
//! | all others | a format each, or the formats of one tool |
//!
//! It is **not** for our own files (`profundo-formats`), and looks up no names: addresses without
//! names stay addresses in modules, for `profundo-symbols`.
//!
//! Constraints:
//! - No input makes a reader panic, loop for ever, or take memory out of proportion to the file: a
//!   count in a file is compared with the bytes that are left before it is used.
//! - A damaged file gives what stands before the damage, with a [`Warning`].
//! - Nothing in a file is ever executed.
//!
//! ```
//! let text = b"main;work 3\nmain;idle 1\n";
//! let imported = profundo_import::read(text, &profundo_import::Options::default())?;
//! assert_eq!(imported.reader.name(), "collapsed");
//! assert_eq!(imported.profile.samples.len(), 2);
//! # Ok::<(), profundo_import::Error>(())
//! ```

#![deny(unsafe_code)]

mod austin;
mod builder;
mod caliper;
mod callgrind;
mod chrome_trace;
mod code;
mod collapsed;
mod counted_source;
mod cpuprofile;
mod cube;
mod dhat;
mod dtrace;
mod encoding;
mod error;
mod firefox;
mod gmon;
mod gperftools;
mod gprof;
mod heapprofile;
mod heaptrack;
mod hpctoolkit;
mod instruments;
mod jemalloc;
mod jfr;
mod jlprof;
mod lcov;
mod lprof;
mod macos_sample;
mod massif;
mod memory_profiler;
mod memray;
mod nettrace;
mod nsight;
mod oprofile;
mod otf2;
mod otlp;
mod perf;
mod pprof;
mod pstats;
mod pyinstrument;
mod quantities;
mod reader;
mod scalene;
mod source;
mod speedscope;
mod stacks;
mod tachyon;
mod tau;
mod v8;
mod vtune;

use std::path::Path;

use profundo_model::Profile;

use encoding::unpack;

pub use builder::{Builder, Named, Row};
pub use code::language::language_of;
/// The wire format of protobuf, for other readers of what is foreign.
pub use encoding::protobuf;
pub use error::{Error, Warning};
pub use quantities::value::{Unit, Value};
pub use reader::Reader;
pub use source::Source;

/// The reader's choices.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The value to read, by its name in the file, where a file has several: `alloc_space`.
    pub value: Option<String>,
}

/// A profile from a foreign file.
#[derive(Debug)]
pub struct Imported {
    /// The profile.
    pub profile: Profile,
    /// The reader of its format.
    pub reader: Reader,
    /// The gaps of the file.
    pub warnings: Vec<Warning>,
}

/// Reads a file of any format, packed or not.
pub fn read(bytes: &[u8], options: &Options) -> Result<Imported, Error> {
    read_named(bytes, None, options)
}

/// Reads the file at `path`. Formats that are complete only with a second file look for it beside
/// this one.
pub fn read_file(path: &Path, options: &Options) -> Result<Imported, Error> {
    let bytes = source::load(path)?;
    read_named(&bytes, Some(path), options)
}

/// The reader of a file that begins with these bytes, packed or not.
pub fn reader_of(start: &[u8]) -> Option<Reader> {
    match unpack::start(start) {
        Some(unpacked) => Reader::of(&unpacked),
        None => Reader::of(start),
    }
}

/// What a file is that begins with these bytes, and the way around it, where its format is known
/// and not read.
pub fn refusal(start: &[u8]) -> Option<String> {
    let unpacked = unpack::start(start);
    let (what, instead) = reader::refused(unpacked.as_deref().unwrap_or(start))?;
    Some(format!("{what} is not read; {instead}"))
}

/// The bytes of a file, unpacked if it is packed.
#[doc(hidden)]
pub fn unpacked(bytes: &[u8]) -> Vec<u8> {
    match unpack::all(bytes) {
        Ok(Some(unpacked)) => unpacked.bytes,
        _ => bytes.to_vec(),
    }
}

/// Reads a file by the reader of a name, whatever its first bytes are: for fuzzers, which would
/// spend their time on finding a format's mark.
#[doc(hidden)]
pub fn read_as(reader: Reader, bytes: &[u8]) -> Option<Imported> {
    let options = Options::default();
    let source = Source {
        bytes,
        path: None,
        options: &options,
    };
    let mut builder = Builder::default();
    reader.fill(&source, &mut builder).ok()?;
    let (profile, warnings) = builder.finish();
    Some(Imported {
        profile,
        reader,
        warnings,
    })
}

/// Reads a second file of a format that has several, and drops what it has: for fuzzers, which give
/// bytes and no folder.
#[doc(hidden)]
pub fn read_beside(reader: Reader, bytes: &[u8]) {
    if reader.name() == otf2::READER.name() {
        otf2::read_member(bytes);
    }
    if reader.name() == hpctoolkit::DATABASE.name() {
        hpctoolkit::read_member(bytes);
    }
}

fn read_named(bytes: &[u8], path: Option<&Path>, options: &Options) -> Result<Imported, Error> {
    let unpacked = unpack::all(bytes)?;
    let (bytes, is_cut) = match &unpacked {
        Some(unpacked) => (&unpacked.bytes[..], unpacked.is_cut),
        None => (bytes, false),
    };
    let reader = Reader::of(bytes).ok_or_else(|| Error::unknown(bytes))?;
    let source = Source {
        bytes,
        path,
        options,
    };
    let mut builder = Builder::default();
    if is_cut {
        builder.warn(Warning::PackedCut);
    }
    reader.fill(&source, &mut builder)?;
    let (profile, warnings) = builder.finish();
    if warnings.iter().any(Warning::is_damage) && is_empty(&profile) {
        return Err(Error::NothingBeforeDamage {
            format: reader.name(),
        });
    }
    Ok(Imported {
        profile,
        reader,
        warnings,
    })
}

fn is_empty(profile: &Profile) -> bool {
    let heap = &profile.heap;
    let has_memory = !(heap.sites.is_empty() && heap.blocks.is_empty() && heap.gauges.is_empty());
    profile.samples.is_empty() && profile.traced.is_empty() && !has_memory
}
