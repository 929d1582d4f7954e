//! The modules of this process: listed by the loader, compiled once, published to handlers.
//!
//! `dl_iterate_phdr` holds the loader's lock, so it is called by normal threads only, and only
//! copies inside its callback: `.eh_frame` is compiled afterwards, when a `dlclose` elsewhere can
//! no longer pull it away.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::slice;

use profundo_probe::{CodeMap, Listing};
use profundo_unwind::{Module, Modules, Table, TableRef, compile_eh_frame, parse_eh_frame_hdr};
use profundo_wire::recording::ModuleInfo;

/// A module as the loader lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    info: ModuleInfo,
    /// The executable ranges.
    code: Vec<(u64, u64)>,
    /// `.eh_frame` as it was in memory, and where it lay.
    eh_frame: Option<(u64, Vec<u8>)>,
}

/// A module with its compiled table.
#[derive(Debug)]
struct Compiled {
    info: ModuleInfo,
    code: Vec<(u64, u64)>,
    /// Handlers read its rows through the published list; they stay where they are on the heap
    /// when the table is moved.
    table: Table,
}

/// A published list, kept until no handler can be using it.
#[derive(Debug)]
struct Published {
    list: *mut Listing,
    modules: *mut [Module<'static>],
    /// The tables of modules that left the list when it was replaced.
    tables: Vec<Table>,
}

/// All modules seen so far.
#[derive(Debug, Default)]
pub(crate) struct ModuleList {
    compiled: Vec<Compiled>,
    gone: Vec<ModuleInfo>,
    current: Option<Published>,
    retired: Vec<Published>,
    changes: Option<(u64, u64)>,
    generation: u64,
}

// SAFETY: the raw pointers are owned and used by one thread at a time, under the session's lock.
unsafe impl Send for ModuleList {}

impl ModuleList {
    /// Checks for new and unloaded modules, and publishes a new list if there are any. Cheap
    /// otherwise.
    pub(crate) fn refresh(&mut self, map: &CodeMap) {
        self.free_retired(map);
        let changes = count_changes();
        if self.changes == Some(changes) && self.current.is_some() {
            return;
        }
        let known: Vec<ModuleInfo> = self
            .compiled
            .iter()
            .map(|module| module.info.clone())
            .collect();
        let listed = list(&known);
        let now = profundo_probe::clock::now();
        let mut tables = Vec::new();
        let mut kept = Vec::new();
        for mut module in self.compiled.drain(..) {
            let still_there = listed
                .iter()
                .any(|other| is_same(&other.info, &module.info));
            if still_there {
                kept.push(module);
            } else {
                module.info.unloaded = now;
                self.gone.push(module.info);
                tables.push(module.table);
            }
        }
        self.compiled = kept;
        for module in listed {
            if !self
                .compiled
                .iter()
                .any(|other| is_same(&other.info, &module.info))
            {
                self.compiled.push(compile(module, now));
            }
        }
        self.publish(map, tables);
        self.changes = Some(changes);
    }

    fn publish(&mut self, map: &CodeMap, removed: Vec<Table>) {
        let mut modules: Vec<Module<'static>> = Vec::new();
        for module in &self.compiled {
            let table = module.table.as_ref();
            // SAFETY: the rows lie on the heap and are freed only after the list that points to it
            // was retired and no handler was inside: see `free_retired`.
            let table: TableRef<'static> = unsafe {
                TableRef {
                    base: table.base,
                    rows: slice::from_raw_parts(table.rows.as_ptr(), table.rows.len()),
                    index: slice::from_raw_parts(table.index.as_ptr(), table.index.len()),
                }
            };
            let ranges = module.code.iter();
            modules.extend(ranges.map(|&(start, end)| Module { start, end, table }));
        }
        modules.sort_by_key(|module| module.start);
        let modules = Box::into_raw(modules.into_boxed_slice());
        // SAFETY: the slice was leaked just now and is freed with the list that borrows it.
        let sorted = Modules::new(unsafe { &*modules });
        self.generation += 1;
        let list = Box::into_raw(Box::new(Listing {
            modules: sorted,
            generation: self.generation,
        }));
        // SAFETY: list and tables live until they are retired and the map is idle.
        unsafe { map.replace(list) };
        let new = Published {
            list,
            modules,
            tables: Vec::new(),
        };
        if let Some(mut old) = self.current.replace(new) {
            old.tables = removed;
            self.retired.push(old);
        }
    }

