//! The files of a process whose symbols are read.

use std::fs;
use std::path::{Path, PathBuf};

use profundo_linux::proc;

/// The files of a process that need symbols: its program, its C library, and its interpreter.
pub fn files_of(pid: u32) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    let maps = proc::read(pid, "maps");
    let maps = String::from_utf8_lossy(&maps);
    let executable = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    for line in maps.lines() {
        let Some(at) = line.find('/') else { continue };
        let path = Path::new(line.get(at..).unwrap_or_default());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_wanted = path == executable
            || name.starts_with("libpython")
            || name.starts_with("libc.so")
            || name.starts_with("libc-2");
        if is_wanted && !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
    files
}
