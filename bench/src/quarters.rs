//! Four functions that take 50, 30, 15 and 5 % of the time by construction: the same loop, with
//! more or fewer turns, one after the other within microseconds.
//!
//! A call, and the loop's last, mispredicted branch, cost the same for all four, so the shares
//! differ slightly from the numbers of turns. [`calibrate`] measures them.

use std::hint::black_box;

use profundo_probe::clock;

use crate::process::Cpu;
use crate::stats;

/// The functions and their shares by construction, in percent.
pub const SHARES: [(&str, f64); 4] = [
    ("quarter_a", 50.0),
    ("quarter_b", 30.0),
    ("quarter_c", 15.0),
    ("quarter_d", 5.0),
];

/// Calls between two clock readings, so that a reading costs next to nothing.
const CALLS: u64 = 32;

macro_rules! quarter {
    ($name:ident, $percent:expr) => {
        #[inline(never)]
        fn $name(mut state: u64, turns: u64) -> u64 {
            for turn in 0..black_box($percent * turns) {
                state = (state ^ turn)
                    .wrapping_mul(0xA24B_AED4_963E_E407)
                    .rotate_left(29);
            }
            state
        }
    };
}

quarter!(quarter_a, 50);
quarter!(quarter_b, 30);
quarter!(quarter_c, 15);
quarter!(quarter_d, 5);

/// Runs the four in turn for this much CPU time, with `turns` turns of the loop per percent.
#[inline(never)]
pub fn run(seconds: f64, turns: u64) -> u64 {
    let began = Cpu::now();
    let mut state = 1;
    while Cpu::now().since(began).total() < seconds {
        for _ in 0..CALLS {
            state = quarter_a(state, turns);
            state = quarter_b(state, turns);
            state = quarter_c(state, turns);
            state = quarter_d(state, turns);
        }
    }
    black_box(state)
}

/// The true shares in percent: the median time of each function alone, over the sum of all.
/// The last number is that sum for one call of each, in microseconds.
pub fn calibrate(turns: u64) -> ([f64; 4], f64) {
    let functions: [fn(u64, u64) -> u64; 4] = [quarter_a, quarter_b, quarter_c, quarter_d];
    let mut cycles = [const { Vec::new() }; 4];
    let (began, first) = (std::time::Instant::now(), clock::now());
    // In turn, so that all four see the same clock of the CPU; the median, so that interrupts do
    // not count.
    while began.elapsed().as_secs_f64() < 1.0 {
        for (function, cycles) in functions.iter().zip(&mut cycles) {
            let began = clock::now();
            let mut state = 1;
            for _ in 0..CALLS {
                // Each call waits for the one before, as it does in `run`.
                state = function(state, turns);
            }
            black_box(state);
            cycles.push(clock::now().wrapping_sub(began) as f64);
        }
    }
    let elapsed = began.elapsed().as_secs_f64() / clock::now().wrapping_sub(first) as f64;
    let medians = cycles.map(|cycles| stats::median(&cycles));
    let all: f64 = medians.iter().sum();
    let shares = medians.map(|median| 100.0 * median / all);
    (shares, all / CALLS as f64 * elapsed * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let all: f64 = SHARES.iter().map(|(_, percent)| percent).sum();
        assert_eq!(all, 100.0);
        let calibrated: f64 = calibrate(10).0.iter().sum();
        assert!((calibrated - 100.0).abs() < 1e-9);
    }
}
