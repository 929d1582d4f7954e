//! Allocations: programs whose memory is known, sampled as by a sampler.

mod answers;
mod leaks;
mod ranges;

use profundo_model::{Block, Nanos, Process, Profile, Sampling, StackId, TaskId, ThreadId};

/// Pseudo-random numbers, the same each time.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    pub(super) fn number(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    /// Between 0 and 1.
    pub(super) fn part(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}

/// A program that allocates, with its recording.
pub(super) struct Program {
    pub profile: Profile,
    pub dice: Dice,
    thread: ThreadId,
    task: TaskId,
    stacks: Vec<StackId>,
}

/// A second, in nanoseconds.
pub(super) const SECOND: u64 = 1_000_000_000;

impl Program {
    /// A program of one thread and ten lines that runs for ten seconds.
    pub(super) fn new(sampling: Sampling, seed: u64) -> Self {
        let mut profile = Profile::default();
        profile.processes.push(Process {
            pid: 7,
            ..Process::default()
        });
        let thread = profile.hand_made_thread(1, "main");
        let task = profile.hand_made_task(1);
        let stacks = (1..=10).map(|line| {
            let main = profile.hand_made_python("/home/me/app.py", "main", 100, true);
            let at = profile.hand_made_python("/home/me/app.py", "work", line, false);
            profile.hand_made_stack(&[main, at])
        });
        let stacks = stacks.collect();
        profile.heap.sampling = sampling;
        profile.meta.duration = Nanos(10 * SECOND);
        Self {
            profile,
            dice: Dice::new(seed),
            thread,
            task,
            stacks,
        }
    }

    pub(super) fn stack(&self, line: u32) -> StackId {
        self.stacks[line as usize - 1]
    }

    /// A block of some line, which may be recorded. Times are in seconds.
    pub(super) fn block(&mut self, line: u32, size: u64, time: f64, freed: Option<f64>) {
        let nanos = |seconds: f64| Nanos((seconds * SECOND as f64) as u64);
        if self.dice.part() < self.profile.heap.sampling.probability(size) {
            let freed = freed.filter(|&freed| freed < 10.0);
            self.profile.heap.blocks.push(Block {
                time: nanos(time),
                freed: freed.map(nanos),
                size,
                thread: self.thread,
                task: self.task,
                stack: self.stack(line),
                is_temporary: freed.is_some_and(|freed| freed - time < 1e-6),
                ..Block::default()
            });
        }
    }
}

/// The line of a row.
pub(super) fn line_of(profile: &Profile, of: Option<crate::Place>) -> u32 {
    match of {
        Some(crate::Place::Frame(frame)) => profile.frames.get(frame).line,
        _ => 0,
    }
}
