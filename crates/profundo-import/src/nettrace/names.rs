//! Names of addresses: the runtime's methods, and functions of mapped files.

use std::cmp::Reverse;

use profundo_model::{Avma, CodeAddress, Language, LocationId, ModuleId};
use rustc_hash::FxHashMap;

use crate::encoding::cursor::Cursor;
use crate::{Builder, Named};

/// The code of a file, by process.
#[derive(Debug, Default)]
pub(super) struct Names {
    processes: FxHashMap<u32, Process>,
    /// The process of each mapping.
    mappings: FxHashMap<u64, u32>,
    locations: FxHashMap<(u32, CodeAddress), LocationId>,
}

#[derive(Debug, Default)]
struct Process {
    functions: Vec<Range<Function>>,
    mapped: Vec<Range<String>>,
    /// Paths of the runtime's modules.
    modules: FxHashMap<u64, String>,
}

#[derive(Debug)]
struct Range<T> {
    start: u64,
    end: u64,
    what: T,
}

#[derive(Debug)]
struct Function {
    name: String,
    parameters: Option<String>,
    /// The runtime's number of the module; `None` of a function in a mapped file.
    module: Option<u64>,
}

impl Names {
    /// Takes in a method of the runtime.
    pub(super) fn method(&mut self, pid: u32, payload: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(payload);
        cursor.u64()?;
        let module = cursor.u64()?;
        let start = cursor.u64()?;
        let size = cursor.u32()?;
        // Its token and flags.
        cursor.u64()?;
        let class = cursor.utf16_until_zero()?;
        let method = cursor.utf16_until_zero()?;
        let signature = cursor.utf16_until_zero()?;
        let name = match (&class[..], &method[..]) {
            ("", name) | (name, "") => name.to_owned(),
            (class, method) => format!("{class}.{method}"),
        };
        let parameters = signature.find('(').and_then(|at| signature.get(at..));
        self.process(pid).functions.push(Range {
            start,
            end: start.saturating_add(size.into()),
            what: Function {
                name,
                parameters: parameters.map(str::to_owned),
                module: Some(module),
            },
        });
        Some(())
    }

    /// Takes in a module of the runtime.
    pub(super) fn module(&mut self, pid: u32, payload: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(payload);
        let module = cursor.u64()?;
        // Its assembly and flags.
        cursor.take(16)?;
        let path = cursor.utf16_until_zero()?;
        self.process(pid).modules.insert(module, path);
        Some(())
    }

    /// Takes in a mapped file.
    pub(super) fn mapping(&mut self, payload: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(payload);
        let id = cursor.leb128()?;
        let pid = cursor.leb128_u32()?;
        let (start, end) = (cursor.leb128()?, cursor.leb128()?);
        cursor.leb128()?;
        let path = text(&mut cursor)?;
        self.mappings.insert(id, pid);
        if !path.is_empty() {
            let what = path;
            let range = Range { start, end, what };
            self.process(pid).mapped.push(range);
        }
        Some(())
    }

    /// Takes in a function of a mapped file.
    pub(super) fn symbol(&mut self, payload: &[u8]) -> Option<()> {
        let mut cursor = Cursor::new(payload);
        cursor.leb128()?;
        let mapping = cursor.leb128()?;
        let (start, end) = (cursor.leb128()?, cursor.leb128()?);
        let name = text(&mut cursor)?;
        let &pid = self.mappings.get(&mapping)?;
        self.process(pid).functions.push(Range {
            start,
            end,
            what: Function {
                name,
                parameters: None,
                module: None,
            },
        });
        Some(())
    }

    fn process(&mut self, pid: u32) -> &mut Process {
        self.processes.entry(pid).or_default()
    }

    /// Puts everything in order, before the first look-up.
    pub(super) fn sort(&mut self) {
        for process in self.processes.values_mut() {
            process.functions.sort_by_key(order);
            process.mapped.sort_by_key(order);
        }
    }

    /// The location of an address.
    pub(super) fn location(
        &mut self,
        builder: &mut Builder,
        pid: u32,
        address: CodeAddress,
    ) -> LocationId {
        if let Some(&known) = self.locations.get(&(pid, address)) {
            return known;
        }
        let found = self.processes.get(&pid);
        let location = locate(builder, found, address);
        self.locations.insert((pid, address), location);
        location
    }
}

fn locate(builder: &mut Builder, process: Option<&Process>, address: CodeAddress) -> LocationId {
    let at = address.for_lookup();
    let mapped = process.and_then(|process| find(&process.mapped, at));
    let module = mapped.map(|path| builder.module(path));
    let Some((process, function)) =
        process.and_then(|process| Some((process, find(&process.functions, at)?)))
    else {
        return builder.address(address, module);
    };
    let signature = (function.parameters.as_ref())
        .map(|parameters| format!("{}{parameters}", function.name))
        .unwrap_or_default();
    let is_managed = function.module.is_some();
    let frame = builder.frame(Named {
        function: &function.name,
        signature: &signature,
        language: is_managed.then_some(Language::Generated),
        ..Named::default()
    });
    let path = function.module.and_then(|id| process.modules.get(&id));
    let path = path.filter(|path| !path.is_empty());
    let module: Option<ModuleId> = path.map(|path| builder.module(path)).or(module);
    builder.location_of(frame, module)
}

/// Of ranges with one start, the shortest is last and found first.
fn order<T>(range: &Range<T>) -> (u64, Reverse<u64>) {
    (range.start, Reverse(range.end))
}

fn find<T>(ranges: &[Range<T>], at: Avma) -> Option<&T> {
    let after = ranges.partition_point(|range| range.start <= at.0);
    let range = ranges.get(after.checked_sub(1)?)?;
    (at.0 < range.end).then_some(&range.what)
}

/// A text with its length in two bytes before it.
fn text(cursor: &mut Cursor<'_>) -> Option<String> {
    let length = cursor.u16()?;
    let bytes = cursor.take(usize::from(length))?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}
