//! The files that were mapped into a program, and the one that an address lies in.

use profundo_model::{Avma, Module, ModuleId, Role};
use rustc_hash::FxHashMap;

use super::elf;
use crate::Builder;

/// A mapped part of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mapped<'a> {
    /// The first address.
    pub start: u64,
    /// The end; the last address where the file is unknown.
    pub end: u64,
    /// The offset in the file of the first byte.
    pub offset: u64,
    /// The path of the file.
    pub path: &'a str,
    /// The build id, in hexadecimal digits or empty.
    pub build_id: &'a str,
}

/// The mapped parts of a program.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    /// Start, end and module, by the start once they are sorted.
    parts: Vec<(u64, u64, ModuleId)>,
    is_sorted: bool,
    modules: FxHashMap<(Box<str>, Vec<u8>, u64), ModuleId>,
    kernel: Option<ModuleId>,
}

impl Mappings {
    /// Adds a part. Several parts of one file, moved alike, are one module. Memory without a file
    /// has none.
    pub(crate) fn add(&mut self, builder: &mut Builder, mapped: Mapped<'_>) -> Option<ModuleId> {
        let path = mapped.path.trim();
        let build_id = bytes_of(mapped.build_id);
        if is_kernel(path) {
            return Some(self.kernel(builder));
        }
        if path.is_empty() && build_id.is_empty() {
            return None;
        }
        let bias = match mapped.start {
            0 if mapped.end == 0 => 0,
            start => elf::bias(path, [start, mapped.end], mapped.offset),
        };
        let key = (path.into(), build_id, bias);
        let id = match self.modules.get(&key) {
            Some(&id) => id,
            None => {
                let name = builder.profile.strings.intern(path);
                let id = builder.add_module(Module {
                    path: name,
                    start: Avma(mapped.start),
                    end: Avma(mapped.end),
                    bias,
                    build_id: key.1.clone(),
                    role: Role::of_path(path),
                });
                self.modules.insert(key, id);
                id
            }
        };
        let module = builder.profile.modules.get_mut(id);
        module.start = module.start.min(Avma(mapped.start));
        module.end = module.end.max(Avma(mapped.end));
        if mapped.end > mapped.start {
            self.parts.push((mapped.start, mapped.end, id));
            self.is_sorted = false;
        }
        Some(id)
    }

    /// Adds a line of `/proc/PID/maps`, if it is one of code in a file. False for other lines.
    pub(crate) fn add_line(&mut self, builder: &mut Builder, line: &[u8]) -> bool {
        let Some((mapped, permissions)) = std::str::from_utf8(line).ok().and_then(part) else {
            return false;
        };
        if permissions.contains('x') {
            self.add(builder, mapped);
        }
        true
    }

    /// The module of the kernel.
    pub(crate) fn kernel(&mut self, builder: &mut Builder) -> ModuleId {
        *self
            .kernel
            .get_or_insert_with(|| builder.module("[kernel]"))
    }

    /// The module of the kernel, if there is one yet.
    pub(crate) fn known_kernel(&self) -> Option<ModuleId> {
        self.kernel
    }

    /// The module of an address.
    pub(crate) fn find(&mut self, builder: &mut Builder, address: u64) -> Option<ModuleId> {
        if is_kernel_address(address) {
            return Some(self.kernel(builder));
        }
        if !self.is_sorted {
            self.parts.sort_by_key(|&(start, ..)| start);
            self.is_sorted = true;
        }
        let behind = (self.parts).partition_point(|&(start, ..)| start <= address);
        let &(_, end, module) = self.parts.get(behind.checked_sub(1)?)?;
        (address < end).then_some(module)
    }
}

/// The upper half of the addresses is the kernel's on every known system.
pub(crate) fn is_kernel_address(address: u64) -> bool {
    address >= 1 << 63
}

/// Whether a mapping is the kernel's by its name: `[kernel.kallsyms]_text`, `[guest.kernel]`.
fn is_kernel(path: &str) -> bool {
    path.starts_with("[kernel") || path.starts_with("[guest.kernel") || path == "[vmlinux]"
}

/// `55d0c0a00000-55d0c0a21000 r-xp 00001000 08:01 1234  /usr/bin/program`, and the permissions. In
/// brief, `00400000-00fcb000: /usr/bin/program`.
fn part(line: &str) -> Option<(Mapped<'_>, &str)> {
    let mut rest = line.trim();
    let mut word = || {
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = behind.trim_start();
        word
    };
    let first = word();
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = first.trim_end_matches(':').split_once('-')?;
    if first.ends_with(':') {
        let mapped = Mapped {
            start: number(start)?,
            end: number(end)?,
            path: rest,
            ..Mapped::default()
        };
        return Some((mapped, "r-xp"));
    }
    let permissions = word();
    let offset = word();
    word();
    word();
    let is_permissions = permissions.len() == 4 && permissions.starts_with(['r', '-']);
    let mapped = Mapped {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        path: rest,
        build_id: "",
    };
    is_permissions.then_some((mapped, permissions))
}

/// The bytes of hexadecimal digits; none where they are something else.
fn bytes_of(digits: &str) -> Vec<u8> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |&digit: &u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.filter(|_| rest.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_lies_in_the_file_that_was_mapped_there() {
        let (mut builder, mut mappings) = (Builder::default(), Mappings::default());
        let lines = "\
            00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus daemon\n\
            00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/dbus daemon\n\
            7f0000000000-7f0000020000 r-xp 00003000 08:02 1  /lib/none.so\n\
            7f0000020000-7f0000030000 r-xp 00023000 08:02 1  /lib/none.so\n\
            7fff0000-7fff1000 rw-p 00000000 00:00 0\n\
            \x20 7fff2000-7fff3000: /lib/brief.so\n";
        for line in lines.lines() {
            assert!(mappings.add_line(&mut builder, line.as_bytes()), "{line}");
        }
        assert!(!mappings.add_line(&mut builder, b"build=/usr/bin/x"));
        let module = mappings.find(&mut builder, 0x40_1000).expect("a module");
        let path = builder.profile.modules.get(module).path;
        assert_eq!(builder.profile.strings.get(path), "/usr/bin/dbus daemon");
        assert_eq!(mappings.find(&mut builder, 0x65_1000), None);
        let library = mappings.find(&mut builder, 0x7f00_0002_1000).expect("one");
        let library = builder.profile.modules.get(library);
        assert_eq!(library.bias, 0x7eff_ffff_d000);
        assert_eq!(library.end, Avma(0x7f00_0003_0000));
        assert_eq!(mappings.find(&mut builder, 0x30), None);
        assert!(mappings.find(&mut builder, 0x7fff_2000).is_some());
        let kernel = mappings.find(&mut builder, u64::MAX).expect("the kernel");
        let path = builder.profile.modules.get(kernel).path;
        assert_eq!(builder.profile.strings.get(path), "[kernel]");
    }

    #[test]
    fn a_build_id_has_pairs_of_digits() {
        assert_eq!(bytes_of("00fF"), [0, 255]);
        assert_eq!(bytes_of("00f"), Vec::<u8>::new());
        assert_eq!(bytes_of("Go/id"), Vec::<u8>::new());
    }
}
