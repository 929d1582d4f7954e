//! The numbers of labels (a name with attributes) and of paths (a label below other labels).
//!
//! The limits and what lies beyond them are those of the library's spans
//! (`profundo-capture/src/span/names.rs`). The tables lie in memory of ours, all zero at first, and
//! nothing is ever taken out of them: the numbers stay valid in the children of forks.

use profundo_wire::{OTHER_PATH, OTHER_SPANS, OTHER_VALUE, SPAN_SEPARATOR, span_limit};

use super::text::Text;

/// The number of the label of spans beyond the limits.
pub const OTHER: u32 = 0;

const TEXT_BYTES: usize = 2 << 20;
const MOST_LABELS: usize = 2 * span_limit::LABELS;
/// The places of an index: twice as many as numbers, and a power of two.
const LABEL_PLACES: usize = 2 * MOST_LABELS;
const PATH_PLACES: usize = 2 * span_limit::PATHS;

/// A text among the texts, with its hash.
#[derive(Clone, Copy)]
#[repr(C)]
struct Stored {
    hash: u64,
    at: u32,
    length: u32,
}

/// A name, and the number of labels that it has.
#[derive(Clone, Copy)]
#[repr(C)]
struct Name {
    text: Stored,
    labels: u32,
}

/// A label below a path.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Path {
    /// The path around it; 0 for none.
    pub around: u32,
    label: u32,
    /// The recording that its record was written for.
    pub written: u32,
}

/// Labels and paths by their numbers. All zero is empty, and is begun by [`Names::begin`].
#[repr(C)]
pub struct Names {
    texts: [u8; TEXT_BYTES],
    used: usize,
    labels: [Stored; MOST_LABELS],
    label_count: usize,
    /// Numbers plus one by hash.
    label_index: [u32; LABEL_PLACES],
    names: [Name; MOST_LABELS],
    name_count: usize,
    name_index: [u32; LABEL_PLACES],
    /// The first has the number 1.
    paths: [Path; span_limit::PATHS],
    path_count: usize,
    path_index: [u32; PATH_PLACES],
    /// Spans whose attributes were not kept, and those without a name of their own.
    pub losses: [u64; 2],
}

impl Names {
    /// Enters the label and the path for spans beyond the limits.
    pub fn begin(&mut self) {
        if self.label_count == 0 {
            self.add(OTHER_SPANS, hash_of(OTHER_SPANS.as_bytes()));
            self.add_path(0, OTHER);
        }
    }

    /// The number of a label: a name and attributes, separated.
    pub fn label(&mut self, text: &str) -> u32 {
        let hash = hash_of(text.as_bytes());
        if let Some(label) = self.find_label(text, hash) {
            return label;
        }
        let name = name_of(text);
        let has_attributes = name.len() < text.len();
        let of_name = self.find_name(name).map_or(0, |name| name.labels);
        let is_full = self.label_count >= span_limit::LABELS;
        if !is_full
            && (of_name < span_limit::LABELS_OF_NAME || !has_attributes)
            && let Some(label) = self.add(text, hash)
        {
            return label;
        }
        self.losses[0] += 1;
        if !has_attributes {
            return OTHER;
        }
        let text = without_values(text);
        let (text, hash) = (text.as_str(), hash_of(text.as_str().as_bytes()));
        self.find_label(text, hash)
            .or_else(|| self.add(text, hash))
            .unwrap_or(OTHER)
    }

    /// The number of a label below a path; 0 is no path.
    pub fn path(&mut self, around: u32, label: u32) -> u32 {
        let path = self.find_or_add_path(around, label);
        if path == OTHER_PATH {
            self.losses[1] += 1;
        }
        path
    }

    fn find_or_add_path(&mut self, around: u32, label: u32) -> u32 {
        if label == OTHER || around == OTHER_PATH {
            return OTHER_PATH;
        }
        let mut place = path_place(around, label);
        for _ in 0..PATH_PLACES {
            let Some(number) = self.path_index.get(place).copied() else {
                break;
            };
            if number == 0 {
                return self.add_path(around, label);
            }
            let is_it = |path: &Path| path.around == around && path.label == label;
            if self.get(number).is_some_and(is_it) {
                return number;
            }
            place = (place + 1) % PATH_PLACES;
        }
        OTHER_PATH
    }