    /// Frees lists that no handler can be using any more.
    fn free_retired(&mut self, map: &CodeMap) {
        if self.retired.is_empty() || !map.is_idle() {
            return;
        }
        for published in self.retired.drain(..) {
            // SAFETY: both were leaked from boxes in `publish`; they are no longer published, and
            // no handler was inside after that.
            unsafe {
                drop(Box::from_raw(published.list));
                drop(Box::from_raw(published.modules));
            }
            drop(published.tables);
        }
    }

    /// The bytes of all tables in use.
    pub(crate) fn table_bytes(&self) -> usize {
        let bytes = |module: &Compiled| {
            size_of_val(module.table.rows()) + size_of_val(module.table.index())
        };
        self.compiled.iter().map(bytes).sum()
    }

    /// All modules, unloaded ones included.
    pub(crate) fn infos(&self) -> Vec<ModuleInfo> {
        self.gone
            .iter()
            .cloned()
            .chain(self.compiled.iter().map(|module| module.info.clone()))
            .collect()
    }
}

/// Whether two entries are the same mapping of the same file.
fn is_same(a: &ModuleInfo, b: &ModuleInfo) -> bool {
    a.start == b.start && a.end == b.end && a.path == b.path && a.build_id == b.build_id
}

fn compile(module: Listed, now: u64) -> Compiled {
    let mut info = module.info;
    info.loaded = now;
    let base = module
        .code
        .iter()
        .map(|&(start, _)| start)
        .min()
        .unwrap_or(info.start);
    let end = module
        .code
        .iter()
        .map(|&(_, end)| end)
        .max()
        .unwrap_or(base);
    // A module whose table cannot be compiled is walked by frame pointers.
    let table = module
        .eh_frame
        .and_then(|(address, bytes)| compile_eh_frame(&bytes, address, None, base, base..end).ok())
        .unwrap_or_default();
    Compiled {
        info,
        code: module.code,
        table,
    }
}

/// The loader's counts of modules that came and that went. glibc keeps them; without them the list
/// is read anew each time.
fn count_changes() -> (u64, u64) {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        size: usize,
        out: *mut c_void,
    ) -> c_int {
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: the loader passes a valid entry, and `out` is ours.
            unsafe { *out.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs) };
        }
        1
    }
    let mut counts = (0, 0);
    // SAFETY: the callback has the right signature and writes to `counts` only.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut counts).cast()) };
    counts
}

/// Lists all modules; `.eh_frame` is copied for those that are not `known`.
fn list(known: &[ModuleInfo]) -> Vec<Listed> {
    struct Gather<'a> {
        known: &'a [ModuleInfo],
        found: Vec<Listed>,
    }
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, out: *mut c_void) -> c_int {
        // SAFETY: `out` is the gatherer below; the entry is valid during the call.
        unsafe {
            let gather = &mut *out.cast::<Gather<'_>>();
            let first = gather.found.is_empty();
            gather
                .found
                .extend(read_module(&*info, first, gather.known));
        }
        0
    }
    let mut gather = Gather {
        known,
        found: Vec::new(),
    };
    // SAFETY: the callback has the right signature and touches `gather` only.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut gather).cast()) };
    gather.found
}

