//! The libraries that a program can be given at its exec, judged by its file beforehand.
//!
//! A program of another machine, or of a C library other than glibc and musl, cannot load the
//! agent. One that was linked with a sanitizer wants that runtime before all other libraries. One
//! that a tool like valgrind emulates must not have anything of ours in it. In doubt, the program
//! is taken for an ordinary one.
//!
//! The agent asks before each exec, perhaps in a child that borrows its parent's memory (`vfork`),
//! so this writes nothing but its own stack. The command asks the same for the first program.

mod elf;
mod emulators;
mod file;
mod preload;
mod sanitizers;

use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;
use core::slice;

pub use emulators::Emulator;
pub use preload::{Taken, compose, room_for, take_out};
pub use sanitizers::{Runtime, Sanitizer};

use elf::Elf;
use file::{File, HEAD};

/// The longest path that the kernel takes.
const PATH: usize = 4096;

/// The program to be executed.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// The file at a path.
    Path(&'a CStr),
    /// A name to be looked for in `PATH`, or a path.
    Name(&'a CStr),
    /// An open file.
    File(c_int),
    /// Left to the kernel.
    Unknown,
}

/// The variables that decide the files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// `PATH`.
    pub path: Option<&'a [u8]>,
    /// `LD_LIBRARY_PATH` of the next program.
    pub library_path: Option<&'a [u8]>,
}

/// The libraries that a program can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The agent, before all other libraries.
    First,
    /// The agent, behind the runtime of a sanitizer that the program is linked with.
    Behind(Runtime),
    /// Nothing of ours.
    Nothing(Why),
}

/// The reason why a program is given nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The program is for another machine, or another loader.
    Foreign,
    /// The program emulates the program that it runs, which would load the agent.
    Emulator(Emulator),
    /// The runtime of a sanitizer is a part of the program, or cannot be found.
    Sanitizer(Sanitizer),
}

/// Judges a program.
pub fn judge(target: Target<'_>, surroundings: &Surroundings<'_>) -> Verdict {
    match target {
        Target::Unknown => Verdict::First,
        Target::File(descriptor) => of_file(&File::borrow(descriptor), surroundings, 0),
        Target::Path(path) => of_path(path, surroundings, 0),
        Target::Name(name) => of_name(name, surroundings),
    }
}

/// Looks for a name as `execvp` does. A file that is found but may not be executed is skipped.
fn of_name(name: &CStr, surroundings: &Surroundings<'_>) -> Verdict {
    const MOST: usize = 256;
    if name.to_bytes().contains(&b'/') {
        return of_path(name, surroundings, 0);
    }
    let Some(list) = surroundings.path else {
        return Verdict::First;
    };
    let mut room = [const { MaybeUninit::<u8>::uninit() }; PATH];
    // SAFETY: it is written to before it is read.
    let room = unsafe { slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), PATH) };
    for folder in list.split(|&byte| byte == b':').take(MOST) {
        let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        let Some(path) = join(room, &[folder, separator, name.to_bytes()]) else {
            continue;
        };
        if file::may(path, libc::X_OK) {
            return of_path(path, surroundings, 0);
        }
    }
    Verdict::First
}

fn of_path(path: &CStr, surroundings: &Surroundings<'_>, depth: u32) -> Verdict {
    if let Some(emulator) = Emulator::of_path(path.to_bytes()) {
        return Verdict::Nothing(Why::Emulator(emulator));
    }
    match File::open(path) {
        Some(file) => of_file(&file, surroundings, depth),
        // It may be executable but not readable.
        None => Verdict::First,
    }
}

fn of_file(file: &File, surroundings: &Surroundings<'_>, depth: u32) -> Verdict {
    /// The kernel's limit of nested scripts, or nearly so.
    const DEEPEST: u32 = 5;
    let mut head = [0; HEAD];
    let count = file.read_at(0, &mut head);
    let head = head.get(..count).unwrap_or(&[]);
    if head.starts_with(b"\x7FELF") {
        // A cut or malformed file is left to the kernel.
        return of_elf(file, head, surroundings).unwrap_or(Verdict::First);
    }
    match head.strip_prefix(b"#!") {
        Some(line) if depth < DEEPEST => of_interpreter(line, surroundings, depth + 1),
        _ => Verdict::First,
    }
}

/// The program that reads a script.
fn of_interpreter(line: &[u8], surroundings: &Surroundings<'_>, depth: u32) -> Verdict {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or(line);
    let start = line.iter().take_while(|byte| is_space(byte)).count();
    let line = line.get(start..).unwrap_or(&[]);
    let path = line.split(|byte| is_space(byte)).next().unwrap_or(line);
    let mut room = [0; HEAD];
    match join(&mut room, &[path]) {
        Some(path) if !path.is_empty() => of_path(path, surroundings, depth),
        _ => Verdict::First,
    }
}

/// `None`: the file is cut or malformed.
fn of_elf(file: &File, head: &[u8], surroundings: &Surroundings<'_>) -> Option<Verdict> {
    let Some(elf) = Elf::new(file, head)? else {
        return Some(Verdict::Nothing(Why::Foreign));
    };
    let mut room = [0; 256];
    let Some(loader) = elf.loader(&mut room)? else {
        // A program without a loader ignores the list, and may start others that do not.
        return Some(Verdict::First);
    };
    if !loader.ends_with(GLIBC) && !loader.ends_with(MUSL) {
        return Some(Verdict::Nothing(Why::Foreign));
    }
    // It would not load the agent, but see it in its environment.
    if loader.ends_with(MUSL) && file.gives_rights() {
        return Some(Verdict::Nothing(Why::Foreign));
    }
    let sanitizer = sanitizers::of(&elf, surroundings.library_path);
    Some(sanitizer.unwrap_or(Verdict::First))
}

/// The loaders that the agent is for.
#[cfg(target_arch = "x86_64")]
const GLIBC: &[u8] = b"ld-linux-x86-64.so.2";
#[cfg(target_arch = "x86_64")]
const MUSL: &[u8] = b"ld-musl-x86_64.so.1";
#[cfg(target_arch = "aarch64")]
const GLIBC: &[u8] = b"ld-linux-aarch64.so.1";
#[cfg(target_arch = "aarch64")]
const MUSL: &[u8] = b"ld-musl-aarch64.so.1";

/// Joins parts into a string that ends in a NUL. `None`: there is no room.
pub fn join<'a>(room: &'a mut [u8], parts: &[&[u8]]) -> Option<&'a CStr> {
    let mut at = 0_usize;
    for part in parts {
        let end = at.checked_add(part.len())?;
        room.get_mut(at..end)?.copy_from_slice(part);
        at = end;
    }
    *room.get_mut(at)? = 0;
    CStr::from_bytes_with_nul(room.get(..=at)?).ok()
}

#[cfg(test)]
mod tests;
