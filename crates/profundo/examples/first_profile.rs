//! A first profile: run something under `profile!`, look at the tree and at the shares.
//!
//! The four leaves do work of 50 : 30 : 15 : 5 by construction, about forty calls deep.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;

use profundo::{Format, SortBy};

/// A leaf that does a given number of rounds of the same work.
macro_rules! leaf {
    ($name:ident, $rounds:expr) => {
        #[inline(never)]
        fn $name(mut x: u64) -> u64 {
            let mut rounds = black_box(40_u64 * $rounds);
            while rounds > 0 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                rounds -= 1;
            }
            x
        }
    };
}

leaf!(half, 50);
leaf!(third, 30);
leaf!(seventh, 15);
leaf!(rest, 5);

#[inline(never)]
fn descend(depth: u32, leaf: u32, x: u64) -> u64 {
    if depth > 0 {
        return black_box(descend(depth - 1, leaf, x ^ 7)) | 1;
    }
    match leaf % 4 {
        0 => half(x),
        1 => third(x),
        2 => seventh(x),
        _ => rest(x),
    }
}

fn work(rounds: u32) -> u64 {
    let mut x = 1;
    for leaf in 0..rounds {
        x = descend(30, leaf, x);
    }
    x
}

fn main() -> profundo::Result<()> {
    let answer = profundo::profile!(work(500_000))?;
    println!("The answer is {answer}.\n");

    // Julia's tree; the recursion is folded into one line.
    profundo::report()
        .recur(profundo::Recur::Flat)
        .mincount(5)
        .print()?;

    // The callers of the hottest function.
    println!();
    for (count, caller) in profundo::callers("half").ask()? {
        println!("half is called by {caller} in {count} samples");
    }

    // The functions with the range in which their true share lies, the hottest last.
    println!();
    profundo::report()
        .format(Format::Functions)
        .sorted_by(SortBy::Overhead)
        .mincount(5)
        .print()
}
