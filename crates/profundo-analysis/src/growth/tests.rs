//! Made-up fleets, in which it is known what has grown.

use profundo_model::FrameId;

use super::*;

/// Pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// After Box and Muller.
    fn normal(&mut self) -> f64 {
        let (one, other) = (self.even().max(1e-300), self.even());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// A count with this mean: by Knuth's method where it is small.
    fn count(&mut self, mean: f64) -> f64 {
        if mean > 30.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0);
        }
        let (mut left, mut count) = (self.even(), 0.0);
        while left > (-mean).exp() {
            left *= self.even();
            count += 1.0;
        }
        count
    }
}

/// How a made-up service is.
#[derive(Clone, Copy)]
struct Made {
    functions: usize,
    hosts: usize,
    /// The samples on each host.
    samples: f64,
    /// The usual relative spread of a function between hosts. Some have three times as much.
    spread: f64,
    /// What the third function takes more after, of the whole.
    growth: f64,
}

/// The functions of a service by themselves, in the order of their shares.
fn service(made: &Made, chance: &mut Chance) -> Service {
    let weights: Vec<f64> = (1..=made.functions).map(|rank| 1.0 / rank as f64).collect();
    let all: f64 = weights.iter().sum();
    let spreads: Vec<f64> = weights
        .iter()
        .map(|_| made.spread * (0.6 * chance.normal()).exp().min(3.0))
        .collect();
    let mut rows: Vec<(Of, Sides)> = vec![(Of::Itself, [Vec::new(), Vec::new()]); made.functions];
    for side in 0..2 {
        for _ in 0..made.hosts {
            // Hosts have unequal load.
            let samples = made.samples * (0.5 + chance.even());
            let mut counts: Vec<f64> = Vec::new();
            for (at, weight) in weights.iter().enumerate() {
                let mut share = weight / all * (1.0 - made.growth * side as f64);
                if at == 2 {
                    share += made.growth * side as f64;
                }
                let share = share * (1.0 + spreads[at] * chance.normal()).max(0.0);
                counts.push(chance.count(samples * share));
            }
            let all: f64 = counts.iter().sum();
            for (row, count) in rows.iter_mut().zip(&counts) {
                let value = count / all;
                let variance = value * (1.0 - value) / all;
                row.1[side].push(Cell { value, variance });
            }
        }
    }
    let (differences, factor) = differences(&rows);
    let rows = differences
        .into_iter()
        .enumerate()
        .map(|(at, difference)| Row {
            place: Place::Frame(FrameId(at as u32)),
            of: Of::Itself,
            difference,
            has_grown: false,
        });
    Service {
        rows: rows.collect(),
        replicas: Replicas::Hosts,
        counts: [made.hosts; 2],
        samples: [made.samples as u64; 2],
        factor,
    }
}

/// The part of fleets with a false alarm, where nothing has changed.
fn alarms(made: &Made, fleets: u64, at_least: f64) -> f64 {
    let mut alarms = 0;
    for fleet in 0..fleets {
        let mut chance = Chance(fleet << 20 | made.hosts as u64);
        let mut services: Vec<Service> = (0..3).map(|_| service(made, &mut chance)).collect();
        judge(&mut services, 0.05, at_least);
        let mut rows = services.iter().flat_map(|service| &service.rows);
        alarms += u64::from(rows.any(|row| row.has_grown));
    }
    alarms as f64 / fleets as f64
}

const USUAL: Made = Made {
    functions: 25,
    hosts: 4,
    samples: 20_000.0,
    spread: 0.05,
    growth: 0.0,
};

#[test]
fn fleets_without_a_change_have_few_false_alarms() {
    for (made, fleets) in [
        (USUAL, 1000),
        (Made { hosts: 2, ..USUAL }, 1000),
        (Made { hosts: 12, ..USUAL }, 400),
        (
            Made {
                spread: 0.0,
                ..USUAL
            },
            400,
        ),
        (
            Made {
                samples: 500.0,
                ..USUAL
            },
            400,
        ),
        (
            Made {
                spread: 0.2,
                ..USUAL
            },
            400,
        ),
        (
            Made {
                hosts: 1,
                spread: 0.0,
                ..USUAL
            },
            1000,
        ),
    ] {
        // Any growth counts: a least one makes alarms rarer.
        let found = alarms(&made, fleets, 0.0);
        let Made {
            hosts,
            samples,
            spread,
            ..
        } = made;
        assert!(
            found <= 0.05,
            "{hosts} hosts, {samples} samples, spread {spread}: {found}"
        );
    }
}

