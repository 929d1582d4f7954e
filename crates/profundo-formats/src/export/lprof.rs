//! The file that `python -m line_profiler FILE` loads: a pickled `LineStats` of that package, which
//! has been the same class with the same two members from version 3 to 5: by function the line,
//! hits and time of each of its lines, and the unit of time.

use std::io::Write;

use profundo_analysis::{Filter, traced_lines};
use profundo_model::Profile;

use super::Format;
use super::format::{Holds, Row, has};
use super::pickle::Pickle;
use crate::Error;

impl Format {
    /// See [`lprof`](self).
    pub const LPROF: Self = Self(&Row {
        name: "lprof",
        aliases: &["line_profiler"],
        extensions: &["lprof"],
        about: "The table of lines for `python -m line_profiler`, where `trace` has counted lines",
        file: "lprof file",
        holds: Holds::Lines,
        has_title: false,
        is_in_order: false,
        has_memory_too: false,
        misfit: |_| None,
        is_start: |start| start.starts_with(&[0x80]) && has(start, b"line_profiler"),
        write: |profile, _, mut out| write(profile, &mut out),
    });
}

/// Writes the table of lines.
pub fn write(profile: &Profile, out: &mut impl Write) -> Result<(), Error> {
    if profile.traced.lines.is_empty() {
        return Err(Error::NotCounted { what: "lines" });
    }
    let mut pickle = Pickle::new();
    pickle.object("line_profiler._line_profiler", "LineStats");
    pickle.dict();
    pickle.text("timings");
    pickle.dict();
    for function in traced_lines(profile, &Filter::default()) {
        pickle.text(profile.file_path(function.frame));
        pickle.int(u64::from(function.first));
        pickle.text(profile.function_name(function.frame));
        pickle.tuple3();
        pickle.list();
        // Readers divide the time by the hits.
        for line in function.lines.iter().filter(|line| line.hits > 0) {
            pickle.int(u64::from(line.line));
            pickle.int(line.hits);
            pickle.int(line.time);
            pickle.tuple3();
        }
        pickle.end_list();
    }
    pickle.end_dict();
    pickle.text("unit");
    pickle.float(1e-9);
    pickle.end_dict();
    pickle.build();
    out.write_all(&pickle.end()).map_err(Error::Write)
}
