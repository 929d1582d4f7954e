//! Four threads take and give back small blocks for as many seconds as a line of its input says.
//! Then it prints what each line that ends in a comment has allocated: its name, blocks and bytes.
//! It ends with its input, and exits with 7.
use std::hint::black_box;
use std::io::BufRead;
use std::time::{Duration, Instant};

/// Blocks and bytes of the lines.
type Counts = [(u64, u64); 3];
const NAMES: [&str; 3] = ["small", "middling", "big"];

#[inline(never)]
fn small(size: usize) -> Vec<u8> {
    Vec::with_capacity(size) // small
}

#[inline(never)]
fn middling(size: usize) -> Vec<u8> {
    Vec::with_capacity(size) // middling
}

#[inline(never)]
fn big(size: usize) -> Vec<u8> {
    Vec::with_capacity(size) // big
}

#[inline(never)]
fn pick(draw: u64, counts: &mut Counts) -> Vec<u8> {
    let rest = draw >> 8;
    let (which, size, take): (usize, u64, fn(usize) -> Vec<u8>) = match draw & 15 {
        0 => (2, 512 + rest % 3584, big),
        1..=5 => (1, 64 + rest % 192, middling),
        _ => (0, 16 + rest % 48, small),
    };
    counts[which].0 += 1;
    counts[which].1 += size;
    take(size as usize)
}

#[inline(never)]
fn nest(depth: u32, draw: u64, counts: &mut Counts) -> Vec<u8> {
    if depth == 0 {
        black_box(pick(draw, counts))
    } else {
        black_box(nest(depth - 1, draw, counts))
    }
}

fn work(until: Instant, seed: u64) -> Counts {
    let mut counts = Counts::default();
    let mut ring: Vec<Vec<u8>> = (0..1024).map(|_| Vec::new()).collect();
    let mut state = seed;
    let mut number: u64 = 0;
    while number % 4096 != 0 || Instant::now() < until {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let draw = state >> 33;
        let block = nest((draw & 7) as u32, draw >> 3, &mut counts);
        if number % 1000 == 0 {
            std::mem::forget(block);
        } else {
            ring[(draw & 1023) as usize] = block;
        }
        number += 1;
    }
    counts
}

fn main() {
    println!("begun");
    for line in std::io::stdin().lock().lines() {
        let seconds: f64 = line.unwrap().parse().unwrap();
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        let threads: Vec<_> = (1..5).map(|seed| std::thread::spawn(move || work(until, seed))).collect();
        let mut all = Counts::default();
        for thread in threads {
            for (sum, counts) in all.iter_mut().zip(thread.join().unwrap()) {
                *sum = (sum.0 + counts.0, sum.1 + counts.1);
            }
        }
        for (name, (blocks, bytes)) in NAMES.iter().zip(all) {
            println!("{name} {blocks} {bytes}");
        }
        println!("done");
    }
    std::process::exit(7);
}
