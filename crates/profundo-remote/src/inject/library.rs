//! Where the library lies that was loaded from a file which lies nowhere. Nobody but root may open what is mapped, so that
//! its symbols are looked up in the bytes that we have ourselves.

use profundo_scan::map_lines;

use super::FILE_NAME;
use crate::modules::Elf;
use crate::{proc, sys};

/// Where a function of the library is, if the program has loaded these very bytes before.
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

/// Descriptors of such files, which a command has left there that was killed.
pub(super) fn files_left(pid: u32) -> Vec<u64> {
    let ours = format!("/memfd:{FILE_NAME} (deleted)");
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let files = files.into_iter().flatten().flatten();
    files
        .filter(|it| std::fs::read_link(it.path()).is_ok_and(|to| to.as_os_str() == ours.as_str()))
        .filter_map(|it| it.file_name().to_str()?.parse().ok())
        .collect()
}

/// Where it begins.
fn begin(pid: u32, library: &[u8]) -> Option<u64> {
    /// What tells one build from another stands there: an identifier, where all parts lie, and a table of symbols.
    const TOLD_APART: usize = 4096;
    let first = library.get(..TOLD_APART)?;
    let name = format!("/memfd:{FILE_NAME}");
    let maps = proc::read(pid, "maps");
    let is_it = |start: u64| {
        let mut there = [0; TOLD_APART];
        sys::read_memory(pid, start, &mut there) == TOLD_APART && there == *first
    };
    map_lines(&maps)
        .map(|(_, line)| line)
        .filter(|line| line.offset == 0 && line.plain_path() == name.as_bytes())
        .find_map(|line| is_it(line.start).then_some(line.start))
}
