//! The kernel's part of stacks: which of its functions addresses lie in, as `/proc/kallsyms` tells
//! those who may know.

use std::collections::{BTreeSet, HashSet};
use std::sync::mpsc::{Receiver, channel};

use profundo_wire::recording::{Event, GeneratedCode, ModuleInfo};

/// All of the kernel's addresses are in the upper half.
const FIRST: u64 = 0xffff_8000_0000_0000;
/// The last function known ends somewhere.
const LARGEST: u64 = 1 << 20;

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
    /// The table takes a tenth of a second to read, in which samples would be lost.
    coming: Option<Receiver<Vec<Symbol>>>,
    symbols: Vec<Symbol>,
    met: HashSet<u64>,
    waiting: BTreeSet<u64>,
    /// The functions that were told of.
    told: HashSet<u64>,
}

type Symbol = (u64, Box<str>);

impl KernelNames {
    /// Begins to read the table.
    pub(crate) fn begin() -> Self {
        let (ready, coming) = channel();
        let thread = std::thread::Builder::new().name("profundo".into());
        let read = move || {
            let text = std::fs::read("/proc/kallsyms").unwrap_or_default();
            // The session may be over.
            let _ = ready.send(parse(&text));
        };
        Self {
            coming: thread.spawn(read).is_ok().then_some(coming),
            symbols: Vec::new(),
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
            let symbols = match waits {
                true => coming.recv().ok(),
                false => coming.try_recv().ok(),
            };
            let Some(symbols) = symbols else { return };
            self.symbols = symbols;
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
        let after = self.symbols.partition_point(|symbol| symbol.0 <= address);
        let (start, name) = self.symbols.get(after.checked_sub(1)?)?;
        let next = self.symbols.get(after).map_or(u64::MAX, |symbol| symbol.0);
        let end = next.min(start.saturating_add(LARGEST));
        (address < end).then(|| GeneratedCode {
            start: *start,
            end,
            name: (**name).into(),
            loaded: 0,
            unloaded: u64::MAX,
            lines: Vec::new(),
        })
    }
}

/// Whether we may know where the kernel's functions are.
pub(crate) fn has_names() -> bool {
    let mut bytes = [0; 4096];
    let read = std::fs::File::open("/proc/kallsyms")
        .and_then(|file| std::os::unix::fs::FileExt::read_at(&file, &mut bytes, 0));
    let read = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
    !parse(read).is_empty()
}

/// The functions in the text of `/proc/kallsyms`, sorted. Who may not know them sees them all at 0.
fn parse(text: &[u8]) -> Vec<Symbol> {
    let lines = text.split(|&byte| byte == b'\n');
    let mut symbols: Vec<Symbol> = lines
        .filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            let mut words = line.split_ascii_whitespace();
            let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let address = u64::from_str_radix(address, 16).ok()?;
            let is_code = matches!(kind, "t" | "T" | "w" | "W");
            (is_code && is_kernels(address)).then(|| (address, name.into()))
        })
        .collect();
    // Of several names the first is as good as any.
    symbols.sort_by_key(|symbol| symbol.0);
    symbols.dedup_by_key(|symbol| symbol.0);
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"ffffffff81000000 T _text\nffffffff81000000 T _stext\n\
        ffffffff81000100 t do_work\nffffffff81000180 d data\nffffffff81000200 W end\n\
        ffffffffc0000000 t in_module\t[thing]\n0000000000000000 A percpu\nnonsense\n\xff\n";

    #[test]
    fn functions_are_told_of_once() {
        let mut names = KernelNames {
            symbols: parse(TEXT),
            coming: None,
            ..KernelNames::begin()
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
        let expected = ["ffffffff81000200 do_work", "ffffffffc0100000 in_module"];
        assert_eq!(told(&mut names), expected);
        // The call is in what comes before.
        names.meet(0xffff_ffff_8100_0100);
        assert_eq!(told(&mut names), ["ffffffff81000100 _text"]);
        assert!(told(&mut names).is_empty());
    }

    #[test]
    fn who_may_not_know_sees_nothing() {
        assert!(parse(b"0000000000000000 T _text\n0000000000000000 t do_work\n").is_empty());
        let mut names = KernelNames {
            coming: None,
            ..KernelNames::begin()
        };
        names.meet(FIRST);
        names.tell(1, true, &mut |_| panic!("nothing is known"));
    }
}
