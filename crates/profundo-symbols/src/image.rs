//! An ELF file and its debug sections, found once and decompressed at most once, so that several
//! threads can parse the same file at the same time without copies.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gimli::{EndianSlice, RunTimeEndian};
use object::read::CompressedFileRange;
use object::{CompressionFormat, Object, ObjectSection};

use crate::Problem;
use crate::mmap::Bytes;

/// The readers' view of the debug sections.
pub(crate) type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// The best ratio of the compression formats; a section that claims more is damaged, and its claim
/// must not decide how much is allocated.
const MAX_RATIO: u64 = 1100;

/// A parsed ELF file.
#[derive(Debug)]
pub(crate) struct Image {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its build id, empty where there is none.
    pub(crate) build_id: Vec<u8>,
    bytes: Bytes,
    endian: RunTimeEndian,
    sections: Vec<DebugSection>,
}

#[derive(Debug)]
struct DebugSection {
    name: Box<str>,
    range: CompressedFileRange,
    decompressed: OnceLock<Vec<u8>>,
}

impl Image {
    /// Maps and parses the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Problem> {
        let bytes = Bytes::map(path).map_err(|error| Problem::FileGone {
            path: path.into(),
            kind: error.kind(),
        })?;
        Self::parse(path, bytes)
    }

    /// Parses `bytes`, which are the contents of `path`.
    pub(crate) fn parse(path: &Path, bytes: Bytes) -> Result<Self, Problem> {
        let damaged = |error: object::Error| Problem::NotElf {
            path: path.into(),
            reason: error.to_string().to_lowercase(),
        };
        let file = object::File::parse(&*bytes).map_err(damaged)?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        // A damaged note means an unknown build id, not an unreadable file.
        let build_id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
        let mut sections = Vec::new();
        for section in file.sections() {
            let Ok(name) = section.name() else { continue };
            // Older tools compress `.debug_info` under the name `.zdebug_info`.
            let name = match name.strip_prefix(".zdebug_") {
                Some(rest) => format!(".debug_{rest}"),
                None if name.starts_with(".debug_") => name.to_owned(),
                None => continue,
            };
            if let Ok(range) = section.compressed_file_range() {
                let decompressed = OnceLock::new();
                sections.push(DebugSection {
                    name: name.into(),
                    range,
                    decompressed,
                });
            }
        }
        Ok(Self {
            path: path.into(),
            build_id,
            endian,
            sections,
            bytes,
        })
    }

    /// The file's headers and symbols.
    pub(crate) fn object(&self) -> Option<object::File<'_>> {
        object::File::parse(&*self.bytes).ok()
    }

    /// All bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the file has debug information: complete, or the part that stays in the program
    /// where it is split.
    pub(crate) fn has_debug_info(&self) -> bool {
        !self.section(".debug_info").slice().is_empty()
    }

    /// Whether the file has its own full symbol table, so that no other file is needed.
    pub(crate) fn has_symbols(&self) -> bool {
        self.object()
            .is_some_and(|file| file.symbols().next().is_some())
    }

    /// A debug section's contents; empty where there is none or it is damaged.
    pub(crate) fn section(&self, name: &str) -> Reader<'_> {
        let section = self.sections.iter().find(|section| &*section.name == name);
        let contents = section
            .map(|section| section.contents(&self.bytes))
            .unwrap_or_default();
        EndianSlice::new(contents, self.endian)
    }

    /// An empty section of the same byte order.
    pub(crate) fn empty(&self) -> Reader<'_> {
        EndianSlice::new(&[], self.endian)
    }
}

impl DebugSection {
    fn contents<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        let Ok(data) = self.range.data(file) else {
            return &[];
        };
        if data.format == CompressionFormat::None {
            return data.data;
        }
        self.decompressed.get_or_init(|| {
            if data.uncompressed_size > (data.data.len() as u64).saturating_mul(MAX_RATIO) {
                return Vec::new();
            }
            data.decompress()
                .map(|bytes| bytes.into_owned())
                .unwrap_or_default()
        })
    }
}