/// # Safety
/// `entry` describes a module that stays loaded during the call.
unsafe fn read_module(
    entry: &libc::dl_phdr_info,
    first: bool,
    known: &[ModuleInfo],
) -> Option<Listed> {
    if entry.dlpi_phdr.is_null() {
        return None;
    }
    // SAFETY: the loader vouches for its program headers.
    let headers = unsafe { slice::from_raw_parts(entry.dlpi_phdr, usize::from(entry.dlpi_phnum)) };
    let bias = entry.dlpi_addr;
    let at = |header: &libc::Elf64_Phdr| bias.wrapping_add(header.p_vaddr);
    let loads = || {
        headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
    };
    let start = loads().map(&at).min()?;
    let end = loads().map(|header| at(header) + header.p_memsz).max()?;
    let code: Vec<_> = loads()
        .filter(|header| header.p_flags & libc::PF_X != 0)
        .map(|header| (at(header), at(header) + header.p_memsz))
        .collect();
    let build_id = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_NOTE)
        // SAFETY: notes lie in loaded, readable segments.
        .find_map(|header| find_build_id(unsafe { bytes_at(at(header), header.p_memsz) }))
        .unwrap_or_default();
    let path = module_path(entry, first, start);
    let info = ModuleInfo {
        path,
        start,
        end,
        bias,
        build_id,
        loaded: 0,
        unloaded: u64::MAX,
    };
    let eh_frame = if known.iter().any(|other| is_same(other, &info)) {
        None
    } else {
        // SAFETY: as for `entry`.
        unsafe { copy_eh_frame(headers, bias) }
    };
    Some(Listed {
        info,
        code,
        eh_frame,
    })
}

fn module_path(entry: &libc::dl_phdr_info, first: bool, start: u64) -> String {
    // SAFETY: `getauxval` has no preconditions.
    if start == unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } {
        return "[vdso]".into();
    }
    let name = if entry.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: the loader's name is null or a C string.
        unsafe { CStr::from_ptr(entry.dlpi_name) }
    };
    if name.is_empty() && first {
        return std::fs::read_link("/proc/self/exe").map_or_else(
            |_| "/proc/self/exe".into(),
            |path| path.to_string_lossy().into_owned(),
        );
    }
    let path = std::path::Path::new(OsStr::from_bytes(name.to_bytes()));
    // A library found by a relative path is named so that it can be found again later.
    std::path::absolute(path)
        .unwrap_or_else(|_| path.into())
        .to_string_lossy()
        .into_owned()
}

/// # Safety
/// The range is mapped and readable, and is not written to meanwhile.
unsafe fn bytes_at<'a>(address: u64, length: u64) -> &'a [u8] {
    // SAFETY: the caller vouches for the range.
    unsafe { slice::from_raw_parts(address as *const u8, length as usize) }
}

/// The GNU build id among a segment's notes.
fn find_build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    while notes.len() >= 12 {
        let word = |at: usize| u32::from_ne_bytes(notes[at..at + 4].try_into().expect("4 bytes"));
        let (name_size, size, kind) = (word(0) as usize, word(4) as usize, word(8));
        let name_end = 12 + name_size.next_multiple_of(4);
        let end = name_end.checked_add(size)?;
        if kind == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return notes.get(name_end..end).map(<[u8]>::to_vec);
        }
        notes = notes.get(end.next_multiple_of(4)..)?;
    }
    None
}

/// Copies `.eh_frame`, whose end is unknown: up to the end of its segment, where its own terminator
/// cuts it off.
///
/// # Safety
/// As for `read_module`.
unsafe fn copy_eh_frame(headers: &[libc::Elf64_Phdr], bias: u64) -> Option<(u64, Vec<u8>)> {
    let header = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
    let address = bias.wrapping_add(header.p_vaddr);
    // SAFETY: PT_GNU_EH_FRAME lies in a loaded, readable segment.
    let bytes = unsafe { bytes_at(address, header.p_memsz) };
    let eh_frame = parse_eh_frame_hdr(bytes, address).ok()?;
    let segment = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
        .find(|header| {
            let start = bias.wrapping_add(header.p_vaddr);
            eh_frame >= start && eh_frame < start + header.p_memsz
        })?;
    let end = bias.wrapping_add(segment.p_vaddr) + segment.p_memsz;
    // SAFETY: from a loaded address to the end of its segment.
    let rest = unsafe { bytes_at(eh_frame, end - eh_frame) };
    Some((eh_frame, rest[..eh_frame_length(rest)].to_vec()))
}

/// The length of `.eh_frame` up to and including its terminator, by hopping over its entries.
fn eh_frame_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..at + 4) {
        let length = u32::from_ne_bytes(word.try_into().expect("4 bytes")) as usize;
        if length == 0 {
            return at + 4;
        }
        // 0xffffffff begins a 64-bit entry, which no linker writes into `.eh_frame`.
        if length == u32::MAX as usize || at + 4 + length > bytes.len() {
            break;
        }
        at += 4 + length;
    }
    at
}
