//! A few lines on stderr at intervals, on what was allocated: like Julia's `GC.enable_logging`,
//! which reports on its garbage collector.

use std::fs;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use profundo_capture::heap::{self, Counted};

use crate::error::Result;

const EVERY: Duration = Duration::from_secs(1);

/// The logging thread, in the process of this number.
struct Logging {
    pid: u32,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

static LOGGING: Mutex<Option<Logging>> = Mutex::new(None);

/// Writes a few lines on stderr each second in which something was allocated, or stops doing so.
/// The allocator must be [`Alloc`](crate::Alloc).
///
/// ```text
///
/// Alloc: 1.00s. allocated 56.789012MB. 48211 blocks, freed 12.345678MB.
/// Heap stats: bytes_mapped 448.12 MB, bytes_resident 300.00 MB,
/// heap_size 512.00 MB, heap_peak 600.00 MB
/// ```
///
/// The heap's size and peak count from the first request on, or from the program's start with
/// [`Alloc::counting`](crate::Alloc::counting).
pub fn enable_logging(is_wanted: bool) -> Result<()> {
    enable_logging_every(is_wanted.then_some(EVERY))
}

/// As [`enable_logging`], at another interval; `None` stops it.
pub fn enable_logging_every(every: Option<Duration>) -> Result<()> {
    let _excluded = heap::exclude_allocations();
    let own = std::process::id();
    let mut logging = LOGGING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = logging.take() {
        if before.pid == own {
            // The thread may have ended already.
            let _ = before.stop.send(());
            let _ = before.thread.join();
        } else {
            // A forked child does not have its parent's thread.
            std::mem::forget(before);
        }
    }
    if let Some(every) = every {
        heap::watch_peak()?;
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("profundo-log".into())
            .spawn(move || log(every, &stopped))?;
        *logging = Some(Logging {
            pid: own,
            stop,
            thread,
        });
    }
    Ok(())
}

fn log(every: Duration, stopped: &mpsc::Receiver<()>) {
    let _own = profundo_capture::OwnThread::register();
    let (mut before, mut since) = (heap::counted().unwrap_or_default(), Instant::now());
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        let Ok(now) = heap::counted() else { return };
        let took = since.elapsed();
        if now.count != before.count || now.freed != before.freed {
            let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
            let text = lines(took, before, now, heap::peak().unwrap_or(0), &status);
            // A failed write to stderr cannot be reported.
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        (before, since) = (now, since + took);
    }
}

fn lines(took: Duration, before: Counted, now: Counted, peak: i64, status: &str) -> String {
    const MB: f64 = 1048576.0;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number
            .and_then(|number| number.parse::<u64>().ok())
            .unwrap_or(0) as f64
            * 1024.0
            / MB
    };
    let since = |now: u64, before: u64| now.wrapping_sub(before);
    format!(
        "\nAlloc: {:.2}s. allocated {:.6}MB. {} blocks, freed {:.6}MB.\n\
         Heap stats: bytes_mapped {:.2} MB, bytes_resident {:.2} MB,\n\
         heap_size {:.2} MB, heap_peak {:.2} MB\n",
        took.as_secs_f64(),
        since(now.bytes, before.bytes) as f64 / MB,
        since(now.count, before.count),
        since(now.freed_bytes, before.freed_bytes) as f64 / MB,
        field("VmSize:"),
        field("VmRSS:"),
        now.live as f64 / MB,
        peak as f64 / MB,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_has_come_and_gone() {
        let counted = |count, bytes, freed_bytes, live| Counted {
            count,
            bytes,
            freed_bytes,
            live,
            ..Counted::default()
        };
        let status = "Name:\tx\nVmSize:\t   2048 kB\nVmRSS:\t 1024 kB\n";
        let text = lines(
            Duration::from_millis(1500),
            counted(5, 100, 100, 0),
            counted(8, 100 + (1 << 20), 612, 3 << 20),
            4 << 20,
            status,
        );
        assert_eq!(
            text,
            "\nAlloc: 1.50s. allocated 1.000000MB. 3 blocks, freed 0.000488MB.\n\
             Heap stats: bytes_mapped 2.00 MB, bytes_resident 1.00 MB,\nheap_size 3.00 MB, heap_peak 4.00 MB\n"
        );
    }
}
