//! A snapshot of any writer: V8's (Chrome, Node), Julia's, ours. The snapshot itself describes its
//! numbers, so fields may stand in any order, and unknown ones are skipped.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use profundo_model::graph::{Columns, Graph, Odd};

use super::scan::Scan;
use super::sniff::is_heapsnapshot;
use crate::Error;
use crate::disk::failed;

/// The rows for which room is made beforehand if the file's size is unknown.
const UNSURE: u64 = 1 << 16;
/// The limit of lists of fields or kinds in a snapshot.
const MOST_NAMES: usize = 1 << 22;

/// Reads a heap snapshot, from a pipe too.
pub fn read(from: impl Read) -> Result<Graph, Error> {
    read_sized(from, None)
}

/// Reads the heap snapshot at `path`.
pub fn read_file(path: impl AsRef<Path>) -> Result<Graph, Error> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| failed("read", path, source))?;
    let metadata = file
        .metadata()
        .map_err(|source| failed("read", path, source))?;
    let size = metadata.is_file().then_some(metadata.len());
    read_sized(file, size).map_err(|error| match error {
        Error::Read(source) => failed("read", path, source),
        source => Error::Content {
            path: path.into(),
            source: Box::new(source),
        },
    })
}

/// The meaning of a snapshot's numbers.
#[derive(Default)]
struct Meta {
    node_fields: Vec<Box<str>>,
    edge_fields: Vec<Box<str>>,
    node_count: u64,
    edge_count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Kind,
    Name,
    Id,
    Size,
    Degree,
    Target,
    /// Not needed.
    Other,
}

fn read_sized(from: impl Read, size: Option<u64>) -> Result<Graph, Error> {
    let mut scan = Scan::new(from);
    let start = scan.ahead(4096)?;
    if !is_heapsnapshot(start) {
        return Err(Error::NotASnapshot);
    }
    if start.starts_with(b"\xef\xbb\xbf") {
        scan.pass(3);
    }
    let mut meta = None;
    let mut columns = Columns::default();
    let mut has = [false; 3];
    scan.members(|scan, key| {
        let (which, within) = match key {
            "nodes" => (0, "objects"),
            "edges" => (1, "references"),
            "strings" => (2, "texts"),
            "snapshot" => {
                scan.within = "preamble";
                meta = Some(read_meta(scan, &mut columns)?);
                return Ok(());
            }
            _ => {
                scan.within = "lesser tables";
                return scan.skip();
            }
        };
        scan.within = within;
        if std::mem::replace(&mut has[which], true) {
            return Err(scan.damaged(format!("there are two lists of {within}")));
        }
        let Some(meta) = &meta else {
            return Err(scan.damaged("the meaning of the numbers stands after them"));
        };
        match which {
            0 => read_nodes(scan, meta, size, &mut columns),
            1 => read_edges(scan, meta, size, &mut columns),
            _ => read_texts(scan, &mut columns),
        }
    })?;
    for (has, what) in has.into_iter().zip(["objects", "references", "texts"]) {
        if !has {
            return Err(scan.damaged(format!("there are no {what}")));
        }
    }
    let end = scan.offset();
    Graph::new(columns).map_err(|odd| Error::SnapshotDamaged {
        offset: end,
        what: describe(odd),
    })
}

fn read_meta<R: Read>(scan: &mut Scan<R>, columns: &mut Columns) -> Result<Meta, Error> {
    let mut meta = Meta::default();
    scan.members(|scan, key| match key {
        "meta" => scan.members(|scan, key| match key {
            "node_fields" => {
                meta.node_fields = names(scan)?;
                Ok(())
            }
            "edge_fields" => {
                meta.edge_fields = names(scan)?;
                Ok(())
            }
            "node_types" => {
                columns.node_kinds = first_names(scan)?;
                Ok(())
            }
            "edge_types" => {
                columns.edge_kinds = first_names(scan)?;
                Ok(())
            }
            _ => scan.skip(),
        }),
        "node_count" => {
            meta.node_count = scan.number()?;
            Ok(())
        }
        "edge_count" => {
            meta.edge_count = scan.number()?;
            Ok(())
        }
        _ => scan.skip(),
    })?;
    for (fields, wanted) in [
        (
            &meta.node_fields,
            &["type", "name", "id", "self_size", "edge_count"][..],
        ),
        (&meta.edge_fields, &["type", "name_or_index", "to_node"]),
    ] {
        if let Some(missing) = wanted
            .iter()
            .find(|wanted| !fields.iter().any(|field| **field == ***wanted))
        {
            return Err(scan.damaged(format!("no field is called {missing}")));
        }
    }
    if columns.edge_kinds.len() > 256 {
        return Err(scan.damaged("there are more than 256 kinds of references"));
    }
    Ok(meta)
}

/// The names in an array.
fn names<R: Read>(scan: &mut Scan<R>) -> Result<Vec<Box<str>>, Error> {
    let mut names = Vec::new();
    scan.each(b'[', b']', |scan| {
        let mut name = Vec::new();
        scan.string(|piece| name.extend_from_slice(piece))?;
        names.push(String::from_utf8_lossy(&name).into());
        match names.len() > MOST_NAMES {
            true => Err(scan.damaged("there is no end of names")),
            false => Ok(()),
        }
    })?;
    Ok(names)
}

/// The names in the first array of an array, the kinds: they are the first field of every known
/// writer, and in any other place they are the only array.
fn first_names<R: Read>(scan: &mut Scan<R>) -> Result<Vec<Box<str>>, Error> {
    let mut found = Vec::new();
    scan.each(b'[', b']', |scan| {
        if found.is_empty() && scan.peek()? == b'[' {
            found = names(scan)?;
            return Ok(());
        }
        scan.skip()
    })?;
    Ok(found)
}

