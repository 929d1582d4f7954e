//! The interpreter of another process: where it lies and which version it is.

use std::fs::File;
use std::path::Path;

use profundo_cpython::{
    DEBUG_WORDS, Layout, Memory, OLDEST, Refusal, ThreadList, layout_from_debug_offsets,
};
use profundo_probe::python::{Range, Ranges};

use super::memory::PageMemory;
use crate::modules::{Elf, Loaded, ModuleList, open_module};

/// An interpreter.
#[derive(Debug, Clone)]
pub(crate) struct Interpreter {
    pub(crate) layout: Layout,
    pub(crate) threads: ThreadList,
    /// The address of `_PyRuntime`.
    pub(crate) runtime: u64,
    pub(crate) code_type: u64,
    /// `_PyEval_EvalFrameDefault`.
    pub(crate) function: Range,
    pub(crate) evaluation: Ranges,
    /// As `3.12.1`.
    pub(crate) version: String,
    /// The path of the module that it lies in.
    pub(crate) path: String,
}

/// The symbols that are needed, which every interpreter from 3.8 on exports.
#[derive(Debug, Default)]
struct Symbols {
    runtime: u64,
    code_type: u64,
    evaluate: Range,
    /// From 3.11 on.
    version: u64,
}

impl Interpreter {
    /// Looks for one in what is mapped into a process. `None`: there is none, or not yet, or the process ends.
    pub(crate) fn find(
        pid: u32,
        list: &ModuleList,
        memory: &mut PageMemory,
    ) -> Option<Result<Self, Refusal>> {
        let module = list.interpreter()?;
        memory.begin_anew(pid);
        let found = Self::of(pid, list, module, memory);
        if found.is_err() {
            // A process that ends has no memory any more, which says nothing about its interpreter.
            memory.begin_anew(pid);
            memory.word(module.info.start)?;
        }
        Some(found)
    }

    fn of(
        pid: u32,
        list: &ModuleList,
        module: &Loaded,
        memory: &mut PageMemory,
    ) -> Result<Self, Refusal> {
        let elf = open_module(pid, module).ok_or(Refusal::File)?;
        let symbols = Symbols::read(&elf, module.info.bias);
        if symbols.runtime == 0 || symbols.code_type == 0 {
            // The oldest ones have no `_PyRuntime`.
            return Err(match minor_in_name(&module.info.path) {
                Some(..OLDEST) => Refusal::Version,
                _ => Refusal::Symbol,
            });
        }
        let (minor, version) = match symbols.version {
            0 => old_version(&elf, &module.info.path).ok_or(Refusal::Version)?,
            place => {
                let word = memory.word(place & !7).ok_or(Refusal::Symbol)?;
                let number = (word >> ((place & 4) * 8)) as u32;
                let [major, minor, micro, _] = number.to_be_bytes();
                if major != 3 {
                    return Err(Refusal::Version);
                }
                (minor, format!("3.{minor}.{micro}"))
            }
        };
        let mut words = [0; DEBUG_WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            let place = symbols.runtime + index as u64 * 8;
            *word = memory.word(place).unwrap_or(0);
        }
        Ok(Self {
            layout: layout_from_debug_offsets(minor, &words)?,
            threads: ThreadList::of(minor, &words)?,
            runtime: symbols.runtime,
            code_type: symbols.code_type,
            function: symbols.evaluate,
            evaluation: Ranges::of(&list.evaluation()),
            version,
            path: module.info.path.clone(),
        })
    }
}

impl Symbols {
    fn read(elf: &Elf<File>, bias: u64) -> Self {
        let mut found = Self::default();
        elf.functions_and_data(&elf.sections(), |symbol| {
            let address = symbol.address.wrapping_add(bias);
            match symbol.name {
                b"_PyRuntime" => found.runtime = address,
                b"PyCode_Type" => found.code_type = address,
                b"Py_Version" => found.version = address,
                b"_PyEval_EvalFrameDefault" => {
                    found.evaluate = Range {
                        start: address,
                        end: address + symbol.size,
                    };
                }
                _ => {}
            }
        });
        found
    }
}

