//! Perf maps of Python functions: `perf` knows machine code only, and one function of an interpreter's
//! is like the other to it.
//!
//! Since 3.12 CPython itself can call each Python function through a piece of code of its own, and
//! tell `perf` how those are called. It does so where it is asked to by its environment. Nothing else
//! would help older ones: their functions have no addresses that a map could name.

use std::collections::BTreeSet;

use profundo_wire::recording::Event;

use crate::sink::Sink;

/// What asks for it; to other programs it means nothing.
pub const VARIABLE: &str = "PYTHONPERFSUPPORT";

/// Says of which interpreters there is no map.
pub fn tell_refusals(sink: &mut Sink) {
    let unable: BTreeSet<String> = sink
        .runtimes()
        .into_iter()
        .filter(|runtime| is_too_old(runtime))
        .collect();
    for runtime in unable {
        sink.event(Event::Note(format!(
            "no perf map was written by {runtime}: its functions have no code of their own that \
             perf could be told of; 3.12 and later can do it"
        )));
    }
}

fn is_too_old(runtime: &str) -> bool {
    let minor = runtime
        .strip_prefix("CPython 3.")
        .and_then(|rest| rest.split('.').next())
        .and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor < 12)
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
