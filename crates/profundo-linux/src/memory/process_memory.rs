//! One reading of a process's memory: `status` has sizes and the peak, `stat` has page faults, and
//! together they are read in some ten microseconds, because their files stay open. `statm` has
//! little and takes one microsecond: while it does not change, the others are read only now and
//! then. None of them makes the process wait.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Sizes in bytes, and page faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemorySizes {
    pub resident: u64,
    pub peak_resident: u64,
    pub anonymous: u64,
    pub swapped: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// Reads the memory of one program.
#[derive(Debug)]
pub struct MemoryReader {
    pid: u32,
    files: Option<Files>,
    /// The addresses of its code and its stack, which change with an `exec`.
    image: Option<Image>,
    /// The last reading, and the number of unchanged ones since.
    last: Option<MemorySizes>,
    unchanged: u32,
}

#[derive(Debug)]
struct Files {
    statm: File,
    /// The content of `statm` when the others were read last.
    sizes: Vec<u8>,
    status: File,
    stat: File,
}

type Image = (u64, u64);

/// The number of readings in a row for which an unchanged `statm` is enough.
const MOST_UNCHANGED: u32 = 9;

/// Room for the part of each file that is used.
const ROOM: usize = 8 << 10;

impl MemoryReader {
    /// Reads the program that the process runs now.
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            files: None,
            image: None,
            last: None,
            unchanged: 0,
        }
    }

    /// Reads the sizes; `None` if the program has ended or was replaced. With `may_keep`, the files
    /// stay open until the next reading.
    pub fn read_sizes(&mut self, may_keep: bool) -> io::Result<Option<MemorySizes>> {
        let mut files = match self.files.take() {
            Some(files) => files,
            None => Files::open(self.pid)?,
        };
        let has_changed = files.has_changed()?;
        if let Some(last) = self.last
            && !has_changed
            && self.unchanged < MOST_UNCHANGED
        {
            self.unchanged += 1;
            self.files = may_keep.then_some(files);
            return Ok(Some(last));
        }
        (self.last, self.unchanged) = (None, 0);
        let mut room = [0; ROOM];
        let sizes = sizes(read(&files.status, &mut room)?);
        // Read after the sizes: if the program is still the same, the sizes are its own.
        let (faults, image) = match faults(read(&files.stat, &mut room)?) {
            Some(found) => found,
            None => return Ok(None),
        };
        if may_keep {
            self.files = Some(files);
        }
        if let Some((code, stack)) = image {
            let is_becoming_another = code == 0 || stack == 0;
            if is_becoming_another || *self.image.get_or_insert((code, stack)) != (code, stack) {
                return Ok(None);
            }
        }
        self.last = sizes.map(|sizes| MemorySizes {
            minor_faults: faults.0,
            major_faults: faults.1,
            ..sizes
        });
        Ok(self.last)
    }

    /// The page faults of a program that has ended and is not reaped yet, if its files were kept
    /// open: its number may have been used again.
    pub fn last_faults(&self) -> Option<(u64, u64)> {
        let mut room = [0; ROOM];
        let stat = read(&self.files.as_ref()?.stat, &mut room).ok()?;
        let has_ended = matches!(state(stat)?, b'Z' | b'X');
        let (faults, _) = faults(stat)?;
        has_ended.then_some(faults)
    }
}

impl Files {
    fn open(pid: u32) -> io::Result<Self> {
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}"));
        Ok(Self {
            statm: open("statm")?,
            sizes: Vec::new(),
            status: open("status")?,
            stat: open("stat")?,
        })
    }

    /// Whether the sizes have changed.
    fn has_changed(&mut self) -> io::Result<bool> {
        let mut room = [0; 256];
        let sizes = read(&self.statm, &mut room)?;
        if self.sizes == sizes {
            return Ok(false);
        }
        self.sizes.clear();
        self.sizes.extend_from_slice(sizes);
        Ok(true)
    }
}

fn read<'a>(file: &File, room: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let length = file.read_at(room, 0)?;
    Ok(room.get(..length).unwrap_or_default())
}

/// The sizes in a `status`. An ended process has none.
fn sizes(status: &[u8]) -> Option<MemorySizes> {
    let mut seen = MemorySizes::default();
    let mut found = false;
    for line in status.split(|&byte| byte == b'\n') {
        let Some(at) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(at);
        let place = match name {
            b"VmHWM" => &mut seen.peak_resident,
            b"VmRSS" => {
                found = true;
                &mut seen.resident
            }
            b"RssAnon" => &mut seen.anonymous,
            b"VmSwap" => &mut seen.swapped,
            // The fields after the sizes are not used.
            b"Threads" => break,
            _ => continue,
        };
        *place = kilobytes(value);
    }
    found.then_some(seen)
}

