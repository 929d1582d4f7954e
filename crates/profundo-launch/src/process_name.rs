//! The name of a running process, as part of a file's name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::program::script;

/// The program of a process: its script or module, if known.
pub fn process_program(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|&byte| byte == 0);
    let words = words.map(|word| OsStr::from_bytes(word).to_owned());
    let words: Vec<OsString> = words.collect();
    script(&words).unwrap_or_else(|| process_name(pid))
}

/// The name of a process, as part of a file's name.
pub fn process_name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name
        .trim()
        .chars()
        .map(|character| {
            if character == '/' || character.is_control() {
                '_'
            } else {
                character
            }
        })
        .collect();
    if name.is_empty() {
        "process".to_owned()
    } else {
        name
    }
}
