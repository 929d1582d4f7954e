//! heaptrack's records: every allocation and free in order, one a line, with numbers in base 16.
//!
//! | line | meaning |
//! |---|---|
//! | `v version format` | the first line |
//! | `X command`, `x path` | the command line, the executable |
//! | `I size pages` | the size of a page, the pages of the machine |
//! | `s length text` | the next string; they count from 1. Before format 3 it has no length |
//! | `i address module function file line …` | the next address: more functions were inlined into the last |
//! | `t address parent` | the next stack: a row of addresses, and the row of its caller or 0 |
//! | `a size stack` | the next kind of allocation; these count from 0 |
//! | `+ kind`, `- kind` | an allocation, a free |
//! | `c milliseconds`, `R pages` | the time, the resident pages then |
//!
//! A file that was not interpreted (`heaptrack --raw`) has no strings: its stacks have addresses
//! themselves, `m` lines say where modules are, and `+ size stack block` and `- block` are single
//! blocks.

mod costs;
mod places;

use profundo_model::Sampling;

use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use costs::Costs;
use places::Places;

pub(crate) const READER: Reader = Reader(&Table {
    name: "heaptrack",
    writers: "heaptrack",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n');
    let Some(first) = lines.next() else {
        return false;
    };
    let mut words = Words(first);
    let is_head = words.word() == b"v" && words.number().is_some() && words.number().is_some();
    let second = lines.next().unwrap_or_default();
    is_head && (second.starts_with(b"X ") || second.starts_with(b"x "))
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let bytes = source.bytes;
    let mut places = Places::default();
    let mut costs = Costs::new(last_time(bytes));
    let mut at = 0;
    let mut number = 0_u64;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        number += 1;
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        let mut length = line.len() + 1;
        let kind = line.first().copied().unwrap_or(b'#');
        let mut words = Words(line.get(2..).unwrap_or_default());
        let is_read = match kind {
            b'+' => costs.allocate(builder, &mut places, words),
            b'-' => costs.free(words),
            b's' => {
                length = places.string(rest).unwrap_or(length);
                Some(())
            }
            b'c' => words.number().map(|time| costs.set_time(builder, time)),
            b'R' => words
                .number()
                .map(|pages| costs.set_resident(builder, pages)),
            b'a' => costs.kind(words),
            b'I' => words.number().map(|size| costs.page_size = size),
            b'X' => {
                let command = String::from_utf8_lossy(words.0);
                costs.process = builder.process(0, command.trim());
                Some(())
            }
            b'v' | b'i' | b't' | b'x' | b'm' => places.line(builder, kind, words),
            b'A' => {
                builder.note("the file begins while the program runs: earlier blocks are unknown");
                Some(())
            }
            b'S' | b'#' => Some(()),
            _ => None,
        };
        if is_read.is_none() {
            match end {
                Some(_) => builder.leave_out("lines", || format!("line {number}")),
                None => builder.warn(Warning::Damaged {
                    offset: at as u64,
                    what: "a line ends early".to_owned(),
                }),
            }
        }
        at += length;
    }
    builder.profile.heap.sampling = Sampling::All;
    costs.finish(builder);
    builder.note("the file has no threads");
    if places.is_raw {
        builder.note(
            "the file was not interpreted: its addresses are named where the same programs and \
             libraries are on this machine",
        );
    }
    Ok(())
}

/// The time of the last mark.
fn last_time(bytes: &[u8]) -> u64 {
    let at = memchr::memmem::rfind(bytes, b"\nc ");
    let rest = at.and_then(|at| bytes.get(at + 3..)).unwrap_or_default();
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    Words(&rest[..end]).number().unwrap_or(0)
}

/// The words of a line that are left.
#[derive(Debug, Clone, Copy)]
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn word(&mut self) -> &'a [u8] {
        let end = memchr::memchr(b' ', self.0).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        word
    }

    /// The next number, in base 16.
    fn number(&mut self) -> Option<u64> {
        let word = self.word();
        if word.is_empty() || word.len() > 16 {
            return None;
        }
        word.iter().try_fold(0_u64, |number, &digit| {
            let digit = (digit as char).to_digit(16)?;
            Some(number << 4 | u64::from(digit))
        })
    }
}
