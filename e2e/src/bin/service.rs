//! A service of two threads that names what it does with spans and marks, and saves its own
//! profile into the file that it is given.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, thread};

use profundo::{mark, span};

#[inline(never)]
fn work(rounds: u64) -> u64 {
    (0..rounds * 100_000).fold(1, |x, i| black_box(x ^ i).rotate_left(3))
}

fn query(table: &str, rounds: u64) -> u64 {
    let _span = span!("query", table = table);
    // The database answers.
    thread::sleep(Duration::from_millis(1));
    work(rounds)
}

fn render(rounds: u64) -> u64 {
    let _span = span!("render");
    work(rounds)
}

fn answer(number: u64) -> u64 {
    let route = ["/", "/cart", "/search"][(number % 3) as usize];
    let _span = span!("request", route = route);
    match route {
        "/" => render(4),
        "/cart" => query("orders", 6) ^ render(4),
        _ => query("items", 20) ^ query("prices", 6) ^ render(8),
    }
}

fn serve(requests: std::ops::Range<u64>) -> u64 {
    requests.fold(0, |sum, number| sum ^ answer(number))
}

fn main() -> profundo::Result<()> {
    let file = env::args_os().nth(1).map(PathBuf::from);
    profundo::profile!({
        mark!("ready");
        let other = thread::Builder::new()
            .name("worker".into())
            .spawn(|| serve(0..90))?;
        black_box(serve(90..180));
        // A thread that panics reports it itself.
        let _ = other.join();
        mark!("all answered");
        black_box(work(150));
    })?;
    let (data, names) = profundo::retrieve()?;
    match file {
        Some(file) => profundo::save(file, &data, &names),
        None => profundo::print(),
    }
}
