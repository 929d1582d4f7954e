//! Safe points: the places where threads of a program may be borrowed. A thread inside the memory
//! allocator or the loader is not borrowed, because our call needs them too and it may hold their
//! locks.

use std::fs::File;
use std::time::{Duration, Instant};

use profundo_linux::proc;
use profundo_process::copied_stack::modules;
use profundo_process::modules::{
    Elf, Loaded, MappingHistory, ModuleList, Store, cache_folder, open_module,
};
use profundo_process::reading::{Held, Interpreter, PageMemory};
use profundo_session::Directory;
use profundo_unwind::{Memory, Modules, walk_with_registers};

use super::Refused;
use super::allocators::Code;
use super::borrowed::machine::{BACK, CALL};

/// The longest time to make the tables for walking the program's stacks.
const TABLES: Duration = Duration::from_secs(20);

/// A program's code, by what it permits.
#[derive(Debug)]
pub(super) struct Places {
    pid: u32,
    /// The directory of the store's files.
    _directory: Directory,
    store: Store,
    list: ModuleList,
    memory: PageMemory,
    /// The ranges of code that must not be interrupted.
    forbidden: Vec<(u64, u64)>,
    /// The ranges of the interpreter's loop: frames further out do not matter.
    evaluation: Vec<(u64, u64)>,
}

/// The loader's functions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LoaderFunctions {
    pub(super) open: u64,
    pub(super) error: u64,
}

/// The addresses of two instructions in the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instructions {
    /// A system call, followed by a return.
    pub(super) call: u64,
    /// The system call that ends a signal handler.
    pub(super) back: u64,
}

