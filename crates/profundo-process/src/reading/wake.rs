//! The time that a resumed thread takes until it runs again, measured once.
//!
//! The CPU of a held thread becomes idle if no other thread is ready to run. An idle CPU takes tens
//! of microseconds to wake, in a virtual machine longer than the reading of the thread. We cannot
//! see when the thread runs again, so we measure how long a thread of our own takes that sleeps and
//! is woken.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The number of rounds, and their longest total time: on a busy machine each may take long.
const ROUNDS: usize = 16;
const LONGEST: Duration = Duration::from_millis(20);
/// The time for which a CPU is idle while a thread is held.
const ASLEEP: Duration = Duration::from_micros(50);
/// A longer wait is a wait for a CPU that other threads use, so no CPU time is lost in it.
const MOST: Duration = Duration::from_micros(200);

/// Nanoseconds from the resumption of a thread until it runs; 0 if that could not be measured.
pub(super) fn wake_cost() -> u64 {
    static COST: OnceLock<u64> = OnceLock::new();
    *COST.get_or_init(|| {
        let cost = measured().unwrap_or_default().min(MOST);
        cost.as_nanos() as u64
    })
}

fn measured() -> Option<Duration> {
    let (wake, woken) = channel::<Instant>();
    let (sender, receiver) = channel();
    let sleeper = thread::Builder::new().name("profundo-wake".into());
    let sleeper = sleeper.spawn(move || answer(&woken, &sender)).ok()?;
    let began = Instant::now();
    let rounds = (0..ROUNDS).take_while(|_| began.elapsed() < LONGEST);
    let mut took: Vec<Duration> = rounds.map_while(|_| once(&wake, &receiver)).collect();
    drop(wake);
    sleeper.join().ok()?;
    took.sort_unstable();
    // On a busy machine most are too long, but none is too short.
    took.get(took.len() / 4).copied()
}

/// Answers each message with the time since it was sent.
fn answer(woken: &Receiver<Instant>, sender: &Sender<Duration>) {
    for sent in woken {
        if sender.send(sent.elapsed()).is_err() {
            return;
        }
    }
}

fn once(wake: &Sender<Instant>, receiver: &Receiver<Duration>) -> Option<Duration> {
    // We stay awake, as while reading a copied stack.
    let began = Instant::now();
    while began.elapsed() < ASLEEP {
        std::hint::spin_loop();
    }
    wake.send(Instant::now()).ok()?;
    receiver.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_measured_once_and_is_not_zero() {
        let cost = wake_cost();
        assert!(cost > 0 && u128::from(cost) <= MOST.as_nanos());
        assert_eq!(wake_cost(), cost);
    }
}
