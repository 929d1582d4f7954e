//! Whether a program that is about to be executed can load this library at all.
//!
//! One for another machine, or with another C library, would complain about it or not even start;
//! and one that runs as another user may not be permitted to read it. Such programs are left
//! alone. A program that needs no loader does not mind, and may start others that do. Where it
//! cannot be told, it is assumed that all is well.

use core::ffi::{CStr, c_char, c_int};
use core::mem::MaybeUninit;
use core::slice;

use profundo_probe::sys;

use crate::environment;
use crate::session;

/// What is to be executed.
#[derive(Clone, Copy)]
pub enum Target {
    /// The file at a path.
    Path(*const c_char),
    /// A name to be looked for in `PATH`, or a path.
    Name(*const c_char),
    /// An open file.
    File(c_int),
}

/// How much of a file is looked at: its head, and mostly all of what is needed.
const HEAD: usize = 1024;
const PATH: usize = 4096;

/// The loader that this library is for.
const LOADER: &[u8] = b"ld-linux-x86-64.so.2";

/// Whether the target can load the library at `library`.
///
/// # Safety
/// The target's string is one.
pub unsafe fn can_load(target: Target, library: &CStr) -> bool {
    if !is_readable(library) {
        return false;
    }
    // SAFETY: the caller vouches; null is for the kernel to refuse.
    unsafe {
        match target {
            Target::File(file) => fits(file, 0),
            Target::Path(path) if path.is_null() => true,
            Target::Path(path) => file_fits(CStr::from_ptr(path), 0),
            Target::Name(name) if name.is_null() => true,
            Target::Name(name) => name_fits(CStr::from_ptr(name)),
        }
    }
}

fn open(path: &CStr) -> Option<c_int> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path ends in a NUL.
    let file = unsafe {
        let path = path.as_ptr() as usize;
        sys::call(libc::SYS_openat, [here, path, flags as usize, 0, 0, 0])
    };
    c_int::try_from(file).ok().filter(|&file| file >= 0)
}

fn close(file: c_int) {
    // SAFETY: the descriptor is ours.
    unsafe { sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]) };
}

fn is_readable(path: &CStr) -> bool {
    let file = open(path);
    file.inspect(|&file| close(file)).is_some()
}

/// Looks for a name as `execvp` does. Only what stands in the way of that is of interest: a file
/// that is found but may not be executed is passed over.
fn name_fits(name: &CStr) -> bool {
    const MOST: usize = 256;
    if name.to_bytes().contains(&b'/') {
        return file_fits(name, 0);
    }
    let Some(list) = environment::value(b"PATH=") else {
        return true;
    };
    let mut room = [const { MaybeUninit::<u8>::uninit() }; PATH];
    // SAFETY: it is written to before it is read.
    let room = unsafe { slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), PATH) };
    for folder in list.split(|&byte| byte == b':').take(MOST) {
        let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        let Some(path) = session::join(room, &[folder, separator, name.to_bytes()]) else {
            continue;
        };
        if is_executable(path) {
            return file_fits(path, 0);
        }
    }
    true
}

fn is_executable(path: &CStr) -> bool {
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path ends in a NUL.
    unsafe {
        let path = path.as_ptr() as usize;
        let how = libc::X_OK as usize;
        sys::call(libc::SYS_faccessat, [here, path, how, 0, 0, 0]) == 0
    }
}

fn file_fits(path: &CStr, depth: u32) -> bool {
    let Some(file) = open(path) else {
        // It may be one to execute and not to read.
        return true;
    };
    let result = fits(file, depth);
    close(file);
    result
}

/// Reads from an open file. Returns how many bytes there were.
fn read_at(file: c_int, at: u64, room: &mut [u8]) -> usize {
    // SAFETY: the room is ours; the file's own position stays.
    let count = unsafe {
        let memory = room.as_mut_ptr() as usize;
        let arguments = [file as usize, memory, room.len(), at as usize, 0, 0];
        sys::call(libc::SYS_pread64, arguments)
    };
    usize::try_from(count).unwrap_or(0).min(room.len())
}

fn fits(file: c_int, depth: u32) -> bool {
    let mut head = [0; HEAD];
    let count = read_at(file, 0, &mut head);
    let head = head.get(..count).unwrap_or(&[]);
    if head.starts_with(b"\x7FELF") {
        return elf_fits(file, head).unwrap_or(true);
    }
    /// As the kernel has it, or nearly so.
    const DEEPEST: u32 = 5;
    match head.strip_prefix(b"#!") {
        Some(line) if depth < DEEPEST => interpreter_fits(line, depth + 1),
        _ => true,
    }
}

