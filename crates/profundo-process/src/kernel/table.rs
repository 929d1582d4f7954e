//! The functions of the running kernel, sorted by their addresses.
//!
//! The kernel writes `/proc/kallsyms` anew for each reader, which takes a twentieth of a second. So
//! the table is kept for the next session, until the machine is restarted or a module is loaded. A
//! table is the same bytes in memory and in its file:
//!
//! ```text
//! ┌───────────┬─────────┬───────────────────┬─────────────────────────────────┬──────────────────────┐
//! │ PROFKERN  │ count n │ n addresses, u64  │ n ends of names, u32, from here │ the names as they are│
//! └───────────┴─────────┴───────────────────┴─────────────────────────────────┴──────────────────────┘
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use profundo_linux::sys;
use profundo_linux::sys::is_kernels;

const MAGIC: [u8; 8] = *b"PROFKERN";
const HEAD: usize = 16;
/// The length of a function that no other follows soon.
const LARGEST: u64 = 1 << 16;
/// Code that comes and goes without being a module. Other code may lie there later.
const TRANSIENT: [&[u8]; 3] = [b"[bpf]", b"[__builtin__ftrace]", b"[__builtin__kprobes]"];
const FOLDER: &str = "profundo/kernel";

/// The kernel's functions.
#[derive(Debug, Default)]
pub(super) struct Table {
    bytes: Vec<u8>,
    count: usize,
}

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) name: &'a [u8],
}

impl Table {
    /// Reads the table from the cache, or else from the kernel, and keeps it.
    pub(super) fn read(cache: Option<&Path>) -> Self {
        let place = cache.and_then(|cache| Some(cache.join(FOLDER).join(this_kernel()?)));
        if let Some(kept) = place.as_deref().and_then(kept) {
            return kept;
        }
        let text = fs::read("/proc/kallsyms").unwrap_or_default();
        let table = Self::parse(&text);
        if table.count > 0
            && let Some(place) = place
        {
            // Without the file, the next session takes as long as this one.
            let _ = table.keep(&place);
        }
        table
    }

    /// The functions in the text of `/proc/kallsyms`. Without permission all addresses are 0.
    pub(super) fn parse(text: &[u8]) -> Self {
        let lines = text.split(|&byte| byte == b'\n');
        let mut functions: Vec<(u64, &[u8])> = lines
            .filter_map(|line| {
                let mut words = line.split(|byte| byte.is_ascii_whitespace());
                let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
                let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
                let is_code = matches!(kind, b"t" | b"T" | b"w" | b"W");
                let is_transient = words.next().is_some_and(|owner| TRANSIENT.contains(&owner));
                // The address is kept, so that it is not taken for the function before it.
                let name = if is_transient { b"" } else { name };
                (is_code && is_kernels(address)).then_some((address, name))
            })
            .collect();
        // Of several names the first one is taken.
        functions.sort_by_key(|function| function.0);
        functions.dedup_by_key(|function| function.0);
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.extend((functions.len() as u64).to_le_bytes());
        let addresses = functions.iter();
        bytes.extend(addresses.flat_map(|(address, _)| address.to_le_bytes()));
        let mut end = 0;
        for (_, name) in &functions {
            end += name.len() as u32;
            bytes.extend(end.to_le_bytes());
        }
        bytes.extend(functions.iter().flat_map(|(_, name)| *name));
        Self {
            bytes,
            count: functions.len(),
        }
    }

