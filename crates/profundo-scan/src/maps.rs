//! The lines of `/proc/PID/maps`.

/// One range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapLine<'a> {
    /// The start address.
    pub start: u64,
    /// The end address.
    pub end: u64,
    /// The offset in the file.
    pub offset: u64,
    /// The file's device, as `major << 32 | minor`; 0 where there is no file.
    pub device: u64,
    /// The file's inode; 0 where there is no file.
    pub inode: u64,
    /// The path as the kernel prints it, or a name such as `[vdso]`; empty if there is none.
    pub path: &'a [u8],
}

impl<'a> MapLine<'a> {
    /// True if both lines map the same part of the same file at the same address.
    pub fn is_same(&self, other: &MapLine<'_>) -> bool {
        let what = |line: &MapLine<'_>| (line.start, line.end, line.offset);
        let file = |line: &MapLine<'_>| (line.device, line.inode);
        what(self) == what(other) && file(self) == file(other)
    }

    /// True if the range is device memory, and not ordinary memory named after a device.
    pub fn is_device(&self) -> bool {
        let path = self.plain_path();
        path.starts_with(b"/dev/")
            && !path.starts_with(b"/dev/shm/")
            && !path.starts_with(b"/dev/zero")
    }

    /// The path without the kernel's suffix for deleted files.
    pub fn plain_path(&self) -> &'a [u8] {
        self.path.strip_suffix(b" (deleted)").unwrap_or(self.path)
    }
}

/// The executable ranges in the text of a `maps` file, in its order. Unreadable lines are left out.
pub fn executable(maps: &[u8]) -> impl Iterator<Item = MapLine<'_>> {
    let all = map_lines(maps).filter(|(permissions, _)| permissions.get(2) == Some(&b'x'));
    all.map(|(_, line)| line)
}

/// All ranges, with their permissions, such as `rw-p`.
pub fn map_lines(maps: &[u8]) -> impl Iterator<Item = (&[u8], MapLine<'_>)> {
    maps.split(|&byte| byte == b'\n').filter_map(parse)
}

fn parse(line: &[u8]) -> Option<(&[u8], MapLine<'_>)> {
    // 7f1c2a400000-7f1c2a422000 r-xp 00028000 fe:00 1049        /usr/lib/libc.so.6
    let (start, rest) = hex(line)?;
    let (end, rest) = hex(rest.strip_prefix(b"-")?)?;
    let rest = rest.strip_prefix(b" ")?;
    let permissions = rest.get(..4)?;
    let (offset, rest) = hex(rest.get(5..)?)?;
    let (major, rest) = hex(rest.strip_prefix(b" ")?)?;
    let (minor, rest) = hex(rest.strip_prefix(b":")?)?;
    let (inode, rest) = decimal(rest.strip_prefix(b" ")?)?;
    let path = rest.trim_ascii_start();
    let line = MapLine {
        start,
        end,
        offset,
        device: major << 32 | minor & 0xFFFF_FFFF,
        inode,
        path,
    };
    (end > start).then_some((permissions, line))
}

fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    let mut length = 0;
    for &byte in text {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => break,
        };
        value = value.checked_mul(16)? | u64::from(digit);
        length += 1;
    }
    (length > 0).then(|| (value, text.get(length..).unwrap_or_default()))
}

fn decimal(text: &[u8]) -> Option<(u64, &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(length)?;
    let number = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds() {
        let text = b"\
55d0c1a00000-55d0c1a01000 r--p 00000000 fe:00 1049                       /usr/bin/x
55d0c1a01000-55d0c1a02000 r-xp 00001000 fe:00 1049                       /usr/bin/with space
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f0000002000-7f0000003000 r-xs 00000000 00:01 77                         /memfd:code (deleted)
7ffd0a9f2000-7ffd0a9f4000 r-xp 00000000 00:00 0                          [vdso]
nonsense
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";
        let lines: Vec<_> = executable(text).collect();
        let paths: Vec<_> = lines
            .iter()
            .map(|line| String::from_utf8_lossy(line.path).into_owned())
            .collect();
        assert_eq!(
            paths,
            [
                "/usr/bin/with space",
                "",
                "/memfd:code (deleted)",
                "[vdso]",
                "[vsyscall]"
            ]
        );
        assert_eq!(
            (lines[0].start, lines[0].end),
            (0x55d0_c1a0_1000, 0x55d0_c1a0_2000)
        );
        assert_eq!((lines[0].offset, lines[0].inode), (0x1000, 1049));
        assert_eq!(lines[0].device, 0xfe << 32);
        assert_eq!(lines[2].plain_path(), b"/memfd:code");
    }

    #[test]
    fn our_own_maps_are_read() {
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let here = our_own_maps_are_read as fn() as usize as u64;
        assert!(executable(&maps).any(|line| (line.start..line.end).contains(&here)));
    }
}