/// The version of the interpreter that lies in a file, and why its stacks are not read if they are not.
/// `None`: there is none in it.
pub(crate) fn version_in_file(path: &Path) -> Option<(String, Option<Refusal>)> {
    let elf = Elf::read(File::open(path).ok()?)?;
    let symbols = Symbols::read(&elf, 0);
    if symbols.evaluate.start == 0 {
        return None;
    }
    if symbols.runtime == 0 || symbols.code_type == 0 {
        return Some(("of an unknown version".into(), Some(Refusal::Symbol)));
    }
    let old = || old_version(&elf, &path.to_string_lossy());
    let (minor, version) = match symbols.version {
        0 => match old() {
            Some(found) => found,
            None => return Some(("of an unknown version".into(), Some(Refusal::Version))),
        },
        place => {
            let bytes = elf.bytes_at(place)?;
            let [micro_and_rest @ .., minor, major] = bytes.first_chunk::<4>()?;
            let [_, micro] = micro_and_rest;
            (*minor, format!("{major}.{minor}.{micro}"))
        }
    };
    let mut words = [0; DEBUG_WORDS];
    // Where the file holds zeros only the process knows, which has it all.
    let bytes = elf.bytes_at(symbols.runtime).unwrap_or_default();
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let layout = layout_from_debug_offsets(minor, &words);
    Some((version, layout.err()))
}

/// Up to 3.10 no constant tells the version, but the text of one lies among the constants of the file;
/// there may be others that look alike, so the file's name has the first word.
fn old_version(elf: &Elf<File>, path: &str) -> Option<(u8, String)> {
    let named = minor_in_name(path);
    let sections = elf.sections();
    let constants = sections.iter().find(|section| section.name == b".rodata")?;
    let bytes = elf.contents(constants)?;
    let mut found: Vec<(u8, String)> = bytes
        .split(|&byte| byte == 0)
        .filter_map(version_text)
        .filter(|(minor, _)| named.is_none_or(|named| named == *minor))
        .collect();
    found.sort();
    found.dedup();
    match (found.as_slice(), named) {
        ([only], _) => Some(only.clone()),
        (_, Some(minor)) => Some((minor, format!("3.{minor}"))),
        _ => None,
    }
}

/// `3.9.18` or `3.9.18+`, of a version before 3.11.
fn version_text(text: &[u8]) -> Option<(u8, String)> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.strip_suffix('+').unwrap_or(text);
    let mut parts = plain.strip_prefix("3.")?.split('.');
    let minor: u8 = parts.next()?.parse().ok()?;
    let _: u8 = parts.next()?.parse().ok()?;
    let is_old = parts.next().is_none() && (OLDEST..11).contains(&minor);
    is_old.then(|| (minor, plain.to_owned()))
}

/// The 9 of `/usr/lib/libpython3.9.so.1.0`.
pub(crate) fn minor_in_name(path: &str) -> Option<u8> {
    let (_, after) = path.rsplit('/').next()?.split_once("python3.")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::modules::{MappingHistory, Store};
    use crate::session::Directory;

    #[test]
    fn a_process_that_has_ended_says_nothing_about_its_interpreter() {
        let program = "import sys; print('begun', flush=True); sys.stdin.read()";
        let mut command = Command::new("python3");
        command.args(["-c", program]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            if let Some(path) = std::env::var_os("PROFUNDO_SKIP_FILE") {
                let mut file = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .unwrap();
                writeln!(file, "skipped: no python3").unwrap();
            }
            return;
        };
        let mut line = String::new();
        let output = child.stdout.take().map(BufReader::new);
        output.unwrap().read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        let pid = child.id();
        let directory = Directory::create(None).unwrap();
        let cache = directory.path().join("cache");
        let mut store = Store::create(directory.path(), Some(&cache)).unwrap();
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap();
        let mut list = ModuleList::default();
        list.refresh(pid, &maps, 5, &MappingHistory::default(), &mut store);
        let mut memory = PageMemory::default();
        let found = Interpreter::find(pid, &list, &mut memory);
        assert!(found.is_some());
        child.kill().unwrap();
        // It stays as it is until it is waited for.
        while crate::proc::stat(pid).is_some_and(|stat| !stat.has_ended()) {
            std::thread::yield_now();
        }
        let found = Interpreter::find(pid, &list, &mut memory);
        assert!(found.is_none(), "{found:?}");
        child.wait().unwrap();
        let found = Interpreter::find(pid, &list, &mut memory);
        assert!(found.is_none(), "{found:?}");
    }

    #[test]
    fn versions_are_told_from_texts() {
        assert_eq!(version_text(b"3.8.18"), Some((8, "3.8.18".into())));
        assert_eq!(version_text(b"3.10.13+"), Some((10, "3.10.13".into())));
        assert_eq!(version_text(b"3.40.1"), None, "that is SQLite's");
        assert_eq!(version_text(b"3.9"), None);
        assert_eq!(version_text(b"3.9.1.2"), None);
        assert_eq!(minor_in_name("/a/libpython3.9.so.1.0"), Some(9));
        assert_eq!(minor_in_name("/usr/bin/python3.10"), Some(10));
        assert_eq!(minor_in_name("/usr/bin/python3"), None);
    }
}
