//! The cost of a span: without a session, with one, and with attributes. It takes seconds, and its
//! numbers are worth something in a release build on a quiet machine.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::fmt::Display;
use std::time::Instant;

use profundo_capture::span::{Callsite, enter, leave, wants_spans};
use profundo_capture::{Mode, start, stop};

static SITE: Callsite = Callsite::new("request");

/// The shortest of some rounds, in nanoseconds for one call.
fn measured(what: &str, mut work: impl FnMut(u64)) {
    const CALLS: u64 = 200_000;
    let round = |work: &mut dyn FnMut(u64)| {
        let began = Instant::now();
        (0..CALLS).for_each(work);
        began.elapsed().as_nanos() as f64 / CALLS as f64
    };
    let least = (0..9)
        .map(|_| round(&mut work))
        .fold(f64::INFINITY, f64::min);
    println!("{what}: {least:.1} ns");
}

fn span(attributes: &[(&'static str, &dyn Display)]) {
    if wants_spans()
        && let Some(entered) = enter(&SITE, attributes)
    {
        leave(&entered);
    }
}

fn main() -> Result<(), profundo_capture::Error> {
    measured("without a session", |_| span(&[]));
    start(Mode::Cpu)?;
    measured("entered and left", |_| span(&[]));
    measured("with an attribute", |number| {
        span(&[("route", if number % 2 == 0 { &"/" } else { &"/search" })]);
    });
    measured("with a number of many", |number| {
        span(&[("id", &(number % 100_000))]);
    });
    let around: Vec<_> = (0..10).filter_map(|_| enter(&SITE, &[])).collect();
    measured("in ten others", |_| span(&[]));
    around.iter().rev().for_each(leave);
    stop();
    Ok(())
}
