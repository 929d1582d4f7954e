//! The program that is profiled: it walks up and down a stair of some forty frames, and at the
//! bottom one of four leaves runs a loop 50, 30, 15 or 5 times.
//!
//! Its possible stacks are known exactly ([`callers`]), so a torn or invented stack is detected. It
//! has no frame pointers, unless the compiler is asked for them.

use std::hint::black_box;

/// The depth of the stair. With the landings, a leaf and the program's start it makes about 45
/// frames.
pub const DEPTH: u32 = 27;

/// The names of the leaves, and their share of the leaves' work in percent.
pub const LEAVES: [(&str, f64); 4] = [
    ("leaf_half", 50.0),
    ("leaf_third", 30.0),
    ("leaf_sixth", 15.0),
    ("leaf_rest", 5.0),
];

macro_rules! leaf {
    ($name:ident, $turns:expr) => {
        #[inline(never)]
        fn $name(mut state: u64) -> u64 {
            for turn in 0..black_box($turns * 45_u64) {
                state = (state ^ turn)
                    .wrapping_mul(0xD129_0D3B_C5A3_6A5D)
                    .rotate_left(23);
            }
            state
        }
    };
}

leaf!(leaf_half, 50);
leaf!(leaf_third, 30);
leaf!(leaf_sixth, 15);
leaf!(leaf_rest, 5);

#[inline(never)]
fn stair(step: u32, round: u32, state: u64) -> u64 {
    let below = match (step, step % 3, round % 4) {
        (0, _, 0) => leaf_half(state),
        (0, _, 1) => leaf_third(state),
        (0, _, 2) => leaf_sixth(state),
        (0, ..) => leaf_rest(state),
        (_, 0, _) => landing(step - 1, round, state),
        _ => stair(step - 1, round, state.wrapping_add(1)),
    };
    // The work after the call keeps the frame: otherwise the compiler may make a tail call.
    black_box(below) ^ u64::from(step)
}

#[inline(never)]
fn landing(step: u32, round: u32, state: u64) -> u64 {
    black_box(stair(step, round, state.rotate_right(9))).wrapping_sub(3)
}

/// Runs this many rounds of four leaves each.
#[inline(never)]
pub fn climb(rounds: u64) -> u64 {
    let mut state = 1;
    for round in 0..rounds * 4 {
        state = stair(DEPTH, round as u32, state);
    }
    black_box(state)
}

/// The functions below `climb` on the way to a leaf, outermost first, without the leaf.
pub fn callers() -> Vec<&'static str> {
    let mut names = Vec::new();
    for step in (0..=DEPTH).rev() {
        names.push("stair");
        if step > 0 && step.is_multiple_of(3) {
            names.push("landing");
        }
    }
    names
}

/// The number of rounds that take about this many seconds on this machine: a fixed amount of work
/// for all runs of a comparison.
pub fn rounds_for(seconds: f64) -> u64 {
    let mut rounds = 200;
    loop {
        let began = std::time::Instant::now();
        climb(rounds);
        let took = began.elapsed().as_secs_f64();
        if took > 0.1 {
            return (rounds as f64 * seconds / took) as u64;
        }
        rounds *= 4;
    }
}

/// Calls `f` below `depth` frames.
#[inline(never)]
pub fn at_depth(depth: u32, f: &mut dyn FnMut()) -> u32 {
    if depth == 0 {
        f();
        return 0;
    }
    black_box(at_depth(black_box(depth - 1), f)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stair_is_about_forty_frames_deep() {
        let callers = callers();
        assert_eq!(callers.len(), 37);
        assert_eq!(&callers[..4], ["stair", "landing", "stair", "stair"]);
        assert_eq!(callers.last(), Some(&"stair"));
    }

    #[test]
    fn the_way_down_leads_to_the_closure() {
        let mut called = 0;
        assert_eq!(at_depth(40, &mut || called += 1), 40);
        assert_eq!(called, 1);
        assert_ne!(climb(1), climb(2));
    }
}
