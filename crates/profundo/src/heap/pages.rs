//! The chunks in each page: Julia's `Profile.take_page_profile`, for glibc's memory.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use profundo_capture::heap;
use profundo_ingest::graph::Type;
use profundo_scan::{Blocks, Chunk};

use super::types::types;
use crate::error::{Error, Result};

const PAGE: u64 = 4096;

/// Writes the contents of each page of the allocator's memory, as JSON: `{"pages": [{"address":
/// "0x…", "object_size": 48, "objects": ["empty", "garbage", "Box<u64>"]}, …]}`.
///
/// The allocator must be glibc's, behind [`Alloc`](crate::Alloc) that
/// [follows](crate::Alloc::following) all blocks. The objects of a page are the chunks that start
/// in it; a page in which none starts is left out. A free chunk is `empty`. A chunk is `garbage` if
/// glibc has it in use but the program's allocator has no block there (blocks of C libraries, and
/// glibc's own caches per thread). Others have their type. The size is that of all objects of the
/// page, or 0 where they differ. Large blocks with a mapping of their own are in no page.
pub fn take_page_profile(path: impl AsRef<Path>) -> Result<PathBuf> {
    let _excluded = heap::exclude_allocations();
    let path = path.as_ref();
    types();
    let mut copied = heap::copy()?;
    let types = types();
    let (blocks, _) = copied.blocks()?;
    let mut heaps = Vec::new();
    copied.each_heap(&mut |_, chunks| heaps.push(chunks.to_vec()))?;
    drop(copied);
    let has_block = |chunk: &&Chunk| !chunk.is_free && blocks.find(chunk.range.0).is_some();
    if !heaps.iter().flatten().any(|chunk| has_block(&chunk)) {
        return Err(Error::UnknownAllocator);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = write(&beside, &heaps, &blocks, &types).and_then(|()| fs::rename(&beside, path));
    if let Err(error) = written {
        // The first failure is reported; this one adds nothing.
        let _ = fs::remove_file(&beside);
        return Err(error.into());
    }
    Ok(path.to_owned())
}

fn write(path: &Path, heaps: &[Vec<Chunk>], blocks: &Blocks, types: &[Type]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    let mut out = BufWriter::new(file);
    out.write_all(b"{\"pages\": [")?;
    let mut separator = "\n";
    for chunks in heaps {
        for page in Pages(chunks) {
            write!(
                out,
                "{separator}{{\"address\": \"0x{:x}\",\"object_size\": {},\"objects\": [",
                page.address, page.size
            )?;
            separator = ",\n";
            for (index, chunk) in page.chunks.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                write!(out, "{comma}{}", quoted(name_of(chunk, blocks, types)))?;
            }
            out.write_all(b"]}")?;
        }
    }
    out.write_all(b"\n]}\n")?;
    out.flush()
}

fn name_of<'a>(chunk: &Chunk, blocks: &Blocks, types: &'a [Type]) -> &'a str {
    if chunk.is_free {
        return "empty";
    }
    // A block with a larger alignment starts behind the chunk's start.
    let inside = |index: usize| {
        let block = blocks.get(index)?;
        (chunk.range.0..chunk.range.1)
            .contains(&block.start)
            .then_some(block)
    };
    match inside(blocks.first_behind(chunk.range.0)) {
        Some(block) => types
            .get(block.whose as usize)
            .map_or("UnknownType", |ty| ty.name.as_str()),
        None => "garbage",
    }
}

/// The text as a JSON string. Types have no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A page and its chunks.
struct Page<'a> {
    address: u64,
    size: u64,
    chunks: &'a [Chunk],
}

/// Iterates over the pages of consecutive chunks.
struct Pages<'a>(&'a [Chunk]);

impl<'a> Pages<'a> {
    fn page_of(chunk: &Chunk) -> u64 {
        chunk.range.0 / PAGE * PAGE
    }
}

impl<'a> Iterator for Pages<'a> {
    type Item = Page<'a>;

    fn next(&mut self) -> Option<Page<'a>> {
        let first = self.0.first()?;
        let address = Self::page_of(first);
        let count = (self.0.iter())
            .take_while(|chunk| Self::page_of(chunk) == address)
            .count();
        let (chunks, rest) = self.0.split_at(count);
        self.0 = rest;
        // With its header.
        let size_of = |chunk: &Chunk| chunk.range.1 - chunk.range.0 + 16;
        let size = size_of(first);
        let is_same = chunks.iter().all(|chunk| size_of(chunk) == size);
        Some(Page {
            address,
            size: if is_same { size } else { 0 },
            chunks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(start: u64, size: u64, is_free: bool) -> Chunk {
        Chunk {
            range: (start + 16, start + size),
            is_free,
        }
    }

    #[test]
    fn chunks_are_in_the_page_in_which_they_begin() {
        let chunks = [
            chunk(0x1000, 0x20, false),
            chunk(0x1020, 0x20, true),
            chunk(0x1040, 0x20, false),
            chunk(0x1060, 0x3000, false),
            chunk(0x4060, 0x40, false),
            chunk(0x40a0, 0x40, false),
        ];
        let pages: Vec<_> = Pages(&chunks)
            .map(|page| (page.address, page.size, page.chunks.len()))
            .collect();
        assert_eq!(pages, [(0x1000, 0, 4), (0x4000, 0x40, 2)]);
    }

    #[test]
    fn objects_have_names() {
        let blocks = Blocks::new([profundo_scan::Block {
            start: 0x1010,
            size: 16,
            whose: 1,
        }]);
        let types = [Type::default(), Type::default()].map(|ty| Type {
            name: "a \"b\"".to_owned(),
            ..ty
        });
        let name = |start, is_free| name_of(&chunk(start, 0x20, is_free), &blocks, &types);
        assert_eq!(name(0x1000, false), "a \"b\"");
        assert_eq!(
            (name(0x1000, true), name(0x1020, false)),
            ("empty", "garbage")
        );
        assert_eq!(quoted(name(0x1000, false)), "\"a \\\"b\\\"\"");
    }
}
