//! Eight programs, each with the look of a leak, and most without one.

use profundo_model::{Amount, Moment, Nanos, ProcessId, Sampling, Site};

use super::{Program, SECOND, line_of};
use crate::{Filter, HeapOptions, Leak, allocations};

const SAMPLED: Sampling = Sampling::Bytes(512 << 10);

fn leaks(program: &Program) -> Vec<(u32, Leak)> {
    let found = allocations(
        &program.profile,
        &Filter::default(),
        &HeapOptions::default(),
    );
    let with_line = |leak: &Leak| (line_of(&program.profile, leak.of), *leak);
    found.leaks.iter().map(with_line).collect()
}

/// Many temporary blocks, on lines 8 and 9.
fn noise(program: &mut Program) {
    for step in 0..40_000 {
        let time = step as f64 * 10.0 / 40_000.0;
        let size = 1000 + program.dice.below(60_000);
        program.block(8, size, time, Some(time + 0.0005));
        let lasts = 0.02 * program.dice.part();
        program.block(9, 2_000, time, Some(time + lasts));
    }
}

/// One of a hundred allocations of line 1 is kept.
fn leak_of_one_percent(program: &mut Program) {
    for step in 0..200_000 {
        let time = step as f64 * 10.0 / 200_000.0;
        let kept = program.dice.below(100) == 0;
        program.block(1, 20_000, time, (!kept).then_some(time + 0.003));
    }
}

/// A cache that is full after two seconds, and then drops the oldest.
fn bounded_cache(program: &mut Program) {
    for step in 0..20_000 {
        let time = step as f64 * 10.0 / 20_000.0;
        program.block(2, 10_000, time, Some(time + 2.0));
    }
}

/// Tables made in the first second.
fn warm_up(program: &mut Program) {
    for step in 0..5_000 {
        program.block(3, 20_000, step as f64 / 5_000.0, None);
    }
}

/// Buffers that are lent and returned, with a few more at each rush.
fn pool(program: &mut Program) {
    for step in 0..400 {
        let time = 0.5 * (step as f64 / 400.0).powi(2);
        program.block(4, 200_000, time, None);
    }
    for step in 0..20_000 {
        let time = step as f64 * 10.0 / 20_000.0;
        program.block(4, 5_000, time, Some(time + 0.01));
    }
}

/// The last thousand of something.
fn ring(program: &mut Program) {
    for step in 0..30_000 {
        let time = step as f64 * 10.0 / 30_000.0;
        program.block(5, 8_000, time, Some(time + 10_000.0 / 30_000.0));
    }
}

/// Sessions that last a second on average, some much longer.
fn sessions(program: &mut Program) {
    for step in 0..20_000 {
        let time = step as f64 * 10.0 / 20_000.0;
        let lasts = -program.dice.part().max(1e-9).ln();
        program.block(6, 12_000, time, Some(time + lasts));
    }
}

/// A table whose places are filled on demand, in any order.
fn lazy_table(program: &mut Program) {
    let mut filled = vec![false; 10_000];
    for step in 0..50_000 {
        let time = step as f64 * 10.0 / 50_000.0;
        let place = program.dice.below(10_000) as usize;
        if !std::mem::replace(&mut filled[place], true) {
            program.block(7, 10_000, time, None);
        }
    }
}

/// It grows for six seconds, and then stops.
fn plateau(program: &mut Program) {
    for step in 0..6_000 {
        program.block(10, 20_000, step as f64 / 1_000.0, None);
    }
}

/// The work is done a tenth of a second before the end, and then everything is freed.
fn given_back(program: &mut Program) {
    let done = 10 * SECOND - SECOND / 10;
    let blocks = &mut program.profile.heap.blocks;
    blocks.retain(|block| block.time.0 < done);
    for block in blocks {
        if block.freed.is_none_or(|freed| freed.0 >= done) {
            block.freed = Some(Nanos(done + block.time.0 % (SECOND / 20)));
        }
    }
}

const PROGRAMS: [fn(&mut Program); 8] = [
    bounded_cache,
    warm_up,
    pool,
    leak_of_one_percent,
    ring,
    sessions,
    lazy_table,
    plateau,
];

