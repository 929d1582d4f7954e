//! The pages of a process, mapping by mapping: which of them an allocator may have. What the agent keeps in the
//! process it has asked the kernel to wipe in the child of a fork; nobody else does that with much memory.

/// What a process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pages {
    /// How many of its bytes in memory are others' parts.
    pub(crate) shared: u64,
    /// How many bytes of memory that is no file's are no allocator's; `None` if that was not looked at.
    pub(crate) elsewhere: Option<u64>,
}

/// Of one mapping.
#[derive(Debug, Default)]
struct Mapping {
    is_heaps: bool,
    anonymous: u64,
}

/// Adds up what `smaps` says. `None` if there is nothing in it.
pub(super) fn add_up(smaps: &[u8]) -> Option<Pages> {
    let mut pages = Pages::default();
    let (mut resident, mut proportional, mut elsewhere) = (0, 0, 0);
    let mut mapping: Option<Mapping> = None;
    for line in smaps.split(|&byte| byte == b'\n') {
        let Some((name, value)) = field(line) else {
            if !line.is_empty() {
                mapping = Some(begin(line));
            }
            continue;
        };
        let mapping = mapping.as_mut()?;
        match name {
            b"Rss" => resident += kilobytes(value),
            b"Pss" => proportional += kilobytes(value),
            b"Anonymous" => mapping.anonymous = kilobytes(value),
            // It is the last one.
            b"VmFlags" => {
                let is_wiped = value.split(|&byte| byte == b' ').any(|flag| flag == b"wf");
                if is_wiped || !mapping.is_heaps {
                    elsewhere += mapping.anonymous;
                }
            }
            _ => {}
        }
    }
    mapping?;
    pages.shared = u64::saturating_sub(resident, proportional) << 10;
    pages.elsewhere = Some(elsewhere << 10);
    Some(pages)
}

/// `Name: value`; the first line of a mapping is none.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|&byte| byte == b':')?;
    let name = &line[..at];
    let is_name = name.first()?.is_ascii_uppercase() && name.iter().all(|it| it.is_ascii_graphic());
    is_name.then_some((name, &line[at + 1..]))
}

/// Of the first line: `start-end rw-p offset device inode name`.
fn begin(line: &[u8]) -> Mapping {
    let mut fields = line.split(|&byte| byte == b' ').filter(|it| !it.is_empty());
    let name = fields.nth(5).unwrap_or_default();
    Mapping {
        is_heaps: name.is_empty() || name == b"[heap]" || name.starts_with(b"[anon:"),
        anonymous: 0,
    }
}

fn kilobytes(value: &[u8]) -> u64 {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum: u64, &digit| {
        sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(
        name: &str,
        resident: u64,
        proportional: u64,
        anonymous: u64,
        flags: &str,
    ) -> String {
        format!(
            "7f00deadb000-7f00deadf000 rw-p 00000000 00:00 0   {name}\nSize:    16 kB\nRss:  {resident} kB\n\
             Pss:   {proportional} kB\nPss_Dirty:   99 kB\nAnonymous:  {anonymous} kB\nVmFlags: {flags}\n"
        )
    }

    #[test]
    fn what_is_a_files_the_stacks_or_ours_is_no_allocators() {
        let smaps = [
            mapping("/bin/a b", 40, 10, 4, "rd wr mr"),
            mapping("[heap]", 100, 100, 100, "rd wr mr"),
            mapping("", 50, 50, 50, "rd wr mr"),
            mapping("[anon: glibc: malloc]", 8, 8, 8, "rd wr mr"),
            mapping("", 1000, 1000, 1000, "rd wr mr nr wf"),
            mapping("[stack]", 12, 12, 12, "rd wr gd"),
        ]
        .concat();
        let pages = Pages {
            shared: 30 << 10,
            elsewhere: Some((4 + 1000 + 12) << 10),
        };
        assert_eq!(add_up(smaps.as_bytes()), Some(pages));
        assert_eq!(add_up(b""), None);
        assert_eq!(add_up(b"Rss: 5 kB\n"), None);
    }

    #[test]
    fn they_add_up_to_what_the_kernel_adds_up() {
        let own = |name: &str| std::fs::read(format!("/proc/self/{name}"));
        let (Ok(each), Ok(all)) = (own("smaps"), own("smaps_rollup")) else {
            // This kernel does not tell.
            return;
        };
        let pages = add_up(&each).unwrap();
        let all = super::super::parse(&String::from_utf8_lossy(&all)).unwrap();
        // Tests beside this one come and go.
        assert!(pages.shared.abs_diff(all) < 8 << 20, "{pages:?}, {all}");
        assert!(pages.elsewhere.unwrap() > 0);
    }
}
