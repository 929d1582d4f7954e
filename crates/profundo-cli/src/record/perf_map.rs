//! Perf maps of Python functions: `perf` knows machine code only, so it sees the same frames of the
//! interpreter for every Python function.
//!
//! Since 3.12 CPython itself can call each Python function through a piece of machine code of its
//! own, and write a map with their names. It does so if a variable of its environment asks for it.
//! Older versions have no such code, so their functions have no addresses that a map could name.

use std::collections::BTreeSet;

use profundo_cpython::version;
use profundo_save::recording_writer::RecordingWriter;
use profundo_wire::recording::Event;

/// The variable that makes CPython write a map; other programs ignore it.
pub const VARIABLE: &str = "PYTHONPERFSUPPORT";

/// Adds a note for each interpreter that is too old to write a map.
pub fn note_refusals(writer: &mut RecordingWriter) {
    let unable: BTreeSet<String> = writer
        .runtimes()
        .into_iter()
        .filter(|runtime| is_too_old(runtime))
        .collect();
    for runtime in unable {
        writer.event(Event::Note(format!(
            "no perf map was written by {runtime}: its functions have no code of their own that \
             perf could be told of; 3.{} and later can do it",
            version::FIRST_WITH_PERF_MAP
        )));
    }
}

fn is_too_old(runtime: &str) -> bool {
    let minor = version::minor_of_runtime(runtime);
    minor.is_some_and(|minor| !version::has_perf_map(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_3_12_are_too_old() {
        assert!(is_too_old("CPython 3.8.18") && is_too_old("CPython 3.11"));
        assert!(!is_too_old("CPython 3.12.1") && !is_too_old("CPython 3.20"));
        assert!(!is_too_old("") && !is_too_old("CPython 4.0"));
    }
}
