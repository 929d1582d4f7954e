//! Compiled tables on disk, by build id: compiling the interpreter's takes a tenth of a second,
//! and it is the same one tomorrow.
//!
//! Whatever goes wrong here, the table is compiled anew: nothing is an error.

use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use profundo_unwind::Row;

use super::file::Compiled;
use super::interpreter::RANGES;
use super::tables::{Place, Tables, index_bytes, row_bytes};

/// The folder's name holds the version of what is in it: of the compiler of tables, that is, too.
const FOLDER: &str = concat!("profundo/unwind/1-", env!("CARGO_PKG_VERSION"));

/// At more than this, the files that were not used for longest go.
const MOST_BYTES: u64 = 512 << 20;

const MAGIC: u64 = u64::from_le_bytes(*b"PFUNWND1");

/// The numbers before the rows: magic, checksum of all the rest, rows, entries of the index, base
/// and end of the code, whether it is Go's, and the ranges of the evaluation loop.
const HEAD: usize = 7 + 2 * RANGES;

/// The folder of compiled tables.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
    written: u64,
}

impl Cache {
    /// In `place`, or else the user's cache directory.
    pub(crate) fn open(place: Option<&Path>) -> Self {
        let folder = place.map(Path::to_owned).or_else(user_cache);
        let folder = folder.map(|folder| folder.join(FOLDER));
        let made = folder.filter(|folder| {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .is_ok()
        });
        Self {
            // Rows of another user's making would lead handlers astray.
            folder: made.filter(|folder| {
                fs::metadata(folder).is_ok_and(|data| data.uid() == crate::sys::user())
            }),
            written: 0,
        }
    }

    fn file(&self, build_id: &[u8]) -> Option<PathBuf> {
        if build_id.is_empty() || build_id.len() > 64 {
            return None;
        }
        let name: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.folder.as_ref()?.join(name))
    }

    /// Puts a table that was kept into `tables`.
    pub(crate) fn load(&self, build_id: &[u8], tables: &mut Tables) -> Option<Compiled> {
        let mut file = File::open(self.file(build_id)?).ok()?;
        let mut bytes = [0; HEAD * 8];
        file.read_exact(&mut bytes).ok()?;
        let mut numbers = [0_u64; HEAD];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        let [
            magic,
            checksum,
            rows,
            entries,
            base,
            end,
            is_go,
            ranges @ ..,
        ] = numbers;
        let length = file.metadata().ok()?.len();
        let body = rows.checked_mul(Row::BYTES as u64)? + entries.checked_mul(4)?;
        if magic != MAGIC || length != body + bytes.len() as u64 {
            return None;
        }
        let mut hash = crc32fast::Hasher::new();
        hash.update(bytes.get(16..)?);
        let place = tables.add(rows as usize, entries as usize, |out| {
            let read = file.read_exact(out).is_ok();
            hash.update(out);
            read && u64::from(hash.finalize()) == checksum
        })?;
        Some(Compiled {
            place: Some(place),
            base,
            end,
            evaluation: ranges
                .chunks_exact(2)
                .filter(|pair| pair[1] > pair[0])
                .map(|pair| (pair[0], pair[1]))
                .collect(),
            is_go: is_go != 0,
        })
    }

    /// Keeps a table.
    pub(crate) fn keep(&mut self, build_id: &[u8], compiled: &Compiled, tables: &Tables) {
        let (Some(path), Some(place)) = (self.file(build_id), compiled.place) else {
            return;
        };
        if let Some(bytes) = write(&path, compiled, place, tables) {
            self.written += bytes;
        }
    }

    /// Makes room, if something was written.
    pub(crate) fn tidy(&mut self) {
        if let Some(folder) = self.folder.as_deref().filter(|_| self.written > 0) {
            shrink(folder);
            self.written = 0;
        }
    }
}

fn write(path: &Path, compiled: &Compiled, place: Place, tables: &Tables) -> Option<u64> {
    let table = tables.get(place, 0);
    let mut numbers = [0_u64; HEAD];
    let first = [
        MAGIC,
        0,
        table.rows.len() as u64,
        table.index.len() as u64,
        compiled.base,
        compiled.end,
        u64::from(compiled.is_go),
    ];
    let ranges = compiled.evaluation.iter().flat_map(|&(a, b)| [a, b]);
    for (to, from) in numbers.iter_mut().zip(first.into_iter().chain(ranges)) {
        *to = from;
    }
    let mut head: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut hash = crc32fast::Hasher::new();
    hash.update(head.get(16..)?);
    hash.update(row_bytes(table.rows));
    hash.update(index_bytes(table.index));
    let checksum = u64::from(hash.finalize()).to_le_bytes();
    head.get_mut(8..16)?.copy_from_slice(&checksum);
    // Another command may write the same file: each writes its own, and the last one stays.
    let draft = path.with_extension(format!("{}", std::process::id()));
    let fill = || -> std::io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(&head)?;
        file.write_all(row_bytes(table.rows))?;
        file.write_all(index_bytes(table.index))?;
        fs::rename(&draft, path)
    };
    if fill().is_err() {
        let _ = fs::remove_file(&draft);
        return None;
    }
    Some((head.len() + size_of_val(table.rows) + size_of_val(table.index)) as u64)
}

fn user_cache() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// Removes the files that were not used for longest, until the rest is small enough.
fn shrink(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let data = entry.metadata().ok()?;
            let used = data.accessed().or_else(|_| data.modified()).ok()?;
            data.is_file().then(|| (used, data.len(), entry.path()))
        })
        .collect();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    files.sort();
    for (_, length, path) in files {
        if bytes <= MOST_BYTES {
            return;
        }
        if fs::remove_file(path).is_ok() {
            bytes -= length;
        }
    }
}
