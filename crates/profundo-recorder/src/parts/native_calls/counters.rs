//! Counters that a compiler has put into a program (coverage), read from the program's memory: so
//! its files are not changed, and programs that end without writing them are counted as well.
//!
//! A process's counts are a difference: a child begins with its parent's counts. And counters may
//! be reset by the program; then their earlier values are added.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use profundo_linux::sys;
use profundo_process::modules::{FileEntry, Loaded, open_module};
use profundo_wire::native_calls::{GccTallies, Tallies};

use super::{gcc, places};

use places::Places;

/// The places of counters in files, found once for each file.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<usize, (Arc<FileEntry>, Places)>);

impl Known {
    /// The places of a module's counters.
    pub(crate) fn of(&mut self, pid: u32, module: &Loaded) -> Places {
        let Some(file) = &module.file else {
            return Places::default();
        };
        let (_, places) = self.0.entry(Arc::as_ptr(file) as usize).or_insert_with(|| {
            let elf = open_module(pid, module);
            let places = elf.map(|elf| places::find(&elf)).unwrap_or_default();
            // While the file is held, no other one has its address.
            (Arc::clone(file), places)
        });
        *places
    }
}

/// The counters of one module in a process.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Read {
    Llvm(Vec<u64>),
    Gcc {
        objects: Vec<GccTallies>,
        /// Whether they were written to files and not reset since: the files' counts may have been
        /// added to them.
        is_written: bool,
    },
}

impl Read {
    fn counters(&self) -> Vec<&[u64]> {
        match self {
            Self::Llvm(counters) => vec![counters],
            Self::Gcc { objects, .. } => {
                let functions = objects.iter().flat_map(|object| &object.functions);
                functions.map(|(_, _, counters)| &counters[..]).collect()
            }
        }
    }

    fn counters_mut(&mut self) -> Vec<&mut [u64]> {
        match self {
            Self::Llvm(counters) => vec![counters],
            Self::Gcc { objects, .. } => {
                let functions = objects.iter_mut().flat_map(|object| &mut object.functions);
                functions
                    .map(|(_, _, counters)| &mut counters[..])
                    .collect()
            }
        }
    }

    /// Whether it is a reading of the same counters.
    fn is_like(&self, other: &Self) -> bool {
        let lengths = |read: &Self| -> Vec<usize> {
            let counters = read.counters();
            counters.iter().map(|counters| counters.len()).collect()
        };
        lengths(self) == lengths(other)
    }

    fn each(&mut self, other: &Self, f: impl Fn(u64, u64) -> u64) {
        for (ours, theirs) in self.counters_mut().into_iter().zip(other.counters()) {
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                *ours = f(*ours, *theirs);
            }
        }
    }

    /// Whether one of them is less than before.
    fn is_less_than(&self, before: &Self) -> bool {
        let both = self.counters().into_iter().zip(before.counters());
        let mut both = both.flat_map(|(now, before)| now.iter().zip(before));
        both.any(|(now, before)| now < before)
    }
}

/// A process's counts in one module.
#[derive(Debug, Default)]
struct Account {
    /// The parent's counts, which are subtracted.
    base: Option<Read>,
    /// The last reading.
    last: Option<Read>,
    /// The counts before a reset.
    done: Option<Read>,
}

impl Account {
    fn read(&mut self, read: Read) {
        if let Some(last) = &self.last
            && last.is_like(&read)
        {
            if matches!(
                read,
                Read::Gcc {
                    is_written: true,
                    ..
                }
            ) {
                // Only the reading before they were written is certain.
                return;
            }
            if read.is_less_than(last) {
                self.settle();
            }
        }
        self.last = Some(read);
    }

    /// Adds the last reading to the finished counts: the counters were reset.
    fn settle(&mut self) {
        let Some(mut last) = self.last.take() else {
            return;
        };
        if let Some(base) = self.base.take().filter(|base| base.is_like(&last)) {
            last.each(&base, u64::saturating_sub);
        }
        match &mut self.done {
            Some(done) if done.is_like(&last) => done.each(&last, u64::saturating_add),
            done => *done = Some(last),
        }
    }
}

