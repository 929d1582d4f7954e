//! The cost of a sample to the sampled thread, measured on that thread: it only reads the cycle
//! counter, so delivery, handler and return together are a gap. The sample's timestamp separates
//! its gap from those of other interrupts.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use profundo_bench::options::Options;
use profundo_bench::process::{machine, pin_to_one_cpu};
use profundo_bench::stats::{mean, mean_of_the_usual, median, quantile};
use profundo_bench::{verdict, workload};
use profundo_probe::clock;

const ABOUT: &str = "Measures the cost of a sample as gaps in a thread that reads the clock.";
/// A turn of the spinning loop takes tens of cycles; a signal takes thousands. Shorter gaps are the
/// hypervisor's.
const GAP: u64 = 1000;
const FRAMES: u32 = 40;

/// A time in which the thread did not run.
struct Gap {
    from: u64,
    to: u64,
}

/// The observations of one run.
struct Seen {
    gaps: Vec<Gap>,
    cycles: u64,
    nanoseconds: f64,
}

impl Seen {
    fn nanoseconds_per_cycle(&self) -> f64 {
        self.nanoseconds / self.cycles as f64
    }

    /// The median gap in nanoseconds.
    fn median(&self) -> f64 {
        let gaps = self.gaps.iter();
        let lengths: Vec<f64> = gaps.map(|gap| (gap.to - gap.from) as f64).collect();
        median(&lengths) * self.nanoseconds_per_cycle()
    }

    /// The percentage of time lost in gaps.
    fn percent_lost(&self) -> f64 {
        let lost: u64 = self.gaps.iter().map(|gap| gap.to - gap.from).sum();
        100.0 * lost as f64 / self.cycles as f64
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_command_line(ABOUT, &[("seconds", 10.0)]);
    println!("{}", machine());
    let seconds = options.get("seconds");
    let idle = spin(seconds / 2.0);
    println!(
        "without a profiler: {} gaps, {:.3} % of the time, median {:.0} ns: what an interrupt without a signal takes",
        idle.gaps.len(),
        idle.percent_lost(),
        idle.median()
    );
    for rate in [1000.0, 10_000.0] {
        profundo::init(100_000_000, 1.0 / rate)?;
        let session = profundo::Session::cpu()?;
        let seen = spin(seconds);
        drop(session);
        report(rate, &seen)?;
    }
    println!("{}", machine());
    Ok(())
}

fn report(rate: f64, seen: &Seen) -> Result<(), Box<dyn Error>> {
    let data = profundo::fetch()?;
    let profile = data.profile();
    let mut clocks: Vec<u64> = profile.samples.iter().map(|sample| sample.clock).collect();
    clocks.sort_unstable();
    let per_cycle = seen.nanoseconds_per_cycle();
    let costs: Vec<f64> = seen
        .gaps
        .iter()
        .filter(|gap| {
            let after = clocks.partition_point(|clock| *clock < gap.from);
            clocks.get(after).is_some_and(|clock| *clock <= gap.to)
        })
        .map(|gap| (gap.to - gap.from) as f64 * per_cycle)
        .collect();
    let frames: Vec<f64> = profile
        .samples
        .iter()
        .map(|sample| profile.stacks.locations(sample.stack).count() as f64)
        .collect();
    let usual = mean_of_the_usual(&costs);
    println!("\nat {rate} Hz, stacks of {:.0} frames", median(&frames));
    println!(
        "  {} samples, {} of them in a gap of their own",
        clocks.len(),
        costs.len()
    );
    println!(
        "  a sample: median {:.0} ns, mean {usual:.0} ns ({:.0} ns with what the scheduler did), \
         90 % below {:.0} ns, 99 % below {:.0} ns",
        median(&costs),
        mean(&costs),
        quantile(&costs, 0.9),
        quantile(&costs, 0.99)
    );
    let name = format!("witness at {rate} Hz");
    // Of the thread's running time, independent of the scheduler.
    let percent = 100.0 * usual * 1e-9 * rate;
    verdict(
        &format!("{name}, share of a CPU"),
        format!("{percent:.3} %"),
        "none: the kernel decides",
    );
    match profile.meta.own_cost {
        Some(own) => {
            let own = own.0 as f64 / clocks.len().max(1) as f64;
            let ratio = own / usual;
            println!("  the quality line's own figure: {own:.0} ns a sample");
            verdict(
                &format!("{name}, own figure / witness"),
                format!("{ratio:.2}"),
                "0.80 to 1.20",
            );
        }
        None => println!("{name}, own figure / witness: not measured here"),
    }
    Ok(())
}

/// A pinned thread of its own spins below this many frames. It starts after the session, whose
/// helper must not share that CPU.
fn spin(seconds: f64) -> Seen {
    let thread = thread::spawn(move || {
        pin_to_one_cpu();
        let mut seen = None;
        workload::at_depth(FRAMES, &mut || seen = Some(watch(seconds)));
        seen
    });
    let seen = thread.join().ok().flatten();
    seen.expect("the spinning thread neither panics nor skips its work")
}

#[inline(never)]
fn watch(seconds: f64) -> Seen {
    let mut gaps = Vec::with_capacity(1 << 22);
    let long_enough = Duration::from_secs_f64(seconds);
    let began = Instant::now();
    let first = clock::now();
    while began.elapsed() < long_enough {
        let mut last = clock::now();
        for _ in 0..100_000 {
            let now = clock::now();
            if now.wrapping_sub(last) > GAP && gaps.len() < gaps.capacity() {
                gaps.push(Gap {
                    from: last,
                    to: now,
                });
            }
            last = now;
        }
    }
    let cycles = clock::now().wrapping_sub(first);
    Seen {
        gaps,
        cycles,
        nanoseconds: began.elapsed().as_nanos() as f64,
    }
}
