//! The kinds of output, and how a file of each kind begins.

use std::fmt;

use profundo_formats::export::Format;
use profundo_formats::{heapsnapshot, is_profundo};

/// The start of a report that is written as text to a file.
pub const REPORT: &str = "# profundo report";
/// The start of a text of `time`.
pub const TIME: &str = "# profundo time";

/// A kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A recording.
    Recording,
    /// A heap snapshot.
    Snapshot,
    /// The pages of an allocator.
    Pages,
    /// An export or a picture.
    Export(Format),
    /// A page of `view`.
    Page,
    /// A report, as text or JSON.
    Report,
    /// The figures of `time`, in any of its forms.
    Time,
    /// A measurement of `bench`.
    Bench,
    /// A log of collections.
    GcLog,
    /// A source file with the bytes of its lines.
    Mem,
    /// The output of a program.
    Printed,
}

impl Kind {
    /// True if a file that begins so is of this kind.
    pub fn is_start_of(self, start: &[u8]) -> bool {
        match self {
            Self::Recording => is_profundo(start),
            Self::Snapshot => heapsnapshot::is_heapsnapshot(start),
            Self::Pages => is_pages(start),
            Self::Export(format) => format.is_start_of(start),
            Self::Page => is_page(start),
            Self::Report => {
                start.starts_with(REPORT.as_bytes())
                    || is_json(start, |name| name != "time" && name != "bench")
            }
            Self::Time => {
                start.starts_with(TIME.as_bytes())
                    || is_posix(start)
                    || is_json(start, |name| name == "time")
            }
            Self::Bench => is_json(start, |name| name == "bench"),
            Self::GcLog => {
                start.starts_with(b"GC: ") || start.starts_with(b"{\"schema\":\"profundo-gc-log/")
            }
            Self::Mem => is_mem(start),
            Self::Printed => false,
        }
    }

    /// True if only its owner may read the file: it contains a program's memory.
    pub fn is_private(self) -> bool {
        matches!(self, Self::Recording | Self::Snapshot | Self::Pages)
    }

    /// True if the file is read again, so that it cannot be a pipe.
    pub fn has_to_be_a_file(self) -> bool {
        self == Self::Recording
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recording => "recording",
            Self::Snapshot => "heap snapshot",
            Self::Pages => "list of pages",
            Self::Export(format) => format.file(),
            Self::Page => "page of `profundo view`",
            Self::Report => "report of profundo's",
            Self::Time => "report of `profundo time`",
            Self::Bench => "measurement",
            Self::GcLog => "log of collections",
            Self::Mem => ".mem file",
            Self::Printed => "empty file",
        })
    }
}

/// True if this is our page: it says what made it.
fn is_page(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    text.starts_with("<!doctype html>")
        && text.contains("<meta name=\"generator\" content=\"profundo\">")
}

/// True if this is our JSON: its first member names the report.
fn is_json(start: &[u8], is_meant: impl Fn(&str) -> bool) -> bool {
    let text = String::from_utf8_lossy(start);
    let Some(rest) = text.strip_prefix('{') else {
        return false;
    };
    let Some(head) = rest
        .trim_start()
        .strip_prefix("\"profundo\": {\"schema\": ")
    else {
        return false;
    };
    let head = head.trim_start_matches(|character: char| character.is_ascii_digit());
    let name = head.strip_prefix(", \"report\": \"");
    name.and_then(|text| text.split_once('"'))
        .is_some_and(|(name, _)| is_meant(name))
}

/// The three lines of POSIX.
fn is_posix(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut lines = text.lines();
    ["real ", "user ", "sys "].iter().all(|name| {
        let seconds = lines.next().and_then(|line| line.strip_prefix(name));
        seconds.is_some_and(|number| number.parse::<f64>().is_ok())
    })
}

/// Julia's page profiles begin in the same way.
fn is_pages(start: &[u8]) -> bool {
    const PAGES: &[u8] = b"{\"pages\":[";
    let start = start.iter().filter(|byte| !byte.is_ascii_whitespace());
    start.take(PAGES.len()).eq(PAGES)
}

/// A number or a dash, set flush right, before each line.
fn is_mem(start: &[u8]) -> bool {
    const WIDTH: usize = 9;
    let text = String::from_utf8_lossy(start);
    let is_counted = |line: &str| {
        let rest = line.trim_start();
        let (first, _) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_number = first.bytes().all(|byte| byte.is_ascii_digit());
        let ends = line.len() - rest.len() + first.len();
        !first.is_empty() && (first == "-" || first == "?" || is_number) && ends >= WIDTH
    };
    match text.rsplit_once('\n') {
        Some((whole, _)) => whole.lines().all(is_counted),
        None => is_counted(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_knows_its_own() {
        let own: [(Kind, &[u8]); 10] = [
            (
                Kind::Page,
                b"<!doctype html>\n<html><head><meta name=\"generator\" content=\"profundo\">",
            ),
            (Kind::Snapshot, b"{\"snapshot\":{"),
            (Kind::Pages, b"{\"pages\": [\n{"),
            (Kind::Report, b"# profundo report\n"),
            (
                Kind::Report,
                b"{\n  \"profundo\": {\"schema\": 2, \"report\": \"lines\"},",
            ),
            (Kind::Time, b"real 0.00\nuser 0.00\nsys 0.01\n"),
            (
                Kind::Bench,
                b"{\n  \"profundo\": {\"schema\": 1, \"report\": \"bench\"},",
            ),
            (Kind::GcLog, b"GC: pause 1 ms\n"),
            (Kind::Mem, b"        - import os\n     4096 x = []\n"),
            (Kind::Mem, b"        ? import os\n"),
        ];
        for (kind, start) in own {
            assert!(kind.is_start_of(start), "{kind}");
        }
    }

    #[test]
    fn other_files_are_of_no_kind() {
        let foreign: [&[u8]; 8] = [
            b"<!doctype html>\n<title>profundo</title>",
            b"import os\n",
            b"#!/bin/sh\necho\n",
            b"{\"report\": \"bench\"}",
            b"real estate\n",
            b"# profundo\n",
            b"\x7fELF\x02\x01\x01",
            b"- a\n- b\n",
        ];
        let kinds = [
            Kind::Recording,
            Kind::Snapshot,
            Kind::Pages,
            Kind::Page,
            Kind::Report,
            Kind::Time,
            Kind::Bench,
            Kind::GcLog,
            Kind::Mem,
            Kind::Printed,
        ];
        for start in foreign {
            for kind in kinds {
                assert!(!kind.is_start_of(start), "{kind}: {start:?}");
            }
        }
    }
}
