//! The four part files, written as objects and references come.
//!
//! ```text
//! P.nodes          kind u8 │ name u64 │ id u64 │ size u64 │ trace node u64 (0) │ detached u8 (0)   34 bytes
//! P.edges          kind u8 │ name or index u64 │ from u64 │ to u64                                 25 bytes
//! P.strings        length u64 │ bytes
//! P.metadata.json  the preamble, written last: without it, the snapshot is not whole
//! ```
//!
//! Numbers are in the machine's byte order and nothing is padded. With more than 256 kinds, `kind`
//! is a u32 in both files (37 and 28 bytes), and earlier rows are written again; a reader
//! distinguishes the two forms by the files' sizes.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use profundo_model::graph::{EdgeKindId, Label, NameId, NodeId, NodeKindId, REDACTED, Sink};
use rustc_hash::FxHashMap;

use super::kinds::Kinds;
use super::{ENDINGS, NARROW, WIDE, meta, part, remove_parts};
use crate::Error;
use crate::disk::failed;

/// The most kinds whose numbers fit in a byte.
const NARROW_KINDS: usize = 256;
/// The limits of remembered names, by number and length, so that their memory is bounded.
const REMEMBERED: usize = 1 << 19;
const LONGEST_REMEMBERED: usize = 256;

/// The contents of a string are cut like V8's: a few long ones would exceed DevTools' limit.
const LONGEST_CONTENT: usize = 1024;

/// The contents to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether the contents of the program's strings are left out.
    pub redact: bool,
    /// Whether every object counts as one byte, so that sizes become numbers of objects.
    pub all_one: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            redact: true,
            all_one: false,
        }
    }
}

/// Writes the part files of a snapshot. Dropped before [`Parts::finish`], it removes them.
#[derive(Debug)]
pub struct Parts {
    prefix: PathBuf,
    options: Options,
    nodes: BufWriter<File>,
    edges: BufWriter<File>,
    strings: BufWriter<File>,
    node_kinds: Kinds,
    edge_kinds: Kinds,
    is_wide: bool,
    node_count: u64,
    edge_count: u64,
    name_count: u32,
    names: FxHashMap<Box<[u8]>, NameId>,
    is_finished: bool,
}

impl Parts {
    /// Creates the files `prefix.nodes` and so on, for the owner alone (mode 0600). Former ones are
    /// lost.
    pub fn create(prefix: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        let prefix = prefix.as_ref();
        remove_parts(prefix)?;
        let begun = Self::begin(prefix, options);
        if begun.is_err() {
            let _ = remove_parts(prefix);
        }
        begun
    }

    fn begin(prefix: &Path, options: Options) -> Result<Self, Error> {
        let file = |ending| new_file(&part(prefix, ending));
        Ok(Self {
            nodes: file(ENDINGS[0])?,
            edges: file(ENDINGS[1])?,
            strings: file(ENDINGS[2])?,
            prefix: prefix.into(),
            options,
            node_kinds: Kinds::default(),
            edge_kinds: Kinds::default(),
            is_wide: false,
            node_count: 0,
            edge_count: 0,
            name_count: 0,
            names: FxHashMap::default(),
            is_finished: false,
        })
    }

    /// Writes the buffered rest, and the preamble: from now on the files are a snapshot.
    pub fn finish(mut self) -> Result<(), Error> {
        let prefix = &self.prefix;
        for (file, ending) in [&mut self.nodes, &mut self.edges, &mut self.strings]
            .into_iter()
            .zip(ENDINGS)
        {
            file.flush()
                .map_err(|source| failed("write", &part(prefix, ending), source))?;
        }
        let path = part(prefix, ENDINGS[3]);
        let mut out = new_file(&path)?;
        meta::write(
            &mut out,
            &self.node_kinds,
            &self.edge_kinds,
            self.node_count,
            self.edge_count,
        )
        .and_then(|()| out.flush())
        .map_err(|source| failed("write", &path, source))?;
        self.is_finished = true;
        Ok(())
    }

    /// The number of objects so far.
    pub fn node_count(&self) -> u64 {
        self.node_count
    }

    /// The number of references so far.
    pub fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn string(&mut self, text: &[u8]) -> Result<NameId, Error> {
        let id = NameId(self.name_count);
        self.name_count = next(self.name_count, "texts")?;
        self.strings
            .write_all(&(text.len() as u64).to_ne_bytes())
            .and_then(|()| self.strings.write_all(text))
            .map_err(|source| failed("write", &part(&self.prefix, ENDINGS[2]), source))?;
        Ok(id)
    }

    /// Writes both files again with four bytes for the kind in place of one.
    fn widen(&mut self) -> Result<(), Error> {
        self.nodes = widened(
            &mut self.nodes,
            &part(&self.prefix, ENDINGS[0]),
            NARROW.node,
        )?;
        self.edges = widened(
            &mut self.edges,
            &part(&self.prefix, ENDINGS[1]),
            NARROW.edge,
        )?;
        self.is_wide = true;
        Ok(())
    }
}

impl Sink for Parts {
    type Error = Error;

    fn node_kind(&mut self, name: &str) -> Result<NodeKindId, Error> {
        let number = self.node_kinds.number(name);
        if self.node_kinds.len() > NARROW_KINDS && !self.is_wide {
            self.widen()?;
        }
        Ok(NodeKindId(number))
    }

    fn edge_kind(&mut self, name: &str) -> Result<EdgeKindId, Error> {
        let number = self.edge_kinds.number(name);
        if self.edge_kinds.len() > NARROW_KINDS && !self.is_wide {
            self.widen()?;
        }
        Ok(EdgeKindId(number))
    }