    /// A path by its number.
    pub fn get(&self, path: u32) -> Option<&Path> {
        self.paths.get((path as usize).checked_sub(1)?)
    }

    /// Notes that the record of a path was written.
    pub fn note_written(&mut self, path: u32, recording: u32) {
        let path = (path as usize).checked_sub(1);
        if let Some(path) = path.and_then(|at| self.paths.get_mut(at)) {
            path.written = recording;
        }
    }

    /// The text of a path's label.
    pub fn text_of(&self, path: &Path) -> &str {
        let label = self.labels.get(path.label as usize);
        label.map_or("", |label| self.text(label))
    }

    fn text(&self, stored: &Stored) -> &str {
        let from = stored.at as usize;
        let bytes = self.texts.get(from..from + stored.length as usize);
        // SAFETY: `store` has copied it from a text, as a whole.
        unsafe { str::from_utf8_unchecked(bytes.unwrap_or_default()) }
    }

    fn find_label(&self, text: &str, hash: u64) -> Option<u32> {
        let number = find(&self.label_index, hash, |number| {
            let label = self.labels.get(number as usize);
            label.is_some_and(|label| label.hash == hash && self.text(label) == text)
        });
        number.ok()
    }

    fn find_name(&self, name: &str) -> Option<&Name> {
        let number = self.name_place(name).ok()?;
        self.names.get(number as usize)
    }

    /// The number of a name, or else the free place in the index.
    fn name_place(&self, name: &str) -> Result<u32, usize> {
        let hash = hash_of(name.as_bytes());
        find(&self.name_index, hash, |number| {
            let known = self.names.get(number as usize);
            known.is_some_and(|known| known.text.hash == hash && self.text(&known.text) == name)
        })
    }

    /// Adds a label, which is new. `None`: there is no room.
    fn add(&mut self, text: &str, hash: u64) -> Option<u32> {
        let number = self.label_count;
        let stored = self.store(text, hash)?;
        let name = name_of(text);
        let place = find(&self.label_index, hash, |_| false).err()?;
        *self.labels.get_mut(number)? = stored;
        *self.label_index.get_mut(place)? = number as u32 + 1;
        self.label_count += 1;
        match self.name_place(name) {
            Ok(known) => self.names.get_mut(known as usize)?.labels += 1,
            Err(place) => {
                let known = self.name_count;
                *self.names.get_mut(known)? = Name {
                    text: Stored {
                        hash: hash_of(name.as_bytes()),
                        length: name.len() as u32,
                        ..stored
                    },
                    labels: 1,
                };
                *self.name_index.get_mut(place)? = known as u32 + 1;
                self.name_count += 1;
            }
        }
        Some(number as u32)
    }

    fn store(&mut self, text: &str, hash: u64) -> Option<Stored> {
        // Room for one more label.
        (self.label_count < MOST_LABELS).then_some(())?;
        let end = self.used.checked_add(text.len())?;
        let place = self.texts.get_mut(self.used..end)?;
        place.copy_from_slice(text.as_bytes());
        let at = self.used as u32;
        self.used = end;
        Some(Stored {
            hash,
            at,
            length: text.len() as u32,
        })
    }

    fn add_path(&mut self, around: u32, label: u32) -> u32 {
        let number = self.path_count;
        let Some(path) = self.paths.get_mut(number) else {
            return OTHER_PATH;
        };
        *path = Path {
            around,
            label,
            written: 0,
        };
        self.path_count += 1;
        let mut place = path_place(around, label);
        for _ in 0..PATH_PLACES {
            match self.path_index.get_mut(place) {
                Some(free) if *free == 0 => {
                    *free = number as u32 + 1;
                    break;
                }
                _ => place = (place + 1) % PATH_PLACES,
            }
        }
        number as u32 + 1
    }
}

