//! A profile of bytes or blocks in place of time: each block is a sample with the block's weight.
//! So every question about time can be asked about memory.

use profundo_model::{
    Amount, Gathered, Heap, Measure, Nanos, Part, Profile, Sample, SampleKind, Sampling, StackId,
    Task, TaskId, ThreadId,
};
use rustc_hash::FxHashMap;

use super::entries::{What, end, entries, is_live_at};
use super::moment::AliveAt;
use super::peak::peaks;
use super::runs::Runs;

/// The same profile with allocations for samples.
pub fn measured(profile: Profile, measure: Measure) -> Profile {
    with_samples(profile, measure, None)
}

/// The same profile with the blocks for samples that were live at a moment.
pub fn measured_at(profile: Profile, counts: bool, moment: Nanos) -> Profile {
    let part = Part::Live;
    with_samples(profile, Measure { part, counts }, Some(moment))
}

fn with_samples(mut profile: Profile, measure: Measure, moment: Option<Nanos>) -> Profile {
    let task = root_task(&profile).unwrap_or_else(|| {
        let number = profile.tasks.iter().map(|(_, task)| task.number).max();
        profile.tasks.push(Task {
            number: number.unwrap_or(0) + 1,
            is_root: true,
            ..Task::default()
        })
    });
    let samples = samples(&profile, measure, task, moment);
    let meta = &mut profile.meta;
    meta.kind = SampleKind::Heap(measure);
    // A sample counts with its weight.
    meta.period = Nanos(1);
    // Facts about the samples of time are dropped.
    meta.cpu = None;
    meta.own_cost = None;
    meta.recorder_cpu = None;
    meta.by_ticks = None;
    meta.energy = None;
    meta.loss = Default::default();
    meta.buffer_was_full = false;
    profile.traffic.clear();
    profile.samples = samples;
    profile.gathered = Gathered::default();
    profile
}

/// The task for samples without one.
fn root_task(profile: &Profile) -> Option<TaskId> {
    let root = profile.tasks.iter().find(|(_, task)| task.is_root);
    root.map(|(id, _)| id)
}

/// The allocations, as samples that weigh bytes or blocks, the oldest first. Sums have no task of
/// their own: where there is no root task either, theirs is an unused number.
pub fn heap_samples(profile: &Profile, measure: Measure) -> Vec<Sample> {
    let none = TaskId::from_index(profile.tasks.len());
    samples(profile, measure, root_task(profile).unwrap_or(none), None)
}

fn samples(
    profile: &Profile,
    measure: Measure,
    task: TaskId,
    moment: Option<Nanos>,
) -> Vec<Sample> {
    if measure.part == Part::Copied {
        return copies(profile, measure, task);
    }
    let sampling = profile.heap.sampling;
    let peaks = peaks(profile);
    let end = end(profile);
    let runs = Runs::new(profile);
    let alive = moment.map(|moment| AliveAt::new(profile, moment));
    let mut mains: FxHashMap<_, ThreadId> = FxHashMap::default();
    for (id, thread) in profile.threads.iter() {
        mains.entry(thread.process).or_insert(id);
    }
    let mut samples = Vec::new();
    let mut carries = Carries::default();
    for entry in entries(profile) {
        let sample = match entry.what {
            What::Block(block) => {
                let peak = peaks.binary_search_by_key(&entry.process, |peak| peak.process);
                let is_meant = match measure.part {
                    Part::Allocated => true,
                    Part::Live => match &alive {
                        Some(alive) => alive.has(entry.process, block),
                        None => runs.is_live(entry.process, block),
                    },
                    Part::Temporary => block.is_temporary,
                    Part::Copied => false,
                    Part::Peak => peak.is_ok_and(|at| is_live_at(block, peaks[at].time.0)),
                };
                let each = match measure.counts {
                    true => 1.0,
                    false => block.size as f64,
                };
                let weight = sampling.weight_of(block) * each;
                let mut whole = || carries.whole(block.stack, weight);
                is_meant.then(|| Sample {
                    time: block.time,
                    weight: Nanos(whole()),
                    clock: block.clock,
                    thread: block.thread,
                    task: block.task,
                    span: block.span,
                    stack: block.stack,
                    ..Sample::default()
                })
            }
            What::Site(site, number) => {
                let amount = match measure.part {
                    Part::Allocated => site.allocated,
                    Part::Live => match &alive {
                        Some(alive) => alive.site(number),
                        None => runs.live_sites()[number],
                    },
                    Part::Temporary => site.temporary,
                    Part::Copied => Amount::default(),
                    Part::Peak => site.at_peak,
                };
                // It was any of the threads, at any time.
                mains.get(&site.process).map(|&thread| Sample {
                    time: Nanos(end),
                    weight: Nanos(match measure.counts {
                        true => amount.count,
                        false => amount.bytes,
                    }),
                    thread,
                    task,
                    stack: site.stack,
                    ..Sample::default()
                })
            }
        };
        samples.extend(sample.filter(|sample| sample.weight.0 > 0));
    }
    samples.sort_by_key(|sample| sample.time);
    samples
}

/// The remainders of rounded weights, by stack: a hundred blocks that stand for 1.2 each are 120.
#[derive(Default)]
struct Carries(FxHashMap<StackId, f64>);

impl Carries {
    fn whole(&mut self, stack: StackId, weight: f64) -> u64 {
        let carry = self.0.entry(stack).or_default();
        let exact = weight + *carry;
        let whole = exact.round().max(0.0);
        *carry = exact - whole;
        whole as u64
    }
}

/// The copies, as samples.
fn copies(profile: &Profile, measure: Measure, task: TaskId) -> Vec<Sample> {
    let heap = &profile.heap;
    let mut carries = Carries::default();
    let mut samples: Vec<Sample> = (heap.copies.iter())
        .map(|copy| {
            let each = match measure.counts {
                true => 1.0,
                false => copy.size as f64,
            };
            let weight = heap.copying_of(copy).weight(copy.size) * each;
            Sample {
                time: copy.time,
                weight: Nanos(carries.whole(copy.stack, weight)),
                thread: copy.thread,
                task,
                stack: copy.stack,
                ..Sample::default()
            }
        })
        .collect();
    samples.sort_by_key(|sample| sample.time);
    samples
}

/// Whether the measured quantity was recorded at all.
pub fn is_recorded(profile: &Profile, measure: Measure) -> bool {
    match measure.part {
        Part::Copied => profile.heap.copying != Sampling::None,
        _ => super::records_allocations(profile),
    }
}

/// The weight of a single sample of bytes or blocks: larger weights count as several in the
/// uncertainty of a sum.
pub(crate) fn unit(heap: &Heap, measure: Measure) -> u64 {
    let sampling = match measure.part {
        Part::Copied => heap.coarsest_copies(),
        _ => heap.coarsest(),
    };
    match (sampling, measure.counts) {
        (Sampling::All, _) => 1,
        (Sampling::Bytes(mean), false) => mean,
        _ => u64::MAX,
    }
}
