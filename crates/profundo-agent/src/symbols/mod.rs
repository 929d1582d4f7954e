//! Looking a name up in the loaded files, by the hash tables that the loader uses.
//!
//! `dlsym` would do, but for a name that is not there: then it allocates a message, by the
//! program's `malloc`, and leaves it for the program's next `dlerror`. It also cannot say how large
//! an object is.

pub mod gate;
mod object;

use core::ffi::{CStr, c_int, c_void};
use core::slice;
use core::sync::atomic::{AtomicBool, Ordering};

use object::object;
pub use object::{Found, Object, SlotKind};

/// A defined symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// Its address.
    pub address: usize,
    /// Its size in bytes; 0 if it is not known.
    pub size: usize,
}

/// The files to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All files, the program itself first.
    All,
    /// The files whose functions ours interpose: those that were loaded after this library, or,
    /// where it came late, all others.
    Interposed,
}

/// True if this library was loaded into a program that ran already.
static IS_LATE: AtomicBool = AtomicBool::new(false);

/// Notes that this library was loaded into a program that ran already.
pub fn set_late() {
    IS_LATE.store(true, Ordering::Relaxed);
}

/// True if this library was loaded into a program that ran already.
pub fn is_late() -> bool {
    IS_LATE.load(Ordering::Relaxed)
}

/// Visits what is loaded, in the order of loading. The visitor returns true to stop.
pub fn each(scope: Scope, mut visit: impl FnMut(&Object) -> bool) {
    struct Visit<'a> {
        scope: Scope,
        met_us: bool,
        visit: &'a mut dyn FnMut(&Object) -> bool,
    }
    unsafe extern "C" fn one(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's own information, and the `Visit` that was passed below.
        let (info, state) = unsafe { (&*info, &mut *data.cast::<Visit<'_>>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the loader says where the headers are and how many.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        if state.scope == Scope::Interposed {
            let is_us = contains(info.dlpi_addr, headers, each_address());
            if is_us || !state.met_us && !is_late() {
                state.met_us |= is_us;
                return 0;
            }
        }
        // SAFETY: the headers are those of a file that is loaded there.
        match unsafe { object(info.dlpi_addr as usize, headers) } {
            Some(object) => c_int::from((state.visit)(&object)),
            None => 0,
        }
    }
    let mut state = Visit {
        scope,
        met_us: false,
        visit: &mut visit,
    };
    // SAFETY: the callback is called before the call returns, with the state.
    unsafe { gate::visit(one, (&raw mut state).cast()) };
}

/// The number of files that were ever loaded.
pub fn loads() -> u64 {
    unsafe extern "C" fn one(
        info: *mut libc::dl_phdr_info,
        size: usize,
        data: *mut c_void,
    ) -> c_int {
        const END: usize = core::mem::offset_of!(libc::dl_phdr_info, dlpi_adds) + 8;
        if size >= END {
            // SAFETY: the loader's own information, as long as it says, and the number below.
            unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        }
        1
    }
    let mut loads = 0_u64;
    // SAFETY: the callback is called before the call returns, with what it expects.
    unsafe { gate::visit(one, (&raw mut loads).cast()) };
    loads
}

/// True if an address lies in a file that is known to have been loaded before the program began:
/// the program itself, or a library that it names.
///
/// The list of files has these first, then those that they need. The loader is one of the latter,
/// because the C library needs it. What the program loads later comes last.
pub fn is_of_the_start(address: usize) -> bool {
    // SAFETY: reads a word that the kernel gave the process.
    let loader = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    let (mut is_first, mut found) = (true, false);
    each(Scope::All, |object| {
        found = object.contains(address) && (is_first || loader != 0);
        is_first = false;
        found || object.base == loader
    });
    found
}

/// Calls `f` with this library.
pub fn with_own<T>(f: impl FnOnce(&Object) -> T) -> Option<T> {
    let (mut f, mut result) = (Some(f), None);
    each(Scope::All, |object| {
        if object.contains(each_address() as usize)
            && let Some(f) = f.take()
        {
            result = Some(f(object));
        }
        result.is_some()
    });
    result
}

