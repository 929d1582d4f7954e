//! Compiling `.eh_frame` into rows happens once per module, outside of any signal handler, so
//! that the walk finds everything decoded.
//!
//! Input is a section as it lies in memory, or in a file: rows are relative to a base, so both
//! give the same table. No input makes it panic, and what it allocates is bounded by the size of
//! the input and of the code: every row comes from at least one byte of instructions.

mod entries;
mod expression;
mod header;
mod instructions;

use std::collections::BTreeMap;
use std::ops::Range;
use std::vec::Vec;

pub use header::parse_eh_frame_hdr;

use crate::{BUCKET_BYTES, Cfa, Row, Rule, TableRef};
use entries::Entries;
use instructions::{Initial, run};

pub(crate) type Reader<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;
pub(crate) type Cie<'a> = gimli::CommonInformationEntry<Reader<'a>>;

/// The reason why there is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The code reaches further than a row can say from the base, or begins before it.
    CodeOutOfReach {
        /// First address of the code.
        start: u64,
        /// First address after it.
        end: u64,
    },
    /// The version of `.eh_frame_hdr` is not 1.
    UnknownVersion(u8),
    /// `.eh_frame_hdr` ends before its address of `.eh_frame`.
    Truncated,
    /// The address of `.eh_frame` is encoded in a way that no linker uses.
    UnknownEncoding(u8),
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::CodeOutOfReach { start, end } => {
                write!(f, "code at {start:#x}..{end:#x} does not fit a table")
            }
            Self::UnknownVersion(version) => write!(f, "unknown .eh_frame_hdr version {version}"),
            Self::Truncated => write!(f, ".eh_frame_hdr is truncated"),
            Self::UnknownEncoding(encoding) => {
                write!(f, "unknown pointer encoding {encoding:#x} in .eh_frame_hdr")
            }
        }
    }
}

impl core::error::Error for Error {}

/// The compiled rows of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    base: u64,
    rows: Vec<Row>,
    index: Vec<u32>,
    skipped: u32,
}

impl Table {
    /// The address that rows count from.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The rows, sorted by pc.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The index over the rows: see [`TableRef::index`].
    pub fn index(&self) -> &[u32] {
        &self.index
    }

    /// The number of fdes that could not be read, or lay outside of the code.
    pub fn skipped(&self) -> u32 {
        self.skipped
    }

    /// The number of [`Cfa::Unsupported`] rows.
    pub fn unsupported(&self) -> usize {
        let unsupported = |row: &&Row| row.rule().cfa == Cfa::Unsupported;
        self.rows.iter().filter(unsupported).count()
    }

    /// The table to walk by.
    pub fn as_ref(&self) -> TableRef<'_> {
        TableRef {
            base: self.base,
            rows: &self.rows,
            index: &self.index,
        }
    }
}

/// The rows of one fde, as a range of all rows.
struct Function {
    start: u32,
    end: u32,
    rows: Range<usize>,
}

/// Compiles an `.eh_frame` that lies at `eh_frame_address`. It ends at its terminator, or else
/// with the slice.
///
/// Rows count from `base`: best the start of `code`, because the index begins there. Fdes outside
/// of `code` are skipped; linkers leave such for functions that they dropped.
///
/// Where fdes overlap, the one that begins later holds, as for an unwinder that searches by start.
pub fn compile_eh_frame(
    eh_frame: &[u8],
    eh_frame_address: u64,
    text_base: Option<u64>,
    base: u64,
    code: Range<u64>,
) -> Result<Table, Error> {
    let Range { start, end } = code;
    if start < base || end < start || end - base > u64::from(u32::MAX) {
        return Err(Error::CodeOutOfReach { start, end });
    }
    let mut bases = gimli::BaseAddresses::default().set_eh_frame(eh_frame_address);
    if let Some(text_base) = text_base {
        bases = bases.set_text(text_base);
    }
    let mut section = gimli::EhFrame::new(eh_frame, gimli::LittleEndian);
    // An instruction of that architecture says that return addresses are signed from there on.
    if cfg!(target_arch = "aarch64") {
        section.set_vendor(gimli::Vendor::AArch64);
    }
    let mut cies = BTreeMap::new();
    let mut rows = Vec::new();
    let mut functions = Vec::new();
    let mut skipped = 0;
    for offset in Entries::fdes(eh_frame) {
        let fde = entries::fde(&section, &bases, offset, &mut cies);
        let Some((fde, initial)) = fde.filter(|(fde, _)| {
            fde.initial_address() >= start
                && fde.initial_address() < end
                && fde.len() > 0
                && fde.len() <= end - fde.initial_address()
        }) else {
            skipped += 1;
            continue;
        };
        let first = (fde.initial_address() - base) as u32;
        let first_row = rows.len();
        if run(&section, &bases, &fde, initial, first, &mut rows).is_none() {
            // The rows before the fault stay valid.
            skipped += 1;
        }
        functions.push(Function {
            start: first,
            end: first + fde.len() as u32,
            rows: first_row..rows.len(),
        });
    }
    let rows = assemble(&mut functions, &rows);
    let index = index(&rows);
    Ok(Table {
        base,
        rows,
        index,
        skipped,
    })
}

/// The rows of all functions in order, with rows without information in the gaps between.
fn assemble(functions: &mut Vec<Function>, rows: &[Row]) -> Vec<Row> {
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    let mut out: Vec<Row> = Vec::with_capacity(rows.len() + functions.len() / 8 + 1);
    let mut push = |row: Row| match out.last() {
        Some(last) if last.has_same_rule(row) => {}
        _ => out.push(row),
    };
    for (at, function) in functions.iter().enumerate() {
        let next = functions.get(at + 1).map(|next| next.start);
        let end = next.map_or(function.end, |next| next.min(function.end));
        for row in rows.get(function.rows.clone()).unwrap_or_default() {
            if row.pc() < end {
                push(*row);
            }
        }
        if next != Some(end) {
            push(Row::new(end, Rule::NONE));
        }
    }
    out.shrink_to_fit();
    out
}

fn index(rows: &[Row]) -> Vec<u32> {
    let Some(last) = rows.last() else {
        return Vec::new();
    };
    let buckets = last.pc() / BUCKET_BYTES + 1;
    let mut index = Vec::with_capacity(buckets as usize + 1);
    let mut begun = 0;
    for bucket in 0..buckets {
        let first = bucket * BUCKET_BYTES;
        while rows.get(begun).is_some_and(|row| row.pc() < first) {
            begun += 1;
        }
        index.push(begun as u32);
    }
    index.push(rows.len() as u32);
    index
}

/// The parsed cies, kept for their fdes; `None` for one that cannot be read.
pub(crate) type Cies<'a> = BTreeMap<usize, Option<(Cie<'a>, Initial)>>;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