/// The counts of a process, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    modules: BTreeMap<String, Account>,
    /// Whether there is anything to read.
    pub(crate) has_any: bool,
    /// Whether it was read at the end, or as late as possible.
    pub(crate) is_whole: bool,
    /// Whether some counters could not be read.
    pub(crate) is_unreadable: bool,
    /// Whether it is a child whose initial counts were not read, so that its own are not known.
    pub(crate) has_no_beginning: bool,
}

impl Accounts {
    /// Reads the counters. `is_child`: it was forked just now.
    pub(crate) fn read(&mut self, pid: u32, modules: &[Loaded], known: &mut Known, is_child: bool) {
        for module in modules {
            let places = known.of(pid, module);
            let Some(read) = read(pid, module, places) else {
                self.is_unreadable |= !places.is_empty();
                continue;
            };
            self.has_any = true;
            let account = self.modules.entry(module.info.path.clone()).or_default();
            match is_child {
                // gcc's replacement of `fork` clears them after this.
                true if places.is_cleared_in_children => {}
                true => account.base = Some(read),
                false => account.read(read),
            }
        }
        self.has_no_beginning &= !is_child;
        self.is_whole = !is_child;
    }

    /// The final counts.
    pub(crate) fn finish(self) -> Vec<Tallies> {
        let mut all = Vec::new();
        for (path, mut account) in self.modules {
            account.settle();
            all.extend(account.done.map(|done| match done {
                Read::Llvm(counters) => Tallies::Llvm { path, counters },
                Read::Gcc { objects, .. } => Tallies::Gcc(objects),
            }));
        }
        all
    }
}

/// Reads a module's counters.
fn read(pid: u32, module: &Loaded, places: Places) -> Option<Read> {
    let address = |at: u64| at.wrapping_add(module.info.bias);
    if let Some((at, size)) = places.llvm {
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        let read = sys::read_memory(pid, address(at), &mut bytes);
        let words = bytes.as_chunks::<8>().0.iter();
        let whole = words.map(|&word| u64::from_le_bytes(word)).collect();
        return (read == bytes.len()).then_some(Read::Llvm(whole));
    }
    let (objects, is_written) = gcc::read(pid, address(places.gcc?))?;
    Some(Read::Gcc {
        objects,
        is_written,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llvm(counters: &[u64]) -> Read {
        Read::Llvm(counters.to_vec())
    }

    fn gcc(counters: &[u64], is_written: bool) -> Read {
        Read::Gcc {
            objects: vec![GccTallies {
                path: String::new(),
                stamp: 1,
                functions: vec![(1, 2, counters.to_vec())],
            }],
            is_written,
        }
    }

    #[track_caller]
    fn check(base: Option<Read>, looks: Vec<Read>, expected: &[u64]) {
        let mut account = Account {
            base,
            ..Account::default()
        };
        for look in looks {
            account.read(look);
        }
        account.settle();
        assert_eq!(account.done.unwrap().counters(), [expected]);
    }

    #[test]
    fn a_process_has_counted_what_its_parent_has_not() {
        check(None, vec![llvm(&[3, 4])], &[3, 4]);
        check(Some(llvm(&[1, 4])), vec![llvm(&[3, 4])], &[2, 0]);
        check(
            Some(llvm(&[1, 4])),
            vec![llvm(&[2, 4]), llvm(&[3, 5])],
            &[2, 1],
        );
    }

    #[test]
    fn counters_that_begin_anew_are_added_up() {
        let looks = vec![llvm(&[5, 6]), llvm(&[0, 7])];
        check(Some(llvm(&[1, 1])), looks, &[4, 12]);
    }

    #[test]
    fn what_a_file_has_added_does_not_count() {
        // About to be written; written; the program goes on, and ends.
        let looks = vec![gcc(&[5], false), gcc(&[50], true), gcc(&[60], true)];
        check(None, looks, &[5]);
        // After that they were cleared.
        let looks = vec![gcc(&[5], false), gcc(&[50], true), gcc(&[2], false)];
        check(None, looks, &[7]);
        // Others were written, but not these.
        let looks = vec![gcc(&[5], false), gcc(&[8], false)];
        check(Some(gcc(&[1], false)), looks, &[7]);
    }
}