fn read_nodes<R: Read>(
    scan: &mut Scan<R>,
    meta: &Meta,
    size: Option<u64>,
    columns: &mut Columns,
) -> Result<(), Error> {
    let fields = fields(&meta.node_fields, |name| match name {
        "type" => Field::Kind,
        "name" => Field::Name,
        "id" => Field::Id,
        "self_size" => Field::Size,
        "edge_count" => Field::Degree,
        _ => Field::Other,
    });
    let room = room(meta.node_count, fields.len(), size);
    columns.kinds.reserve_exact(room);
    columns.names.reserve_exact(room);
    columns.ids.reserve_exact(room);
    columns.sizes.reserve_exact(room);
    columns.degrees.reserve_exact(room);
    rows(scan, &fields, |scan, field, number| {
        match field {
            Field::Kind => columns.kinds.push(narrow(scan, number)?),
            Field::Name => columns.names.push(narrow(scan, number)?),
            Field::Id => columns.ids.push(number),
            Field::Size => columns.sizes.push(number),
            Field::Degree => columns.degrees.push(narrow(scan, number)?),
            Field::Target | Field::Other => {}
        }
        Ok(())
    })?;
    counted(scan, "objects", meta.node_count, columns.kinds.len())
}

fn read_edges<R: Read>(
    scan: &mut Scan<R>,
    meta: &Meta,
    size: Option<u64>,
    columns: &mut Columns,
) -> Result<(), Error> {
    let fields = fields(&meta.edge_fields, |name| match name {
        "type" => Field::Kind,
        "name_or_index" => Field::Name,
        "to_node" => Field::Target,
        _ => Field::Other,
    });
    let room = room(meta.edge_count, fields.len(), size);
    columns.edge_kind.reserve_exact(room);
    columns.labels.reserve_exact(room);
    columns.targets.reserve_exact(room);
    // A target is the position of an object's first number.
    let stride = meta.node_fields.len() as u64;
    rows(scan, &fields, |scan, field, number| {
        match field {
            Field::Kind => match u8::try_from(number) {
                Ok(kind) => columns.edge_kind.push(kind),
                Err(_) => return Err(too_large(scan, number)),
            },
            Field::Name => match u32::try_from(number) {
                Ok(label) if label < u32::MAX => columns.labels.push(label),
                _ => {
                    let row = narrow(scan, columns.labels.len() as u64)?;
                    columns.long_labels.insert(row, number);
                    columns.labels.push(u32::MAX);
                }
            },
            Field::Target => {
                if !number.is_multiple_of(stride) {
                    return Err(scan.damaged(format!(
                        "a reference leads to number {number}, where no object begins"
                    )));
                }
                columns.targets.push(narrow(scan, number / stride)?);
            }
            Field::Id | Field::Size | Field::Degree | Field::Other => {}
        }
        Ok(())
    })?;
    counted(scan, "references", meta.edge_count, columns.targets.len())
}

fn read_texts<R: Read>(scan: &mut Scan<R>, columns: &mut Columns) -> Result<(), Error> {
    scan.each(b'[', b']', |scan| {
        scan.string(|piece| columns.texts.extend(piece))?;
        columns.texts.end();
        Ok(())
    })
}

fn fields(names: &[Box<str>], field: fn(&str) -> Field) -> Vec<Field> {
    names.iter().map(|name| field(name)).collect()
}

/// Calls `take` with each number of an array and its meaning.
#[inline]
fn rows<R: Read>(
    scan: &mut Scan<R>,
    fields: &[Field],
    mut take: impl FnMut(&Scan<R>, Field, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    scan.expect(b'[')?;
    loop {
        for (index, field) in fields.iter().enumerate() {
            match scan.next_number()? {
                Some(number) => take(scan, *field, number)?,
                None if index == 0 => return Ok(()),
                None => return Err(scan.damaged("the last row is not whole")),
            }
        }
    }
}

fn narrow<R: Read>(scan: &Scan<R>, number: u64) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| too_large(scan, number))
}

#[cold]
fn too_large<R: Read>(scan: &Scan<R>, number: u64) -> Error {
    scan.damaged(format!("{number} is more than is possible there"))
}

/// A preamble may claim anything, but a row takes at least two characters a field.
fn room(claimed: u64, fields: usize, size: Option<u64>) -> usize {
    let most = match size {
        Some(size) => size / (2 * fields as u64),
        None => UNSURE,
    };
    usize::try_from(claimed.min(most)).unwrap_or(0)
}

/// Checks the counts of the preamble. Some writers leave them out.
fn counted<R: Read>(scan: &Scan<R>, what: &str, claimed: u64, found: usize) -> Result<(), Error> {
    match claimed == found as u64 || claimed == 0 {
        true => Ok(()),
        false => Err(scan.damaged(format!(
            "there are {found} {what}, and {claimed} are counted"
        ))),
    }
}

fn describe(odd: Odd) -> String {
    match odd {
        Odd::Empty => "there are no objects, not even a root".into(),
        Odd::Degrees { counted, found } => {
            format!("the objects count {counted} references, and there are {found}")
        }
        Odd::Kind(kind) => format!("kind {kind} has no name"),
        Odd::Name(name) => format!("text {name} is used and is not there"),
        Odd::Target(row) => format!("a reference leads to object {row}, which is not there"),
        _ => "a field comes twice".into(),
    }
}
