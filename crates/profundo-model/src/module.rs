//! Modules: the files mapped into the target, and their addresses.

use std::path::{Path, PathBuf};

use crate::{Avma, ModuleId, StringId};

/// An executable, a shared library or the vDSO, as it was mapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Module {
    /// The file's path as the target sees it; `[vdso]` for the vDSO.
    pub path: StringId,
    /// The first mapped address.
    pub start: Avma,
    /// The end of the last mapping.
    pub end: Avma,
    /// The number to subtract from an address in memory to get the address in the file.
    pub bias: u64,
    /// The build id, empty where there is none.
    pub build_id: Vec<u8>,
    /// The owner of its code.
    pub role: Role,
}

/// The owner of a module's code, which decides the kind of its time: see [`crate::Kinds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Role {
    /// The program or a library.
    #[default]
    Ordinary,
    /// An interpreter.
    Interpreter,
    /// The C library, the dynamic linker, the vDSO: they work for their callers.
    System,
    /// The profiler, brought into the program.
    Profiler,
}

impl Role {
    /// The role of a module that is known by the name of its file, whatever folder it lies in.
    pub fn of_path(path: &str) -> Self {
        let name = file_name(path);
        let is = |stem: &str| {
            name.strip_prefix(stem)
                .is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        if is_interpreter(path) {
            Self::Interpreter
        } else if (name.strip_prefix("memfd:").unwrap_or(name)).starts_with("libprofundo") {
            // The one that comes into a program which runs already has no file.
            Self::Profiler
        } else if ["[vdso]", "linux-vdso.so.1", "linux-gate.so.1"].contains(&name)
            || [
                "libc",
                "libm",
                "libpthread",
                "libdl",
                "librt",
                "ld-linux",
                "ld-musl",
            ]
            .iter()
            .any(|stem| is(stem))
            || is("ld") && name.ends_with(".so")
            || path == "[kernel]"
        {
            Self::System
        } else {
            Self::Ordinary
        }
    }
}

/// Whether memory of this name holds generated code: it is anonymous, or a file without code in the
/// usual form.
pub fn is_generated_code(path: &str) -> bool {
    const NAMES: [&str; 4] = ["/memfd:", "/dev/zero", "//anon", "/SYSV"];
    match path {
        "[vdso]" | "[vsyscall]" | "[kernel]" => false,
        _ => path.starts_with('[') || NAMES.iter().any(|name| path.starts_with(name)),
    }
}

/// Where a copy of a file may lie by its build id, below a folder such as `~/.debug`: perf keeps
/// copies of what it recorded there, and `perf archive` packs them for another machine.
pub fn build_id_copies(folder: &Path, build_id: &[u8]) -> Vec<PathBuf> {
    let Some((first, rest)) = build_id.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Vec::new();
    };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let copy = folder.join(format!(".build-id/{first:02x}/{rest}"));
    // A link to a folder, or, by old versions, to the file.
    vec![copy.join("elf"), copy.join("vdso"), copy]
}

/// The folders beside a recording in which [`build_id_copies`] may lie: where `perf archive` was
/// unpacked, with or without a `.debug` around it.
pub fn folders_of_copies(recording: &Path) -> [PathBuf; 2] {
    let beside = recording.parent().unwrap_or(Path::new("."));
    [beside.to_owned(), beside.join(".debug")]
}

fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a file is CPython by its name: `python3.12`, `libpython3.12.so.1.0`.
pub(crate) fn is_interpreter(path: &str) -> bool {
    let name = file_name(path);
    if let Some(rest) = name.strip_prefix("libpython") {
        return rest.starts_with(|first: char| first.is_ascii_digit());
    }
    name.strip_prefix("python").is_some_and(|rest| {
        let rest = rest.trim_end_matches(['d', 't', 'm']);
        rest.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// Modules by id. Two of them may overlap when one was unloaded before the other came.
#[derive(Debug, Clone, Default)]
pub struct ModuleTable {
    modules: Vec<Module>,
}

impl ModuleTable {
    /// Adds a module.
    pub fn push(&mut self, module: Module) -> ModuleId {
        self.modules.push(module);
        ModuleId::from_index(self.modules.len() - 1)
    }

    /// The row of `id`.
    pub fn get(&self, id: ModuleId) -> &Module {
        &self.modules[id.index()]
    }

    /// The row of `id`, to complete it.
    pub fn get_mut(&mut self, id: ModuleId) -> &mut Module {
        &mut self.modules[id.index()]
    }

    /// The number of modules.
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// True if there are no modules.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        self.modules
            .iter()
            .enumerate()
            .map(|(i, row)| (ModuleId::from_index(i), row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_code_lies_in_no_file() {
        for path in [
            "[JIT]",
            "[anon:v8]",
            "[heap]",
            "/memfd:doublemapper (deleted)",
            "//anon",
        ] {
            assert!(is_generated_code(path), "{path}");
        }
        for path in ["[vdso]", "[kernel]", "/usr/bin/node", "", "/tmp/memfd:x.so"] {
            assert!(!is_generated_code(path), "{path}");
        }
    }

    #[test]
    fn a_file_name_says_whose_code_it_is() {
        let check = |path, role| assert_eq!(Role::of_path(path), role, "{path}");
        check("/usr/lib/x86_64-linux-gnu/libc.so.6", Role::System);
        check("/lib/x86_64-linux-gnu/libc-2.31.so", Role::System);
        check("/lib64/ld-linux-x86-64.so.2", Role::System);
        check("/lib/ld-2.31.so", Role::System);
        check("/lib/ld-musl-x86_64.so.1", Role::System);
        check("[vdso]", Role::System);
        check("/usr/lib/libcrypto.so.3", Role::Ordinary);
        check("/usr/lib/libmount.so.1", Role::Ordinary);
        check("/usr/bin/python3.12", Role::Interpreter);
        check("/opt/py/bin/python3.13t (deleted)", Role::Interpreter);
        check("/usr/lib/libpython3.8.so.1.0", Role::Interpreter);
        check("/usr/bin/python-config", Role::Ordinary);
        check("/home/me/pythonic", Role::Ordinary);
        check("/tmp/session/libprofundo_agent.so", Role::Profiler);
        check("/memfd:libprofundo-agent-door (deleted)", Role::Profiler);
        check("/x/_zlib.cpython-312-x86_64-linux-gnu.so", Role::Ordinary);
    }
}
