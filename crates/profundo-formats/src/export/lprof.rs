//! The file that `python -m line_profiler FILE` loads: a pickled `LineStats` of that package, which has been the same class with the
//! same two members from version 3 to 5: by function the line, hits and time of each of its lines, and what the unit of time is.

use std::io::Write;

use profundo_analysis::{Filter, traced_lines};
use profundo_model::Profile;

use super::pickle::Pickle;
use crate::Error;

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
        // The time is divided by the hits.
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
