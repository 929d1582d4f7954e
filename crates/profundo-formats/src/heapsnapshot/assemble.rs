//! Joining the part files: references are grouped by their holder, by counting, because the format
//! stores the number of references of each object.
//!
//! In memory are a count for each object and a bounded number of references; if there are more,
//! their file is read again for the next objects. Nothing appears at the place of the snapshot
//! before it is whole.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use rustc_hash::FxHashMap;

use super::{ENDINGS, NARROW, WIDE, Width, meta, part, text};
use crate::Error;
use crate::disk::{failed, write_whole};

/// The number of references sorted at a time: some 600 MB.
const MOST_HELD: u64 = 1 << 26;
/// An object's row is emitted as the place of its first number.
const FIELDS: u64 = 7;
/// Text is copied in pieces of this size.
const PIECE: usize = 1 << 16;
/// Marks a label that is kept elsewhere because it does not fit.
const LONG_LABEL: u32 = u32::MAX;
/// The members between references and texts. Chrome reads them in this order only.
const EMPTY_TABLES: &[u8] =
    b"],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[";

/// The sizes of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Objects.
    pub nodes: u64,
    /// References.
    pub edges: u64,
    /// Texts.
    pub strings: u64,
    /// The bytes of all texts. Beyond some 500 MB, DevTools cannot open the snapshot: they are one
    /// string to it.
    pub string_bytes: u64,
}

/// Makes `out` of the part files at `prefix`.
///
/// A former file at `out` stays there until the snapshot is whole, and for good if it cannot be
/// made.
pub fn assemble(prefix: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Counts, Error> {
    assemble_in(prefix.as_ref(), out.as_ref(), MOST_HELD)
}

fn assemble_in(prefix: &Path, out: &Path, most_held: u64) -> Result<Counts, Error> {
    let parts = Parted::open(prefix)?;
    let degrees = parts.degrees()?;
    write_whole(out, |out| parts.write(&degrees, most_held, out))
}

/// The parts of one snapshot, and the layout of their rows.
struct Parted<'a> {
    prefix: &'a Path,
    preamble: Vec<u8>,
    nodes: u32,
    edges: u64,
    /// The bytes of a kind: one or four.
    node_kind: usize,
    edge_kind: usize,
}

/// A reference, without its holder.
#[derive(Clone, Copy, Default)]
struct Held {
    kind: u32,
    label: u32,
    to: u32,
}

