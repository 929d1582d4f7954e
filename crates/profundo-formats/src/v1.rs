//! Version 1: chunks of columns.
//!
//! ```text
//! file   = header, META, batch…, the rows that no sample needs, END
//! batch  = new rows of any table that the samples need, SAMP
//! ```
//!
//! These files are read for ever: a change that version 1 readers cannot skip over is a new version
//! beside this one, never an edit here. `docs/file-format.md` has the layout and the rules.

mod ahead;
mod chunk;
mod code;
mod column;
mod gather;
mod gauge;
mod growing;
mod heap;
mod meta;
mod name;
mod origin;
mod overview;
mod owner;
mod place;
mod read;
mod sample;
mod source_file;
mod span;
mod stream;
mod summed;
mod syscalls;
mod traced;
mod traffic;
mod write;

pub(crate) use chunk::MOST_PACKED;
pub(crate) use gather::{Manner, gather};
pub(crate) use overview::{began, overview};
pub(crate) use read::read;
pub(crate) use stream::Stream;
pub(crate) use write::{BATCH, write};

/// The number in the header.
pub(crate) const VERSION: u32 = 1;
