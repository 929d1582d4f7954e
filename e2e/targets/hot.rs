//! Threads with names, panics that are caught, a child, and the end by a panic.

use std::hint::black_box;
use std::process::{exit, Command};

/// Rust's own clocks know no CPU time.
fn thread_seconds() -> f64 {
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0i64; 2];
    unsafe { clock_gettime(3, &mut time) };
    time[0] as f64 + time[1] as f64 / 1e9
}

#[inline(never)]
fn burn_in_rust(seconds: f64) -> u64 {
    let end = thread_seconds() + seconds;
    let mut x = 1u64;
    while thread_seconds() < end {
        for _ in 0..5000 {
            x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
    }
    x
}

#[inline(never)]
fn panics_below(n: u32) -> u32 {
    if n == 0 {
        std::panic::panic_any(7u32);
    }
    black_box(panics_below(n - 1)) + 1
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> = (0..2)
        .map(|i| {
            let builder = std::thread::Builder::new().name(format!("worker-{i}"));
            builder.spawn(|| black_box(burn_in_rust(0.4))).unwrap()
        })
        .collect();
    for thread in threads {
        black_box(thread.join().unwrap());
    }
    let mut caught = 0;
    for n in 0..3000 {
        let result = std::panic::catch_unwind(|| panics_below(n % 30));
        caught += u32::from(result.is_err_and(|what| what.downcast_ref() == Some(&7u32)));
    }
    println!("{caught} caught");
    let output = Command::new("sh").args(["-c", "echo child; exit 3"]).output().unwrap();
    println!("{:?} {:?}", output.status.code(), String::from_utf8_lossy(&output.stdout));
    exit(8);
}
