//! Each process gets the CPU time that the kernel counted for it.
//!
//! A process that ends before its first sample is due has none, and one that lives for two periods
//! has one or two. Where many are short, samples alone would give all the time to the few that are
//! long. So the weights of a process's samples are scaled to its CPU time, and a process without a
//! sample gets a row of its own. The measured values are kept beside it, in [`Settled`].

use profundo_model::{
    Engine, LocationKind, Many, Nanos, Process, ProcessId, Profile, Reason, Sample, SampleKind,
    Settled, StackId, State, Task, TaskId, Thread, ThreadId, Weighed,
};
use rustc_hash::FxHashMap;

/// The number of periods from which on a process should have samples.
const LONG: u64 = 20;

/// The largest factor on the samples of a long process. Beyond it, it is unknown whether the time
/// without samples was spent in the same places.
const MOST: u64 = 2;

/// The unit in which the kernel reports the times of another process.
const TICK: u64 = 10_000_000;

/// Scales the samples of each process to its CPU time by the kernel's count. Profiles of other
/// quantities than CPU time, and processes of unknown time, stay unchanged.
pub fn settle(profile: &mut Profile) {
    settle_kinds(profile, &[SampleKind::Cpu]);
}

/// The same also for a profile of threads' time: its CPU time is scaled, and waits stay as they
/// are.
pub fn settle_beside_waits(profile: &mut Profile) {
    settle_kinds(profile, &[SampleKind::Cpu, SampleKind::Wall]);
}

fn settle_kinds(profile: &mut Profile, kinds: &[SampleKind]) {
    if let Some(weighed) = profile.meta.weighed {
        return take_over(profile, weighed);
    }
    let meta = &profile.meta;
    let is_sampled = !matches!(meta.engine, Engine::Unknown | Engine::Wall);
    let is_recorded = kinds.contains(&meta.kind) && is_sampled && meta.period.0 > 0;
    // Without any sample, rows for processes are of use if there are several.
    let has_samples = !profile.samples.is_empty() || profile.process_count() > 1;
    if !is_recorded || !has_samples || meta.settled.is_some() || profile.cpu_used().is_none() {
        return;
    }
    let sums = sums(profile);
    let period = meta.period.0;
    let plans: Vec<Plan> = (profile.processes.iter().zip(&sums))
        .map(|(process, sampled)| Plan::new(process, *sampled, period))
        .collect();
    let counted = plans
        .iter()
        .zip(&sums)
        .map(|(plan, sampled)| plan.counted(*sampled));
    let counted = counted.fold(Sampled::default(), Sampled::plus);
    let mut settled = Settled {
        samples: profile.sample_count(),
        sampled: Nanos(counted.all()),
        sampled_in_kernel: Nanos(counted.system),
        ..Settled::default()
    };
    scale(profile, &plans);
    let rest = |wanted: Reason| (plans.iter()).any(|plan| plan.rest() > 0 && plan.why == wanted);
    if rest(Reason::TooShort) {
        settled.too_short = Some(stack_of(profile, Reason::TooShort));
    }
    if rest(Reason::NotSampled) {
        settled.not_sampled = Some(stack_of(profile, Reason::NotSampled));
    }
    add_rests(profile, &plans, &settled);
    for (process, plan) in profile.processes.iter_mut().zip(&plans) {
        if let Some((user, system)) = plan.used {
            (process.user, process.system) = (Some(Nanos(user)), Some(Nanos(system)));
        }
    }
    profile.meta.settled = Some(settled);
    profile.name_reasons();
}

/// Settles a part of another recording, whose weights add up already.
fn take_over(profile: &mut Profile, weighed: Weighed) {
    if profile.meta.settled.is_some() {
        return;
    }
    let mut settled = Settled {
        sampled: weighed.sampled,
        sampled_in_kernel: weighed.sampled_in_kernel,
        ..Settled::default()
    };
    for (row, sample) in profile.samples.iter().enumerate() {
        let stack = profile.stacks.get(sample.stack);
        let kind = profile.locations.get(stack.location).kind;
        match kind {
            LocationKind::Reason(Reason::TooShort) if stack.parent.is_none() => {
                settled.too_short = Some(sample.stack);
            }
            LocationKind::Reason(Reason::NotSampled) if stack.parent.is_none() => {
                settled.not_sampled = Some(sample.stack);
            }
            _ => settled.samples += profile.samples_of_row(row),
        }
    }
    profile.meta.settled = Some(settled);
}

