//! What memray exports of its recordings: `transform csv`, `transform gprof2dot` (also of other
//! tools) and `stats --json`. Its own recordings are known and refused: their layout changes with
//! memray.

mod csv;
mod gprof2dot;
mod stats;

use profundo_model::{Amount, Language, Sampling, Site, StackId};

use crate::{Builder, Named, language_of};

pub(crate) use csv::READER as CSV;
pub(crate) use gprof2dot::READER as GPROF2DOT;
pub(crate) use stats::READER as STATS;

/// Whether a file is one of memray's own recordings, packed by LZ4 or not.
pub(crate) fn is_recording(start: &[u8]) -> bool {
    const MARK: &[u8] = b"memray\0";
    // Small files have the mark as it is also where they are packed.
    let is_packed = start.starts_with(&[0x04, 0x22, 0x4d, 0x18]);
    let head = start.get(..start.len().min(64)).unwrap_or_default();
    start.starts_with(MARK) || is_packed && head.windows(MARK.len()).any(|part| part == MARK)
}

/// A frame of memray's.
fn named<'a>(function: &'a str, file: &'a str, line: u32) -> Named<'a> {
    // Frames of native code have the names of libraries, or paths of other languages.
    let is_python = file.ends_with(".py") || file.starts_with('<') || file.starts_with("/tmp/ipy");
    Named {
        function,
        file,
        line,
        language: Some(match is_python {
            true => Language::Python,
            false => language_of(function, file),
        }),
        ..Named::default()
    }
}

/// Adds the memory of a stack. The file does not say which memory it has, so each question about
/// the stack gets this answer.
fn add(builder: &mut Builder, stack: StackId, amount: Amount) {
    let process = builder.process(0, "");
    let heap = &mut builder.profile.heap;
    heap.sampling = Sampling::All;
    heap.sites.push(Site {
        process,
        stack,
        allocated: amount,
        at_peak: amount,
        ..Site::default()
    });
}

/// The sentence about that.
const ONE_AMOUNT: &str = "the file has one amount for each stack, which memray takes at the peak unless it was asked for \
     leaks or temporary allocations: it is shown as allocated, live and at the peak alike";
