//! The kernel's records of mapped code, with their times. The code at a sample's address may be
//! unmapped when the process is read, and the process may have ended.

use std::cmp::Reverse;
use std::collections::VecDeque;

use profundo_linux::perf::Mapping;
use profundo_scan::MapLine;
use profundo_unwind::Module;
use profundo_wire::recording::ModuleInfo;

use super::list::{Loaded, ModuleList};
use super::store::Store;

/// More than are mapped between two readings.
const MOST: usize = 256;

/// A module that was unmapped before it was read.
#[derive(Debug)]
struct Gone {
    came: u64,
    loaded: Loaded,
}

/// The mappings of one program, and the modules that were unmapped before they were read.
#[derive(Debug, Default)]
pub struct MappingHistory {
    /// Ordered by time, in cycles.
    mappings: VecDeque<(u64, Mapping)>,
    gone: VecDeque<Gone>,
}

impl MappingHistory {
    /// Adds a mapping. A repeated mapping of the same file at the same place is ignored.
    pub fn add(&mut self, at: u64, mapping: Mapping) {
        let (start, end) = (mapping.start, mapping.end);
        let there = self.mappings.iter().rev();
        let there = there
            .map(|(_, mapping)| mapping)
            .find(|mapping| mapping.meets(start, end));
        if mapping.inode == 0 || there == Some(&mapping) {
            return;
        }
        keep_last(&mut self.mappings, MOST - 1);
        self.mappings.push_back((at, mapping));
    }

    /// The time at which a range was mapped, if that was recorded.
    pub fn came(&self, line: &MapLine<'_>) -> Option<u64> {
        let mut newest_first = self.mappings.iter().rev();
        let same = newest_first.find(|(_, mapping)| mapping.line().is_same(line));
        same.map(|(at, _)| *at)
    }

    /// The time at which a later mapping replaced one made at `came`, if any.
    pub fn until(&self, came: u64, start: u64, end: u64) -> Option<u64> {
        let mut mappings = self.mappings.iter();
        let next = mappings.find(|(at, new)| *at > came && new.meets(start, end));
        next.map(|(at, _)| *at)
    }

    /// Finds modules that are not in `list`, the present one. Returns those that are new.
    pub fn recall(
        &mut self,
        pid: u32,
        list: &ModuleList,
        now: u64,
        store: &mut Store,
    ) -> Vec<ModuleInfo> {
        let mut found = Vec::new();
        for (came, mapping) in &self.mappings {
            let line = mapping.line();
            let until = self.until(*came, line.start, line.end);
            let is_listed = until.is_none() && list.has(&line);
            let mut gone = self.gone.iter();
            if is_listed || gone.any(|gone| gone.came == *came && gone.loaded.has(&line)) {
                continue;
            }
            let loaded = Loaded::new(pid, &line, *came, store);
            found.push(ModuleInfo {
                unloaded: until.unwrap_or(now),
                ..loaded.info.clone()
            });
            self.gone.push_back(Gone {
                came: *came,
                loaded,
            });
        }
        keep_last(&mut self.gone, MOST);
        found
    }

    /// The modules at a time, from the list and from the unmapped ones. Sorted.
    pub fn modules_at<'a>(
        &self,
        list: &ModuleList,
        clock: u64,
        store: &'a Store,
    ) -> Vec<Module<'a>> {
        // Of those that share an address the newest was mapped. Mappings without a record have
        // existed since before.
        let listed = list.loaded().iter().flat_map(|loaded| {
            let lines = loaded.lines();
            lines.map(move |line| (self.came(&line).unwrap_or(clock), line, loaded))
        });
        let gone = self.gone.iter().flat_map(|gone| {
            let lines = gone.loaded.lines();
            lines.map(move |line| (gone.came, line, &gone.loaded))
        });
        let mut all: Vec<_> = listed
            .chain(gone)
            .filter(|known| known.0 <= clock)
            .collect();
        all.sort_by_key(|known| Reverse(known.0));
        let mut chosen: Vec<Module<'a>> = Vec::with_capacity(all.len());
        for (_, line, loaded) in all {
            let at = chosen.partition_point(|module| module.start < line.start);
            let is_above = at.checked_sub(1).and_then(|before| chosen.get(before));
            let is_free = chosen.get(at).is_none_or(|next| line.end <= next.start)
                && is_above.is_none_or(|before| before.end <= line.start);
            if is_free {
                chosen.insert(at, loaded.module(&line, store));
            }
        }
        chosen
    }

    /// Whether the list alone is right for a time.
    pub fn is_settled(&self, clock: u64) -> bool {
        let last = self.mappings.back().map_or(0, |(at, _)| *at);
        self.gone.is_empty() && clock > last
    }
}

