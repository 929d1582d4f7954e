//! Where threads of a program may be borrowed: not while they are in what a call of ours would need as well, such as the
//! memory allocator or the loader, whose locks they may hold.

use std::fs::File;
use std::time::{Duration, Instant};

use profundo_unwind::{Memory, Modules, walk_with_registers};

use super::Refused;
use crate::copied_stack::modules;
use crate::modules::{Elf, Loaded, MappingHistory, ModuleList, Store, cache_folder, open_module};
use crate::proc;
use crate::reading::{Held, Interpreter, PageMemory};
use crate::session::Directory;

/// How long the tables for walking its stacks may take to be made.
const TABLES: Duration = Duration::from_secs(20);

/// What is known of a program's code.
#[derive(Debug)]
pub(super) struct Places {
    pid: u32,
    /// Where the store keeps what it makes.
    _directory: Directory,
    store: Store,
    list: ModuleList,
    memory: PageMemory,
    /// From where to where code lies that is not to be interrupted.
    forbidden: Vec<(u64, u64)>,
    /// Where the interpreter's loop lies: what is further out does not matter.
    evaluation: Vec<(u64, u64)>,
}

/// The functions of a library that are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LoaderFunctions {
    pub(super) open: u64,
    pub(super) error: u64,
}

/// Two places in its code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instructions {
    /// Where it makes a system call, and returns.
    pub(super) call: u64,
    /// Where it makes the one that ends the handler of a signal.
    pub(super) back: u64,
}

/// How long the instruction `syscall` is.
pub(super) const SYSCALL: u64 = 2;

const CALL: [u8; 3] = [0x0f, 0x05, 0xc3];
const BACK: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

impl Instructions {
    /// Whether one of the two system calls stands right before this.
    pub(super) fn are_before(self, place: u64) -> bool {
        place == self.call + SYSCALL || place == self.back + BACK.len() as u64
    }

    /// Whether they are where they were.
    pub(super) fn are_there(self, pid: u32) -> bool {
        let is = |place: u64, code: &[u8]| {
            let mut found = [0; BACK.len()];
            let found = found.get_mut(..code.len()).unwrap_or_default();
            crate::sys::read_memory(pid, place, found) == code.len() && *found == *code
        };
        is(self.call, &CALL) && is(self.back, &BACK)
    }
}

impl Places {
    pub(super) fn of(pid: u32) -> Result<Self, Refused> {
        let directory = Directory::create(None).map_err(|_| Refused::NoMemory)?;
        let cache = cache_folder(None);
        let store = Store::create(directory.path(), cache.as_deref());
        let mut store = store.map_err(|_| Refused::NoMemory)?;
        let mut list = ModuleList::default();
        let maps = proc::read(pid, "maps");
        list.refresh(pid, &maps, 0, &MappingHistory::default(), &mut store);
        let began = Instant::now();
        while list.loaded().iter().any(Loaded::is_being_compiled) && began.elapsed() < TABLES {
            std::thread::sleep(Duration::from_millis(1));
            store.collect();
        }
        let mut places = Self {
            pid,
            _directory: directory,
            store,
            evaluation: list.evaluation(),
            list,
            memory: PageMemory::default(),
            forbidden: Vec::new(),
        };
        places.forbidden = places.find_forbidden();
        Ok(places)
    }

    /// Whether a thread that is held may be borrowed.
    pub(super) fn may_borrow(&mut self, held: &Held) -> bool {
        const DEEPEST: usize = 512;
        if held.has_signal() {
            return false;
        }
        let mut frames = [0; DEEPEST];
        self.memory.begin_anew(self.pid);
        let modules = modules(&self.list, &self.store);
        let registers = &held.registers;
        let (count, end) = walk_with_registers(
            registers.place,
            &registers.general,
            &Modules::new(&modules),
            &mut Stack(&mut self.memory),
            &mut frames,
        );
        let frames = frames.get(..count).unwrap_or_default();
        // All but the first are return addresses.
        let addresses = frames.iter().enumerate();
        let addresses = addresses.map(|(index, address)| address - u64::from(index > 0));
        let is_in = |ranges: &[(u64, u64)], address: u64| {
            ranges
                .iter()
                .any(|&(start, end)| (start..end).contains(&address))
        };
        for address in addresses {
            if is_in(&self.evaluation, address) {
                return true;
            }
            if is_in(&self.forbidden, address) {
                return false;
            }
        }
        matches!(end, profundo_unwind::End::Root)
    }

    /// The loader's functions.
    pub(super) fn loader(&self) -> Option<LoaderFunctions> {
        let mut found = LoaderFunctions::default();
        for module in self.list.loaded().iter().filter(|it| is_c_library(it)) {
            each_function(self.pid, module, |name, start, _| match name {
                b"dlopen" => found.open = start,
                b"dlerror" => found.error = start,
                _ => {}
            });
        }
        (found.open != 0 && found.error != 0).then_some(found)
    }

