//! The kernel's part of stacks: the functions at its addresses, from `/proc/kallsyms` where that
//! may be read.

mod table;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use profundo_wire::recording::{Event, GeneratedCode, ModuleInfo};

pub use table::has_names;

use table::Table;

/// All of the kernel's addresses are in the upper half.
const FIRST: u64 = 0xffff_8000_0000_0000;

/// The kernel as a module of a process.
pub fn module(now: u64) -> ModuleInfo {
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

/// Names for kernel addresses.
#[derive(Debug)]
pub struct KernelNames {
    /// The table that is being read. Reading may take a tenth of a second, in which samples would
    /// be lost.
    coming: Option<Receiver<Table>>,
    table: Table,
    met: HashSet<u64>,
    waiting: BTreeSet<u64>,
    /// The start addresses of the functions that were emitted.
    emitted: HashSet<u64>,
}

impl KernelNames {
    /// Starts reading the table, or its copy in a cache.
    pub fn begin(cache: Option<PathBuf>) -> Self {
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
            emitted: HashSet::new(),
        }
    }

    /// Adds an address.
    pub fn meet(&mut self, address: u64) {
        /// More than there are calls in a kernel.
        const MOST: usize = 1 << 20;
        if self.met.len() < MOST && self.met.insert(address) {
            self.waiting.insert(address);
        }
    }

    /// Emits the functions of addresses added since the last call. With `waits`, it waits for the
    /// table.
    pub fn emit(&mut self, process: u32, waits: bool, sink: &mut dyn FnMut(Event<'_>)) {
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
        // A return address may be the first of the next function, so both are emitted.
        for address in std::mem::take(&mut self.waiting) {
            for address in [address, address - 1] {
                if let Some(code) = self.function(address)
                    && self.emitted.insert(code.start)
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
    fn functions_are_emitted_once() {
        let mut names = KernelNames {
            table: Table::parse(TEXT),
            coming: None,
            ..KernelNames::begin(None)
        };
        let emitted = |names: &mut KernelNames| {
            let mut functions = Vec::new();
            names.emit(1, true, &mut |event| {
                if let Event::Generated { codes, .. } = event {
                    functions.extend(
                        codes
                            .into_iter()
                            .map(|code| format!("{:x} {}", code.end, code.name)),
                    );
                }
            });
            functions
        };
        names.meet(0xffff_ffff_8100_0150);
        names.meet(0xffff_ffff_8100_0151);
        names.meet(0xffff_ffff_c000_0010);
        names.meet(0xffff_8000_0000_0000);
        let expected = ["ffffffff81000200 do_work", "ffffffffc0000400 in_module"];
        assert_eq!(emitted(&mut names), expected);
        // The call belongs to the function before.
        names.meet(0xffff_ffff_8100_0100);
        assert_eq!(emitted(&mut names), ["ffffffff81000100 _text"]);
        assert!(emitted(&mut names).is_empty());
    }

    #[test]
    fn without_permission_there_are_no_names() {
        let mut names = KernelNames {
            coming: None,
            ..KernelNames::begin(None)
        };
        names.meet(FIRST);
        names.emit(1, true, &mut |_| panic!("nothing is known"));
    }
}