fn keep_last<T>(all: &mut VecDeque<T>, count: usize) {
    let more = all.len().saturating_sub(count);
    all.drain(..more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_session::Directory;

    fn mapping(start: u64, inode: u64) -> Mapping {
        Mapping {
            start,
            end: start + 0x1000,
            inode,
            path: b"/nowhere/at/all.so".to_vec(),
            ..Mapping::default()
        }
    }

    /// A list of these mappings.
    fn listed(mappings: &[Mapping], store: &mut Store) -> ModuleList {
        let mut list = ModuleList::default();
        for mapping in mappings {
            list.add(1, &mapping.line(), 1, store);
        }
        list
    }

    fn store() -> (Directory, Store) {
        let directory = Directory::create(None).unwrap();
        let store = Store::create(directory.path(), None).unwrap();
        (directory, store)
    }

    fn starts(modules: &[Module<'_>]) -> Vec<u64> {
        modules.iter().map(|module| module.start).collect()
    }

    #[test]
    fn what_is_gone_was_there_until_another_came() {
        let (_directory, mut store) = store();
        let (first, second, other) = (mapping(0x5000, 1), mapping(0x5800, 2), mapping(0x1000, 3));
        let mut history = MappingHistory::default();
        history.add(10, first.clone());
        history.add(20, second.clone());
        // The list has the second one, and one from the start.
        let list = listed(&[other, second], &mut store);
        let found = history.recall(1, &list, 30, &mut store);
        let times = |info: &ModuleInfo| (info.start, info.loaded, info.unloaded);
        assert_eq!(
            found.iter().map(times).collect::<Vec<_>>(),
            [(0x5000, 10, 20)]
        );
        let at =
            |history: &MappingHistory, clock| starts(&history.modules_at(&list, clock, &store));
        assert_eq!(at(&history, 5), [0x1000]);
        assert_eq!(at(&history, 15), [0x1000, 0x5000]);
        assert_eq!(at(&history, 25), [0x1000, 0x5800]);
        assert!(!history.is_settled(25));
        assert!(
            history.recall(1, &list, 30, &mut store).is_empty(),
            "it is found once"
        );
        // It is mapped again, and the list is the old one.
        history.add(40, first.clone());
        assert_eq!(history.until(20, 0x5800, 0x6800), Some(40));
        let found = history.recall(1, &list, 50, &mut store);
        assert_eq!(
            found.iter().map(times).collect::<Vec<_>>(),
            [(0x5800, 20, 40), (0x5000, 40, 50)]
        );
        assert_eq!(
            starts(&history.modules_at(&list, 45, &store)),
            [0x1000, 0x5000]
        );
        assert_eq!(
            starts(&history.modules_at(&list, 15, &store)),
            [0x1000, 0x5000]
        );
    }

    #[test]
    fn what_is_listed_needs_no_recalling() {
        let (_directory, mut store) = store();
        let mut history = MappingHistory::default();
        history.add(10, mapping(0x5000, 1));
        history.add(11, mapping(0x5000, 1));
        // Anonymous memory.
        history.add(12, mapping(0x9000, 0));
        assert!(!history.is_settled(10) && history.is_settled(11));
        let list = listed(&[mapping(0x5000, 1)], &mut store);
        assert!(history.recall(1, &list, 30, &mut store).is_empty());
        assert_eq!(history.came(&mapping(0x5000, 1).line()), Some(10));
        assert_eq!(history.came(&mapping(0x5000, 2).line()), None);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut history = MappingHistory::default();
        for number in 1..2 * MOST as u64 {
            history.add(number, mapping(number << 12, number));
        }
        assert_eq!(history.mappings.len(), MOST);
        assert_eq!(history.mappings[0].0, MOST as u64);
    }
}
