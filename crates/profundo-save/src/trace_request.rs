//! The request of `trace`. It is kept in the recording, with the reason if nothing was recorded.

use profundo_model::{Profile, Tracing};

/// The request of `trace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRequest {
    tracing: Tracing,
    /// The patterns of functions whose lines are traced, as they were typed.
    patterns: Vec<String>,
}

impl TraceRequest {
    /// A request to trace this; for lines, those of functions that match one of the patterns. An
    /// empty pattern is ignored.
    pub fn new(tracing: Tracing, patterns: &[String]) -> Self {
        let patterns = patterns.iter().filter(|pattern| !pattern.is_empty());
        Self {
            tracing,
            patterns: patterns.cloned().collect(),
        }
    }

    /// The events that are traced.
    pub fn tracing(&self) -> Tracing {
        self.tracing
    }

    /// Adds the request to a recording, and why it is empty.
    pub fn add_to(&self, profile: &mut Profile) {
        profile.traced.tracing = self.tracing;
        let note = self.why_no_lines(profile);
        profile.meta.notes.extend(note);
    }

    /// The reason why there are no lines.
    fn why_no_lines(&self, profile: &Profile) -> Option<String> {
        let is_explained = (profile.meta.notes.iter()).any(|note| note.contains("not counted"));
        if !self.tracing.is_of_lines() || !profile.traced.lines.is_empty() || is_explained {
            return None;
        }
        has_interpreter(profile).then(|| match &self.patterns[..] {
            [] => "no function of the program's own files was called; the interpreter's library and what is installed is left out, unless \
                 --lines=GLOB chooses it"
                .to_owned(),
            patterns => {
                let quoted: Vec<String> = patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
                format!(
                    "no function that was called fits {}: neither its file nor its name",
                    quoted.join(" or ")
                )
            }
        })
    }
}

/// True if any of the programs was a Python interpreter.
pub fn has_interpreter(profile: &Profile) -> bool {
    let mut processes = profile.processes.iter();
    processes.any(|process| profile.strings.get(process.runtime).starts_with("CPython"))
}

#[cfg(test)]
mod tests {
    use profundo_model::{Line, Process};

    use super::*;

    #[test]
    fn the_reason_for_no_lines_is_noted_once() {
        let request = TraceRequest {
            tracing: Tracing::Lines,
            patterns: vec!["fob".into()],
        };
        let mut native = Profile::default();
        request.add_to(&mut native);
        assert_eq!(native.traced.tracing, Tracing::Lines);
        assert!(native.meta.notes.is_empty());
        let mut python = Profile::default();
        let runtime = python.strings.intern("CPython 3.12.1");
        python.processes.push(Process {
            runtime,
            ..Process::default()
        });
        let notes_of = |mut profile: Profile| {
            request.add_to(&mut profile);
            profile.meta.notes
        };
        let notes = notes_of(python.clone());
        assert!(notes[0].contains("fits `fob`"), "{notes:?}");
        let mut explained = python.clone();
        let why = "the lines of x (1) were not counted: it is old".to_owned();
        explained.meta.notes.push(why);
        assert_eq!(notes_of(explained).len(), 1);
        python.traced.lines.push(Line::default());
        assert!(notes_of(python).is_empty());
    }
}
