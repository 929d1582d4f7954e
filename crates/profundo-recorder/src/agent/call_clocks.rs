//! The clocks that sample the system calls of threads: one in so many calls has its stack recorded,
//! by the thread itself, just behind the call.
//!
//! They use SIGTRAP alone, and only while the agent's task clocks may.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::perf::{CallClock, Signal};
use profundo_linux::proc;
use profundo_linux::random::Random;

use super::signal::is_same_program;
use super::{Agent, ClockPlan};

/// The number of calls between two samples of a thread about which nothing is known yet: a prime.
const FIRST: u64 = 499;
/// The least number: so many calls no handler makes, so that none is sampled because of its own.
const LEAST: u64 = 127;
/// The number of samples of a thread in a second, about.
const RATE: u64 = 200;

/// The number of calls of each thread in the last second, or about.
pub(crate) type CallRates = HashMap<u32, u64>;

/// The clock of a thread's calls.
#[derive(Debug, Default)]
pub(super) struct ThreadCalls {
    clock: Option<CallClock>,
    is_refused: bool,
}

impl ThreadCalls {
    /// Closes it. It is opened again where it may be.
    pub(super) fn close(&mut self) {
        self.clock = None;
    }
}

impl Agent {
    /// Opens the clocks of threads that have none.
    pub(crate) fn open_call_clocks(&mut self, plan: ClockPlan, tracepoint: u64) {
        if self.signal != Signal::Trap || self.is_silent || !plan.running {
            return;
        }
        let (map, pid) = (Arc::clone(&self.map), self.pid);
        let tables = self.header().tables.load(Ordering::Relaxed);
        for thread in &mut self.threads {
            let calls = &mut thread.calls;
            let Some(record) = map
                .record(thread.index)
                .filter(|record| calls.clock.is_none() && !calls.is_refused && !record.has_ended())
            else {
                continue;
            };
            let clock = match CallClock::open(thread.tid, tracepoint, FIRST) {
                Ok(clock) => clock,
                Err(error) => {
                    calls.is_refused = error.raw_os_error() != Some(libc::ESRCH);
                    continue;
                }
            };
            // The signal would kill another program, and the number may be another thread's by now.
            // If the process executes a program after this check, the kernel closes the clock.
            if !is_same_program(pid, tables, plan.mark) || !proc::has_thread(pid, thread.tid) {
                continue;
            }
            record.calls_period.store(FIRST, Ordering::Relaxed);
            if clock.enable().is_ok() {
                calls.clock = Some(clock);
            }
        }
    }

    /// Has each clock tick about as often, however many calls its thread makes. The numbers are
    /// drawn, and primes. Together with the calls that the handler makes itself, a loop of the
    /// program is met at each of its calls alike.
    pub(crate) fn vary_call_clocks(&mut self, rates: &CallRates, random: &mut Random) {
        for thread in &mut self.threads {
            let Some(clock) = &thread.calls.clock else {
                continue;
            };
            let Some(record) = self.map.record(thread.index) else {
                continue;
            };
            let rate = rates.get(&thread.tid).copied().unwrap_or(0);
            let mean = (rate / RATE).max(2 * LEAST);
            let every = prime_from(mean - mean / 4 + random.below(mean / 2 + 1));
            record.calls_period.store(every, Ordering::Relaxed);
            clock.set_every(every);
        }
    }
}

/// The first prime from a number on; 1 stays 1.
fn prime_from(number: u64) -> u64 {
    /// Divisors beyond this are as long as no loop is.
    const MOST: u64 = 1000;
    let is_prime = |number: &u64| {
        let divisors = 2..=MOST.min(number.isqrt());
        let mut divisors = divisors.into_iter();
        !divisors.any(|divisor| number.is_multiple_of(divisor))
    };
    (number..).find(is_prime).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::prime_from;

    #[test]
    fn numbers_of_calls_are_primes() {
        let of = [1, 2, 4, 8, 90, 499, 500, 5000].map(prime_from);
        assert_eq!(of, [1, 2, 5, 11, 97, 499, 503, 5003]);
    }
}
