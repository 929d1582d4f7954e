//! The bodies of a segment as they came, until the segment is in the spool.
//!
//! ```text
//! profundo-receive 1 NAME OF THE WRITER\n
//! record: length, 4 bytes ‖ CRC-32, 4 bytes ‖ so many bytes
//! ```
//!
//! A record is written by one call before its body is answered, and is not synced: it survives the
//! end of the process, and not a power cut. What stands behind a record that is not whole was not
//! answered.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use profundo_pushed::Arrived;

const MARK: &str = "profundo-receive 1 ";
const HEAD: usize = 8;

/// The journal of a segment.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    buffer: Vec<u8>,
}

impl Journal {
    /// A new journal of this number.
    pub(crate) fn create(folder: &Path, number: u64, name: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{number:016}"));
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        let head = format!("{MARK}{name}\n");
        file.write_all(head.as_bytes())?;
        Ok(Self {
            path,
            file,
            length: head.len() as u64,
            buffer: Vec::new(),
        })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a body.
    pub(crate) fn append(&mut self, arrived: &Arrived) -> io::Result<()> {
        let buffer = &mut self.buffer;
        buffer.clear();
        buffer.extend_from_slice(&[0; HEAD]);
        arrived.write(buffer);
        let length = (buffer.len() - HEAD) as u32;
        let sum = crc32fast::hash(&buffer[HEAD..]);
        buffer[..4].copy_from_slice(&length.to_le_bytes());
        buffer[4..HEAD].copy_from_slice(&sum.to_le_bytes());
        let written = self.file.write_all(buffer);
        if written.is_err() {
            // A part of it must not stand before the next one.
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            return written;
        }
        self.length += buffer.len() as u64;
        // One large body does not keep its memory.
        buffer.shrink_to(1 << 20);
        Ok(())
    }
}

/// A journal that another server has left.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
    /// The name of its writer; empty where it has nothing.
    pub(crate) name: String,
    pub(crate) bodies: Vec<Arrived>,
}

/// The journals in a folder, the oldest first: their paths and numbers.
pub(crate) fn left(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(number) = name.to_str().and_then(|name| name.parse().ok()) {
            found.push((entry.path(), number));
        }
    }
    found.sort_by_key(|&(_, number)| number);
    Ok(found)
}

/// Reads a journal to its end, or to the first record that is not whole.
pub(crate) fn read(path: PathBuf, number: u64) -> io::Result<Left> {
    let mut bytes = Vec::new();
    File::open(&path)?.read_to_end(&mut bytes)?;
    let bytes = Bytes::from(bytes);
    let mut left = Left {
        path,
        number,
        name: String::new(),
        bodies: Vec::new(),
    };
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
        return Ok(left);
    };
    let head = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    let Some(name) = head.strip_prefix(MARK) else {
        return Ok(left);
    };
    left.name = name.to_owned();
    let mut at = end + 1;
    while let Some((head, rest)) = bytes[at..].split_first_chunk::<HEAD>() {
        let [a, b, c, d, sum @ ..] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > rest.len() {
            break;
        }
        let record = bytes.slice(at + HEAD..at + HEAD + length);
        if crc32fast::hash(&record) != u32::from_le_bytes(sum) {
            break;
        }
        let Some(arrived) = Arrived::read(&record) else {
            break;
        };
        left.bodies.push(arrived);
        at += HEAD + length;
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use profundo_pushed::Route;

    use super::*;

    fn arrived(number: i64) -> Arrived {
        Arrived {
            route: Route::Pprof,
            at: number,
            query: String::new(),
            content_type: String::new(),
            encoding: String::new(),
            body: Bytes::from(vec![number as u8; 100]),
        }
    }

    #[test]
    fn whole_records_come_back_from_a_journal_that_was_cut() {
        let folder = profundo_testing::Folder::new("journal");
        let mut journal = Journal::create(folder.path(), 3, "host-1").unwrap();
        for number in 0..3 {
            journal.append(&arrived(number)).unwrap();
        }
        let found = left(folder.path()).unwrap();
        assert_eq!(found.len(), 1);
        let (path, number) = found[0].clone();
        let whole = read(path.clone(), number).unwrap();
        assert_eq!((whole.number, &whole.name[..]), (3, "host-1"));
        assert_eq!(whole.bodies, [arrived(0), arrived(1), arrived(2)]);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(read(path.clone(), 3).unwrap().bodies.len(), 2);
        let mut damaged = bytes;
        let middle = damaged.len() - 150;
        damaged[middle] ^= 1;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(read(path, 3).unwrap().bodies.len(), 1);
    }
}
