//! The cost of delivering one signal and returning from it, measured once.
//!
//! Handlers count their own cycles, but most of a sample's cost lies outside of them: the timer's
//! interrupt, the signal's delivery and the return. A thread that only reads the cycle counter sees
//! these as gaps. They are measured in this command, where they are the same as in the target.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_linux::delivery::{Gaps, PERIOD};
use profundo_linux::perf::{Signal, TaskClock};
use profundo_linux::sys;
use profundo_process::modules::cache_folder as folder;

/// The signals delivered to the measuring thread.
static SEEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: i32) {
    SEEN.fetch_add(1, Ordering::Relaxed);
}

/// A recording of fewer samples is not worth the milliseconds. One of many is, until the cost was
/// measured this often.
const FEW: u64 = 500;
const MANY: u64 = 10_000;
pub(crate) const OFTEN: u64 = 4;

/// The cost of one delivery in nanoseconds, for a recording of this many samples: the least
/// measured since the machine started, now or by earlier recordings. `None` if it is not known.
pub(crate) fn delivery_cost(samples: u64, cache: Option<&Path>) -> Option<u64> {
    let kept = folder(cache).map(|folder| folder.join("profundo/delivery"));
    let before = kept.as_deref().and_then(|path| known(path, ""));
    let is_known = before.is_some_and(|(_, measured)| measured >= OFTEN);
    let before_cost = before.map(|(cost, _)| cost);
    if samples < if is_known { MANY } else { FEW } {
        return before_cost;
    }
    let Some(now) = measured() else {
        return before_cost;
    };
    Some(keep_least(kept.as_deref(), "", before, now))
}

/// The least of the present and the earlier measurements of `of`, with their number. Keeps it for
/// later recordings.
pub(crate) fn keep_least(
    path: Option<&Path>,
    of: &str,
    before: Option<(u64, u64)>,
    now: u64,
) -> u64 {
    // A busy machine makes it longer; nothing makes it shorter.
    let (cost, measured) = match before {
        Some((cost, measured)) => (cost.min(now), measured + 1),
        None => (now, 1),
    };
    if let Some(path) = path {
        let _ = keep(path, of, cost, measured);
    }
    cost
}

/// The kept value and the number of its measurements, if this machine has not been restarted since
/// and it is about the same thing.
pub(crate) fn known(path: &Path, of: &str) -> Option<(u64, u64)> {
    let text = fs::read_to_string(path).ok()?;
    let (key, numbers) = text.trim_end().split_once(' ')?;
    let (cost, measured) = numbers.split_once(' ')?;
    let cost = cost.parse().ok().filter(|cost| SANE.contains(cost))?;
    (key == sys::boot()? + of).then_some((cost, measured.parse().ok()?))
}

pub(crate) fn keep(path: &Path, of: &str, cost: u64, measured: u64) -> io::Result<()> {
    let key = sys::boot().ok_or(io::ErrorKind::NotFound)? + of;
    let draft = path.with_extension(std::process::id().to_string());
    let written = fs::write(&draft, format!("{key} {cost} {measured}\n"));
    let kept = written.and_then(|()| fs::rename(&draft, path));
    if kept.is_err() {
        let _ = fs::remove_file(draft);
    }
    kept
}

/// Values outside this range are measurement errors.
const SANE: RangeInclusive<u64> = 100..=500_000;

/// The cost of one delivery in nanoseconds; `None` if it cannot be measured, or if this process
/// handles SIGTRAP itself.
fn measured() -> Option<u64> {
    let thread = std::thread::Builder::new().name("profundo".into());
    thread.spawn(measure).ok()?.join().ok()?
}

/// Spins for some milliseconds under a fast task clock whose signals do nothing.
fn measure() -> Option<u64> {
    let before = install()?;
    let clock = TaskClock::open(profundo_probe::sys::thread_id(), PERIOD, Signal::Trap).ok();
    let seen = SEEN.load(Ordering::Relaxed);
    let running = clock.as_ref().is_some_and(|clock| clock.enable().is_ok());
    let gaps = running.then(Gaps::spin);
    drop(clock);
    let signals = SEEN.load(Ordering::Relaxed) - seen;
    // SAFETY: `before` is what was installed.
    unsafe { libc::sigaction(libc::SIGTRAP, &before, std::ptr::null_mut()) };
    gaps?.cost(signals)
}

/// Installs a handler if there is none.
fn install() -> Option<libc::sigaction> {
    // SAFETY: zeroed is a valid action, and both are ours.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(libc::SIGTRAP, std::ptr::null(), &mut before);
        if asked != 0 || ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
            return None;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        (libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) == 0).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_costs_some_microseconds() {
        if let Some(cost) = measured() {
            assert!((200..200_000).contains(&cost), "{cost} ns");
        }
    }

    #[test]
    fn what_was_measured_is_known_until_the_machine_is_started_anew() {
        let folder = std::env::temp_dir().join(format!("profundo-delivery-{}", std::process::id()));
        fs::create_dir_all(folder.join("profundo")).unwrap();
        let path = folder.join("profundo/delivery");
        if sys::boot().is_none() {
            return;
        }
        assert_eq!(delivery_cost(3, Some(&folder)), None);
        keep(&path, "", 7000, 1).unwrap();
        assert_eq!(delivery_cost(3, Some(&folder)), Some(7000));
        // No machine is this fast: a later measurement does not replace it.
        keep(&path, "", 150, OFTEN).unwrap();
        assert_eq!(delivery_cost(MANY, Some(&folder)), Some(150));
        for text in ["another-boot 7000 4\n", "", "7000 4"] {
            fs::write(&path, text).unwrap();
            assert_eq!(known(&path, ""), None);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