/// The bytes of a value in `kB`.
fn kilobytes(value: &[u8]) -> u64 {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit());
    let number = digits.fold(0_u64, |sum, &digit| {
        sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
    });
    number.wrapping_mul(1 << 10)
}

fn state(stat: &[u8]) -> Option<u8> {
    fields(stat)?.next()?.bytes().next()
}

/// The fields after the name, which may contain anything.
fn fields(stat: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    Some(rest.split_ascii_whitespace())
}

/// The minor and major page faults in a `stat`, and the addresses that identify the program.
fn faults(stat: &[u8]) -> Option<((u64, u64), Option<Image>)> {
    let mut fields = fields(stat)?;
    let mut skip_to = |skipped: usize| fields.nth(skipped)?.parse::<u64>().ok();
    let minor = skip_to(7)?;
    let major = skip_to(1)?;
    let code = skip_to(13)?;
    let stack = skip_to(1)?;
    // The kernel shows 1 to those who may not know the addresses.
    let is_secret = code == 1 && stack == 1;
    Some(((minor, major), (!is_secret).then_some((code, stack))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_testing::wait_until;

    const STATUS: &str = "Name:\tVmRSS:\nVmPeak:\t    9999 kB\nVmHWM:\t    1776 kB\nVmRSS:\t    1700 kB\n\
                          RssAnon:\t     112 kB\nRssFile:\t    1588 kB\nVmSwap:\t       8 kB\nThreads:\t1\n\
                          VmRSS:\t 5 kB\n";

    fn stat(state: char, code: u64, stack: u64) -> String {
        format!(
            "7 (a) b (c) {state} 5 7 7 0 -1 0 100 2 3 4 150 25 6 7 20 0 1 0 99 4096 1 18446744073709551615 \
             {code} {} {stack} 0 0",
            code + 9
        )
    }

    #[test]
    fn sizes_are_in_status() {
        let seen = sizes(STATUS.as_bytes()).unwrap();
        assert_eq!(seen.resident, 1700 << 10);
        assert_eq!(seen.peak_resident, 1776 << 10);
        assert_eq!(seen.anonymous, 112 << 10);
        assert_eq!(seen.swapped, 8 << 10);
        assert_eq!(sizes(b"Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n"), None);
    }

    #[test]
    fn faults_and_the_image_are_in_stat() {
        let of = |text: String| faults(text.as_bytes());
        assert_eq!(of(stat('S', 70, 80)), Some(((100, 3), Some((70, 80)))));
        assert_eq!(of(stat('S', 1, 1)), Some(((100, 3), None)));
        assert_eq!(of("7 (a) S 5 7".to_owned()), None);
        assert_eq!(state(stat('Z', 0, 0).as_bytes()), Some(b'Z'));
    }

    #[test]
    fn this_process_is_seen_as_it_grows() {
        const MORE: usize = 32 << 20;
        let mut reader = MemoryReader::new(std::process::id());
        let before = reader.read_sizes(true).unwrap().unwrap();
        assert!(reader.files.is_some());
        let block = std::hint::black_box(vec![1_u8; MORE]);
        let after = reader.read_sizes(false).unwrap().unwrap();
        assert!(reader.files.is_none());
        drop(block);
        // Other tests run in this process, and may have freed memory.
        assert!(after.peak_resident >= after.resident);
        assert!(after.peak_resident >= before.resident + MORE as u64 / 2);
        assert!(after.resident >= after.anonymous && after.anonymous > 0);
        assert!(after.minor_faults > before.minor_faults);
        assert_eq!(reader.last_faults(), None, "it lives");
        MemoryReader::new(u32::MAX).read_sizes(true).unwrap_err();
    }

    #[test]
    fn a_program_that_replaced_another_is_not_read() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read line; exec sleep 100"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        // The name changes before the program runs.
        let first_read = |reader: &mut MemoryReader| {
            wait_until("its sizes", || reader.read_sizes(true).unwrap().is_some());
        };
        let wait_for_name = |wanted: &str| {
            wait_until(wanted, || crate::proc::thread_name(pid, pid) == wanted);
        };
        wait_for_name("sh");
        let mut reader = MemoryReader::new(pid);
        first_read(&mut reader);
        drop(child.stdin.take());
        wait_for_name("sleep");
        assert_eq!(reader.read_sizes(true).unwrap(), None);
        let mut reader = MemoryReader::new(pid);
        first_read(&mut reader);
        child.kill().unwrap();
        wait_until("its end", || {
            state(&crate::proc::read(pid, "stat")) == Some(b'Z')
        });
        assert_eq!(reader.read_sizes(true).unwrap(), None);
        assert!(reader.last_faults().is_some_and(|(minor, _)| minor > 0));
        child.wait().unwrap();
        assert_eq!(reader.last_faults(), None);
    }
}
