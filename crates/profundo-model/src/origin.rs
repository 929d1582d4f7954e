//! The recordings that processes come from: several in a merged profile, and one in a recording
//! that was given labels. A label is a key and a value, such as `run=1` or `host=node7`.

use crate::{Nanos, OriginId, ProcessId, Profile, StringId};

/// A recording that was merged with others, or that has labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The name of its file without the extension; empty for a recording that was not merged.
    pub name: StringId,
    /// Its labels. No key occurs twice.
    pub labels: Vec<(StringId, StringId)>,
    /// Its start, in nanoseconds since 1970; 0 where unknown.
    pub started_at_unix: u64,
    /// Its start on the clock of the merged profile.
    pub begins: Nanos,
    /// Its length.
    pub duration: Nanos,
    /// The nominal time between two of its samples; 0 where unknown.
    pub period: Nanos,
}

/// The position of merged recordings in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Alignment {
    /// All start at time 0.
    #[default]
    Start,
    /// Each starts at the end of the one before.
    Sequence,
    /// Each starts when it did by its machine's clock. The first one starts at time 0.
    Clock,
}

impl Origin {
    /// The value of a label.
    pub fn label(&self, key: StringId) -> Option<StringId> {
        let known = self.labels.iter().find(|(known, _)| *known == key);
        known.map(|&(_, value)| value)
    }

    /// Sets a label, in place of an earlier one of this key.
    pub fn set_label(&mut self, key: StringId, value: StringId) {
        match self.labels.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.labels.push((key, value)),
        }
    }
}

impl Profile {
    /// The recording that a process comes from, where that is known.
    pub fn origin_of(&self, process: ProcessId) -> Option<OriginId> {
        let origin = self.processes.get(process.index())?.origin?;
        (origin.index() < self.origins.len()).then_some(origin)
    }

    /// The value of a label of a process: its own, or that of its recording.
    pub fn label_of(&self, process: ProcessId, key: StringId) -> Option<StringId> {
        let its = self.processes.get(process.index())?;
        let own = its.labels.iter().find(|(known, _)| *known == key);
        let own = own.map(|&(_, value)| value);
        own.or_else(|| self.origins[self.origin_of(process)?.index()].label(key))
    }

    /// All labels of a process, sorted: its own, and those of its recording.
    pub fn all_labels_of(&self, process: ProcessId) -> Vec<(StringId, StringId)> {
        let own = self.processes.get(process.index());
        let mut labels = own.map_or_else(Vec::new, |process| process.labels.clone());
        let origin = self.origin_of(process);
        let of_origin = origin.map_or(&[][..], |origin| &self.origins[origin.index()].labels);
        for &(key, value) in of_origin {
            if labels.iter().all(|(known, _)| *known != key) {
                labels.push((key, value));
            }
        }
        labels.sort_unstable();
        labels
    }

    /// Whether the profile was merged from several recordings.
    pub fn is_merged(&self) -> bool {
        self.origins.len() > 1
    }

    /// The labels of an origin in words, such as `run=1, host=a`; empty where it has none.
    pub fn labels_of(&self, origin: OriginId) -> String {
        let labels = self.origins.get(origin.index());
        let labels = labels.map_or(&[][..], |origin| &origin.labels);
        let words = labels.iter().map(|&(key, value)| {
            let (key, value) = (self.strings.get(key), self.strings.get(value));
            format!("{key}={value}")
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// By origin, a name that no other origin has: its labels, its file's name, or that with its
    /// number.
    pub fn origin_names(&self) -> Vec<String> {
        let ids = (0..self.origins.len()).map(OriginId::from_index);
        let labels: Vec<String> = ids.map(|id| self.labels_of(id)).collect();
        let files: Vec<String> = (self.origins.iter())
            .map(|origin| self.strings.get(origin.name).to_owned())
            .collect();
        let is_unique = |names: &[String], name: &str| {
            !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1
        };
        let rows = (1..).zip(labels.iter().zip(&files));
        rows.map(|(number, (its_labels, file))| match (its_labels, file) {
            (name, _) if is_unique(&labels, name) => name.clone(),
            (_, name) if is_unique(&files, name) => name.clone(),
            (name, _) if !name.is_empty() => format!("{name} (#{number})"),
            (_, name) => format!("{name} (#{number})").trim_start().to_owned(),
        })
        .collect()
    }

    /// The position of the merged recordings in time, as their starts show it.
    pub fn alignment(&self) -> Alignment {
        let mut end = Nanos(0);
        let (mut is_start, mut is_sequence) = (true, true);
        for origin in &self.origins {
            is_start &= origin.begins.0 == 0;
            is_sequence &= origin.begins == end;
            end = Nanos(origin.begins.0.saturating_add(origin.duration.0));
        }
        match (is_start, is_sequence) {
            (true, _) => Alignment::Start,
            (false, true) => Alignment::Sequence,
            (false, false) => Alignment::Clock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(rows: &[(&str, &[(&str, &str)])]) -> Profile {
        let mut profile = Profile::default();
        for (name, labels) in rows {
            let mut origin = Origin {
                name: profile.strings.intern(name),
                duration: Nanos(5),
                ..Origin::default()
            };
            for (key, value) in *labels {
                let (key, value) = (profile.strings.intern(key), profile.strings.intern(value));
                origin.set_label(key, value);
            }
            profile.origins.push(origin);
        }
        profile
    }

    #[test]
    fn an_origin_is_named_by_what_no_other_has() {
        let profile = profile(&[
            ("a", &[("run", "1"), ("run", "2")]),
            ("b", &[("run", "1"), ("host", "x")]),
            ("c", &[("host", "x")]),
            ("d", &[("host", "x")]),
            ("d", &[("host", "x")]),
            ("e", &[]),
            ("e", &[]),
        ]);
        let names = profile.origin_names();
        let wanted = [
            "run=2",
            "run=1, host=x",
            "c",
            "host=x (#4)",
            "host=x (#5)",
            "e (#6)",
            "e (#7)",
        ];
        assert_eq!(names, wanted);
    }

    #[test]
    fn starts_show_how_recordings_are_aligned() {
        let mut profile = profile(&[("a", &[]), ("b", &[]), ("c", &[])]);
        assert_eq!(profile.alignment(), Alignment::Start);
        (profile.origins[1].begins, profile.origins[2].begins) = (Nanos(5), Nanos(10));
        assert_eq!(profile.alignment(), Alignment::Sequence);
        profile.origins[2].begins = Nanos(7);
        assert_eq!(profile.alignment(), Alignment::Clock);
    }
}
