//! Finds the library that was loaded from an anonymous file. Only root may open the mapped file, so
//! its symbols are looked up in our own bytes of it.

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_process::modules::Elf;
use profundo_scan::map_lines;

use super::FILE_NAME;

/// The address of a function of the library, if the program has loaded the same bytes before.
pub(super) fn function_in(pid: u32, library: &[u8], wanted: &str) -> Option<u64> {
    let elf = Elf::read(library.to_vec())?;
    let mut value = None;
    elf.functions_and_data(&elf.sections(), |symbol| {
        if symbol.name == wanted.as_bytes() {
            value = Some(symbol.address);
        }
    });
    Some(begin(pid, library)? + value?)
}

/// Descriptors of such files, left in the program by a command that was killed.
pub(super) fn files_left(pid: u32) -> Vec<u64> {
    let ours = format!("/memfd:{FILE_NAME} (deleted)");
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let files = files.into_iter().flatten().flatten();
    files
        .filter(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == ours.as_str())
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The address of the library.
fn begin(pid: u32, library: &[u8]) -> Option<u64> {
    /// Bytes that distinguish builds: the build id, the program headers, and a table of symbols.
    const COMPARED: usize = 4096;
    let first = library.get(..COMPARED)?;
    let name = format!("/memfd:{FILE_NAME}");
    let maps = proc::read(pid, "maps");
    let is_it = |start: u64| {
        let mut there = [0; COMPARED];
        sys::read_memory(pid, start, &mut there) == COMPARED && there == *first
    };
    map_lines(&maps)
        .map(|(_, line)| line)
        .filter(|line| line.offset == 0 && line.plain_path() == name.as_bytes())
        .find_map(|line| is_it(line.start).then_some(line.start))
}
