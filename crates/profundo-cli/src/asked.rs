//! What `trace` was asked for, which is kept in the recording; and why nothing came of it, where that is known.

use profundo_model::{Profile, Tracing};

use crate::options::Trace;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    tracing: Tracing,
    /// Whose lines, as it was typed.
    patterns: Vec<String>,
}

impl Asked {
    pub fn new(options: &Trace) -> Self {
        let tracing = match (options.lines.is_empty(), options.once, options.cheap) {
            (true, ..) => Tracing::Calls,
            (_, true, _) => Tracing::LinesOnce,
            (_, _, true) => Tracing::SampledLines,
            _ => Tracing::Lines,
        };
        let patterns = options.lines.iter().filter(|it| !it.is_empty());
        Self {
            tracing,
            patterns: patterns.cloned().collect(),
        }
    }

    /// What is traced.
    pub fn tracing(&self) -> Tracing {
        self.tracing
    }

    /// Adds to a recording what it was made for, and why it is empty.
    pub fn tell(&self, profile: &mut Profile) {
        profile.traced.tracing = self.tracing;
        let note = self.why_no_lines(profile);
        profile.meta.notes.extend(note);
    }

    /// Why there are no lines.
    fn why_no_lines(&self, profile: &Profile) -> Option<String> {
        let is_explained = (profile.meta.notes.iter()).any(|it| it.contains("not counted"));
        if !self.tracing.is_of_lines() || !profile.traced.lines.is_empty() || is_explained {
            return None;
        }
        has_interpreter(profile).then(|| match &self.patterns[..] {
            [] => "no function of the program's own files was called; the interpreter's library and what is installed is left out, unless \
                 --lines=GLOB chooses it"
                .to_owned(),
            patterns => {
                let quoted: Vec<String> = patterns.iter().map(|it| format!("`{it}`")).collect();
                format!(
                    "no function that was called fits {}: neither its file nor its name",
                    quoted.join(" or ")
                )
            }
        })
    }
}

/// Whether any program was Python's.
pub fn has_interpreter(profile: &Profile) -> bool {
    let mut processes = profile.processes.iter();
    processes.any(|it| profile.strings.get(it.runtime).starts_with("CPython"))
}

#[cfg(test)]
mod tests {
    use profundo_model::{Line, Process};

    use super::*;

    #[test]
    fn why_there_are_no_lines_is_said_once() {
        let asked = Asked {
            tracing: Tracing::Lines,
            patterns: vec!["fob".into()],
        };
        let mut native = Profile::default();
        asked.tell(&mut native);
        assert_eq!(native.traced.tracing, Tracing::Lines);
        assert!(native.meta.notes.is_empty());
        let mut python = Profile::default();
        let runtime = python.strings.intern("CPython 3.12.1");
        python.processes.push(Process {
            runtime,
            ..Process::default()
        });
        let told = |mut profile: Profile| {
            asked.tell(&mut profile);
            profile.meta.notes
        };
        let notes = told(python.clone());
        assert!(notes[0].contains("fits `fob`"), "{notes:?}");
        let mut explained = python.clone();
        let why = "the lines of x (1) were not counted: it is old".to_owned();
        explained.meta.notes.push(why);
        assert_eq!(told(explained).len(), 1);
        python.traced.lines.push(Line::default());
        assert!(told(python).is_empty());
    }
}