impl<'a> Parted<'a> {
    fn open(prefix: &'a Path) -> Result<Self, Error> {
        let path = part(prefix, ENDINGS[3]);
        let mut preamble = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(1 << 28).read_to_end(&mut preamble))
            .map_err(|source| failed("read", &path, source))?;
        // The last brace is that of the whole document.
        let end = preamble.trim_ascii_end().len();
        preamble.truncate(end);
        let (Some(nodes), Some(edges), Some(b'}')) = (
            meta::count(&preamble, "node_count"),
            meta::count(&preamble, "edge_count"),
            preamble.pop(),
        ) else {
            return Err(damaged(prefix, ENDINGS[3], "has no counts or no end"));
        };
        let nodes = u32::try_from(nodes).map_err(|_| Error::TooMany { what: "objects" })?;
        Ok(Self {
            node_kind: kind_width(prefix, ENDINGS[0], u64::from(nodes), |width| width.node)?,
            edge_kind: kind_width(prefix, ENDINGS[1], edges, |width| width.edge)?,
            prefix,
            preamble,
            nodes,
            edges,
        })
    }

    /// Counts the references of each object; each but the first must be referred to.
    fn degrees(&self) -> Result<Vec<u32>, Error> {
        let count = self.nodes as usize;
        let mut degrees = vec![0_u32; count];
        let mut is_orphan = vec![true; count];
        self.each_edge(|from, _, to| {
            degrees[from as usize] = degrees[from as usize].saturating_add(1);
            is_orphan[to as usize] = false;
        })?;
        let orphans = is_orphan.iter().skip(1).filter(|orphan| **orphan).count();
        if orphans > 0 {
            return Err(Error::Orphans {
                orphans,
                first: is_orphan
                    .iter()
                    .skip(1)
                    .position(|orphan| *orphan)
                    .unwrap_or(0)
                    + 1,
            });
        }
        Ok(degrees)
    }

    fn write(
        &self,
        degrees: &[u32],
        most_held: u64,
        out: &mut impl Write,
    ) -> Result<Counts, Error> {
        out.write_all(&self.preamble).map_err(Error::Write)?;
        out.write_all(b",\n\"nodes\":[").map_err(Error::Write)?;
        let most_name = self.write_nodes(degrees, out)?;
        out.write_all(b"],\n\"edges\":[").map_err(Error::Write)?;
        let mut first = 0;
        while first < degrees.len() {
            let mut held = u64::from(degrees[first]);
            let mut end = first + 1;
            while end < degrees.len() && held + u64::from(degrees[end]) <= most_held {
                held += u64::from(degrees[end]);
                end += 1;
            }
            if held > 0 {
                self.write_edges(degrees, first, end, held, out)?;
            }
            first = end;
        }
        out.write_all(EMPTY_TABLES).map_err(Error::Write)?;
        let (strings, string_bytes) = self.write_strings(out)?;
        out.write_all(b"]}\n").map_err(Error::Write)?;
        if most_name.is_some_and(|most| most >= strings) {
            return Err(damaged(self.prefix, ENDINGS[2], TRUNCATED_STRINGS));
        }
        Ok(Counts {
            nodes: u64::from(self.nodes),
            edges: self.edges,
            strings,
            string_bytes,
        })
    }

    /// Writes the objects; returns the highest number of a name.
    fn write_nodes(&self, degrees: &[u32], out: &mut impl Write) -> Result<Option<u64>, Error> {
        let mut rows = Rows::open(self.prefix, ENDINGS[0], self.node_kind, NARROW.node)?;
        let mut piece = Vec::with_capacity(PIECE + 256);
        let mut most_name = None;
        for (index, degree) in degrees.iter().enumerate() {
            let (kind, row) = rows.next()?;
            let name = number(row, 0);
            most_name = most_name.max(Some(name));
            if index > 0 {
                piece.push(b',');
            }
            for value in [
                u64::from(kind),
                name,
                number(row, 8),
                number(row, 16),
                u64::from(*degree),
            ] {
                text::decimal(&mut piece, value);
                piece.push(b',');
            }
            text::decimal(&mut piece, number(row, 24));
            piece.push(b',');
            text::decimal(&mut piece, u64::from(row[32]));
            piece.push(b'\n');
            hand_on(&mut piece, out, PIECE)?;
        }
        hand_on(&mut piece, out, 1)?;
        Ok(most_name)
    }

    /// Writes the references of the objects `first..end`, of which there are `count`.
    fn write_edges(
        &self,
        degrees: &[u32],
        first: usize,
        end: usize,
        count: u64,
        out: &mut impl Write,
    ) -> Result<(), Error> {
        let count = usize::try_from(count).map_err(|_| Error::TooMany { what: "references" })?;
        let mut places: Vec<usize> = Vec::with_capacity(end - first);
        let mut place = 0;
        for degree in &degrees[first..end] {
            places.push(place);
            place += *degree as usize;
        }
        let mut held = vec![Held::default(); count];
        let mut long_labels = FxHashMap::default();
        self.each_edge(|from, edge, to| {
            let from = from as usize;
            if !(first..end).contains(&from) {
                return;
            }
            let place = &mut places[from - first];
            let label = u32::try_from(edge.label).unwrap_or(LONG_LABEL);
            if label == LONG_LABEL {
                long_labels.insert(*place, edge.label);
            }
            held[*place] = Held {
                kind: edge.kind,
                label,
                to,
            };
            *place += 1;
        })?;
        let mut piece = Vec::with_capacity(PIECE + 256);
        let mut is_first = degrees[..first].iter().all(|degree| *degree == 0);
        for (place, edge) in held.iter().enumerate() {
            if !is_first {
                piece.push(b',');
            }
            is_first = false;
            let label = match edge.label {
                LONG_LABEL => long_labels[&place],
                label => u64::from(label),
            };
            text::decimal(&mut piece, u64::from(edge.kind));
            piece.push(b',');
            text::decimal(&mut piece, label);
            piece.push(b',');
            text::decimal(&mut piece, u64::from(edge.to) * FIELDS);
            piece.push(b'\n');
            hand_on(&mut piece, out, PIECE)?;
        }
        hand_on(&mut piece, out, 1)
    }

    /// Copies the texts; returns their number and their total length.
    fn write_strings(&self, out: &mut impl Write) -> Result<(u64, u64), Error> {
        let path = part(self.prefix, ENDINGS[2]);
        let failed = |source| failed("read", &path, source);
        let file = File::open(&path).map_err(failed)?;
        let mut left = file.metadata().map_err(failed)?.len();
        let mut file = BufReader::with_capacity(PIECE, file);
        let (mut strings, mut string_bytes) = (0, 0);
        let mut bytes = Vec::new();
        while left > 0 {
            let mut length = [0; 8];
            let is_cut = left < 8 || {
                file.read_exact(&mut length).map_err(failed)?;
                left -= 8;
                u64::from_ne_bytes(length) > left
            };
            if is_cut {
                return Err(damaged(self.prefix, ENDINGS[2], TRUNCATED_STRINGS));
            }
            let length = u64::from_ne_bytes(length);
            left -= length;
            string_bytes += length;
            bytes.clear();
            // It is no longer than the file.
            (&mut file)
                .take(length)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            let comma: &[u8] = if strings > 0 { b",\n" } else { b"" };
            out.write_all(comma).map_err(Error::Write)?;
            text::string(out, &bytes).map_err(Error::Write)?;
            strings += 1;
        }
        Ok((strings, string_bytes))
    }

    /// Calls `each` with the rows that a reference leads from and to.
    fn each_edge(&self, mut each: impl FnMut(u32, Edge, u32)) -> Result<(), Error> {
        let mut rows = Rows::open(self.prefix, ENDINGS[1], self.edge_kind, NARROW.edge)?;
        for _ in 0..self.edges {
            let (kind, row) = rows.next()?;
            let label = number(row, 0);
            let within = |row: u64| u32::try_from(row).ok().filter(|row| *row < self.nodes);
            let (Some(from), Some(to)) = (within(number(row, 8)), within(number(row, 16))) else {
                return Err(damaged(
                    self.prefix,
                    ENDINGS[1],
                    "points at an object that is not there",
                ));
            };
            each(from, Edge { kind, label }, to);
        }
        Ok(())
    }
}

