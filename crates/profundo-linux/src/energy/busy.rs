//! The CPU time of all that runs on the machine.

use std::fs;

/// The CPU time so far, in nanoseconds; 0 where the kernel does not report it.
pub fn nanoseconds() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let tick = 1_000_000_000 / u64::try_from(ticks).unwrap_or(100).max(1);
    busy_ticks(&text).saturating_mul(tick)
}

/// The ticks of the first line in which a processor was at work: neither idle, nor waiting for a
/// device, nor lent to another machine. What guests of our own used is in the user's time already.
fn busy_ticks(text: &str) -> u64 {
    let line = text.lines().next().unwrap_or_default();
    let mut ticks = line
        .split_ascii_whitespace()
        .skip(1)
        .map(|number| number.parse::<u64>().unwrap_or(0));
    let mut next = || ticks.next().unwrap_or(0);
    let [user, nice, system, _idle, _waiting, interrupts, softly] = [(); 7].map(|()| next());
    user + nice + system + interrupts + softly
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_idle_or_stolen_does_not_count() {
        let text = "cpu  1 20 300 4000 50000 600000 7000000 80000000 9 9\ncpu0 5 5 5\n";
        assert_eq!(busy_ticks(text), 7_600_321);
        assert_eq!(busy_ticks("cpu  1 20 300 4000"), 321);
        assert_eq!(busy_ticks(""), 0);
    }

    #[test]
    fn time_goes_on_while_a_thread_works() {
        let before = nanoseconds();
        let began = std::time::Instant::now();
        // The kernel counts in ticks, and may give us few of them.
        while nanoseconds() == before {
            assert!(
                began.elapsed().as_secs() < 60,
                "nothing has run for a minute"
            );
        }
        assert!(nanoseconds() > before);
    }
}
