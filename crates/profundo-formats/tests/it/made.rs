//! Profiles made to look like recorded ones: jittered periods, a cycle counter that follows the
//! time with the noise of reading two clocks, and a few hot stacks among many cold ones.

use profundo_model::{
    Avma, CodeAddress, FrameKey, Language, LocationKind, Module, Nanos, Profile, Sample, StackId,
    State,
};

/// The weights of samples.
#[derive(Debug, Clone, Copy)]
pub enum Weights {
    /// Always the period.
    Period,
    /// The time since the thread's last sample.
    Elapsed,
    /// Drawn at random about the period: unpredictable.
    Random,
}

/// A random generator that needs no crate and gives the same numbers everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A profile of `samples` samples at 1000 a second and thread.
pub fn realistic(samples: usize, threads: usize, weights: Weights) -> Profile {
    let shape = Shape {
        stacks: 2_000,
        depth: 5..40,
    };
    made(samples, threads, weights, &shape)
}

/// The number of distinct stacks, and their depth.
pub struct Shape {
    pub stacks: usize,
    pub depth: std::ops::Range<u64>,
}

/// A profile of stacks of a shape.
pub fn made(samples: usize, threads: usize, weights: Weights, shape: &Shape) -> Profile {
    const PERIOD: u64 = 1_000_000;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut profile = Profile::default();
    profile.meta.period = Nanos(PERIOD);
    let stacks = stacks(&mut profile, &mut random, shape);
    let owners: Vec<_> = (0..threads as u64)
        .map(|number| {
            let thread = profile.hand_made_thread(number + 1, "worker");
            (thread, profile.hand_made_task(number + 0x1000))
        })
        .collect();
    let mut due: Vec<(u64, u64)> = (0..threads).map(|_| (random.below(PERIOD), 0)).collect();
    for _ in 0..samples {
        let thread = (0..threads).min_by_key(|&thread| due[thread].0).unwrap();
        let (time, last) = due[thread];
        // Ten per cent either way.
        let step = PERIOD * 9 / 10 + random.below(PERIOD / 5);
        due[thread] = (time + step, time);
        let weight = match weights {
            Weights::Period => PERIOD,
            Weights::Elapsed => time - last,
            Weights::Random => PERIOD * 9 / 10 + random.below(PERIOD / 5),
        };
        // 2.994 GHz; the two clocks are read 20 to 60 ns apart.
        let clock = 81_234_567_890_123 + (time + 20 + random.below(40)) * 2_994 / 1_000;
        // The square of a uniform number prefers the hot ones.
        let hot = (random.below(1 << 20) * random.below(1 << 20)) >> 20;
        let (thread, task) = owners[thread];
        profile.samples.push(Sample {
            time: Nanos(time),
            weight: Nanos(weight),
            clock,
            thread,
            task,
            stack: stacks[((hot * stacks.len() as u64) >> 20) as usize],
            state: if random.below(20) == 0 {
                State::System
            } else {
                State::Running
            },
            ..Sample::default()
        });
    }
    profile
}

/// Stacks with names like Rust's.
fn stacks(profile: &mut Profile, random: &mut Random, shape: &Shape) -> Vec<StackId> {
    let path = profile.strings.intern("/usr/local/bin/service");
    let start = 0x5555_5555_4000;
    let module = profile.modules.push(Module {
        path,
        start: Avma(start),
        end: Avma(start + 0x80_0000),
        bias: start,
        build_id: (0..20).collect(),
        ..Module::default()
    });
    let mut locations = Vec::new();
    for number in 0..3_000 {
        let function = format!("service::module_{}::Worker::step_{number}", number % 40);
        let frame = profile.frame(FrameKey {
            function: &function,
            signature: &format!("<{function} as core::ops::FnOnce<()>>::call_once"),
            file: &format!("/home/user/service/src/module_{}.rs", number % 40),
            line: 10 + random.below(2000) as u32,
            language: Language::Rust,
            ..FrameKey::default()
        });
        let address = Avma(start + random.below(0x80_0000));
        let kind = LocationKind::Code(CodeAddress::Return(address));
        let location = profile.locations.intern(kind, Some(module));
        profile.locations.set_frames(location, &[frame]);
        locations.push(location);
    }
    (0..shape.stacks)
        .map(|_| {
            let depth = shape.depth.start + random.below(shape.depth.end - shape.depth.start);
            let mut stack = None;
            for level in 0..depth {
                // Near the root there is little choice, so prefixes are shared.
                let choice = random.below((1 << level.min(11)).min(locations.len() as u64));
                let at = (level * 70 + choice) as usize % locations.len();
                stack = Some(profile.stacks.intern(stack, locations[at]));
            }
            stack.unwrap()
        })
        .collect()
}
