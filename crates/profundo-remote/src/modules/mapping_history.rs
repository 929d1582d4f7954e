//! What the kernel has told of code that was mapped, with the time: what lay at an address when a sample
//! was taken may be gone when the process is looked at, and so may the process.

use std::cmp::Reverse;
use std::collections::VecDeque;

use profundo_scan::MapLine;
use profundo_unwind::Module;
use profundo_wire::recording::ModuleInfo;

use super::list::{Loaded, ModuleList};
use super::store::Store;

/// More than are mapped between two looks.
const MOST: usize = 256;

/// A mapping of a file, as the kernel tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) offset: u64,
    /// As `major << 32 | minor`.
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) path: Vec<u8>,
}

impl Mapping {
    fn line(&self) -> MapLine<'_> {
        MapLine {
            start: self.start,
            end: self.end,
            offset: self.offset,
            device: self.device,
            inode: self.inode,
            path: &self.path,
        }
    }

    /// Whether it has an address in common with a range.
    fn meets(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
}

/// A module that was gone when it was looked for.
#[derive(Debug)]
struct Gone {
    came: u64,
    loaded: Loaded,
}

/// What was told of one program, and those of its modules that were gone when they were looked for.
#[derive(Debug, Default)]
pub(crate) struct MappingHistory {
    /// In the order of time, which is in cycles.
    mappings: VecDeque<(u64, Mapping)>,
    gone: VecDeque<Gone>,
}

impl MappingHistory {
    /// Takes in a mapping. One of the same file at the same place is no other.
    pub(crate) fn tell(&mut self, at: u64, mapping: Mapping) {
        let (start, end) = (mapping.start, mapping.end);
        let there = self.mappings.iter().rev();
        let there = there.map(|(_, it)| it).find(|it| it.meets(start, end));
        if mapping.inode == 0 || there == Some(&mapping) {
            return;
        }
        keep_last(&mut self.mappings, MOST - 1);
        self.mappings.push_back((at, mapping));
    }

    /// When a range was mapped, if that was told.
    pub(crate) fn came(&self, line: &MapLine<'_>) -> Option<u64> {
        let mut told = self.mappings.iter().rev();
        let told = told.find(|(_, mapping)| mapping.line().is_same(line));
        told.map(|(at, _)| *at)
    }

    /// Until when what came at a time may have been there: something else came then.
    pub(crate) fn until(&self, came: u64, start: u64, end: u64) -> Option<u64> {
        let mut told = self.mappings.iter();
        let told = told.find(|(at, new)| *at > came && new.meets(start, end));
        told.map(|(at, _)| *at)
    }

    /// Finds out about modules that are not in the list, which is that of now. Returns those that were
    /// not known before.
    pub(crate) fn recall(
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
            if is_listed || gone.any(|it| it.came == *came && it.loaded.has(&line)) {
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

    /// The modules of the list, and those that are gone, as they were at a time. Sorted.
    pub(crate) fn modules_at<'a>(
        &self,
        list: &ModuleList,
        clock: u64,
        store: &'a Store,
    ) -> Vec<Module<'a>> {
        // The newest of those that share an address is the one that was there. What the kernel did not
        // tell of has been there since before.
        let listed = list.loaded().iter().flat_map(|loaded| {
            let lines = loaded.lines();
            lines.map(move |line| (self.came(&line).unwrap_or(clock), line, loaded))
        });
        let gone = self.gone.iter().flat_map(|gone| {
            let lines = gone.loaded.lines();
            lines.map(move |line| (gone.came, line, &gone.loaded))
        });
        let mut all: Vec<_> = listed.chain(gone).filter(|it| it.0 <= clock).collect();
        all.sort_by_key(|it| Reverse(it.0));
        let mut chosen: Vec<Module<'a>> = Vec::with_capacity(all.len());
        for (_, line, loaded) in all {
            let at = chosen.partition_point(|it| it.start < line.start);
            let is_above = at.checked_sub(1).and_then(|before| chosen.get(before));
            let is_free = chosen.get(at).is_none_or(|it| line.end <= it.start)
                && is_above.is_none_or(|it| it.end <= line.start);
            if is_free {
                chosen.insert(at, loaded.module(&line, store));
            }
        }
        chosen
    }

    /// Whether the list alone says what lay where at a time.
    pub(crate) fn is_settled(&self, clock: u64) -> bool {
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
    use crate::session::Directory;

    fn mapping(start: u64, inode: u64) -> Mapping {
        Mapping {
            start,
            end: start + 0x1000,
            inode,
            path: b"/nowhere/at/all.so".to_vec(),
            ..Mapping::default()
        }
    }

    /// A list of what is mapped.
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
        let mut told = MappingHistory::default();
        told.tell(10, first.clone());
        told.tell(20, second.clone());
        // The list has the second one, and one that was there from the start.
        let list = listed(&[other, second], &mut store);
        let found = told.recall(1, &list, 30, &mut store);
        let times = |info: &ModuleInfo| (info.start, info.loaded, info.unloaded);
        assert_eq!(
            found.iter().map(times).collect::<Vec<_>>(),
            [(0x5000, 10, 20)]
        );
        let at = |told: &MappingHistory, clock| starts(&told.modules_at(&list, clock, &store));
        assert_eq!(at(&told, 5), [0x1000]);
        assert_eq!(at(&told, 15), [0x1000, 0x5000]);
        assert_eq!(at(&told, 25), [0x1000, 0x5800]);
        assert!(!told.is_settled(25));
        assert!(
            told.recall(1, &list, 30, &mut store).is_empty(),
            "it is found once"
        );
        // It comes back, and the list is that of before.
        told.tell(40, first.clone());
        assert_eq!(told.until(20, 0x5800, 0x6800), Some(40));
        let found = told.recall(1, &list, 50, &mut store);
        assert_eq!(
            found.iter().map(times).collect::<Vec<_>>(),
            [(0x5800, 20, 40), (0x5000, 40, 50)]
        );
        assert_eq!(
            starts(&told.modules_at(&list, 45, &store)),
            [0x1000, 0x5000]
        );
        assert_eq!(
            starts(&told.modules_at(&list, 15, &store)),
            [0x1000, 0x5000]
        );
    }

    #[test]
    fn what_is_listed_needs_no_recalling() {
        let (_directory, mut store) = store();
        let mut told = MappingHistory::default();
        told.tell(10, mapping(0x5000, 1));
        told.tell(11, mapping(0x5000, 1));
        // Memory that no file is mapped to.
        told.tell(12, mapping(0x9000, 0));
        assert!(!told.is_settled(10) && told.is_settled(11));
        let list = listed(&[mapping(0x5000, 1)], &mut store);
        assert!(told.recall(1, &list, 30, &mut store).is_empty());
        assert_eq!(told.came(&mapping(0x5000, 1).line()), Some(10));
        assert_eq!(told.came(&mapping(0x5000, 2).line()), None);
    }

    #[test]
    fn what_is_told_takes_no_more_than_so_much() {
        let mut told = MappingHistory::default();
        for number in 1..2 * MOST as u64 {
            told.tell(number, mapping(number << 12, number));
        }
        assert_eq!(told.mappings.len(), MOST);
        assert_eq!(told.mappings[0].0, MOST as u64);
    }
}