/// The sums of a process's samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sampled {
    user: u64,
    system: u64,
}

impl Sampled {
    fn all(self) -> u64 {
        self.user.saturating_add(self.system)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            user: self.user.saturating_add(other.user),
            system: self.system.saturating_add(other.system),
        }
    }
}

fn is_on_cpu(sample: &Sample) -> bool {
    matches!(sample.state, State::Running | State::System)
}

fn sums(profile: &Profile) -> Vec<Sampled> {
    let mut sums = vec![Sampled::default(); profile.processes.len()];
    for sample in profile.samples.iter().filter(|sample| is_on_cpu(sample)) {
        let process = profile.threads.get(sample.thread).process;
        if let Some(sum) = sums.get_mut(process.index()) {
            let part = match sample.state {
                State::System => &mut sum.system,
                _ => &mut sum.user,
            };
            *part = part.saturating_add(sample.weight.0);
        }
    }
    sums
}

/// The result for one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    /// The measured time of its samples, and the time that they stand for now.
    from: u64,
    to: u64,
    /// User and system time that gets a row without a sample, and the reason.
    user: u64,
    system: u64,
    why: Reason,
    /// The user and system time that agrees with the samples.
    used: Option<(u64, u64)>,
    /// True if the process used so much that it must have samples.
    is_long: bool,
    /// True if its samples show time in the kernel, where it has some.
    sees_the_kernel: bool,
}

impl Plan {
    fn new(process: &Process, sampled: Sampled, period: u64) -> Self {
        let from = sampled.all();
        let mut plan = Self {
            from,
            to: from,
            user: 0,
            system: 0,
            why: Reason::TooShort,
            used: None,
            is_long: false,
            sees_the_kernel: true,
        };
        if process.user.is_none() && process.system.is_none() {
            return plan;
        }
        let (user, system) = (
            process.user.unwrap_or_default().0,
            process.system.unwrap_or_default().0,
        );
        // Times in ticks are rounded down: more time in the samples is right.
        let cut = user.is_multiple_of(TICK) && system.is_multiple_of(TICK);
        let beyond = from.saturating_sub(user.saturating_add(system));
        let user = match cut && beyond < 2 * TICK {
            true => user.saturating_add(beyond),
            false => user,
        };
        plan.used = Some((user, system));
        let all = user.saturating_add(system);
        plan.is_long = all / period.max(1) >= LONG;
        if plan.is_long {
            plan.why = Reason::NotSampled;
        }
        if from == 0 {
            (plan.user, plan.system) = (user, system);
            return plan;
        }
        plan.sees_the_kernel = sampled.system > 0 || system / period.max(1) < LONG;
        let (for_samples, unseen) = match plan.sees_the_kernel {
            true => (all, 0),
            false => (user, system),
        };
        plan.to = match plan.is_long {
            true => for_samples.min(from.saturating_mul(MOST)),
            false => for_samples,
        };
        plan.system = unseen;
        let rest = for_samples - plan.to;
        let in_kernel = match plan.sees_the_kernel {
            true => system.saturating_sub(sampled.system).min(rest),
            false => 0,
        };
        plan.system += in_kernel;
        plan.user = rest - in_kernel;
        plan
    }

    fn rest(&self) -> u64 {
        self.user.saturating_add(self.system)
    }

    /// The sampled time. One sample of a process shorter than a period stands for no more than the
    /// process used, and samples that do not see the kernel for no more than its time outside.
    fn counted(&self, sampled: Sampled) -> Sampled {
        let may_be_more = self.is_long && self.sees_the_kernel;
        if may_be_more || self.from <= self.to {
            return sampled;
        }
        Sampled {
            user: self.to - self.scaled(sampled.system),
            system: self.scaled(sampled.system),
        }
    }

