//! The kernel's part of stacks: which of its functions addresses lie in, as `/proc/kallsyms` tells
//! those who may know.

mod table;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use profundo_wire::recording::{Event, GeneratedCode, ModuleInfo};

use table::Table;
pub(crate) use table::has_names;

/// All of the kernel's addresses are in the upper half.
const FIRST: u64 = 0xffff_8000_0000_0000;

/// Whether an address is the kernel's.
pub(crate) fn is_kernels(address: u64) -> bool {
    address >= 1 << 63
}

/// The kernel as a module of a process.
pub(crate) fn module(now: u64) -> ModuleInfo {
    ModuleInfo {
        path: "[kernel]".into(),
        start: FIRST,
        end: u64::MAX,
        bias: 0,
        build_id: Vec::new(),
        loaded: now,
        unloaded: u64::MAX,
    }
}

/// Names for the addresses that were met.
#[derive(Debug)]
pub(crate) struct KernelNames {
    /// The table may take a tenth of a second to read, in which samples would be lost.
    coming: Option<Receiver<Table>>,
    table: Table,
    met: HashSet<u64>,
    waiting: BTreeSet<u64>,
    /// The functions that were told of.
    told: HashSet<u64>,
}

impl KernelNames {
    /// Begins to read the table, which may have been kept in a cache.
    pub(crate) fn begin(cache: Option<PathBuf>) -> Self {
        let (ready, coming) = channel();
        let thread = std::thread::Builder::new().name("profundo".into());
        let read = move || {
            // The session may be over.
            let _ = ready.send(Table::read(cache.as_deref()));
        };
        Self {
            coming: thread.spawn(read).is_ok().then_some(coming),
            table: Table::default(),
            met: HashSet::new(),
            waiting: BTreeSet::new(),
            told: HashSet::new(),
        }
    }

    /// An address was met.
    pub(crate) fn meet(&mut self, address: u64) {
        /// There are not so many calls in a kernel.
        const MOST: usize = 1 << 20;
        if self.met.len() < MOST && self.met.insert(address) {
            self.waiting.insert(address);
        }
    }

    /// Tells of the functions that were met since the last time. At the end it waits for the table.
    pub(crate) fn tell(&mut self, process: u32, waits: bool, sink: &mut dyn FnMut(Event<'_>)) {
        if self.waiting.is_empty() {
            return;
        }
        if let Some(coming) = &self.coming {
            let table = match waits {
                true => coming.recv().ok(),
                false => coming.try_recv().ok(),
            };
            let Some(table) = table else { return };
            self.table = table;
            self.coming = None;
        }
        let mut codes = Vec::new();
        // A return address may be the first of the next function: both are told of.
        for address in std::mem::take(&mut self.waiting) {
            for address in [address, address - 1] {
                if let Some(code) = self.function(address)
                    && self.told.insert(code.start)
                {
                    codes.push(code);
                }
            }
        }
        if !codes.is_empty() {
            sink(Event::Generated { process, codes });
        }
    }

    fn function(&self, address: u64) -> Option<GeneratedCode> {
        let function = self.table.function(address)?;
        Some(GeneratedCode {
            start: function.start,
            end: function.end,
            name: (*String::from_utf8_lossy(function.name)).into(),
            loaded: 0,
            unloaded: u64::MAX,
            lines: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::table::tests::TEXT;
    use super::*;

    #[test]
    fn functions_are_told_of_once() {
        let mut names = KernelNames {
            table: Table::parse(TEXT),
            coming: None,
            ..KernelNames::begin(None)
        };
        let told = |names: &mut KernelNames| {
            let mut told = Vec::new();
            names.tell(1, true, &mut |event| {
                if let Event::Generated { codes, .. } = event {
                    told.extend(
                        codes
                            .into_iter()
                            .map(|it| format!("{:x} {}", it.end, it.name)),
                    );
                }
            });
            told
        };
        names.meet(0xffff_ffff_8100_0150);
        names.meet(0xffff_ffff_8100_0151);
        names.meet(0xffff_ffff_c000_0010);
        names.meet(0xffff_8000_0000_0000);
        let expected = ["ffffffff81000200 do_work", "ffffffffc0000400 in_module"];
        assert_eq!(told(&mut names), expected);
        // The call is in what comes before.
        names.meet(0xffff_ffff_8100_0100);
        assert_eq!(told(&mut names), ["ffffffff81000100 _text"]);
        assert!(told(&mut names).is_empty());
    }

    #[test]
    fn who_may_not_know_sees_nothing() {
        let mut names = KernelNames {
            coming: None,
            ..KernelNames::begin(None)
        };
        names.meet(FIRST);
        names.tell(1, true, &mut |_| panic!("nothing is known"));
    }
}
