//! The names that `pprof --raw` puts before a profile, so that it can be read elsewhere.
//!
//! ```text
//! --- symbol
//! binary=/usr/bin/program
//! 0x0000558101a2c2e3 block
//! 0x0000558101a2c3a8 push_back--keeps          inlined functions stand before `--`
//! ---
//! --- profile
//! ```

use rustc_hash::FxHashMap;

use crate::code::native_stacks::address;

const HEAD: &[u8] = b"--- symbol\n";
const END: &[u8] = b"\n---\n";

pub(super) fn is_start(start: &[u8]) -> bool {
    start.starts_with(HEAD) && memchr::memmem::find(start, b"\nbinary=").is_some()
}

/// Reads the names, and gives the profile behind them.
pub(super) fn read<'a>(bytes: &'a [u8], names: &mut FxHashMap<u64, Vec<String>>) -> &'a [u8] {
    let Some(rest) = bytes.strip_prefix(HEAD) else {
        return bytes;
    };
    let end = memchr::memmem::find(rest, END).unwrap_or(rest.len());
    let (text, rest) = rest.split_at(end);
    for line in text.split(|&byte| byte == b'\n') {
        let Some(space) = memchr::memchr(b' ', line) else {
            continue;
        };
        let (at, name) = line.split_at(space);
        if let Some(at) = address(at) {
            let name = String::from_utf8_lossy(name);
            let functions = name
                .trim()
                .split("--")
                .map(without_start)
                .map(str::to_owned);
            names.insert(at, functions.collect());
        }
    }
    let rest = rest.get(END.len()..).unwrap_or_default();
    // `--- profile`, `--- heap`, `--- contention`: what stands behind begins a line.
    let is_head = [&b"--- profile\n"[..], b"--- heap\n", b"--- growth\n"];
    let head = is_head.iter().find(|head| rest.starts_with(head));
    head.map_or(rest, |head| &rest[head.len()..])
}

/// The name without the start of the function: `block(unsigned long)<00000000000012d5>`.
fn without_start(name: &str) -> &str {
    let parts = name
        .strip_suffix('>')
        .and_then(|name| name.rsplit_once('<'));
    match parts {
        Some((name, start)) if start.len() == 16 && address(start.as_bytes()).is_some() => name,
        _ => name,
    }
}
