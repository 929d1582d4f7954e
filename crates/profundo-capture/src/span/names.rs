//! The numbers of labels (a name with attributes) and of paths (a label below other labels).
//!
//! Only distinct ones take room, and there is a limit to these. An attribute may have as many
//! values as there are requests: beyond the limit of one name, its further values are one, `…`.
//! Beyond the limit of all, spans are one path, `[other spans]`.

use std::collections::HashMap;

use profundo_wire::{
    OTHER_PATH, OTHER_SPANS, OTHER_VALUE, SPAN_SEPARATOR, SpanPath, span_limit, span_path_words,
};

/// The number of the path for spans beyond the limits.
pub(super) const OTHERS: u32 = OTHER_PATH;
/// The number of the label of that path.
pub(super) const OTHER: u32 = 0;

/// Labels and paths by their numbers.
#[derive(Debug)]
pub(super) struct Names {
    labels: Vec<Box<str>>,
    of_text: HashMap<Box<str>, u32>,
    /// The number of labels with each name.
    of_name: HashMap<Box<str>, u32>,
    /// The path around each path, and its label. The first has the number 1.
    paths: Vec<(u32, u32)>,
    of_place: HashMap<(u32, u32), u32>,
    /// Spans whose attributes were not kept, and those of `OTHERS`.
    losses: [u64; 2],
}

/// A label, and whether it is one for many attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) label: u32,
    pub(super) is_one_for_many: bool,
}

impl Names {
    pub(super) fn new() -> Self {
        let mut names = Self {
            labels: Vec::new(),
            of_text: HashMap::new(),
            of_name: HashMap::new(),
            paths: Vec::new(),
            of_place: HashMap::new(),
            losses: [0; 2],
        };
        names.add(OTHER_SPANS);
        names.paths.push((0, OTHER));
        names
    }

    /// The number of a label: a name and attributes, separated.
    pub(super) fn label(&mut self, text: &str) -> Numbered {
        let whole = |label| Numbered {
            label,
            is_one_for_many: false,
        };
        if let Some(&label) = self.of_text.get(text) {
            return whole(label);
        }
        let name = text.split(SPAN_SEPARATOR).next().unwrap_or_default();
        let has_attributes = name.len() < text.len();
        let of_name = self.of_name.get(name).copied().unwrap_or(0);
        let is_full = self.labels.len() >= span_limit::LABELS;
        if !is_full && (of_name < span_limit::LABELS_OF_NAME || !has_attributes) {
            return whole(self.add(text));
        }
        // Room for one more of each name is above the limit.
        let label = match (has_attributes, self.labels.len() < 2 * span_limit::LABELS) {
            (true, true) => {
                let text = without_values(text);
                match self.of_text.get(&*text) {
                    Some(&label) => label,
                    None => self.add(&text),
                }
            }
            _ => OTHER,
        };
        Numbered {
            label,
            is_one_for_many: true,
        }
    }

    fn add(&mut self, text: &str) -> u32 {
        let number = self.labels.len() as u32;
        let name = text.split(SPAN_SEPARATOR).next().unwrap_or_default();
        *self.of_name.entry(name.into()).or_default() += 1;
        self.labels.push(text.into());
        self.of_text.insert(text.into(), number);
        number
    }

    /// The number of a label below a path; 0 is no path.
    pub(super) fn path(&mut self, parent: u32, label: u32) -> u32 {
        if label == OTHER || parent == OTHERS {
            return OTHERS;
        }
        if let Some(&path) = self.of_place.get(&(parent, label)) {
            return path;
        }
        if self.paths.len() >= span_limit::PATHS {
            return OTHERS;
        }
        self.paths.push((parent, label));
        let path = self.paths.len() as u32;
        self.of_place.insert((parent, label), path);
        path
    }

    /// Counts spans whose attributes were not kept, and those of [`OTHERS`].
    pub(super) fn lose(&mut self, [attributes, others]: [u64; 2]) {
        self.losses[0] += attributes;
        self.losses[1] += others;
    }

    pub(super) fn losses(&self) -> [u64; 2] {
        self.losses
    }

    pub(super) fn forget_losses(&mut self) {
        self.losses = [0; 2];
    }

    /// Appends the records of all paths. One around another has the lower number.
    pub(super) fn write(&self, out: &mut Vec<u64>) {
        for (number, &(parent, label)) in (1..).zip(&self.paths) {
            let text = &self.labels[label as usize];
            let begin = out.len();
            out.resize(begin + span_path_words(text), 0);
            SpanPath::write(&mut out[begin..], number, parent, text);
        }
    }
}

/// A label with its keys, each with the value for all that are not kept.
fn without_values(text: &str) -> String {
    let parts = text.split(SPAN_SEPARATOR).enumerate();
    // Name, key, value, key, value …
    let parts = parts.map(|(at, part)| {
        if at > 0 && at % 2 == 0 {
            OTHER_VALUE
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join(&SPAN_SEPARATOR.to_string())
}