    /// A table from the cache; `None` if the bytes are not a table.
    fn of(bytes: Vec<u8>) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let is_table = *magic == MAGIC;
        let count = u64::from_le_bytes(*rest.first_chunk()?);
        let count = usize::try_from(count).ok()?;
        let table = Self { bytes, count };
        let names = table.names()?;
        let last = count
            .checked_sub(1)
            .map_or(Some(0), |last| table.end(last))?;
        (is_table && names.len() == last).then_some(table)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The function at an address.
    pub(super) fn function(&self, address: u64) -> Option<Function<'_>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.address(middle)? <= address {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let at = low.checked_sub(1)?;
        let start = self.address(at)?;
        let next = self.address(low).unwrap_or(u64::MAX);
        let end = next.min(start.saturating_add(LARGEST));
        let from = at
            .checked_sub(1)
            .map_or(Some(0), |before| self.end(before))?;
        let name = self.names()?.get(from..self.end(at)?)?;
        (address < end && !name.is_empty()).then_some(Function { start, end, name })
    }

    fn address(&self, at: usize) -> Option<u64> {
        if at >= self.count {
            return None;
        }
        let bytes = self.bytes.get(HEAD + at * 8..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The end of a name.
    fn end(&self, at: usize) -> Option<usize> {
        let bytes = self.bytes.get(HEAD + self.count * 8 + at * 4..)?;
        Some(u32::from_le_bytes(*bytes.first_chunk()?) as usize)
    }

    fn names(&self) -> Option<&[u8]> {
        let from = self.count.checked_mul(12)?.checked_add(HEAD)?;
        self.bytes.get(from..)
    }

    fn keep(&self, place: &Path) -> std::io::Result<()> {
        let Some(folder) = place.parent() else {
            return Ok(());
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
        let draft = folder.join(format!("draft-{}", std::process::id()));
        let mut options = OpenOptions::new();
        // Kernel addresses are not for other users.
        let options = options.write(true).create_new(true).mode(0o600);
        let written = options
            .open(&draft)
            .and_then(|mut file| file.write_all(&self.bytes))
            .and_then(|()| fs::rename(&draft, place));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
            return written;
        }
        // Older files are of kernels that no longer run.
        for entry in fs::read_dir(folder)?.filter_map(Result::ok) {
            let path = entry.path();
            let is_draft = entry.file_name().to_string_lossy().starts_with("draft-");
            if path != place && !is_draft {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

fn kept(place: &Path) -> Option<Table> {
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(place).ok()?;
    let is_ours = |data: fs::Metadata| {
        data.is_file() && data.uid() == sys::user() && data.mode() & 0o022 == 0
    };
    if !file.metadata().is_ok_and(is_ours) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Table::of(bytes)
}

/// A file name unique to this kernel and its loaded modules.
fn this_kernel() -> Option<PathBuf> {
    let boot = sys::boot()?;
    let mut hasher = DefaultHasher::new();
    for line in fs::read_to_string("/proc/modules")
        .unwrap_or_default()
        .lines()
    {
        let mut words = line.split(' ');
        // Its name, size and address; the other fields change with its use.
        (words.next(), words.next(), words.nth(3)).hash(&mut hasher);
    }
    let name = format!("{}-{:016x}", boot, hasher.finish());
    (!name.contains('/')).then(|| name.into())
}

/// Whether this process may read the kernel's addresses.
pub fn has_names() -> bool {
    let mut bytes = [0; 4096];
    let read = File::open("/proc/kallsyms")
        .and_then(|file| std::os::unix::fs::FileExt::read_at(&file, &mut bytes, 0));
    let read = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
    !Table::parse(read).is_empty()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use profundo_session::Directory;

    pub(in crate::kernel) const TEXT: &[u8] =
        b"ffffffff81000000 T _text\nffffffff81000000 T _stext\n\
        ffffffff81000100 t do_work\nffffffff81000180 d data\nffffffff81000200 W end\n\
        ffffffffc0000000 t in_module\t[thing]\nffffffffc0000400 t bpf_prog_1\t[bpf]\n0000000000000000 A percpu\nnonsense\n\xff\n";

    #[test]
    fn damage_does_no_harm() {
        let ask = |table: &Table| {
            let addresses = [0, 0xffff_ffff_8100_0100, 0xffff_ffff_8100_0180, u64::MAX];
            for address in addresses {
                if let Some(function) = table.function(address) {
                    assert!((function.start..function.end).contains(&address));
                }
            }
        };
        profundo_testing::damage(TEXT, 2_000, |text| ask(&Table::parse(text)));
        // One that was kept may be anyone's bytes, too.
        profundo_testing::damage(&Table::parse(TEXT).bytes, 2_000, |bytes| {
            if let Some(table) = Table::of(bytes.to_vec()) {
                ask(&table);
            }
        });
    }

    #[test]
    fn a_function_has_its_name_and_its_end() {
        let table = Table::parse(TEXT);
        let of = |address| {
            table
                .function(address)
                .map(|function| (function.start & 0xFFFF, function.name))
        };
        assert_eq!(of(0xffff_ffff_8100_0000), Some((0, &b"_text"[..])));
        assert_eq!(of(0xffff_ffff_8100_01ff), Some((0x100, &b"do_work"[..])));
        assert_eq!(of(0xffff_ffff_8100_0200), Some((0x200, &b"end"[..])));
        assert_eq!(of(0xffff_ffff_c000_0001), Some((0, &b"in_module"[..])));
        assert_eq!(
            of(0xffff_ffff_c000_0400),
            None,
            "it is another one tomorrow"
        );
        assert_eq!(of(0xffff_8000_0000_0000), None);
        assert_eq!(of(u64::MAX), None);
        assert!(Table::parse(b"0000000000000000 T _text\n").is_empty());
    }

    #[test]
    fn what_was_kept_is_found_again_and_damage_is_not() {
        let directory = Directory::create(None).unwrap();
        let folder = directory.path().join("kernel");
        let place = folder.join("this");
        let table = Table::parse(TEXT);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("older"), b"x").unwrap();
        table.keep(&place).unwrap();
        assert_eq!(kept(&place).unwrap().bytes, table.bytes);
        assert!(!folder.join("older").exists());
        assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o600);
        for cut in 0..table.bytes.len() {
            let part = table.bytes.get(..cut).unwrap().to_vec();
            assert!(Table::of(part).is_none(), "{cut} bytes");
        }
        let mut large = table.bytes.clone();
        large[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(Table::of(large).is_none());
        assert!(kept(&folder.join("none")).is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
