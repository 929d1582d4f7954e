//! The cost of our allocator wrapper: a block allocated and freed through it, and through the
//! system's allocator alone.
#![expect(clippy::print_stdout, reason = "a comparison prints its figures")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::hint::black_box;

use profundo::allocs::{self, Rate};
use profundo_bench::options::Options;
use profundo_bench::process::machine;
use profundo_bench::stats::median;
use profundo_bench::verdict;

const ABOUT: &str =
    "Times a block given and freed, with and without the allocator that tells of it.";

#[global_allocator]
static ALLOC: profundo::Alloc = profundo::Alloc::system();

/// The allocator's mode while it is timed.
#[derive(Clone, Copy)]
enum Asked {
    Nothing,
    Sampled,
    Counted,
    Exact,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_command_line(
        ABOUT,
        &[
            ("rounds", 41.0),
            // Pairs per round; exact recordings have a hundredth of them.
            ("pairs", 2_000_000.0),
            ("bytes", 48.0),
        ],
    );
    println!("{}", machine());
    let pairs = options.count("pairs") as u64;
    let layout = Layout::from_size_align(options.count("bytes").max(1), 8)?;
    for (name, asked, most) in [
        ("nothing is asked", Asked::Nothing, Some(4.0)),
        (
            "one about each 512 KiB is recorded",
            Asked::Sampled,
            Some(4.0),
        ),
        ("all are counted", Asked::Counted, None),
        ("all are recorded", Asked::Exact, None),
    ] {
        let pairs = match asked {
            Asked::Exact => pairs / 100,
            _ => pairs,
        };
        let mut more = Vec::new();
        for _ in 0..options.count("rounds") {
            let before = time(&System, layout, pairs);
            let ours = with(asked, || time(&ALLOC, layout, pairs))?;
            let after = time(&System, layout, pairs);
            more.push(ours - (before + after) / 2.0);
        }
        allocs::clear();
        let middle = median(&more);
        match most {
            Some(most) => verdict(
                name,
                format!("{middle:+.1} ns a pair"),
                &format!("≤ {most} ns"),
            ),
            None => println!("{name}: {middle:+.1} ns a pair"),
        }
    }
    println!("{}", machine());
    Ok(())
}

/// Runs `work` with the allocator in this mode.
fn with<T>(asked: Asked, work: impl FnOnce() -> T) -> profundo::Result<T> {
    match asked {
        Asked::Nothing => Ok(work()),
        Asked::Sampled => allocs::profile!(work()),
        Asked::Counted => Ok(profundo::timed!(work()).value),
        Asked::Exact => {
            allocs::clear();
            allocs::start(Rate::Events(1.0))?;
            let value = work();
            allocs::stop();
            Ok(value)
        }
    }
}

/// The CPU time of the calling thread in nanoseconds, without other load on the machine.
fn cpu_time() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is ours and is written to; the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The nanoseconds per pair.
#[inline(never)]
fn time(allocator: &impl GlobalAlloc, layout: Layout, pairs: u64) -> f64 {
    let began = cpu_time();
    for _ in 0..pairs {
        // SAFETY: the layout is not empty, and the block is freed by it.
        unsafe {
            let block = black_box(allocator.alloc(layout));
            allocator.dealloc(block, layout);
        }
    }
    (cpu_time() - began) as f64 / pairs as f64
}
