//! What the kernel has told of code that was mapped, with the time: what lay at an address when a sample
//! was taken may be gone when the process is looked at, and so may the process.

use std::collections::VecDeque;

use profundo_unwind::Module;
use profundo_wire::recording::ModuleInfo;

use super::list::ModuleList;
use super::maps::MapLine;
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
}

/// What was told of one program, and those of its modules that were gone when they were looked for.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// In the order of time, which is in cycles.
    mappings: VecDeque<(u64, Mapping)>,
    gone: ModuleList,
}

impl Told {
    /// Takes in a mapping. One of the same file at the same place is no other.
    pub(crate) fn tell(&mut self, at: u64, mapping: Mapping) {
        if mapping.inode == 0 || self.mappings.iter().any(|(_, known)| *known == mapping) {
            return;
        }
        if self.mappings.len() >= MOST {
            self.mappings.pop_front();
        }
        self.mappings.push_back((at, mapping));
    }

    /// Finds out about modules that hold one of these pages and are not in the list. Returns those that
    /// were not known before.
    pub(crate) fn recall(
        &mut self,
        pid: u32,
        list: &ModuleList,
        holds: impl Fn(u64, u64) -> bool,
        now: u64,
        store: &mut Store,
    ) -> Vec<ModuleInfo> {
        self.gone.keep_last(MOST);
        let mut found = Vec::new();
        for (at, mapping) in &self.mappings {
            let line = mapping.line();
            let known = list.has(&line) || self.gone.has(&line);
            if !known && holds(line.start, line.end) {
                let new = self.gone.add(pid, &line, *at, store);
                found.extend(new.map(|info| ModuleInfo {
                    unloaded: now,
                    ..info
                }));
            }
        }
        found
    }

    /// The modules of the list, and those that are gone, as they were at a time. Sorted.
    pub(crate) fn modules_at<'a>(
        &self,
        list: &[Module<'a>],
        clock: u64,
        store: &'a Store,
    ) -> Vec<Module<'a>> {
        // The newest of those that share an address is the one that was there. What the kernel did not
        // tell of has been there since before.
        let since = |module: &Module<'_>| {
            let mut told = self.mappings.iter().rev();
            let told = told.find(|(_, mapping)| mapping.start == module.start);
            told.map_or(clock, |(at, _)| *at)
        };
        let listed = list.iter().map(|module| (since(module), *module));
        let gone = self.gone.loaded().iter().flat_map(|loaded| {
            let ranges = loaded.ranges.iter();
            ranges.map(|&(start, end, _)| {
                let file = loaded.file.as_deref();
                let module = store.module((start, end), file, loaded.info.bias);
                (loaded.info.loaded, module)
            })
        });
        let mut all: Vec<_> = listed.chain(gone).filter(|(at, _)| *at <= clock).collect();
        all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let mut chosen: Vec<Module<'a>> = Vec::with_capacity(all.len());
        for (_, module) in all {
            let after = chosen.partition_point(|it| it.start < module.start);
            let is_free = chosen.get(after).is_none_or(|it| module.end <= it.start)
                && after
                    .checked_sub(1)
                    .and_then(|before| chosen.get(before))
                    .is_none_or(|it| it.end <= module.start);
            if is_free {
                chosen.insert(after, module);
            }
        }
        chosen
    }

    /// Whether the list alone says what lay where at a time.
    pub(crate) fn is_settled(&self, clock: u64) -> bool {
        let last = self.mappings.back().map_or(0, |(at, _)| *at);
        self.gone.loaded().is_empty() && clock > last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Directory;
    use profundo_unwind::TableRef;

    fn mapping(start: u64, inode: u64) -> Mapping {
        Mapping {
            start,
            end: start + 0x1000,
            inode,
            path: b"/nowhere/at/all.so".to_vec(),
            ..Mapping::default()
        }
    }

    fn listed(start: u64) -> Module<'static> {
        Module {
            start,
            end: start + 0x1000,
            table: TableRef::default(),
        }
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
        let mut told = Told::default();
        told.tell(10, mapping(0x5000, 1));
        told.tell(20, mapping(0x5800, 2));
        // The list has the second one, and one that was there from the start.
        let list = [listed(0x1000), listed(0x5800)];
        let found = told.recall(
            1,
            &ModuleList::default(),
            |start, _| start == 0x5000,
            30,
            &mut store,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].start, found[0].loaded, found[0].unloaded),
            (0x5000, 10, 30)
        );
        let at = |clock| starts(&told.modules_at(&list, clock, &store));
        assert_eq!(at(5), [0x1000]);
        assert_eq!(at(15), [0x1000, 0x5000]);
        assert_eq!(at(25), [0x1000, 0x5800]);
        assert!(!told.is_settled(25));
        // It is found once.
        let again = told.recall(
            1,
            &ModuleList::default(),
            |start, _| start == 0x5000,
            30,
            &mut store,
        );
        assert!(again.is_empty());
    }

    #[test]
    fn what_is_listed_needs_no_recalling() {
        let (_directory, mut store) = store();
        let mut told = Told::default();
        told.tell(10, mapping(0x5000, 1));
        told.tell(11, mapping(0x5000, 1));
        // Memory that no file is mapped to.
        told.tell(12, mapping(0x9000, 0));
        assert!(!told.is_settled(10) && told.is_settled(11));
        let mut list = ModuleList::default();
        list.add(1, &mapping(0x5000, 1).line(), 10, &mut store);
        assert!(
            told.recall(1, &list, |_, _| true, 30, &mut store)
                .is_empty()
        );
    }

    #[test]
    fn what_is_told_takes_no_more_than_so_much() {
        let mut told = Told::default();
        for number in 1..2 * MOST as u64 {
            told.tell(number, mapping(number << 12, number));
        }
        assert_eq!(told.mappings.len(), MOST);
        assert_eq!(told.mappings[0].0, MOST as u64);
    }
}
