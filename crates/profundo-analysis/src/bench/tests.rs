//! The error rates of comparisons, on the worst machines.

use super::*;

/// Random numbers that are the same in each test run.
struct Draw(u64);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The noise of a machine.
#[derive(Clone, Copy)]
struct Noise {
    /// The part that stays from one run to the next.
    stays: f64,
    /// Its size, as a part of the time.
    size: f64,
    /// The rate of disturbed runs, which take up to half as long again.
    spikes: f64,
    /// The slowdown with each run.
    drift: f64,
}

/// A comparison of two candidates, of which the first takes `truth` times as long. A run's figure
/// is the best of `parts` parts.
fn compared(noise: Noise, truth: f64, parts: usize, seed: u64) -> Bench {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut candidates = vec![Candidate::default(), Candidate::default()];
    let (mut state, mut slower) = (draw.normal(), 1.0);
    for round in Order::new(2, seed).take(20) {
        let mut best = [f64::INFINITY; 2];
        for part in 0..parts {
            for turn in 0..2 {
                let index = round[if part % 2 == 0 { turn } else { 1 - turn }];
                state =
                    noise.stays * state + (1.0 - noise.stays * noise.stays).sqrt() * draw.normal();
                let spike = if draw.uniform() < noise.spikes {
                    1.0 + draw.uniform() / 2.0
                } else {
                    1.0
                };
                slower *= 1.0 + noise.drift;
                let own = if index == 0 { truth } else { 1.0 };
                let seconds = own * spike * slower * (noise.size * state).exp();
                best[index] = best[index].min(seconds);
            }
        }
        for (candidate, seconds) in candidates.iter_mut().zip(best) {
            candidate.runs.push(Run { seconds, cpu: None });
        }
    }
    bench(candidates)
}

fn bench(candidates: Vec<Candidate>) -> Bench {
    Bench {
        subject: Subject::Rust,
        cpu_clock: false,
        started: 0,
        machine: Machine::default(),
        start: None,
        candidates,
    }
}

const KINDS: [Noise; 6] = [
    // A quiet machine, one with busy neighbours now and then, one that never rests.
    Noise {
        stays: 0.0,
        size: 0.01,
        spikes: 0.0,
        drift: 0.0,
    },
    Noise {
        stays: 0.5,
        size: 0.03,
        spikes: 0.1,
        drift: 0.0,
    },
    Noise {
        stays: 0.9,
        size: 0.1,
        spikes: 0.0,
        drift: 0.0,
    },
    Noise {
        stays: 0.99,
        size: 0.2,
        spikes: 0.2,
        drift: 0.0,
    },
    // One that gets slower all the time, and one where each run is the opposite of the one before.
    Noise {
        stays: 0.3,
        size: 0.01,
        spikes: 0.0,
        drift: 0.003,
    },
    Noise {
        stays: -0.8,
        size: 0.03,
        spikes: 0.05,
        drift: 0.0,
    },
];

#[test]
fn equal_candidates_rarely_differ() {
    for (kind, noise) in KINDS.into_iter().enumerate() {
        let differing = (1..=1000).filter(|seed| {
            let ratio = compared(noise, 1.0, 1, *seed).ratio(0, 1);
            ratio.expect("20 pairs are enough").differs()
        });
        let differing = differing.count();
        assert!(differing <= 65, "noise {kind}: {differing} of 1000");
    }
}

#[test]
fn the_interval_holds_the_true_ratio() {
    for (kind, noise) in KINDS.into_iter().enumerate() {
        let held = (1..=400).filter(|seed| {
            let ratio = compared(noise, 1.31, 1, *seed).ratio(0, 1).unwrap();
            ratio.low <= 1.31 && 1.31 <= ratio.high
        });
        let held = held.count();
        assert!(held >= 370, "noise {kind}: {held} of 400");
    }
}

#[test]
fn five_percent_are_found() {
    for noise in &KINDS[..2] {
        let found = (1..=200).filter(|seed| {
            let ratio = compared(*noise, 1.05, 1, *seed).ratio(0, 1).unwrap();
            ratio.low > 1.0
        });
        let found = found.count();
        assert!(found >= 170, "{found} of 200");
    }
}

#[test]
fn the_best_of_short_runs_is_not_disturbed() {
    // Two of three runs are disturbed.
    let crowded = Noise {
        stays: 0.9,
        size: 0.02,
        spikes: 0.67,
        drift: 0.0,
    };
    let differing = |truth, parts| {
        let differing = (1..=400).filter(|seed| {
            let ratio = compared(crowded, truth, parts, *seed).ratio(0, 1).unwrap();
            ratio.differs()
        });
        differing.count()
    };
    assert!(differing(1.0, 20) <= 30, "{} of 400", differing(1.0, 20));
    let (whole, parts) = (differing(1.05, 1), differing(1.05, 20));
    assert!(whole < 100 && parts > 300, "{whole} and {parts} of 400");
}

#[test]
fn only_one_that_beats_all_others_is_the_fastest() {
    let candidate = |times: &[f64]| Candidate {
        loops: 2,
        runs: (0..20)
            .map(|index| Run {
                seconds: times[index % times.len()],
                cpu: None,
            })
            .collect(),
        ..Candidate::default()
    };
    let slow = candidate(&[2.0, 2.1]);
    let fast = candidate(&[1.0, 1.1]);
    let middle = candidate(&[1.5, 1.6]);
    let three = bench(vec![slow.clone(), fast.clone(), middle]);
    let (first, next, ratio) = three.fastest().unwrap();
    assert_eq!((first, next), (1, 2));
    assert!((ratio.value - 1.477).abs() < 0.01, "{ratio:?}");
    let as_fast = candidate(&[1.1, 1.0]);
    assert_eq!(bench(vec![slow.clone(), fast, as_fast]).fastest(), None);
    assert_eq!(bench(vec![slow]).fastest(), None);
    // More candidates have wider intervals, and need more pairs.
    assert_eq!(three.fewest_pairs(), 7);
}

#[test]
fn a_loop_is_a_part_of_a_run() {
    let cpu = Some(Cpu {
        user: 3.0,
        system: 1.0,
    });
    let candidate = Candidate {
        loops: 4,
        runs: vec![Run { seconds: 8.0, cpu }, Run { seconds: 4.0, cpu }],
        ..Candidate::default()
    };
    assert_eq!(candidate.per_loop(), [2.0, 1.0]);
    assert_eq!(candidate.spread().mean, 1.5);
    assert_eq!(
        candidate.cpu(),
        Some(Cpu {
            user: 0.75,
            system: 0.25
        })
    );
    assert_eq!(Candidate::default().cpu(), None);
}
