//! Perf maps: `START SIZE NAME` in each line, both numbers in hexadecimal. The file only grows, and
//! of two lines for one address the later one holds; some programs start the file anew.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::code::{At, Change, Code, name_of};

/// The longest line that is read.
const LONGEST_LINE: usize = 1 << 16;

/// The state of a perf map's reader.
#[derive(Debug, Default)]
pub struct PerfMap {
    /// The beginning of a line whose end was not written yet.
    rest: Vec<u8>,
    /// True if the rest of an over-long line is being skipped.
    skips: bool,
    /// The last report of each start: the size and a hash of the name.
    reported: FxHashMap<u64, (u64, u64)>,
    /// True if the file was started anew, so that lines may repeat.
    is_restarted: bool,
}

impl PerfMap {
    /// The file was cut, or replaced: its beginning follows.
    pub fn restart(&mut self) {
        self.rest.clear();
        self.skips = false;
        self.is_restarted = true;
    }

    /// Takes in the next piece of the file. Its code is newer than `since`.
    pub fn feed(&mut self, bytes: &[u8], since: At, out: &mut Vec<Change>) {
        let mut pieces = bytes.split(|&byte| byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            if std::mem::take(&mut self.skips) {
                self.rest.clear();
                continue;
            }
            if self.rest.is_empty() {
                self.line(piece, since, out);
            } else {
                let mut line = std::mem::take(&mut self.rest);
                line.extend_from_slice(piece);
                self.line(&line, since, out);
            }
        }
        if self.rest.len() + last.len() > LONGEST_LINE {
            self.rest.clear();
            self.skips = true;
        } else if !self.skips {
            self.rest.extend_from_slice(last);
        }
    }

    /// The file is at its end: an unterminated line is complete.
    pub fn finish(&mut self, since: At, out: &mut Vec<Change>) {
        let line = std::mem::take(&mut self.rest);
        self.line(&line, since, out);
    }

    fn line(&mut self, line: &[u8], since: At, out: &mut Vec<Change>) {
        let Some((start, size, name)) = fields(line) else {
            return;
        };
        let mut hasher = FxHasher::default();
        name.hash(&mut hasher);
        let report = (size, hasher.finish());
        let before = self.reported.insert(start, report);
        if self.is_restarted && before == Some(report) {
            return;
        }
        out.push(Change::Loaded(Code {
            start,
            size,
            name: name_of(name),
            since,
            lines: Default::default(),
        }));
    }
}

fn fields(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (start, rest) = word(line)?;
    let (size, rest) = word(rest)?;
    let name = rest.trim_ascii();
    let (start, size) = (hexadecimal(start)?, hexadecimal(size)?);
    let fits = size > 0 && start.checked_add(size).is_some();
    (fits && !name.is_empty()).then_some((start, size, name))
}

fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(u8::is_ascii_whitespace)?;
    line.split_at_checked(end)
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let text = text.strip_prefix("0x").unwrap_or(text);
    let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number
        .then(|| u64::from_str_radix(text, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(changes: &[Change]) -> Vec<String> {
        let text = |change: &Change| match change {
            Change::Loaded(code) => format!("{:x}+{:x} {}", code.start, code.size, code.name),
            Change::Unloaded { start, .. } => format!("-{start:x}"),
        };
        changes.iter().map(text).collect()
    }

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut map, mut out) = (PerfMap::default(), Vec::new());
        for piece in pieces {
            map.feed(piece, At::Always, &mut out);
        }
        map.finish(At::Always, &mut out);
        described(&out)
    }

    #[test]
    fn lines_may_come_in_pieces() {
        let text = b"7f00 10 JS:*inner /x.js:1:15\n0x7f20 0x8 a b\r\n\n7f30 4 last";
        let whole = read(&[text]);
        assert_eq!(
            whole,
            ["7f00+10 JS:*inner /x.js:1:15", "7f20+8 a b", "7f30+4 last"]
        );
        for cut in 0..text.len() {
            assert_eq!(read(&[&text[..cut], &text[cut..]]), whole, "{cut}");
        }
    }

    #[test]
    fn what_is_no_line_is_passed_over() {
        let text = b"\xff\xfe\nzz 10 a\n10\n10 20\n10 20 \n+1 2 sign\nffffffffffffffff 2 around\n\
                     10 0 empty\n111111111111111111 1 long\n5 5 good\n";
        assert_eq!(read(&[text]), ["5+5 good"]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let (mut map, mut out) = (PerfMap::default(), Vec::new());
        for _ in 0..64 {
            map.feed(&[b'x'; 1 << 15], At::Always, &mut out);
            assert!(map.rest.len() <= LONGEST_LINE);
        }
        map.feed(b"tail\n10 10 next\n", At::Always, &mut out);
        assert_eq!(described(&out), ["10+10 next"]);
        let name = format!("1 1 {}\n", "n".repeat(10_000));
        map.feed(name.as_bytes(), At::Always, &mut out);
        assert!(matches!(&out[1], Change::Loaded(code) if code.name.len() == 4096));
    }

    #[test]
    fn a_file_that_begins_anew_reports_what_is_new() {
        let (mut map, mut out) = (PerfMap::default(), Vec::new());
        map.feed(b"10 10 a\n20 10 b\n10 10 a\n", At::Always, &mut out);
        assert_eq!(described(&out), ["10+10 a", "20+10 b", "10+10 a"]);
        out.clear();
        map.restart();
        map.feed(b"10 10 a\n20 10 c\n30 10 d\n", At::Always, &mut out);
        assert_eq!(described(&out), ["20+10 c", "30+10 d"]);
    }
}