    fn name(&mut self, text: &[u8]) -> Result<NameId, Error> {
        if let Some(&id) = self.names.get(text) {
            return Ok(id);
        }
        let id = self.string(text)?;
        if self.names.len() < REMEMBERED && text.len() <= LONGEST_REMEMBERED {
            self.names.insert(text.into(), id);
        }
        Ok(id)
    }

    fn content(&mut self, text: &[u8]) -> Result<NameId, Error> {
        match self.options.redact {
            true => self.name(REDACTED),
            false => self.string(cut(text)),
        }
    }

    fn node(
        &mut self,
        kind: NodeKindId,
        name: NameId,
        id: u64,
        size: u64,
    ) -> Result<NodeId, Error> {
        // The last number is unused: it stands for "no object" in tables.
        let row = u32::try_from(self.node_count).map_or(u32::MAX, |row| row);
        next(row, "objects")?;
        let size = if self.options.all_one { 1 } else { size };
        let mut bytes = [0; WIDE.node];
        bytes[..4].copy_from_slice(&kind.0.to_ne_bytes());
        bytes[4..12].copy_from_slice(&u64::from(name.0).to_ne_bytes());
        bytes[12..20].copy_from_slice(&id.to_ne_bytes());
        bytes[20..28].copy_from_slice(&size.to_ne_bytes());
        write_row(&mut self.nodes, &mut bytes, self.is_wide, kind.0)
            .map_err(|source| failed("write", &part(&self.prefix, ENDINGS[0]), source))?;
        self.node_count += 1;
        Ok(NodeId(row))
    }

    fn edge(
        &mut self,
        kind: EdgeKindId,
        label: Label,
        from: NodeId,
        to: NodeId,
    ) -> Result<(), Error> {
        let label = match label {
            Label::Name(name) => u64::from(name.0),
            Label::Index(index) => index,
        };
        let mut bytes = [0; WIDE.edge];
        bytes[..4].copy_from_slice(&kind.0.to_ne_bytes());
        bytes[4..12].copy_from_slice(&label.to_ne_bytes());
        bytes[12..20].copy_from_slice(&u64::from(from.0).to_ne_bytes());
        bytes[20..].copy_from_slice(&u64::from(to.0).to_ne_bytes());
        write_row(&mut self.edges, &mut bytes, self.is_wide, kind.0)
            .map_err(|source| failed("write", &part(&self.prefix, ENDINGS[1]), source))?;
        self.edge_count += 1;
        Ok(())
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if !self.is_finished {
            // A half file that could not be removed cannot be reported any more.
            let _ = remove_parts(&self.prefix);
        }
    }
}

/// Writes a row that was laid out with a kind of four bytes.
fn write_row(
    out: &mut BufWriter<File>,
    bytes: &mut [u8],
    is_wide: bool,
    kind: u32,
) -> std::io::Result<()> {
    if is_wide {
        return out.write_all(bytes);
    }
    // A narrow row has the kind in the byte before the rest.
    bytes[3] = kind as u8;
    out.write_all(&bytes[3..])
}

/// The beginning of a long text, no shorter than the limit, and without half a character at its
/// end.
fn cut(text: &[u8]) -> &[u8] {
    let is_inside = |byte: &u8| byte & 0xc0 == 0x80;
    match text.get(LONGEST_CONTENT..) {
        None => text,
        Some(rest) => {
            let more = rest
                .iter()
                .take(3)
                .take_while(|byte| is_inside(byte))
                .count();
            &text[..LONGEST_CONTENT + more]
        }
    }
}

fn next(count: u32, what: &'static str) -> Result<u32, Error> {
    count.checked_add(1).ok_or(Error::TooMany { what })
}

fn new_file(path: &Path) -> Result<BufWriter<File>, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(file) => Ok(BufWriter::with_capacity(1 << 16, file)),
        Err(source) => Err(failed("create", path, source)),
    }
}

/// The file at `path`, whose rows are `narrow` bytes long, with three more bytes for each kind.
fn widened(
    out: &mut BufWriter<File>,
    path: &Path,
    narrow: usize,
) -> Result<BufWriter<File>, Error> {
    let failed = |source| failed("write", path, source);
    out.flush().map_err(failed)?;
    let mut old = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    // The old file stays readable through its handle when its name is reused.
    fs::remove_file(path).map_err(failed)?;
    let mut wide = new_file(path)?;
    let mut row = vec![0; narrow];
    while !old.fill_buf().map_err(failed)?.is_empty() {
        old.read_exact(&mut row).map_err(failed)?;
        wide.write_all(&u32::from(row[0]).to_ne_bytes())
            .and_then(|()| wide.write_all(&row[1..]))
            .map_err(failed)?;
    }
    Ok(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        for (text, expected) in [
            ("a".repeat(1023), 1023),
            ("a".repeat(1024), 1024),
            ("a".repeat(5000), 1024),
            ("a".to_owned() + &"é".repeat(5000), 1025),
            ("😀".repeat(5000), 1024),
            ("abc".to_owned() + &"😀".repeat(5000), 1027),
        ] {
            let cut = cut(text.as_bytes());
            assert_eq!(cut.len(), expected);
            assert!(text.starts_with(std::str::from_utf8(cut).unwrap()));
        }
        // Other bytes are cut, too.
        assert_eq!(cut(&[0x80; 5000]).len(), 1027);
    }
}
