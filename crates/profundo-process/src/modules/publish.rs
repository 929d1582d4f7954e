//! Publishing a process's module list to its signal handlers.

use std::sync::atomic::Ordering;

use profundo_probe::shared::{ForeignModule, LISTED, Ring};

use super::list::ModuleList;
use super::tables::Place;

/// The address of an empty slice.
const NOWHERE: u64 = 8;

/// Writes the list to the unused half of a ring, and makes it the current one. False: handlers were
/// in that half all the time, and it must be tried again.
pub fn publish(ring: &Ring, list: &ModuleList, generation: u64) -> bool {
    let listings = &ring.listings;
    let active = (listings.active.load(Ordering::SeqCst) & 1) as usize;
    let other = 1 - active;
    let (Some(inside), Some(half)) = (listings.inside.get(other), listings.modules.get(other))
    else {
        return false;
    };
    // SeqCst, as the handlers' counting: either we see a handler inside, or it sees that the half
    // it counted itself into is not the active one.
    let is_unused = (0..1000).any(|_| {
        std::hint::spin_loop();
        inside.load(Ordering::SeqCst) == 0
    });
    if !is_unused {
        return false;
    }
    let tables = (
        ring.header.tables.load(Ordering::Relaxed),
        ring.header.table_bytes.load(Ordering::Relaxed),
    );
    let modules = foreign(list, tables);
    for (slot, module) in half.iter().zip(&modules) {
        // SAFETY: no thread reads this half, and only this one writes to it. The slot is in the
        // mapping; whatever the other process does to it, it holds plain numbers.
        unsafe { slot.get().write(*module) };
    }
    let count = modules.len().min(half.len()) as u32;
    let ranges = list.evaluation();
    let bounds = ranges.iter().flat_map(|&(start, end)| [start, end]);
    for (slot, bound) in ring
        .header
        .evaluation
        .iter()
        .zip(bounds.chain(std::iter::repeat(0)))
    {
        slot.store(bound, Ordering::Relaxed);
    }
    if let (Some(length), Some(number)) =
        (listings.count.get(other), listings.generation.get(other))
    {
        length.store(count, Ordering::Relaxed);
        number.store(generation, Ordering::Relaxed);
    }
    listings.active.store(other as u32, Ordering::SeqCst);
    true
}

/// The modules with the addresses of their tables in the process, sorted. If there are too many,
/// those without tables are left out first. `tables`: the address of the mapped tables in the
/// process, and their size.
fn foreign(list: &ModuleList, tables: (u64, u64)) -> Vec<ForeignModule> {
    let mut modules: Vec<ForeignModule> = Vec::new();
    // Modules whose tables are being compiled are left out; their walks are repeated later:
    // see the recorder's `rewalk`.
    for loaded in list
        .loaded()
        .iter()
        .filter(|loaded| !loaded.is_being_compiled())
    {
        let file = loaded.file.as_ref().map(|file| file.compiled());
        let (start, bytes) = tables;
        let is_mapped = |place: &Place| start != 0 && place.end() <= bytes;
        let place = file.and_then(|file| file.place).filter(is_mapped);
        let at = |place: (u32, u32)| (start + u64::from(place.0), u64::from(place.1));
        let (rows, index) = match place {
            Some(place) => (at(place.rows), at(place.index)),
            None => ((NOWHERE, 0), (NOWHERE, 0)),
        };
        let base = file.map_or(0, |file| file.base.wrapping_add(loaded.info.bias));
        modules.extend(loaded.ranges.iter().map(|&(start, end, _)| ForeignModule {
            start,
            end,
            base,
            rows,
            index,
        }));
    }
    if modules.len() > LISTED {
        modules.sort_by_key(|module| (module.rows.1 == 0, module.start));
        modules.truncate(LISTED);
    }
    modules.sort_by_key(|module| module.start);
    modules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::{MappingHistory, Store};
    use profundo_session::{Directory, Rings};
    use profundo_unwind::{Module, Modules};

    #[test]
    fn what_is_published_is_a_list_of_modules() {
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let control = directory.control();
        let rings = Rings::create(directory.path(), control).unwrap();
        control.rings[0].state.store(2, Ordering::Relaxed);
        let map = rings.taken(control).remove(0).1;
        let ring = map.ring();
        let mut store = Store::create(directory.path(), Some(&cache)).unwrap();
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let mut list = ModuleList::default();
        let history = MappingHistory::default();
        list.refresh(std::process::id(), &maps, 0, &history, &mut store);
        // The tables, as if this process were the target.
        let file = std::fs::File::open(directory.path().join("tables")).unwrap();
        // SAFETY: a new mapping of a file that is as long.
        let tables = unsafe {
            let bytes = profundo_probe::shared::TABLE_BYTES;
            let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        ring.header.tables.store(tables as u64, Ordering::Relaxed);
        let bytes = profundo_probe::shared::TABLE_BYTES as u64;
        ring.header.table_bytes.store(bytes, Ordering::Relaxed);
        for generation in 1..4 {
            assert!(publish(ring, &list, generation));
        }
        let active = ring.listings.active.load(Ordering::SeqCst) as usize;
        let count = ring.listings.count[active].load(Ordering::Relaxed) as usize;
        assert!(count > 2);
        // SAFETY: the layouts are equal, and the addresses are those of the mapping above.
        let modules: Vec<Module<'_>> = ring.listings.modules[active][..count]
            .iter()
            .map(|slot| unsafe { std::mem::transmute::<ForeignModule, Module<'_>>(*slot.get()) })
            .collect();
        let here = what_is_published_is_a_list_of_modules as fn() as usize as u64;
        Modules::new(&modules).row(here).expect("our own code");
        // A handler that stays inside a half keeps it from being written to.
        ring.listings.inside[1 - active].store(1, Ordering::SeqCst);
        assert!(!publish(ring, &list, 9));
        let _ = std::fs::remove_dir_all(cache);
    }
}
