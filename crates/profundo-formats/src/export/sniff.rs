//! Whether a file is an export of some format: by how it begins, never by its name.

use std::io::Read;

use flate2::read::GzDecoder;

use super::Format;

impl Format {
    /// Whether these first bytes are those of a file of this format. Text formats without a mark of their own are
    /// known by the shape of all lines that are there.
    pub fn is_start_of(self, start: &[u8]) -> bool {
        match self {
            Self::Pprof => is_pprof(start),
            Self::Collapsed => is_collapsed(start),
            Self::Speedscope => {
                start.starts_with(b"{") && has(start, b"speedscope.app/file-format-schema.json")
            }
            // The picture's own numbers: any other picture may be somebody's work.
            Self::Flame => has(start, b"<svg ") && has(start, b" data-top=\""),
            // A dictionary whose first key is a tuple of three.
            Self::Pstats => {
                matches!(start, [b'{' | 0xfb, tuple, 3, ..] if tuple & 0x7f == b')')
            }
            Self::Callgrind => start.starts_with(b"# callgrind format\n"),
            Self::Lprof => start.starts_with(&[0x80]) && has(start, b"line_profiler"),
        }
    }
}

fn has(start: &[u8], part: &[u8]) -> bool {
    start.windows(part.len()).any(|it| it == part)
}

/// A gzipped message whose first field is a type of value.
fn is_pprof(start: &[u8]) -> bool {
    let mut message = [0; 3];
    start.starts_with(&[0x1f, 0x8b])
        && GzDecoder::new(start).read_exact(&mut message).is_ok()
        && matches!(message, [0x0a, 2..=32, 0x08])
}

/// Lines that end in a number, with more than one name before it.
fn is_collapsed(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let Some((whole, _)) = text.rsplit_once('\n') else {
        return false;
    };
    let is_stack = |line: &str| {
        let parts = line.rsplit_once(' ');
        parts.is_some_and(|(stack, number)| !stack.is_empty() && number.parse::<u64>().is_ok())
    };
    let has_callers = |line: &str| line.contains(';');
    whole.lines().all(is_stack) && whole.lines().any(has_callers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_stacks_are_told_from_lines_of_code() {
        assert!(is_collapsed(b"main;work 3\nmain 1\nmain;li"));
        for no in [
            &b"int x = 1;\n"[..],
            b"a 1\nb 2\n",
            b"main;work 3",
            b"main;work\n",
            b"",
        ] {
            assert!(!is_collapsed(no), "{no:?}");
        }
    }

    #[test]
    fn other_files_are_of_no_format() {
        let others: [&[u8]; 7] = [
            b"",
            b"{\"a\": 1}",
            b"<?xml version=\"1.0\"?>\n<svg width=\"3\"></svg>",
            b"import os\n",
            b"\x1f\x8b\x08\0\0\0\0\0",
            b"# callgrind\n",
            b"\x80\x04\x95",
        ];
        for other in others {
            for format in Format::ALL {
                assert!(!format.is_start_of(other), "{format}: {other:?}");
            }
        }
    }
}