/// The number for which `is_it` holds, or else the free place. The index is never full.
fn find(index: &[u32], hash: u64, is_it: impl Fn(u32) -> bool) -> Result<u32, usize> {
    let mut place = hash as usize % index.len();
    for _ in 0..index.len() {
        match index.get(place).map_or(0, |&number| number) {
            0 => break,
            number if is_it(number - 1) => return Ok(number - 1),
            _ => place = (place + 1) % index.len(),
        }
    }
    Err(place)
}

fn path_place(around: u32, label: u32) -> usize {
    let both = u64::from(around) << 32 | u64::from(label);
    (mixed(both) >> 32) as usize % PATH_PLACES
}

fn name_of(text: &str) -> &str {
    text.split(SPAN_SEPARATOR).next().unwrap_or_default()
}

/// A label with its keys, each with the value for all that are not kept.
fn without_values(text: &str) -> Text {
    let mut out = Text::new();
    for (at, part) in text.split(SPAN_SEPARATOR).enumerate() {
        // Name, key, value, key, value …
        let is_value = at > 0 && at % 2 == 0;
        out.add(at > 0, if is_value { OTHER_VALUE } else { part });
    }
    out
}

fn mixed(word: u64) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(word ^ MIX) * u128::from(MIX);
    (product as u64) ^ (product >> 64) as u64
}

fn hash_of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64;
    for word in words {
        hash = mixed(hash.rotate_left(23) ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    mixed(hash.rotate_left(23) ^ u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Box<Names> {
        // SAFETY: all zero is a valid one.
        let mut names = unsafe { Box::<Names>::new_zeroed().assume_init() };
        names.begin();
        names
    }

    fn text(name: &str, value: u32) -> String {
        format!("{name}{SPAN_SEPARATOR}id{SPAN_SEPARATOR}{value}")
    }

    #[test]
    fn labels_and_paths_keep_their_numbers() {
        let mut names = names();
        let request = names.label("request");
        let query = names.label(&text("query", 1));
        assert_ne!(request, query);
        assert_eq!(names.label("request"), request);
        assert_eq!(names.label(&text("query", 1)), query);
        let outer = names.path(0, request);
        let inner = names.path(outer, query);
        let alone = names.path(0, query);
        assert_eq!(names.path(outer, query), inner);
        assert!(outer > OTHER_PATH && inner > outer && alone > inner);
        let path = names.get(inner).unwrap();
        assert_eq!(
            (path.around, names.text_of(path)),
            (outer, &*text("query", 1))
        );
        assert_eq!(names.losses, [0; 2]);
    }

    #[test]
    fn the_values_of_an_attribute_are_bounded_for_each_name() {
        let mut names = names();
        let first = names.label(&text("request", 0));
        for value in 1..span_limit::LABELS_OF_NAME {
            assert_ne!(names.label(&text("request", value)), first);
        }
        assert_eq!(names.losses, [0; 2]);
        let one = names.label(&text("request", 5000));
        assert_eq!(names.label(&text("request", 5001)), one);
        assert_eq!(names.losses, [2, 0]);
        // Known values and other names stay.
        assert_eq!(names.label(&text("request", 0)), first);
        assert_ne!(names.label(&text("query", 0)), one);
        let path = names.path(0, one);
        let text = names.text_of(names.get(path).unwrap());
        assert_eq!(
            text,
            ["request", "id", "…"].join(&SPAN_SEPARATOR.to_string())
        );
    }

    #[test]
    fn labels_and_paths_are_bounded() {
        let mut names = names();
        let last = (0..100_000).map(|number| names.label(&format!("name {number}")));
        assert_eq!(last.last(), Some(OTHER));
        assert_eq!(names.path(0, OTHER), OTHER_PATH);
        let deep = names.label("name 1");
        let mut path = 0;
        let mut met = 0;
        while path != OTHER_PATH {
            path = names.path(path, deep);
            met += 1;
            assert!(met < 1 << 20, "there is a limit");
        }
        assert_eq!(names.path(OTHER_PATH, deep), OTHER_PATH);
        assert!(names.losses[1] >= 3);
        assert!(names.get(span_limit::PATHS as u32).is_some());
    }
}
