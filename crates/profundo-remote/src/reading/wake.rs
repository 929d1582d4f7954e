//! How long a thread that is let go takes until it runs again, measured once.
//!
//! The CPU of a held thread becomes idle if no other thread is ready to run. An idle CPU takes tens of microseconds
//! to wake, in a virtual machine longer than the reading of the thread. We cannot see when the thread runs again, so
//! we measure how long a thread of our own takes that sleeps and is woken.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is measured, and how long all rounds together take at most: on a busy machine each may take long.
const ROUNDS: usize = 16;
const LONGEST: Duration = Duration::from_millis(20);
/// As long as a CPU is idle while a thread is held.
const ASLEEP: Duration = Duration::from_micros(50);
/// A longer wait is a wait for a CPU that other threads use, so no CPU time is lost in it.
const MOST: Duration = Duration::from_micros(200);

/// Nanoseconds from the moment a thread is let go to that in which it runs; 0 if it could not be measured.
pub(super) fn wake_cost() -> u64 {
    static COST: OnceLock<u64> = OnceLock::new();
    *COST.get_or_init(|| {
        let cost = measured().unwrap_or_default().min(MOST);
        cost.as_nanos() as u64
    })
}

fn measured() -> Option<Duration> {
    let (wake, woken) = channel::<Instant>();
    let (tell, told) = channel();
    let sleeper = thread::Builder::new().name("profundo-wake".into());
    let sleeper = sleeper.spawn(move || answer(&woken, &tell)).ok()?;
    let began = Instant::now();
    let rounds = (0..ROUNDS).take_while(|_| began.elapsed() < LONGEST);
    let mut took: Vec<Duration> = rounds.map_while(|_| once(&wake, &told)).collect();
    drop(wake);
    sleeper.join().ok()?;
    took.sort_unstable();
    // On a busy machine most are too long, and none is too short.
    took.get(took.len() / 4).copied()
}

/// Says how long after its sending each message came.
fn answer(woken: &Receiver<Instant>, tell: &Sender<Duration>) {
    for sent in woken {
        if tell.send(sent.elapsed()).is_err() {
            return;
        }
    }
}

fn once(wake: &Sender<Instant>, told: &Receiver<Duration>) -> Option<Duration> {
    // We stay awake, as one does who reads what was copied.
    let began = Instant::now();
    while began.elapsed() < ASLEEP {
        std::hint::spin_loop();
    }
    wake.send(Instant::now()).ok()?;
    told.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_measured_once_and_is_not_nothing() {
        let cost = wake_cost();
        assert!(cost > 0 && u128::from(cost) <= MOST.as_nanos());
        assert_eq!(wake_cost(), cost);
    }
}