/// Whether the program fits that reads a script.
fn interpreter_fits(line: &[u8], depth: u32) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or(line);
    let start = line.iter().take_while(|byte| is_space(byte)).count();
    let line = line.get(start..).unwrap_or(&[]);
    let path = line.split(|byte| is_space(byte)).next().unwrap_or(line);
    let mut room = [0; HEAD];
    match session::join(&mut room, &[path]) {
        Some(path) if !path.is_empty() => file_fits(path, depth),
        _ => true,
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..N)?
        .copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(word))
}

/// `None`: the file is cut or odd, which is for the kernel to judge.
fn elf_fits(file: c_int, head: &[u8]) -> Option<bool> {
    const CLASS_64: u64 = 2;
    const X86_64: u64 = 62;
    const MOST: u64 = 64;
    const INTERPRETER: u64 = 3;
    const ENTRY: usize = 56;
    if number::<1>(head, 4)? != CLASS_64 || number::<2>(head, 18)? != X86_64 {
        return Some(false);
    }
    let (table, size, count) = (
        number::<8>(head, 32)?,
        number::<2>(head, 54)?,
        number::<2>(head, 56)?.min(MOST),
    );
    for index in 0..count {
        let mut entry = [0; ENTRY];
        let at = table.checked_add(index * size)?;
        get(file, head, at, &mut entry)?;
        if number::<4>(&entry, 0)? == INTERPRETER {
            let mut room = [0; 256];
            let length = usize::try_from(number::<8>(&entry, 32)?).ok()?;
            let path = room.get_mut(..length)?;
            get(file, head, number::<8>(&entry, 8)?, path)?;
            let path = CStr::from_bytes_until_nul(path).ok()?;
            return Some(path.to_bytes().ends_with(LOADER));
        }
    }
    Some(true)
}

/// Fills the room from the head of the file, or else from the file.
fn get(file: c_int, head: &[u8], at: u64, room: &mut [u8]) -> Option<()> {
    let start = usize::try_from(at).ok()?;
    match head.get(start..start.checked_add(room.len())?) {
        Some(bytes) => room.copy_from_slice(bytes),
        None if read_at(file, at, room) == room.len() => {}
        None => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::path::PathBuf;

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("profundo-loadable-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn check(name: &str, contents: &[u8]) -> bool {
        let path = folder().join(name);
        fs::write(&path, contents).unwrap();
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path is a string.
        let result = unsafe { can_load(Target::Path(path.as_ptr()), &path) };
        fs::remove_file(path.to_str().unwrap()).unwrap();
        result
    }

    #[test]
    fn programs_of_this_machine_fit() {
        let library = c"/proc/self/exe";
        for path in [c"/proc/self/exe", c"/bin/sh", c"/bin/ls"] {
            // SAFETY: the path is a string.
            assert!(unsafe { can_load(Target::Path(path.as_ptr()), library) });
        }
        for name in [c"sh", c"ls", c"there-is-no-such-program"] {
            // SAFETY: the name is a string.
            assert!(unsafe { can_load(Target::Name(name.as_ptr()), library) });
        }
        // SAFETY: the path is a string.
        assert!(!unsafe { can_load(Target::Path(c"/bin/sh".as_ptr()), c"/does/not/exist") });
    }

    #[test]
    fn others_do_not() {
        let shell = fs::read("/bin/sh").unwrap();
        assert!(check("same", &shell));
        let mut small = shell.clone();
        small[4] = 1;
        assert!(!check("small", &small));
        let mut foreign = shell.clone();
        foreign[18] = 183;
        assert!(!check("foreign", &foreign));
        let loader = b"/lib64/ld-linux-x86-64.so.2";
        let at = shell
            .windows(loader.len())
            .position(|window| window == loader)
            .unwrap();
        let mut musl = shell.clone();
        musl[at..at + loader.len()].copy_from_slice(b"/lib/ld-musl-x86_64.so.1\0\0\0");
        assert!(!check("musl", &musl));
        // What is cut anywhere is judged, or left to the kernel.
        for length in 0..900 {
            check("cut", &musl[..length]);
        }
    }

    #[test]
    fn a_script_is_what_its_interpreter_is() {
        let mut small = fs::read("/bin/sh").unwrap();
        small[4] = 1;
        let interpreter = folder().join("interpreter");
        fs::write(&interpreter, small).unwrap();
        let line = format!("#! {} -x\necho", interpreter.display());
        assert!(!check("script", line.as_bytes()));
        assert!(check("shell", b"#!/bin/sh\necho"));
        assert!(check("empty", b"#!\n"));
        assert!(check("text", b"echo"));
    }
}
