//! Peek: this program works for a while; meanwhile, from another shell, `kill -USR1` with the
//! number that it prints shows where it is. Without a second shell it sends itself the signal.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

#[inline(never)]
fn busy(until: Instant) -> u64 {
    let mut x = 1_u64;
    while Instant::now() < until {
        x = (0..10_000).fold(x, |x, i| black_box(x ^ i).rotate_left(5));
    }
    x
}

#[inline(never)]
fn waiting() {
    thread::sleep(Duration::from_secs(3));
}

fn main() -> profundo::Result<()> {
    profundo::peek::install()?;
    profundo::set_peek_duration(0.5)?;
    let pid = std::process::id();
    println!("Working for three seconds; try `kill -USR1 {pid}`.");
    let sleeper = thread::Builder::new()
        .name("sleeper".into())
        .spawn(waiting)?;
    let signal = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        Command::new("kill")
            .args(["-USR1", &pid.to_string()])
            .status()
    });
    black_box(busy(Instant::now() + Duration::from_secs(3)));
    let _ = (sleeper.join(), signal.join());
    Ok(())
}