    /// The scaled time of a part of the samples. There must be samples.
    fn scaled(&self, part: u64) -> u64 {
        let scaled = u128::from(part) * u128::from(self.to) / u128::from(self.from);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// Scales the weights. The remainder of one goes to the next, so the sum is exact.
fn scale(profile: &mut Profile, plans: &[Plan]) {
    let mut done = vec![(0_u64, 0_u64); plans.len()];
    for taken in &mut profile.gathered.taken {
        let sample = profile.samples[taken.row as usize];
        let process = profile.threads.get(sample.thread).process.index();
        let plan = plans.get(process).filter(|plan| plan.from > 0);
        if let Some(plan) = plan.filter(|_| is_on_cpu(&sample)) {
            taken.weight.0 = plan.scaled(taken.weight.0);
        }
    }
    for (row, sample) in profile.samples.iter_mut().enumerate() {
        let process = profile.threads.get(sample.thread).process.index();
        let Some((plan, (before, given))) = plans.get(process).zip(done.get_mut(process)) else {
            continue;
        };
        if plan.from == plan.to || plan.from == 0 || !is_on_cpu(sample) {
            continue;
        }
        *before = before.saturating_add(sample.weight.0);
        let upto = plan.scaled(*before);
        sample.weight = Nanos(upto.saturating_sub(*given));
        *given = upto;
        if let Some(many) = profile.gathered.rows.get_mut(row) {
            many.squares *= (plan.to as f64 / plan.from as f64).powi(2);
            many.merged = plan.scaled(many.merged);
            many.count = plan.scaled(many.count).max(1);
        }
    }
}

/// A stack of a reason alone.
fn stack_of(profile: &mut Profile, reason: Reason) -> StackId {
    let location = profile.locations.intern(LocationKind::Reason(reason), None);
    profile.stacks.intern(None, location)
}

/// Adds the time that no sample stands for, at the end of its process.
fn add_rests(profile: &mut Profile, plans: &[Plan], settled: &Settled) {
    let mut mains = mains(profile);
    let mut last = (profile.threads.iter().map(|(_, thread)| thread.number))
        .max()
        .unwrap_or(0);
    let last_row = profile.gathered.rows.iter().map(|many| many.last).max();
    let end = last_row.or_else(|| profile.samples.last().map(|sample| sample.time));
    let end = end.unwrap_or(Nanos(0));
    let taken = profile.samples.len();
    for (index, plan) in plans.iter().enumerate() {
        let stack = match plan.why {
            Reason::TooShort => settled.too_short,
            _ => settled.not_sampled,
        };
        let Some(stack) = stack.filter(|_| plan.rest() > 0) else {
            continue;
        };
        let id = ProcessId::from_index(index);
        let (thread, task) = match mains.get(&id) {
            Some(&(thread, Some(task))) => (thread, task),
            Some(&(thread, None)) => (thread, root_task(profile, thread)),
            None => {
                last += 1;
                let thread = profile.threads.push(Thread {
                    number: last,
                    tid: profile.processes[index].pid,
                    process: id,
                    ..Thread::default()
                });
                (thread, root_task(profile, thread))
            }
        };
        mains.insert(id, (thread, Some(task)));
        let time = profile.processes[index].ended.unwrap_or(end);
        for (weight, state) in [(plan.user, State::Running), (plan.system, State::System)] {
            if weight > 0 {
                profile.samples.push(Sample {
                    time,
                    weight: Nanos(weight),
                    thread,
                    task,
                    stack,
                    state,
                    ..Sample::default()
                });
            }
        }
    }
    if profile.gathered.is_any() {
        // The order is that of the rows' first appearance, as before.
        for sample in &profile.samples[taken..] {
            profile.gathered.rows.push(Many {
                samples: 1,
                count: profile.meta.count_of(sample.weight),
                squares: 0.0,
                merged: 0,
                last: sample.time,
            });
        }
    } else if profile.samples.len() > taken {
        profile.samples.sort_by_key(|sample| sample.time);
    }
}

/// The main thread of each process, and its own task if that is in the profile.
fn mains(profile: &Profile) -> FxHashMap<ProcessId, (ThreadId, Option<TaskId>)> {
    let mut tasks: FxHashMap<ThreadId, TaskId> = FxHashMap::default();
    for sample in &profile.samples {
        if profile.tasks.get(sample.task).is_root {
            tasks.insert(sample.thread, sample.task);
        }
    }
    let mut mains = FxHashMap::default();
    for (id, thread) in profile.threads.iter() {
        let is_main = profile
            .processes
            .get(thread.process.index())
            .is_some_and(|process| process.pid == thread.tid);
        let task = tasks.get(&id).copied();
        if is_main || !mains.contains_key(&thread.process) {
            mains.insert(thread.process, (id, task));
        }
    }
    mains
}

/// The own task of a thread that has no sample.
fn root_task(profile: &mut Profile, thread: ThreadId) -> TaskId {
    /// The first number of root tasks in recordings.
    const FIRST: u64 = 0xF0F0_0000_0000;
    let thread = profile.threads.get(thread);
    let (name, number) = (thread.name, FIRST + thread.number);
    profile.tasks.push(Task {
        number,
        name,
        is_root: true,
        ..Task::default()
    })
}
