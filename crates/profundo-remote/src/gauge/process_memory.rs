//! One look at what the kernel tells of a process's memory: `status` has sizes and the peak, `stat` has page
//! faults, and together they are read in some ten microseconds, because their files stay open. `statm` has next
//! to nothing and takes one: while it stays as it is, the others are only read now and then. None of them makes
//! the process wait.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    pub(super) resident: u64,
    pub(super) peak_resident: u64,
    pub(super) anonymous: u64,
    pub(super) swapped: u64,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
}

/// Looks at one program.
#[derive(Debug)]
pub(crate) struct Eye {
    pid: u32,
    files: Option<Files>,
    /// Where its code and its stack begin: after an `exec` they lie elsewhere.
    image: Option<Image>,
    /// What was seen last, and in how many looks since then nothing has changed.
    last: Option<Seen>,
    quiet: u32,
}

#[derive(Debug)]
struct Files {
    statm: File,
    /// What was in it when the others were read last.
    sizes: Vec<u8>,
    status: File,
    stat: File,
}

type Image = (u64, u64);

/// So often in a row it is enough to know that sizes are the same.
const QUIET: u32 = 9;

/// Both files are shorter, up to what is of interest.
const ROOM: usize = 8 << 10;

impl Eye {
    /// Of the program that a process is at present.
    pub(crate) fn new(pid: u32) -> Self {
        Self {
            pid,
            files: None,
            image: None,
            last: None,
            quiet: 0,
        }
    }

    /// What there is to see; `None` if the program has ended or has become another one. The files stay
    /// open until the next look, if they may.
    pub(crate) fn look(&mut self, may_keep: bool) -> io::Result<Option<Seen>> {
        let mut files = match self.files.take() {
            Some(files) => files,
            None => Files::open(self.pid)?,
        };
        let has_changed = files.has_changed()?;
        if let Some(last) = self.last
            && !has_changed
            && self.quiet < QUIET
        {
            self.quiet += 1;
            self.files = may_keep.then_some(files);
            return Ok(Some(last));
        }
        (self.last, self.quiet) = (None, 0);
        let mut room = [0; ROOM];
        let sizes = sizes(read(&files.status, &mut room)?);
        // Behind the sizes: if it is the same program still, they are its own.
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
        self.last = sizes.map(|sizes| Seen {
            minor_faults: faults.0,
            major_faults: faults.1,
            ..sizes
        });
        Ok(self.last)
    }

    /// The page faults of a program that has ended, as long as nobody has asked how, and if its files were
    /// kept: the number may be another's by now.
    pub(super) fn last_faults(&self) -> Option<(u64, u64)> {
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

    /// Whether sizes are others than before.
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

/// The sizes in a `status`. One that has ended has none.
fn sizes(status: &[u8]) -> Option<Seen> {
    let mut seen = Seen::default();
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
            // Behind the sizes there is nothing for us.
            b"Threads" => break,
            _ => continue,
        };
        *place = kilobytes(value);
    }
    found.then_some(seen)
}

/// Of a value that is so many `kB`.
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

/// What follows the name, in which there may be anything.
fn fields(stat: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    Some(rest.split_ascii_whitespace())
}

/// The page faults in a `stat`, minor and major, and what tells programs apart.
fn faults(stat: &[u8]) -> Option<((u64, u64), Option<Image>)> {
    let mut fields = fields(stat)?;
    let mut skip_to = |skipped: usize| fields.nth(skipped)?.parse::<u64>().ok();
    let minor = skip_to(7)?;
    let major = skip_to(1)?;
    let code = skip_to(13)?;
    let stack = skip_to(1)?;
    // Who may not know them is told 1.
    let is_secret = code == 1 && stack == 1;
    Some(((minor, major), (!is_secret).then_some((code, stack))))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut eye = Eye::new(std::process::id());
        let before = eye.look(true).unwrap().unwrap();
        assert!(eye.files.is_some());
        let block = std::hint::black_box(vec![1_u8; MORE]);
        let after = eye.look(false).unwrap().unwrap();
        assert!(eye.files.is_none());
        drop(block);
        // Others are tested beside us, and may have given back.
        assert!(after.peak_resident >= after.resident);
        assert!(after.peak_resident >= before.resident + MORE as u64 / 2);
        assert!(after.resident >= after.anonymous && after.anonymous > 0);
        assert!(after.minor_faults > before.minor_faults);
        assert_eq!(eye.last_faults(), None, "it lives");
        assert!(Eye::new(u32::MAX).look(true).is_err());
    }

    #[test]
    fn a_program_that_has_taken_anothers_place_is_not_looked_at() {
        let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read line; exec sleep 100"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        // A name is there before the program is.
        let first_look = |eye: &mut Eye| {
            while eye.look(true).unwrap().is_none() {
                pause();
            }
        };
        let wait_for = |wanted: &str| {
            while crate::proc::thread_name(pid, pid) != wanted {
                pause();
            }
        };
        wait_for("sh");
        let mut eye = Eye::new(pid);
        first_look(&mut eye);
        drop(child.stdin.take());
        wait_for("sleep");
        assert_eq!(eye.look(true).unwrap(), None);
        let mut eye = Eye::new(pid);
        first_look(&mut eye);
        child.kill().unwrap();
        while state(&crate::proc::read(pid, "stat")) != Some(b'Z') {
            pause();
        }
        assert_eq!(eye.look(true).unwrap(), None);
        assert!(eye.last_faults().is_some_and(|(minor, _)| minor > 0));
        child.wait().unwrap();
        assert_eq!(eye.last_faults(), None);
    }
}