#[test]
fn the_leak_is_named_first_and_nothing_else() {
    let (mut missed, mut false_alarms) = (0, Vec::new());
    const SEEDS: u64 = 10;
    for seed in 0..SEEDS {
        for (number, part) in PROGRAMS.iter().enumerate() {
            for gives_back in [false, true] {
                let mut program = Program::new(SAMPLED, seed * 100 + number as u64);
                noise(&mut program);
                part(&mut program);
                program.profile.heap.blocks.sort_by_key(|block| block.time);
                if gives_back {
                    given_back(&mut program);
                }
                let leaks = leaks(&program);
                let has_leak = number == 3;
                if has_leak && leaks.first().is_none_or(|leak| leak.0 != 1) {
                    missed += 1;
                }
                let others = leaks.iter().filter(|leak| leak.0 != 1);
                false_alarms.extend(others.map(|leak| (seed, number, leak.0, leak.1.probability)));
            }
        }
    }
    // Of twenty; and all eight may raise one alarm together, each time.
    assert!(missed <= 1, "{missed} missed");
    assert!(false_alarms.len() as u64 <= SEEDS, "{false_alarms:?}");
}

#[test]
fn a_leak_beside_all_that_looks_like_one() {
    let mut program = Program::new(SAMPLED, 5);
    noise(&mut program);
    for part in PROGRAMS {
        part(&mut program);
    }
    program.profile.heap.blocks.sort_by_key(|block| block.time);
    let leaks = leaks(&program);
    let (line, leak) = leaks.first().expect("the leak is found");
    assert_eq!(*line, 1);
    // 2000 blocks of 20 kB in ten seconds.
    assert!(leak.probability > 0.9);
    assert!((2.0e6..8.0e6).contains(&leak.rate), "{}", leak.rate);
    assert!(leaks.len() <= 2, "{leaks:?}");
}

/// The same programs in exact sums: a sampled heap of probability one, ten times a second.
fn exact(program: &mut Program) {
    let heap = &mut program.profile.heap;
    let mut blocks = std::mem::take(&mut heap.blocks);
    blocks.sort_by_key(|block| block.stack);
    for of_stack in blocks.chunk_by(|a, b| a.stack == b.stack) {
        let site = heap.sites.len() as u32;
        let mut sums = Site {
            process: ProcessId(0),
            stack: of_stack[0].stack,
            ..Site::default()
        };
        let amount = |size| Amount {
            count: 1,
            bytes: size,
        };
        for block in of_stack {
            sums.allocated += amount(block.size);
            if block.freed.is_some() {
                sums.freed += amount(block.size);
            }
        }
        heap.sites.push(sums);
        for tenth in 1..=100 {
            let time = tenth * SECOND / 10;
            let (mut allocated, mut live) = (Amount::default(), Amount::default());
            for block in of_stack.iter().filter(|block| block.time.0 <= time) {
                allocated += amount(block.size);
                if block.freed.is_none_or(|freed| freed.0 > time) {
                    live += amount(block.size);
                }
            }
            heap.moments.push(Moment {
                site,
                time: Nanos(time),
                allocated,
                live,
            });
        }
    }
    heap.moments.sort_by_key(|moment| moment.time);
}

#[test]
fn exact_sums_show_it_too() {
    let mut alarms = Vec::new();
    for (number, part) in PROGRAMS.iter().enumerate() {
        let mut program = Program::new(Sampling::All, number as u64);
        part(&mut program);
        exact(&mut program);
        let leaks = leaks(&program);
        if number == 3 {
            assert_eq!(leaks.first().map(|leak| leak.0), Some(1));
        }
        alarms.extend(leaks.iter().map(|leak| leak.0).filter(|&line| line != 1));
    }
    assert!(alarms.len() <= 1, "{alarms:?}");
}

#[test]
fn what_runs_for_a_moment_or_keeps_a_little_does_not_leak() {
    let mut program = Program::new(SAMPLED, 1);
    noise(&mut program);
    for step in 0..10 {
        program.block(1, 4_000_000, step as f64 * 0.01, None);
        program.block(2, 100, step as f64, None);
    }
    // The last part of the work allocates much.
    for step in 0..200 {
        program.block(3, 400_000, 8.0 + step as f64 / 100.0, None);
    }
    assert_eq!(leaks(&program).len(), 0);
}
