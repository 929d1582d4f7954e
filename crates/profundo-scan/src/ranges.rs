//! The program's memory that may hold pointers: its writable memory, without our own, and without
//! the parts beyond the ends of stacks.

use crate::maps::{MapLine, map_lines};

/// A stretch of memory.
pub type Range = (u64, u64);

/// A stretch of memory that is or was writable for the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// Its start and its end.
    pub range: Range,
    /// Its kind.
    pub kind: Kind,
    /// True if other processes may share the area: a forked child maps it, but without its page
    /// tables.
    pub is_shared: bool,
}

/// The kind of an area, as far as the kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The main thread's stack.
    MainStack,
    /// Memory with a guard page below, like a thread's stack; mostly with thread-local storage
    /// above it.
    Stack,
    /// The data of the file with this path.
    Data(Vec<u8>),
    /// The memory that grows by `brk`.
    Heap,
    /// All other memory: that of allocators.
    Other,
}

/// The areas of a process with these `maps` and these ends of stacks, ordered by address. `own` has
/// that order, too; files are ours if their paths begin with one of `ours`.
pub fn areas(maps: &[u8], own: &[Range], stacks: &[u64], ours: &[&[u8]]) -> Vec<Area> {
    /// The part beyond the end of its stack that a function may use.
    const RED_ZONE: u64 = 128;
    let mut areas = Vec::new();
    // The end of the mapping before, if it is a guard.
    let mut guarded = 0;
    // The end of a file's data, before its zeros, and the file.
    let mut data: (u64, &[u8]) = (0, b"");
    for (permissions, line) in map_lines(maps) {
        let is_guarded = guarded == line.start;
        guarded = match permissions.first() {
            Some(b'-') => line.end,
            _ => 0,
        };
        if !may_point(permissions, &line, ours) {
            continue;
        }
        let kind = match line.path {
            b"[stack]" => Kind::MainStack,
            b"[heap]" => Kind::Heap,
            // Memory of glibc's arenas lies right behind the reserve of others.
            b"" if is_guarded && !line.start.is_multiple_of(64 << 20) => Kind::Stack,
            b"" if data.0 == line.start => Kind::Data(data.1.to_vec()),
            [b'/', ..] if !line.plain_path().starts_with(b"/dev/") => {
                data = (line.end, line.plain_path());
                Kind::Data(data.1.to_vec())
            }
            _ => Kind::Other,
        };
        let mut start = line.start;
        if matches!(kind, Kind::MainStack | Kind::Stack) {
            let inside = |stack: &&u64| (line.start..line.end).contains(*stack);
            if let Some(stack) = stacks.iter().filter(inside).min() {
                start = start.max((stack.saturating_sub(RED_ZONE)) & !7);
            }
        }
        let mut left = Vec::new();
        subtract((start, line.end), own, &mut left);
        areas.extend(left.into_iter().map(|range| Area {
            range,
            kind: kind.clone(),
            is_shared: permissions.get(3) == Some(&b's'),
        }));
    }
    areas
}

/// True if the program may keep pointers there. Device memory is not read, since a read may have
/// effects.
pub fn may_point(permissions: &[u8], line: &MapLine<'_>, ours: &[&[u8]]) -> bool {
    let path = line.plain_path();
    let is_kernels = matches!(
        path,
        b"[vvar]" | b"[vvar_vclock]" | b"[vdso]" | b"[vsyscall]"
    );
    let is_readable = permissions.first() == Some(&b'r');
    let is_data = permissions.get(1) == Some(&b'w') || line.inode == 0;
    let is_ours = ours.iter().any(|ours| path.starts_with(ours));
    is_readable && is_data && !is_kernels && !line.is_device() && !is_ours
}

/// Adds the rest of a range without `own`.
pub fn subtract((mut start, end): Range, own: &[Range], left: &mut Vec<Range>) {
    let first = own.partition_point(|&(_, own_end)| own_end <= start);
    for &(own_start, own_end) in own.get(first..).unwrap_or_default() {
        if own_start >= end {
            break;
        }
        if own_start > start {
            left.push((start, own_start));
        }
        start = start.max(own_end);
    }
    if start < end {
        left.push((start, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"\
10000-11000 r--p 00000000 fe:00 1049 /usr/bin/x
11000-12000 r-xp 00001000 fe:00 1049 /usr/bin/x
12000-13000 rw-p 00002000 fe:00 1049 /usr/bin/x
13000-14000 rw-p 00000000 00:00 0 
20000-30000 rw-p 00000000 00:00 0 [heap]
40000-41000 ---p 00000000 00:00 0 
41000-49000 rw-p 00000000 00:00 0 
50000-60000 rw-s 00000000 00:17 5 /dev/shm/profundo-0-1-2/ring.0
60000-61000 rw-s 00000000 00:17 6 /dev/shm/programs
61000-62000 rw-s 00000000 00:17 7 /dev/dri/card0
62000-63000 r--p 00000000 00:00 0 
70000-80000 rw-p 00000000 00:00 0 [stack]
80000-81000 r--p 00000000 00:00 0 [vvar]
";

    #[test]
    fn writable_memory_of_the_program_is_searched() {
        let own = [(0x1f000, 0x21000), (0x28000, 0x29000), (0x2f000, 0x30000)];
        let stacks = [0x7f000, 0x48100, 0x25000];
        let ours: &[&[u8]] = &[b"/dev/shm/profundo-0-1-2"];
        let found = areas(MAPS, &own, &stacks, ours);
        let kinds: Vec<_> = found.iter().map(|area| area.kind.clone()).collect();
        let x = || Kind::Data(b"/usr/bin/x".to_vec());
        let other = || Kind::Other;
        assert_eq!(
            kinds,
            [
                x(),
                x(),
                Kind::Heap,
                Kind::Heap,
                Kind::Stack,
                other(),
                other(),
                Kind::MainStack
            ]
        );
        let shared = found.iter().filter(|area| area.is_shared);
        assert_eq!(
            shared.map(|area| area.range.0).collect::<Vec<_>>(),
            [0x60000]
        );
        let found: Vec<Range> = found.iter().map(|area| area.range).collect();
        let expected = [
            (0x12000, 0x13000),
            (0x13000, 0x14000),
            // The end of a stack in the heap does not cut the heap.
            (0x21000, 0x28000),
            (0x29000, 0x2f000),
            (0x48080, 0x49000),
            (0x60000, 0x61000),
            (0x62000, 0x63000),
            (0x7ef80, 0x80000),
        ];
        assert_eq!(found, expected);
    }
}
