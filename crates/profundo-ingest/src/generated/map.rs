//! Pieces of code by address and time.

use std::sync::Arc;

use profundo_wire::recording::{GeneratedCode, GeneratedLine};
use rustc_hash::FxHashMap;

/// Larger pieces are kept apart, so that a search back from an address is short.
const LARGE: u64 = 1 << 20;
/// The limit of large pieces.
const MOST_LARGE: usize = 1 << 12;

/// A piece of code.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    end: u64,
    pub(crate) name: Arc<str>,
    loaded: u64,
    /// The time of its end, and the number of pieces known by then.
    gone: Option<(u64, usize)>,
    lines: Vec<GeneratedLine>,
}

impl Piece {
    /// The line of an address, and its file, which may be unknown.
    pub(crate) fn line(&self, address: u64) -> Option<&GeneratedLine> {
        let offset = address.wrapping_sub(self.start);
        let after = self.lines.partition_point(|line| line.offset <= offset);
        let line = self.lines.get(after.checked_sub(1)?)?;
        (line.line > 0).then_some(line)
    }

    fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The pieces of one program, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct CodeMap {
    pieces: Vec<Piece>,
    /// The last piece that began at an address.
    last: FxHashMap<u64, usize>,
    /// The small pieces in the order of their starts, until the next one is added.
    sorted: Vec<usize>,
    large: Vec<usize>,
}

impl CodeMap {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes in a piece of code.
    pub(crate) fn add(&mut self, code: GeneratedCode) {
        let index = self.pieces.len();
        let last = self.last.get(&code.start).copied();
        if code.unloaded != u64::MAX {
            if let Some(last) = last {
                self.pieces[last].gone.get_or_insert((code.unloaded, index));
            }
            return;
        }
        if code.end <= code.start {
            return;
        }
        if let Some(last) = last {
            let before = &mut self.pieces[last];
            let is_same =
                before.end == code.end && before.name == code.name && before.gone.is_none();
            if is_same {
                // A repeated piece, or one that came by two ways.
                before.loaded = before.loaded.min(code.loaded);
                if before.lines.is_empty() {
                    before.lines = code.lines;
                }
                return;
            }
        }
        let is_large = code.end - code.start > LARGE;
        if is_large && self.large.len() >= MOST_LARGE {
            return;
        }
        self.last.insert(code.start, index);
        if is_large {
            self.large.push(index);
        } else {
            self.sorted.clear();
        }
        self.pieces.push(Piece {
            start: code.start,
            end: code.end,
            name: code.name,
            loaded: code.loaded,
            gone: None,
            lines: code.lines,
        });
    }

    /// Sorts the pieces before lookups.
    pub(crate) fn prepare(&mut self) {
        if !self.sorted.is_empty() {
            return;
        }
        let pieces = &self.pieces;
        let small = |index: &usize| pieces[*index].end - pieces[*index].start <= LARGE;
        self.sorted = (0..pieces.len()).filter(small).collect();
        self.sorted.sort_by_key(|&index| pieces[index].start);
    }

    /// All meanings of an address: its pieces with their starts, in the order of time. Empty: it is
    /// in none.
    pub(crate) fn meanings(&self, address: u64) -> Vec<(u64, Option<&Piece>)> {
        let after = self
            .sorted
            .partition_point(|&index| self.pieces[index].start <= address);
        let near = self.sorted[..after].iter().rev();
        let near = near.take_while(|&&index| address - self.pieces[index].start < LARGE);
        let mut holding: Vec<usize> = near
            .chain(&self.large)
            .copied()
            .filter(|&index| self.pieces[index].holds(address))
            .collect();
        holding.sort_unstable();
        let mut events: Vec<(u64, usize, Option<&Piece>)> = Vec::new();
        for &index in &holding {
            let piece = &self.pieces[index];
            events.push((piece.loaded, index, Some(piece)));
            if let Some((at, known)) = piece.gone {
                // Its end is noticed late, so the code that replaced it was there before.
                let next = holding.iter().filter(|&&next| next >= known);
                let next = next.map(|&next| self.pieces[next].loaded).min();
                events.push((at.min(next.unwrap_or(at)), index, None));
            }
        }
        // In the order of arrival where times are equal.
        events.sort_by_key(|event| event.0);
        events
            .into_iter()
            .map(|(time, _, piece)| (time, piece))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(start: u64, end: u64, name: &str, loaded: u64) -> GeneratedCode {
        GeneratedCode {
            start,
            end,
            name: name.into(),
            loaded,
            unloaded: u64::MAX,
            lines: Vec::new(),
        }
    }

    fn meanings(map: &mut CodeMap, address: u64) -> String {
        map.prepare();
        let meanings = map.meanings(address).into_iter();
        let text =
            meanings.map(|(at, piece)| format!("{at}:{}", piece.map_or("-", |piece| &*piece.name)));
        text.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_address_means_one_thing_after_the_other() {
        let mut map = CodeMap::default();
        map.add(code(100, 200, "a", 0));
        map.add(code(150, 250, "b", 20));
        map.add(code(100, 200, "a", 30));
        assert_eq!(meanings(&mut map, 100), "0:a");
        assert_eq!(meanings(&mut map, 199), "0:a 20:b");
        assert_eq!(meanings(&mut map, 249), "20:b");
        assert_eq!(meanings(&mut map, 250), "");
        map.add(code(100, 200, "c", 40));
        map.add(code(100, 200, "a", 50));
        assert_eq!(meanings(&mut map, 160), "0:a 20:b 40:c 50:a");
    }

    #[test]
    fn what_is_gone_means_nothing() {
        let mut map = CodeMap::default();
        map.add(code(100, 200, "a", 0));
        let gone = GeneratedCode {
            unloaded: 50,
            ..code(100, 100, "", 0)
        };
        map.add(gone.clone());
        map.add(gone);
        assert_eq!(meanings(&mut map, 150), "0:a 50:-");
        // It was noticed together with the end of the other, with an earlier time.
        map.add(code(120, 180, "b", 40));
        assert_eq!(meanings(&mut map, 150), "0:a 40:- 40:b");
        assert_eq!(meanings(&mut map, 110), "0:a 50:-");
    }

    #[test]
    fn large_and_small_pieces() {
        let mut map = CodeMap::default();
        map.add(code(0, 1 << 40, "all", 0));
        for start in 0..1000 {
            map.add(code(start * 16, start * 16 + 16, "f", 7));
        }
        map.add(code(5, 5, "empty", 0));
        map.add(code(6, 5, "backwards", 0));
        assert_eq!(meanings(&mut map, 500 * 16 + 3), "0:all 7:f");
        assert_eq!(meanings(&mut map, 1 << 39), "0:all");
        assert!(map.pieces.len() == 1001);
    }
}
