//! The file that Python's `pstats.Stats(FILE)` loads, as `cProfile` writes it: by function the
//! primitive calls, all calls, own and cumulative seconds, and by caller the same of the calls that
//! it made, there with all calls first.
//!
//! A resume after an await is a call here, because cProfile counts it as one.

use std::io::Write;

use profundo_analysis::{CallLabel, Counted, Filter, Selection, traced};
use profundo_model::Profile;

use super::Format;
use super::format::{Holds, Row};
use super::marshal::Marshal;
use crate::Error;

impl Format {
    /// See [`pstats`](self).
    pub const PSTATS: Self = Self(&Row {
        name: "pstats",
        aliases: &["cprofile"],
        extensions: &["pstats", "prof"],
        about: "The table of calls for Python's pstats and what reads its files, where `trace` has counted them",
        file: "pstats file",
        holds: Holds::Calls,
        has_title: false,
        is_in_order: false,
        has_memory_too: false,
        misfit: |_| None,
        // A dictionary whose first key is a tuple of three.
        is_start: |start| matches!(start, [b'{' | 0xfb, tuple, 3, ..] if tuple & 0x7f == b')'),
        write: |profile, _, mut out| write(profile, &mut out),
    });
}

/// Writes the table of calls. Functions are in the order of their standard names, so that those
/// equal to `pstats` keep the order of our own table.
pub fn write(profile: &Profile, out: &mut impl Write) -> Result<(), Error> {
    if profile.traced.calls.is_empty() {
        return Err(Error::NotCounted { what: "calls" });
    }
    let table = traced(profile, &Selection::new(profile, &Filter::default()));
    let labels: Vec<CallLabel<'_>> = (table.functions.iter())
        .map(|function| CallLabel::of(profile, function.place))
        .collect();
    let mut marshal = Marshal::default();
    marshal.dict();
    for (function, name) in table.functions.iter().zip(&labels) {
        push_label(&mut marshal, name);
        marshal.tuple(5);
        marshal.int(function.counted.outermost.all());
        marshal.int(function.counted.begun.all());
        push_times(&mut marshal, &function.counted);
        marshal.dict();
        for &row in &function.callers {
            let between = &table.between[row];
            push_label(&mut marshal, &labels[between.caller]);
            marshal.tuple(4);
            marshal.int(between.counted.begun.all());
            marshal.int(between.counted.outermost.all());
            push_times(&mut marshal, &between.counted);
        }
        marshal.end_dict();
    }
    marshal.end_dict();
    out.write_all(&marshal.bytes).map_err(Error::Write)
}

fn push_label(marshal: &mut Marshal, label: &CallLabel<'_>) {
    marshal.tuple(3);
    marshal.text(label.file);
    marshal.int(u64::from(label.line));
    marshal.text(&label.name);
}

fn push_times(marshal: &mut Marshal, counted: &Counted) {
    for nanos in [counted.own, counted.total] {
        marshal.float(nanos as f64 / 1e9);
    }
}