impl Instructions {
    /// Whether both are still there.
    pub(super) fn are_there(self, pid: u32) -> bool {
        let is = |place: u64, code: &[u8]| {
            let mut found = [0; LONGEST];
            let found = found.get_mut(..code.len()).unwrap_or_default();
            profundo_linux::sys::read_memory(pid, place, found) == code.len() && *found == *code
        };
        const LONGEST: usize = if CALL.len() > BACK.len() {
            CALL.len()
        } else {
            BACK.len()
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

    /// As [`Self::of`], but not in a program's first instants, before its loader has come to the C
    /// library.
    pub(super) fn of_begun(pid: u32) -> Result<Self, Refused> {
        const LONGEST: Duration = Duration::from_millis(500);
        const PAUSE: Duration = Duration::from_millis(5);
        let began = Instant::now();
        loop {
            let places = Self::of(pid)?;
            if !places.is_beginning() || began.elapsed() > LONGEST {
                return Ok(places);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the loader of glibc is there, and glibc is not.
    fn is_beginning(&self) -> bool {
        let is_loader = |module: &Loaded| {
            let name = module.info.path.rsplit('/').next().unwrap_or_default();
            name.starts_with("ld-linux") || name.starts_with("ld-2.")
        };
        let modules = self.list.loaded();
        modules.iter().any(is_loader) && !modules.iter().any(is_c_library)
    }

    /// Whether a held thread may be borrowed.
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
        for module in self
            .list
            .loaded()
            .iter()
            .filter(|module| is_c_library(module))
        {
            each_function(self.pid, module, |name, start, _| match name {
                b"dlopen" => found.open = start,
                b"dlerror" => found.error = start,
                _ => {}
            });
        }
        (found.open != 0 && found.error != 0).then_some(found)
    }

    /// The sanitizer that watches the program's memory, if there is one: as a library, or as a part
    /// of the program.
    pub(super) fn sanitizer(&self) -> Option<&'static str> {
        const SANITIZERS: [(&str, &[u8], &str); 5] = [
            ("libasan", b"__asan_init", "AddressSanitizer"),
            ("libhwasan", b"__hwasan_init", "HWAddressSanitizer"),
            ("libtsan", b"__tsan_init", "ThreadSanitizer"),
            ("libmsan", b"__msan_init", "MemorySanitizer"),
            ("liblsan", b"__lsan_init", "LeakSanitizer"),
        ];
        let modules = self.list.loaded();
        let named = |library: &str| {
            modules.iter().any(|module| {
                let name = module.info.path.rsplit('/').next().unwrap_or_default();
                name.starts_with(library) || name.contains(library) && name.contains("clang_rt")
            })
        };
        let found = SANITIZERS
            .into_iter()
            .find(|&(library, _, _)| named(library));
        if let Some((_, _, sanitizer)) = found {
            return Some(sanitizer);
        }
        let program = modules.first()?;
        let mut found = None;
        each_function(self.pid, program, |name, _, _| {
            let of = SANITIZERS
                .into_iter()
                .find(|&(_, function, _)| name == function);
            found = found.or(of.map(|(_, _, sanitizer)| sanitizer));
        });
        found
    }

    /// The instructions that borrowed threads need.
    pub(super) fn instructions(&self) -> Option<Instructions> {
        Some(Instructions {
            call: self.code(&CALL)?,
            back: self.code(&BACK)?,
        })
    }

    fn code(&self, wanted: &[u8]) -> Option<u64> {
        let modules = self.list.loaded().iter();
        // The C library has them, or the code that the kernel gives each program; other files may
        // have other bytes there.
        let ranges = modules
            .filter(|module| is_c_library(module) || module.info.path == "[vdso]")
            .flat_map(|module| &module.ranges);
        ranges.into_iter().find_map(|&(start, end, _)| {
            let length = (end - start).min(4 << 20) as usize;
            let mut code = vec![0; length];
            let read = profundo_linux::sys::read_memory(self.pid, start, &mut code);
            let code = code.get(..read)?;
            let at = code
                .windows(wanted.len())
                .position(|window| window == wanted)?;
            Some(start + at as u64)
        })
    }

    /// The address of a symbol in a module whose file name begins with `module`.
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

    /// The minor version of the interpreter, if it is known.
    pub(super) fn minor(&mut self) -> Option<u8> {
        let found = Interpreter::find(self.pid, &self.list, &mut self.memory)?;
        Some(found.ok()?.layout.minor)
    }

    fn find_forbidden(&self) -> Vec<(u64, u64)> {
        /// Allocator libraries, the loader, and our own.
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
                continue;
            }
            if is_c_library(module) {
                self.forbid_in_c_library(module, &mut forbidden);
                continue;
            }
            self.forbid_own_allocator(module, &mut forbidden);
            if !module
                .file
                .as_ref()
                .is_none_or(|file| file.compiled().evaluation.is_empty())
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

    /// The allocator's code, private functions included, and what else must not be interrupted.
    fn forbid_in_c_library(&self, module: &Loaded, forbidden: &mut Vec<(u64, u64)>) {
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
        let mut allocator = Code::default();
        each_function(self.pid, module, |name, start, end| {
            allocator.take(name, start, end);
            if OTHERS.contains(&name) {
                forbidden.push((start, end));
            }
        });
        forbidden.extend(allocator.ranges());
    }

    /// The allocator that a program or a library of its own has, if there is one.
    fn forbid_own_allocator(&self, module: &Loaded, forbidden: &mut Vec<(u64, u64)>) {
        let Some(elf) = open_module(self.pid, module) else {
            return;
        };
        let sections = elf.sections();
        let (mut allocates, mut frees) = (false, false);
        elf.exported_functions(&sections, |symbol| {
            allocates |= symbol.name == b"malloc";
            frees |= symbol.name == b"free";
        });
        if !allocates || !frees {
            return;
        }
        let mut allocator = Code::default();
        elf.functions(&sections, |symbol| {
            let start = symbol.address.wrapping_add(module.info.bias);
            allocator.take(symbol.name, start, start + symbol.size.max(1));
        });
        forbidden.extend(allocator.ranges());
    }
}

/// glibc's files, of old versions too, and musl's.
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
    .any(|prefix| name.starts_with(prefix))
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

/// The memory of the process, read word by word.
struct Stack<'a>(&'a mut PageMemory);

impl Memory for Stack<'_> {
    fn read(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0
            .copy(address, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }
}