struct Edge {
    kind: u32,
    label: u64,
}

const TRUNCATED_STRINGS: &str = "is cut (truncated strings file)";

/// Rows of a part file.
struct Rows<'a> {
    file: BufReader<File>,
    prefix: &'a Path,
    ending: &'static str,
    kind: usize,
    row: Vec<u8>,
}

impl<'a> Rows<'a> {
    fn open(
        prefix: &'a Path,
        ending: &'static str,
        kind: usize,
        narrow: usize,
    ) -> Result<Self, Error> {
        let path = part(prefix, ending);
        let file = File::open(&path).map_err(|source| failed("read", &path, source))?;
        Ok(Self {
            file: BufReader::with_capacity(1 << 20, file),
            prefix,
            ending,
            kind,
            row: vec![0; narrow - 1 + kind],
        })
    }

    /// The kind of the next row, and the rest of it.
    fn next(&mut self) -> Result<(u32, &[u8]), Error> {
        self.file
            .read_exact(&mut self.row)
            .map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => damaged(self.prefix, self.ending, "is cut"),
                _ => failed("read", &part(self.prefix, self.ending), source),
            })?;
        let (kind, rest) = self.row.split_at(self.kind);
        let kind = match kind {
            [a, b, c, d] => u32::from_ne_bytes([*a, *b, *c, *d]),
            _ => u32::from(kind[0]),
        };
        Ok((kind, rest))
    }
}

/// Whether the rows have kinds of one byte or of four, judged by the size of the file.
fn kind_width(
    prefix: &Path,
    ending: &'static str,
    rows: u64,
    of: fn(&Width) -> usize,
) -> Result<usize, Error> {
    let path = part(prefix, ending);
    let metadata = std::fs::metadata(&path).map_err(|source| failed("read", &path, source))?;
    let is = |width: &Width| rows.checked_mul(of(width) as u64) == Some(metadata.len());
    match (is(&NARROW), is(&WIDE)) {
        (true, _) => Ok(1),
        (false, true) => Ok(4),
        (false, false) => Err(damaged(
            prefix,
            ending,
            "is not as long as its number of rows wants: it is cut",
        )),
    }
}

fn number(row: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&row[at..at + 8]);
    u64::from_ne_bytes(bytes)
}

fn hand_on(piece: &mut Vec<u8>, out: &mut impl Write, least: usize) -> Result<(), Error> {
    if piece.len() >= least {
        out.write_all(piece).map_err(Error::Write)?;
        piece.clear();
    }
    Ok(())
}

fn damaged(prefix: &Path, ending: &str, what: &'static str) -> Error {
    Error::Part {
        path: part(prefix, ending),
        what,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use profundo_model::graph::{Label, NodeId, Sink};

    use super::*;
    use crate::heapsnapshot::{Options, Parts, remove_parts};

    #[test]
    fn references_that_are_sorted_in_turns_come_out_the_same() {
        let prefix = std::env::temp_dir().join(format!("profundo-turns-{}", std::process::id()));
        let mut parts = Parts::create(&prefix, Options::default()).unwrap();
        let kind = parts.node_kind("object").unwrap();
        let element = parts.edge_kind("element").unwrap();
        let name = parts.name(b"").unwrap();
        let objects: u32 = 50;
        for row in 0..objects {
            parts.node(kind, name, u64::from(row) + 1, 8).unwrap();
        }
        // The first objects have none, one has many, and they come in no order.
        for index in 0..u64::from(objects) * 7 {
            let from = 3 + (index * 31 % 47) as u32 % 40;
            let to = NodeId((index % u64::from(objects)) as u32);
            let label = Label::Index(index << 30);
            parts.edge(element, label, NodeId(from), to).unwrap();
        }
        parts.finish().unwrap();
        let at_once = prefix.with_extension("once");
        let in_turns = prefix.with_extension("turns");
        assemble_in(&prefix, &at_once, MOST_HELD).unwrap();
        assemble_in(&prefix, &in_turns, 20).unwrap();
        let same = fs::read(&at_once).unwrap() == fs::read(&in_turns).unwrap();
        remove_parts(&prefix).unwrap();
        for path in [at_once, in_turns] {
            fs::remove_file(path).unwrap();
        }
        assert!(same);
    }
}