/// An address in this library.
fn each_address() -> u64 {
    contains as *const () as u64
}

fn contains(base: u64, headers: &[libc::Elf64_Phdr], address: u64) -> bool {
    headers.iter().any(|header| {
        let start = base.wrapping_add(header.p_vaddr);
        header.p_type == libc::PT_LOAD && address.wrapping_sub(start) < header.p_memsz
    })
}

/// Looks many names up in one go: `found(n, symbol)` is called for the first definition of the
/// `n`th.
pub fn find_all(names: &[&CStr], scope: Scope, mut found: impl FnMut(usize, Symbol)) {
    /// As many as a word has bits.
    const ONE_GO: usize = 128;
    debug_assert!(names.len() <= ONE_GO);
    let mut missing = u128::MAX
        .checked_shr((ONE_GO - names.len()) as u32)
        .unwrap_or(0);
    each(scope, |object| {
        for (index, name) in names.iter().enumerate() {
            if missing & (1 << index) != 0
                && let Some(Found::There(symbol)) = object.find(name)
            {
                missing &= !(1 << index);
                found(index, symbol);
            }
        }
        missing == 0
    });
}

/// True if a symbol of this name exists.
pub fn is_defined(name: &CStr, scope: Scope) -> bool {
    let mut found = false;
    each(scope, |object| {
        found = object.find(name).is_some();
        found
    });
    found
}

