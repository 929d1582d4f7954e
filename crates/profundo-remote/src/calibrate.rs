//! What the kernel takes to deliver one signal and return from it, measured once.
//!
//! Handlers count their own cycles, but most of a sample's cost lies outside of them: the timer's
//! interrupt, the signal's delivery and the return. A thread that does nothing but read the cycle
//! counter sees these as gaps. It is measured in this command, which is as good as in the target.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::modules::cache_folder as folder;
use crate::perf::{Signal, TaskClock};
use crate::sys;

/// Signals that came to the thread that measures.
static SEEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: i32) {
    SEEN.fetch_add(1, Ordering::Relaxed);
}

/// A recording of fewer samples is not worth the milliseconds, and one of many is worth them again
/// when it has been measured as often as this.
const FEW: u64 = 500;
const MANY: u64 = 10_000;
pub(crate) const OFTEN: u64 = 4;

/// The cost of one delivery in nanoseconds, for a recording of so many samples: the least that was
/// measured since the machine was started, now or by recordings before. `None` if it is not known.
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

/// The least of what was measured before `of` a thing, with how often it was, and now. Keeps it for later recordings.
pub(crate) fn keep_least(
    path: Option<&Path>,
    of: &str,
    before: Option<(u64, u64)>,
    now: u64,
) -> u64 {
    // A busy machine makes it longer, nothing makes it shorter.
    let (cost, measured) = match before {
        Some((cost, measured)) => (cost.min(now), measured + 1),
        None => (now, 1),
    };
    if let Some(path) = path {
        let _ = keep(path, of, cost, measured);
    }
    cost
}

/// What was kept, and how often it was measured, if this machine has not been started anew since, and if it was
/// measured of the same thing.
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

/// No machine takes more or less than this.
const SANE: RangeInclusive<u64> = 100..=500_000;

/// The cost of one delivery in nanoseconds; `None` if it cannot be measured, or if this process
/// handles SIGTRAP itself.
fn measured() -> Option<u64> {
    let thread = std::thread::Builder::new().name("profundo".into());
    thread.spawn(measure).ok()?.join().ok()?
}

/// Spins for some milliseconds under a fast task clock whose signals do nothing.
fn measure() -> Option<u64> {
    const PERIOD: u64 = 100_000;
    /// So many gaps have a steady median; on a calm machine that takes four milliseconds.
    const ENOUGH: usize = 40;
    const AT_MOST: Duration = Duration::from_millis(15);
    let before = install()?;
    let clock = TaskClock::open(profundo_probe::sys::thread_id(), PERIOD, Signal::Trap).ok();
    let mut gaps = Vec::with_capacity(2 * ENOUGH);
    let (first, began) = (sys::instant(), Instant::now());
    let seen = SEEN.load(Ordering::Relaxed);
    let running = clock.as_ref().is_some_and(|clock| clock.enable().is_ok());
    while running && began.elapsed() < AT_MOST && gaps.len() < ENOUGH {
        let mut last = profundo_probe::clock::now();
        for _ in 0..1000 {
            let now = profundo_probe::clock::now();
            // A turn of this loop takes tens of cycles; a signal takes thousands.
            if now.wrapping_sub(last) > 1000 {
                gaps.push(now.wrapping_sub(last));
            }
            last = now;
        }
    }
    drop(clock);
    let last = sys::instant();
    let signals = SEEN.load(Ordering::Relaxed) - seen;
    // SAFETY: `before` is what was installed.
    unsafe { libc::sigaction(libc::SIGTRAP, &before, std::ptr::null_mut()) };
    if signals < 10 || gaps.is_empty() {
        return None;
    }
    // Other interrupts make gaps too, shorter ones; and the scheduler makes long ones. While
    // another thread keeps the other half of the core busy all gaps are twice as long, so what is
    // taken is from the lower end of the signals' own.
    gaps.sort_unstable();
    let median = *gaps.get(gaps.len() / 2)?;
    gaps.retain(|&gap| gap > median / 3);
    let gap = gaps.get(gaps.len() / 4)?;
    let cycles = last.cycles.saturating_sub(first.cycles).max(1);
    let nanos = last.monotonic.saturating_sub(first.monotonic);
    Some((u128::from(*gap) * u128::from(nanos) / u128::from(cycles)) as u64)
}

/// Installs a handler where there is none.
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
        // No machine is as fast as this: what is measured again does not take its place.
        keep(&path, "", 150, OFTEN).unwrap();
        assert_eq!(delivery_cost(MANY, Some(&folder)), Some(150));
        for text in ["another-boot 7000 4\n", "", "7000 4"] {
            fs::write(&path, text).unwrap();
            assert_eq!(known(&path, ""), None);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
