//! The totals of a part: those of its threads and processes, and the recording's as a whole.

use profundo_model::{Gil, Loss, Nanos, Profile, SampleKind, Settled, State};

/// Sums of samples, by process and by thread.
pub(super) struct Sums {
    processes: Vec<Sum>,
    threads: Vec<Sum>,
    all: Sum,
}

/// The sum of some samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    /// Samples that were taken, without rows for time that was only counted.
    samples: u64,
    /// Their time on a CPU.
    sampled: u64,
    /// Time on a CPU outside of the kernel and in it, with time that was only counted.
    user: u64,
    system: u64,
    /// All of the time, waiting included.
    weight: u64,
    /// The time of waiting for the interpreter's lock.
    gil_wait: u64,
}

impl Sum {
    fn busy(&self) -> u64 {
        self.user.saturating_add(self.system)
    }
}

impl Sums {
    pub(super) fn new(profile: &Profile) -> Self {
        let mut sums = Self {
            processes: vec![Sum::default(); profile.processes.len()],
            threads: vec![Sum::default(); profile.threads.len()],
            all: Sum::default(),
        };
        for sample in &profile.samples {
            let weight = sample.weight.0;
            let is_counted = profile.is_counted(sample.stack);
            let add = |sum: &mut Sum| {
                let busy = match sample.state {
                    State::System => Some(&mut sum.system),
                    State::Sleeping | State::WallWaiting => None,
                    _ => Some(&mut sum.user),
                };
                if let Some(busy) = busy {
                    *busy = busy.saturating_add(weight);
                    if !is_counted {
                        sum.sampled = sum.sampled.saturating_add(weight);
                    }
                }
                sum.samples += u64::from(!is_counted);
                sum.weight = sum.weight.saturating_add(weight);
                if sample.gil == Gil::Waiting {
                    sum.gil_wait = sum.gil_wait.saturating_add(weight);
                }
            };
            let process = profile.threads.get(sample.thread).process;
            add(&mut sums.all);
            add(&mut sums.threads[sample.thread.index()]);
            sums.processes.get_mut(process.index()).map(add);
        }
        sums
    }
}

/// Gives threads, processes and the recording the totals of what is kept. Those of which all is
/// kept have what they had.
pub(super) fn complete(profile: &mut Profile, before: &Sums, after: &Sums) {
    let kind = profile.meta.kind;
    // The time of counted calls is no CPU time.
    let is_sampled = kind != SampleKind::Traced;
    let is_wall = kind == SampleKind::Wall;
    let each = before.processes.iter().zip(&after.processes);
    for (process, (before, after)) in profile.processes.iter_mut().zip(each) {
        if before != after {
            let of = |known: Option<Nanos>, kept| known.filter(|_| is_sampled).map(|_| Nanos(kept));
            process.user = of(process.user, after.user);
            process.system = of(process.system, after.system);
        }
    }
    let ids: Vec<_> = profile.threads.iter().map(|(id, _)| id).collect();
    for (id, (before, after)) in (ids.into_iter()).zip(before.threads.iter().zip(&after.threads)) {
        if before != after {
            let thread = profile.threads.get_mut(id);
            thread.cpu = thread
                .cpu
                .filter(|_| is_sampled)
                .map(|_| Nanos(after.busy()));
            // On the wall clock, a thread's samples are all of its time.
            thread.alive = thread.alive.map(|alive| {
                if is_wall {
                    alive.min(Nanos(after.weight))
                } else {
                    alive
                }
            });
            thread.gil_wait = thread
                .gil_wait
                .filter(|_| is_wall)
                .map(|_| Nanos(after.gil_wait));
        }
    }
    if before.all != after.all {
        complete_meta(profile, &before.all, &after.all);
    }
}

fn complete_meta(profile: &mut Profile, before: &Sum, after: &Sum) {
    let in_time = Part::new(after.busy(), before.busy());
    let in_samples = Part::new(after.samples, before.samples);
    let used: Vec<bool> = {
        let mut used = vec![false; profile.stacks.len()];
        (profile.samples.iter()).for_each(|sample| used[sample.stack.index()] = true);
        used
    };
    let meta = &mut profile.meta;
    meta.cpu = meta.cpu.map(|_| Nanos(after.sampled));
    meta.own_cost = meta.own_cost.map(|cost| in_time.of_time(cost));
    meta.recorder_cpu = meta.recorder_cpu.map(|cpu| in_time.of_time(cpu));
    meta.by_ticks = meta.by_ticks.map(|cpu| in_time.of_time(cpu));
    if let Some(energy) = &mut meta.energy {
        energy.program_cpu = in_time.of_time(energy.program_cpu);
    }
    let Loss {
        buffer_full,
        overwritten,
        truncated,
        broken,
        reentrant,
        thread_table_full,
    } = meta.loss;
    meta.loss = Loss {
        buffer_full: in_samples.of(buffer_full),
        overwritten: in_samples.of(overwritten),
        truncated: in_samples.of(truncated),
        broken: in_samples.of(broken),
        reentrant: in_samples.of(reentrant),
        thread_table_full: in_samples.of(thread_table_full),
    };
    let sampled = Part::new(after.sampled, before.sampled);
    let in_kernel = Part::new(after.system, before.system);
    meta.settled = meta.settled.map(|settled| Settled {
        sampled: sampled.of_time(settled.sampled),
        sampled_in_kernel: in_kernel.of_time(settled.sampled_in_kernel),
        samples: after.samples,
        too_short: settled.too_short.filter(|stack| used[stack.index()]),
        not_sampled: settled.not_sampled.filter(|stack| used[stack.index()]),
    });
}

/// A part of a whole.
#[derive(Debug, Clone, Copy)]
struct Part {
    kept: u64,
    whole: u64,
}

impl Part {
    fn new(kept: u64, whole: u64) -> Self {
        Self { kept, whole }
    }

    /// This part of a figure, rounded.
    fn of(self, figure: u64) -> u64 {
        let whole = u128::from(self.whole.max(1));
        let part = (u128::from(figure) * u128::from(self.kept) + whole / 2) / whole;
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    fn of_time(self, time: Nanos) -> Nanos {
        Nanos(self.of(time.0))
    }
}
