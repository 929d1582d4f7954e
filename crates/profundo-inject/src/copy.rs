//! The output of a copy of the process, read from outside.

use std::time::{Duration, Instant};

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::shared::{Outlet, Request};
use profundo_wire::graph::{End, Item, first_item};

use super::Refused;

/// A copy. It ends when this is dropped. Its parent must still reap it.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) pid: u32,
    /// The address of its request.
    request: u64,
    words: Vec<u64>,
}

/// The longest time for which the copy may make no progress.
const PATIENCE: Duration = Duration::from_secs(15);

impl Copy {
    /// The child of `parent` that has this number in its namespace.
    pub(super) fn of(parent: u32, number: i32, request: u64) -> Option<Self> {
        let pid = child_of(parent, number)?;
        Some(Self {
            pid,
            request,
            words: Vec::new(),
        })
    }

    /// Hands the copy's output to `sink`.
    pub(super) fn read(
        &mut self,
        sink: &mut dyn FnMut(Item<'_>),
        is_over: &dyn Fn() -> bool,
    ) -> Result<End, Refused> {
        const LONGEST_PAUSE: Duration = Duration::from_millis(1);
        let mut last = Instant::now();
        let mut before = 0;
        let mut pause = Duration::from_micros(20);
        loop {
            let Some([address, filled, progress]) = self.outlet() else {
                return Err(self.why_gone());
            };
            if std::mem::replace(&mut before, progress) != progress {
                last = Instant::now();
            }
            if is_over() {
                return Err(Refused::Interrupted);
            }
            if filled == 0 {
                if self.has_ended() {
                    return Err(self.why_gone());
                }
                if last.elapsed() > PATIENCE {
                    return Err(Refused::CopyHangs);
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            last = Instant::now();
            pause = Duration::from_micros(20);
            if !self.take(address, filled) {
                return Err(self.why_gone());
            }
            if let Some(end) = self.emit_items(sink)? {
                return Ok(end);
            }
        }
    }

    fn outlet(&self) -> Option<[u64; 3]> {
        let place = self.request + std::mem::offset_of!(Request, outlet) as u64;
        let mut bytes = [0; size_of::<Outlet>()];
        let read = sys::read_memory(self.pid, place, &mut bytes);
        let (words, _) = bytes.as_chunks::<8>();
        let words = <[[u8; 8]; 3]>::try_from(words).ok()?;
        (read == bytes.len()).then(|| words.map(u64::from_le_bytes))
    }

    /// Reads a piece of the output, and marks it as read.
    fn take(&mut self, address: u64, filled: u64) -> bool {
        const MOST: u64 = 1 << 20;
        let words = filled.min(MOST) as usize;
        self.words.resize(words, 0);
        // SAFETY: words are bytes, and all of them are valid.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast::<u8>(), words * 8)
        };
        let outlet = self.request + std::mem::offset_of!(Request, outlet) as u64;
        let place = outlet + std::mem::offset_of!(Outlet, filled) as u64;
        sys::read_memory(self.pid, address, bytes) == bytes.len()
            && super::write_memory(self.pid, place, &0_u64.to_le_bytes()).is_ok()
    }

    /// Emits the items read. Returns the end, if it was among them.
    fn emit_items(&self, sink: &mut dyn FnMut(Item<'_>)) -> Result<Option<End>, Refused> {
        let mut rest = self.words.as_slice();
        while let Some((item, behind)) = first_item(rest).map_err(|_| Refused::CopyDamaged)? {
            if let Item::End(end) = item {
                return Ok(Some(end));
            }
            sink(item);
            rest = behind;
        }
        match rest {
            [] => Ok(None),
            _ => Err(Refused::CopyDamaged),
        }
    }

    fn has_ended(&self) -> bool {
        proc::stat(self.pid).is_none_or(|stat| stat.has_ended())
    }

    fn why_gone(&self) -> Refused {
        let status = proc::stat(self.pid).map_or(0, |stat| stat.status);
        match status & 0x7f {
            0 => Refused::CopyGone,
            signal => Refused::CopyDied(signal),
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: a process that we made and that is not reaped yet, so its number is its
        // own.
        unsafe { libc::kill(self.pid as i32, libc::SIGKILL) };
        // Freeing its memory takes a while. The parent that reaps it must not wait for that.
        const PATIENCE: Duration = Duration::from_secs(5);
        let began = Instant::now();
        while !self.has_ended() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// The number in our namespace of a child that has this number in its own.
pub(super) fn child_of(parent: u32, number: i32) -> Option<u32> {
    let is_it = |pid: u32| {
        let status = proc::read(pid, "status");
        let status = String::from_utf8_lossy(&status);
        let field = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(name).map(str::trim))
        };
        let is_child = field("PPid:").and_then(|value| value.parse().ok()) == Some(parent);
        is_child && proc::number_inside(pid, pid) == u32::try_from(number).ok()
    };
    let same = u32::try_from(number).ok()?;
    if is_it(same) {
        return Some(same);
    }
    let all = proc::children();
    let mut children = all.into_iter().filter(|&(_, of)| of == parent);
    children.find_map(|(pid, _)| is_it(pid).then_some(pid))
}