    /// Where the instructions stand that borrowed threads need.
    pub(super) fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            call: self.code(&CALL)?,
            back: self.code(&BACK)?,
        })
    }

    fn code(&self, wanted: &[u8]) -> Option<u64> {
        let modules = self.list.loaded().iter();
        // The C library has all of them; what is in other files may be no instructions.
        let ranges = modules
            .filter(|it| is_c_library(it))
            .flat_map(|module| &module.ranges);
        ranges.into_iter().find_map(|&(start, end, _)| {
            let length = (end - start).min(4 << 20) as usize;
            let mut code = vec![0; length];
            let read = crate::sys::read_memory(self.pid, start, &mut code);
            let code = code.get(..read)?;
            let at = code.windows(wanted.len()).position(|it| it == wanted)?;
            Some(start + at as u64)
        })
    }

    /// Where a symbol of a module lies whose file's name begins so.
    pub(super) fn symbol(&self, module: &str, wanted: &str) -> Option<u64> {
        let mut found = None;
        for loaded in self.list.loaded() {
            let name = loaded.info.path.rsplit('/').next().unwrap_or_default();
            if name.starts_with(module) {
                each_function(self.pid, loaded, |name, start, _| {
                    if name == wanted.as_bytes() {
                        found = Some(start);
                    }
                });
            }
        }
        found
    }

    /// The minor version of the interpreter, if there is one that is known.
    pub(super) fn minor(&mut self) -> Option<u8> {
        let found = Interpreter::find(self.pid, &self.list, &mut self.memory)?;
        Some(found.ok()?.layout.minor)
    }

    fn find_forbidden(&self) -> Vec<(u64, u64)> {
        /// Allocators that come as libraries, the loader, and ourselves.
        const LIBRARIES: [&str; 7] = [
            "ld-",
            "ld.so",
            "libjemalloc",
            "libmimalloc",
            "libtcmalloc",
            "libprofundo-agent-",
            "memfd:libprofundo-agent-",
        ];
        let mut forbidden = Vec::new();
        for module in self.list.loaded() {
            let name = module.info.path.rsplit('/').next().unwrap_or_default();
            if LIBRARIES.iter().any(|library| name.starts_with(library)) {
                forbidden.push((module.info.start, module.info.end));
            } else if is_c_library(module) {
                self.forbid_in_c_library(module, &mut forbidden);
            } else if !module
                .file
                .as_ref()
                .is_none_or(|it| it.compiled().evaluation.is_empty())
            {
                each_function(self.pid, module, |name, start, end| {
                    if name.starts_with(b"Py_AddPending") || name.starts_with(b"Py_MakePending") {
                        forbidden.push((start, end));
                    }
                });
            }
        }
        forbidden
    }

    /// The allocator is what lies between the first and the last of its functions: those that nobody exports are there too.
    fn forbid_in_c_library(&self, module: &Loaded, forbidden: &mut Vec<(u64, u64)>) {
        const ALLOCATOR: [&[u8]; 12] = [
            b"malloc",
            b"free",
            b"calloc",
            b"realloc",
            b"memalign",
            b"aligned_alloc",
            b"posix_memalign",
            b"valloc",
            b"pvalloc",
            b"malloc_trim",
            b"malloc_usable_size",
            b"mallinfo",
        ];
        const OTHERS: [&[u8]; 16] = [
            b"fork",
            b"vfork",
            b"_Fork",
            b"pthread_create",
            b"pthread_join",
            b"pthread_exit",
            b"pthread_getattr_np",
            b"exit",
            b"__cxa_finalize",
            b"__run_exit_handlers",
            b"dlopen",
            b"dlsym",
            b"dlclose",
            b"dl_iterate_phdr",
            b"__libc_dlopen_mode",
            b"_dl_addr",
        ];
        /// More than any C library's allocator has.
        const MOST: u64 = 128 << 10;
        let (mut first, mut last) = (u64::MAX, 0);
        each_function(self.pid, module, |name, start, end| {
            if ALLOCATOR.contains(&name) {
                (first, last) = (first.min(start), last.max(end));
                forbidden.push((start, end));
            } else if OTHERS.contains(&name) {
                forbidden.push((start, end));
            }
        });
        if last > first && last - first < MOST {
            forbidden.push((first, last));
        }
    }
}

/// glibc's, its parts of former days among them, and musl's.
fn is_c_library(module: &Loaded) -> bool {
    let name = module.info.path.rsplit('/').next().unwrap_or_default();
    [
        "libc.so",
        "libc-2",
        "libdl.so",
        "libdl-2",
        "libpthread",
        "ld-musl",
        "libc.musl",
    ]
    .iter()
    .any(|it| name.starts_with(it))
}

fn each_function(pid: u32, module: &Loaded, mut f: impl FnMut(&[u8], u64, u64)) {
    let Some(elf) = open_module(pid, module) else {
        return;
    };
    let elf: Elf<File> = elf;
    elf.functions_and_data(&elf.sections(), |symbol| {
        let start = symbol.address.wrapping_add(module.info.bias);
        f(symbol.name, start, start + symbol.size.max(1));
    });
}

/// The memory of the process, word by word.
struct Stack<'a>(&'a mut PageMemory);

impl Memory for Stack<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0
            .copy(address, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }
}
