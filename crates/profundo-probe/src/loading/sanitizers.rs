//! Sanitizers: the one that a program was built with, and the file of its runtime.
//!
//! A runtime interposes `malloc` and much else, and some refuse to start behind another library.

use super::elf::{Dynamic, Elf};
use super::{Verdict, Why, file, join};

/// Sanitizers whose runtime must come first. UBSan's replaces no function of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sanitizer {
    /// ASan.
    Address,
    /// TSan.
    Thread,
    /// MSan.
    Memory,
    /// LSan.
    Leak,
    /// HWASan.
    HwAddress,
}

impl Sanitizer {
    /// All sanitizers, numbered from 1 in this order.
    pub const ALL: [Self; 5] = [
        Self::Address,
        Self::Thread,
        Self::Memory,
        Self::Leak,
        Self::HwAddress,
    ];

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Address => "AddressSanitizer",
            Self::Thread => "ThreadSanitizer",
            Self::Memory => "MemorySanitizer",
            Self::Leak => "LeakSanitizer",
            Self::HwAddress => "HWAddressSanitizer",
        }
    }

    /// The function that starts its runtime.
    fn start(self) -> &'static [u8] {
        match self {
            Self::Address => b"__asan_init",
            Self::Thread => b"__tsan_init",
            Self::Memory => b"__msan_init",
            Self::Leak => b"__lsan_init",
            Self::HwAddress => b"__hwasan_init",
        }
    }

    /// The sanitizer whose runtime a library is, by its path or name.
    pub fn of_library(path: &[u8]) -> Option<Self> {
        let name = path.rsplit(|&byte| byte == b'/').next()?;
        let short = name
            .strip_prefix(b"libclang_rt.")
            .or(name.strip_prefix(b"lib"))?;
        let is_so = name.windows(3).any(|part| part == b".so");
        let end = short
            .iter()
            .position(|byte| !byte.is_ascii_alphabetic())
            .unwrap_or(short.len());
        let sanitizer = match short.get(..end)? {
            b"asan" => Self::Address,
            b"tsan" => Self::Thread,
            b"msan" => Self::Memory,
            b"lsan" => Self::Leak,
            b"hwasan" => Self::HwAddress,
            _ => return None,
        };
        is_so.then_some(sanitizer)
    }
}

/// A runtime that is a library of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    name: [u8; Runtime::LONGEST],
    length: usize,
}

impl Runtime {
    const LONGEST: usize = 48;

    pub(super) fn new(name: &[u8]) -> Option<Self> {
        let mut kept = [0; Self::LONGEST];
        kept.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self {
            name: kept,
            length: name.len(),
        })
    }

    /// Its name in a program's list of libraries, such as `libasan.so.8`.
    pub fn name(&self) -> &[u8] {
        self.name.get(..self.length).unwrap_or(&[])
    }
}

/// The loader's default folders.
const FOLDERS: &[&[u8]] = &[
    #[cfg(target_arch = "x86_64")]
    b"/lib/x86_64-linux-gnu",
    #[cfg(target_arch = "x86_64")]
    b"/usr/lib/x86_64-linux-gnu",
    #[cfg(target_arch = "aarch64")]
    b"/lib/aarch64-linux-gnu",
    #[cfg(target_arch = "aarch64")]
    b"/usr/lib/aarch64-linux-gnu",
    b"/lib64",
    b"/usr/lib64",
    b"/lib",
    b"/usr/lib",
    b"/usr/local/lib64",
    b"/usr/local/lib",
];

/// The demand of a sanitizer. `None`: the program has none, or none that minds.
pub fn of(elf: &Elf<'_>, library_path: Option<&[u8]>) -> Option<Verdict> {
    let dynamic = elf.dynamic()?;
    let library = elf.find_library(&dynamic, |name| {
        Some((Sanitizer::of_library(name)?, Runtime::new(name)))
    });
    if let Some((sanitizer, runtime)) = library {
        let runtime =
            runtime.filter(|runtime| is_found(elf, &dynamic, runtime.name(), library_path));
        // The loader would complain of a runtime that it does not find.
        let nothing = Verdict::Nothing(Why::Sanitizer(sanitizer));
        return Some(runtime.map_or(nothing, Verdict::Behind));
    }
    let all = Sanitizer::ALL;
    let exported = all
        .into_iter()
        .find(|sanitizer| elf.exports(&dynamic, sanitizer.start()));
    // Only gcc's programs export nothing of it, and its runtimes start before all libraries.
    let sanitizer = exported.or_else(|| {
        let is_possible = dynamic.has_early_functions;
        is_possible.then(|| of_texts(elf)).flatten()
    });
    sanitizer.map(|sanitizer| Verdict::Nothing(Why::Sanitizer(sanitizer)))
}

/// The sanitizer whose start is among the program's symbols. A program without symbols has the
/// runtime's name for its reports.
fn of_texts(elf: &Elf<'_>) -> Option<Sanitizer> {
    let starts = Sanitizer::ALL.map(Sanitizer::start);
    let names = Sanitizer::ALL.map(|sanitizer| sanitizer.name().as_bytes());
    let found = elf
        .find_symbol(&starts)
        .or_else(|| elf.find_constant(&names))?;
    let is_it = |it: &Sanitizer| it.start() == found || it.name().as_bytes() == found;
    Sanitizer::ALL.into_iter().find(is_it)
}

/// Whether the loader finds a library in the places that are simple to check.
fn is_found(elf: &Elf<'_>, dynamic: &Dynamic, name: &[u8], library_path: Option<&[u8]>) -> bool {
    let is_in = |folder: &[u8]| {
        let mut room = [0; 512];
        let path = join(&mut room, &[folder, b"/", name]);
        path.is_some_and(|path| file::may(path, libc::R_OK))
    };
    let is_separator = |byte: &u8| matches!(byte, b':' | b';');
    let mut room = [0; 512];
    let own = elf.folders(dynamic, &mut room).unwrap_or(&[]);
    library_path
        .unwrap_or(&[])
        .split(is_separator)
        .chain(own.split(is_separator))
        .filter(|folder| !folder.is_empty())
        .chain(FOLDERS.iter().copied())
        .any(is_in)
}