/// The address range of the loaded file that contains an address.
pub fn range_of(address: usize) -> Option<(u64, u64)> {
    struct Wanted {
        address: u64,
        found: Option<(u64, u64)>,
    }
    unsafe extern "C" fn one(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's own information, and the `Wanted` that was passed below.
        let (info, wanted) = unsafe { (&*info, &mut *data.cast::<Wanted>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the loader says where the headers are and how many.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        if !contains(info.dlpi_addr, headers, wanted.address) {
            return 0;
        }
        let loaded = || {
            headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD)
        };
        let start = loaded().map(|header| header.p_vaddr).min();
        let end = loaded()
            .map(|header| header.p_vaddr.wrapping_add(header.p_memsz))
            .max();
        let place = |at: u64| info.dlpi_addr.wrapping_add(at);
        wanted.found = start
            .zip(end)
            .map(|(start, end)| (place(start), place(end)));
        1
    }
    let mut wanted = Wanted {
        address: address as u64,
        found: None,
    };
    // SAFETY: the callback is called before the call returns, with what it expects.
    unsafe { gate::visit(one, (&raw mut wanted).cast()) };
    wanted.found
}

/// The definition of this name in the file that contains an address, of those loaded after this
/// library; otherwise the first one.
pub fn definition_beside(name: &CStr, address: usize) -> Option<usize> {
    /// The most definitions of one name that are kept.
    const MOST: usize = 8;
    let (mut all, mut count) = ([0; MOST], 0);
    each(Scope::Interposed, |object| {
        if let (Some(Found::There(symbol)), Some(place)) = (object.find(name), all.get_mut(count)) {
            *place = symbol.address;
            count += 1;
        }
        count == MOST
    });
    let all = all.get(..count)?;
    let range = match count {
        0 | 1 => None,
        _ => range_of(address),
    };
    let is_beside = |definition: &&usize| {
        range.is_some_and(|(start, end)| (start..end).contains(&(**definition as u64)))
    };
    all.iter().find(is_beside).or(all.first()).copied()
}

/// The path under which this library was loaded, given to `f`.
pub fn own_path<T>(f: impl FnOnce(&CStr) -> T) -> Option<T> {
    // SAFETY: zeroed is a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: `info` is ours; dladdr fills it in or returns 0, and does not allocate.
    let known = unsafe { libc::dladdr(each_address() as *const c_void, &mut info) };
    if known == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's string, which stays as long as we are loaded.
    Some(f(unsafe { CStr::from_ptr(info.dli_fname) }))
}

/// The C library's own definition of a name. The list of loaded files is not visited: a thread
/// that forks meanwhile would leave its child with the loader's lock.
pub fn of_c_library(name: &CStr) -> Option<usize> {
    // SAFETY: zeroed is a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // Every C library has this function, and programs do not define it.
    let known = libc::getauxval as *const c_void;
    // SAFETY: `info` is ours; dladdr fills it in or returns 0, and does not allocate. A child of a
    // fork may still use it: its lock is made anew there.
    if unsafe { libc::dladdr(known, &mut info) } == 0 {
        return None;
    }
    let header = info.dli_fbase.cast::<libc::Elf64_Ehdr>().cast_const();
    // SAFETY: a loaded library begins with its header, which says where the program headers are.
    let library = unsafe {
        let header = header
            .as_ref()
            .filter(|header| header.e_ident.starts_with(b"\x7fELF"))?;
        let at = info.dli_fbase.byte_add(header.e_phoff as usize).cast();
        object(
            info.dli_fbase as usize,
            slice::from_raw_parts(at, header.e_phnum.into()),
        )?
    };
    match library.find(name) {
        Some(Found::There(symbol)) => Some(symbol.address),
        _ => None,
    }
}

/// True if this library was loaded by the door through which it comes into a program that runs.
pub fn comes_late() -> bool {
    own_path(|path| path.to_bytes().starts_with(b"/proc/self/fd/")) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_searched_by_itself() {
        for name in [c"__register_atfork", c"dl_iterate_phdr"] {
            // SAFETY: the name ends in a NUL.
            let expected = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
            assert_eq!(of_c_library(name), Some(expected), "{name:?}");
        }
        assert_eq!(of_c_library(c"there is no such function"), None);
        assert!(!comes_late());
    }

    fn find(name: &CStr) -> Option<Symbol> {
        let mut result = None;
        find_all(&[name], Scope::All, |_, symbol| result = Some(symbol));
        result
    }

    #[test]
    fn what_dlsym_finds_is_found() {
        for name in [c"pthread_create", c"execve", c"environ", c"dl_iterate_phdr"] {
            // SAFETY: the name ends in a NUL.
            let expected = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
            let found = find(name).unwrap();
            assert_eq!(found.address, expected, "{name:?}");
        }
        assert_eq!(find(c"there is no such function"), None);
    }

    #[test]
    fn of_versions_the_default_one_is_found() {
        // There is an older one too, which behaves differently.
        let name = c"pthread_cond_timedwait";
        // SAFETY: the name ends in a NUL.
        let expected = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        assert_eq!(find(name).unwrap().address, expected);
    }

    #[test]
    fn an_address_lies_in_the_file_that_has_it() {
        let known = |name| find(name).unwrap().address;
        let (start, end) = range_of(known(c"getppid")).unwrap();
        assert!((start..end).contains(&(known(c"gethostname") as u64)));
        assert!(!(start..end).contains(&(range_of as *const () as u64)));
        assert_eq!(range_of(16), None);
    }

    #[test]
    fn what_the_program_loads_later_is_not_of_the_start() {
        let of = |name| is_of_the_start(find(name).unwrap().address);
        assert!(is_of_the_start(is_of_the_start as *const () as usize));
        // The C library is what this program names.
        assert!(of(c"getppid"));
        // SAFETY: the name ends in a NUL.
        let late = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW) };
        assert!(!late.is_null());
        let mut last = 0;
        each(Scope::All, |object| {
            last = object.base;
            false
        });
        assert!(!is_of_the_start(last + 64));
        assert!(!is_of_the_start(16));
    }

    #[test]
    fn many_are_found_at_once() {
        let names = [c"write", c"there is no such function", c"stdout"];
        let mut found = [None; 3];
        find_all(&names, Scope::All, |index, symbol| {
            found[index] = Some(symbol)
        });
        assert_eq!(found.map(|symbol| symbol.is_some()), [true, false, true]);
        assert_eq!(found[2].unwrap().size, 8);
    }
}