#[test]
fn a_point_more_is_found_where_there_are_enough_samples() {
    const FLEETS: u64 = 200;
    let made = Made {
        growth: 0.01,
        spread: 0.02,
        hosts: 8,
        samples: 60_000.0,
        ..USUAL
    };
    let (mut found, mut others) = (0, 0);
    for fleet in 0..FLEETS {
        let mut chance = Chance(fleet << 20);
        let mut services = [service(&made, &mut chance), service(&USUAL, &mut chance)];
        judge(&mut services, 0.05, 0.005);
        let [grown, same] = services.map(|service| -> Vec<Row> {
            service
                .rows
                .into_iter()
                .filter(|row| row.has_grown)
                .collect()
        });
        let third = Place::Frame(FrameId(2));
        found += u64::from(grown.iter().any(|row| {
            let Difference { low, high, .. } = row.difference;
            row.place == third && low > 0.0 && high < 0.03
        }));
        let is_other = |row: &Row| row.place != third;
        others += u64::from(grown.iter().any(is_other) || !same.is_empty());
    }
    assert!(found * 20 >= FLEETS * 19, "found in {found} of {FLEETS}");
    assert!(others * 20 <= FLEETS, "something else in {others}");
}

/// What one function gives up, the others get: their shares grow, and they have not.
#[test]
fn what_is_saved_elsewhere_is_no_growth() {
    let mut chance = Chance(3);
    let made = Made {
        growth: -0.06,
        spread: 0.01,
        hosts: 8,
        ..USUAL
    };
    let mut services = [service(&made, &mut chance)];
    judge(&mut services, 0.05, 0.0);
    let [service] = services;
    let shares = service.rows[0].difference;
    assert!(shares.after > shares.before + 0.01, "{shares:?}");
    assert!(service.factor > 1.04, "{}", service.factor);
    assert!(service.rows.iter().all(|row| !row.has_grown));
}

#[test]
fn growth_is_read_from_a_profile() {
    let mut profile =
        Profile::from_folded("main;a 700\nmain;b 300\nmain;a 600\nmain;b 400").unwrap();
    let labels = [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")];
    let first = profile.samples.clone();
    profile.samples.clear();
    profile.threads = Default::default();
    profile.processes.clear();
    for (number, (version, host)) in labels.into_iter().enumerate() {
        let mut origin = profundo_model::Origin::default();
        for (key, value) in [("version", version), ("host", host)] {
            let (key, value) = (profile.strings.intern(key), profile.strings.intern(value));
            origin.set_label(key, value);
        }
        profile.origins.push(origin);
        profile.processes.push(profundo_model::Process {
            pid: 7 + number as u32,
            origin: Some(profundo_model::OriginId(number as u32)),
            ..Default::default()
        });
        let thread = profile.threads.push(profundo_model::Thread {
            process: profundo_model::ProcessId(number as u32),
            ..Default::default()
        });
        // The second half of the samples is that of the later version.
        let half = first.len() / 2;
        let its = if version == "1" {
            &first[..half]
        } else {
            &first[half..]
        };
        profile.samples.extend(
            its.iter()
                .map(|sample| profundo_model::Sample { thread, ..*sample }),
        );
    }
    let service = growth(&profile, ["1", "2"], 0.01);
    assert_eq!(
        (service.replicas, service.counts),
        (Replicas::Hosts, [2, 2])
    );
    assert!(!service.has_few());
    let row = |name: &str| {
        let is_it = |row: &&Row| match row.place {
            Place::Frame(frame) => profile.function_name(frame) == name,
            _ => false,
        };
        service.rows.iter().find(is_it).map(|row| row.difference)
    };
    let b = row("b").unwrap();
    assert!(
        (b.before - 0.3).abs() < 0.02 && (b.after - 0.4).abs() < 0.02,
        "{b:?}"
    );
    assert!(row("main").is_none_or(|main| main.before < 0.1));
}

proptest::proptest! {
    /// As in the proof of Benjamini and Hochberg: what passes is at most its rank's part.
    #[test]
    fn what_passes_is_below_its_limit(mut chances in proptest::collection::vec(0.0..1.0_f64, 1..200), level in 0.001..0.5_f64) {
        let found = limit(chances.clone(), level);
        chances.sort_by(f64::total_cmp);
        let passing = chances.iter().filter(|chance| **chance <= found).count();
        let bound = |rank: usize| level * rank as f64 / chances.len() as f64;
        proptest::prop_assert!(passing == 0 || found <= bound(passing));
        for (at, chance) in chances.iter().enumerate().skip(passing) {
            proptest::prop_assert!(*chance > bound(at + 1));
        }
    }
}
