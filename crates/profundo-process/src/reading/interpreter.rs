//! The interpreter of another process: its addresses and its version.

use std::fs::File;
use std::path::Path;

use profundo_cpython::{
    DEBUG_WORDS, Layout, Memory, Refusal, Version, layout_from_debug_offsets, version,
};
use profundo_probe::python::{Range, Ranges};

use super::memory::PageMemory;
use crate::modules::{Elf, Loaded, ModuleList, open_module};

/// An interpreter.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// The layout of its structures.
    pub layout: Layout,
    /// The address of `_PyRuntime`.
    pub runtime: u64,
    /// The address of the type of code objects.
    pub code_type: u64,
    /// `_PyEval_EvalFrameDefault`.
    pub function: Range,
    /// The ranges of code that evaluate frames.
    pub evaluation: Ranges,
    /// Its version, such as `3.12.1`.
    pub version: String,
    /// The path of the module that contains it.
    pub path: String,
}

/// The needed symbols, which every interpreter from 3.8 on exports.
#[derive(Debug, Default)]
struct Symbols {
    runtime: u64,
    code_type: u64,
    evaluate: Range,
    /// From 3.11 on.
    version: u64,
}

impl Interpreter {
    /// Finds the interpreter in a process's modules. `None`: there is none, or not yet, or the
    /// process ends.
    pub fn find(
        pid: u32,
        list: &ModuleList,
        memory: &mut PageMemory,
    ) -> Option<Result<Self, Refusal>> {
        let module = list.interpreter()?;
        memory.begin_anew(pid);
        let found = Self::of(pid, list, module, memory);
        if found.is_err() {
            // A process that ends has no memory, which says nothing about its interpreter.
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
            // The oldest versions have no `_PyRuntime`.
            let minor = minor_in_name(&module.info.path);
            return Err(match minor.is_some_and(version::is_too_old) {
                true => Refusal::Version,
                false => Refusal::Symbol,
            });
        }
        let (minor, version) = match symbols.version {
            0 => old_version(&elf, &module.info.path).ok_or(Refusal::Version)?,
            place => {
                let word = memory.word(place & !7).ok_or(Refusal::Symbol)?;
                let version = Version::of_hex((word >> ((place & 4) * 8)) as u32);
                let minor = version.of_python_3().ok_or(Refusal::Version)?;
                (minor, version.to_string())
            }
        };
        let mut words = [0; DEBUG_WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            let place = symbols.runtime + index as u64 * 8;
            *word = memory.word(place).unwrap_or(0);
        }
        Ok(Self {
            layout: layout_from_debug_offsets(minor, &words)?,
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

/// The version of the interpreter in a file, and why its stacks are not read, if so. `None`: there
/// is none in it.
pub fn version_in_file(path: &Path) -> Option<(String, Option<Refusal>)> {
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
            let version = Version::of_hex(u32::from_le_bytes(*bytes.first_chunk()?));
            (version.minor, version.to_string())
        }
    };
    let mut words = [0; DEBUG_WORDS];
    // The file has zeros where only the process has values.
    let bytes = elf.bytes_at(symbols.runtime).unwrap_or_default();
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let layout = layout_from_debug_offsets(minor, &words);
    Some((version, layout.err()))
}

/// Up to 3.10 no constant has the version, but its text is among the constants of the file. Other
/// texts may look alike, so the file's name decides first.
fn old_version(elf: &Elf<File>, path: &str) -> Option<(u8, String)> {
    let named = minor_in_name(path);
    let sections = elf.sections();
    let constants = sections.iter().find(|section| section.name == b".rodata")?;
    let bytes = elf.contents(constants)?;
    let mut found: Vec<Version> = bytes
        .split(|&byte| byte == 0)
        .filter_map(version_text)
        .filter(|version| named.is_none_or(|minor| version.is_3(minor)))
        .collect();
    found.sort();
    found.dedup();
    match (found.as_slice(), named) {
        ([only], _) => Some((only.minor, only.to_string())),
        (_, Some(minor)) => Some((minor, format!("3.{minor}"))),
        _ => None,
    }
}

/// `3.9.18` or `3.9.18+`, of a version before 3.11.
fn version_text(text: &[u8]) -> Option<Version> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.strip_suffix('+').unwrap_or(text);
    let mut parts = plain.strip_prefix("3.")?.split('.');
    let version = Version {
        major: 3,
        minor: parts.next()?.parse().ok()?,
        micro: parts.next()?.parse().ok()?,
    };
    let is_old =
        version::STACKS.holds(version.minor) && !version::has_version_constant(version.minor);
    (is_old && parts.next().is_none()).then_some(version)
}

/// The 9 of `/usr/lib/libpython3.9.so.1.0`.
pub fn minor_in_name(path: &str) -> Option<u8> {
    let (_, after) = path.rsplit('/').next()?.split_once("python3.")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::modules::{MappingHistory, Store};
    use profundo_session::Directory;

    #[test]
    fn no_interpreter_is_found_in_an_ended_process() {
        let program = "import sys; print('begun', flush=True); sys.stdin.read()";
        let mut command = Command::new("python3");
        command.args(["-c", program]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            profundo_testing::skip("no python3");
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
        found.as_ref().expect("the interpreter");
        child.kill().unwrap();
        // It stays a zombie until it is reaped.
        profundo_testing::wait_until("its end", || {
            profundo_linux::proc::stat(pid).is_none_or(|stat| stat.has_ended())
        });
        let found = Interpreter::find(pid, &list, &mut memory);
        assert!(found.is_none(), "{found:?}");
        child.wait().unwrap();
        let found = Interpreter::find(pid, &list, &mut memory);
        assert!(found.is_none(), "{found:?}");
    }

    #[test]
    fn versions_are_parsed() {
        let text = |text: &[u8]| version_text(text).map(|version| version.to_string());
        assert_eq!(text(b"3.8.18"), Some("3.8.18".into()));
        assert_eq!(text(b"3.10.13+"), Some("3.10.13".into()));
        assert_eq!(version_text(b"3.40.1"), None, "that is SQLite's");
        assert_eq!(version_text(b"3.9"), None);
        assert_eq!(version_text(b"3.9.1.2"), None);
        assert_eq!(minor_in_name("/a/libpython3.9.so.1.0"), Some(9));
        assert_eq!(minor_in_name("/usr/bin/python3.10"), Some(10));
        assert_eq!(minor_in_name("/usr/bin/python3"), None);
    }
}
