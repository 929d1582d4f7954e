//! Modules in zip files: `app.pyz/package/module.py` is the entry `package/module.py` of the file
//! `app.pyz`.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::read::DeflateDecoder;

/// The list of entries ends with a record of 22 bytes and a comment of at most 64 KiB.
const END: usize = 22;
const LONGEST_COMMENT: usize = 0xffff;
/// A longer list of entries is not read.
const LONGEST_LIST: u64 = 64 << 20;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// An entry of at most this many bytes, if the archive is not newer than `began`.
pub(super) fn read(path: &Path, began: SystemTime, largest: u64) -> Option<Vec<u8>> {
    let (archive, name) = split(path)?;
    let modified = fs::metadata(&archive).ok()?.modified().ok()?;
    if modified > began {
        return None;
    }
    entry(&mut File::open(archive).ok()?, &name, largest)
}

/// The regular file on a path, and the name after it.
fn split(path: &Path) -> Option<(PathBuf, String)> {
    let archive = path.ancestors().skip(1).find(|path| path.exists())?;
    let name = path.strip_prefix(archive).ok()?.to_str()?.to_owned();
    archive.is_file().then(|| (archive.to_owned(), name))
}

fn entry(file: &mut File, name: &str, largest: u64) -> Option<Vec<u8>> {
    let size = file.metadata().ok()?.len();
    let tail = size.min((END + LONGEST_COMMENT) as u64);
    let bytes = part(file, size - tail, tail)?;
    let at = (bytes.windows(4)).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let end = &bytes[at..];
    let (list_size, list_start) = (u64::from(u32_at(end, 12)?), u64::from(u32_at(end, 16)?));
    if list_size > LONGEST_LIST {
        return None;
    }
    // A prefix, such as the `#!` line of a .pyz, shifts the whole archive.
    let list_at = (size - tail + at as u64).checked_sub(list_size)?;
    let moved = list_at.checked_sub(list_start)?;
    let list = part(file, list_at, list_size)?;
    let mut row = list.as_slice();
    while row.starts_with(b"PK\x01\x02") {
        let length = |at| Some(usize::from(u16_at(row, at)?));
        let (name_length, extra, comment) = (length(28)?, length(30)?, length(32)?);
        if row.get(46..46 + name_length)? == name.as_bytes() {
            let method = u16_at(row, 10)?;
            let packed = u64::from(u32_at(row, 20)?);
            let whole = u64::from(u32_at(row, 24)?);
            let header_at = moved.checked_add(u64::from(u32_at(row, 42)?))?;
            let header = part(file, header_at, 30)?;
            if !header.starts_with(b"PK\x03\x04") || packed.max(whole) > largest {
                return None;
            }
            let before = u64::from(u16_at(&header, 26)?) + u64::from(u16_at(&header, 28)?);
            let packed = part(file, header_at + 30 + before, packed)?;
            return unpacked(method, packed, whole);
        }
        row = row.get(46 + name_length + extra + comment..)?;
    }
    None
}

fn unpacked(method: u16, packed: Vec<u8>, whole: u64) -> Option<Vec<u8>> {
    let bytes = match method {
        STORED => packed,
        DEFLATED => {
            let mut bytes = Vec::new();
            let mut from = DeflateDecoder::new(packed.as_slice()).take(whole + 1);
            from.read_to_end(&mut bytes).ok()?;
            bytes
        }
        _ => return None,
    };
    (bytes.len() as u64 == whole).then_some(bytes)
}

/// A range of a file's bytes; `None` if the file is shorter.
fn part(file: &mut File, at: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
