//! The pages of a process, mapping by mapping: which of them may be an allocator's. The agent's own
//! memory is recognised by `MADV_WIPEONFORK`, which nothing else uses for much memory.

/// The pages of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pages {
    /// Resident bytes that are other processes' shares.
    pub shared: u64,
    /// Bytes of anonymous memory that belong to no allocator; `None` if that was not read.
    pub elsewhere: Option<u64>,
}

/// The counts of one mapping.
#[derive(Debug, Default)]
struct Mapping {
    is_heaps: bool,
    anonymous: u64,
}

/// Sums up a `smaps`; `None` if it is empty.
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
            // The last field of a mapping.
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

/// `Name: value`; the first line of a mapping has another form.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|&byte| byte == b':')?;
    let name = &line[..at];
    let is_name =
        name.first()?.is_ascii_uppercase() && name.iter().all(|byte| byte.is_ascii_graphic());
    is_name.then_some((name, &line[at + 1..]))
}

/// Parses the first line: `start-end rw-p offset device inode name`.
fn begin(line: &[u8]) -> Mapping {
    let mut fields = line
        .split(|&byte| byte == b' ')
        .filter(|field| !field.is_empty());
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
        let read = |name: &str| std::fs::read(format!("/proc/self/{name}"));
        let (Ok(each), Ok(all)) = (read("smaps"), read("smaps_rollup")) else {
            // This kernel does not report it.
            return;
        };
        let pages = add_up(&each).unwrap();
        let all = super::super::parse(&String::from_utf8_lossy(&all)).unwrap();
        // Other tests run in this process.
        assert!(pages.shared.abs_diff(all) < 8 << 20, "{pages:?}, {all}");
        assert!(pages.elsewhere.unwrap() > 0);
    }
}
