//! The facts about merged recordings as a whole: sums, and sentences about what not all of them
//! have. Recordings that measure different things are refused here.

use std::collections::BTreeSet;

use profundo_model::{
    Clock, Energy, EnergyZone, Loss, Machine, Meta, Nanos, Profile, SampleKind, Sampling, Tracing,
    Weighed,
};

use super::MergeError;

/// The facts about the inputs so far.
#[derive(Debug, Default)]
pub(super) struct Metas {
    inputs: usize,
    /// The sum of the CPU time that could be sampled, if all inputs know it; likewise below.
    cpu: Known,
    own_cost: Known,
    recorder_cpu: Known,
    by_ticks: Known,
    energy: Option<Energy>,
    with_energy: usize,
    /// The machine of the inputs so far, if all have the same.
    machine: Option<Machine>,
    /// The sums of the inputs whose weights add up already.
    weighed: Weighed,
    with_weighed: usize,
    with_memory: usize,
    with_exact_memory: usize,
    with_copies: usize,
    with_waits: usize,
    with_traces: usize,
    periods: BTreeSet<u64>,
    engines: Vec<&'static str>,
    most_samples: u64,
    /// Each note, and the number of the first origin of each input that has it.
    notes: Vec<(String, Vec<usize>)>,
}

/// A sum over the inputs that have a figure.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    inputs: usize,
    sum: u64,
}

impl Known {
    fn add(&mut self, figure: Option<Nanos>) {
        if let Some(figure) = figure {
            self.inputs += 1;
            self.sum = self.sum.saturating_add(figure.0);
        }
    }

    /// The sum, if all of so many inputs have the figure.
    fn of_all(self, inputs: usize) -> Option<Nanos> {
        (self.inputs == inputs && inputs > 0).then_some(Nanos(self.sum))
    }

    /// The sum of those that have it.
    fn of_any(self) -> Option<Nanos> {
        (self.inputs > 0).then_some(Nanos(self.sum))
    }
}

impl Metas {
    /// Adds the facts of an input to the profile's. The profile has the origins of the inputs
    /// before, and not yet those of this one.
    pub(super) fn add(
        &mut self,
        profile: &mut Profile,
        input: &Profile,
        name: &str,
    ) -> Result<(), MergeError> {
        if self.inputs > 0 {
            self.check(profile, input, name)?;
        }
        let meta = &input.meta;
        self.cpu.add(meta.cpu);
        self.own_cost.add(meta.own_cost);
        self.recorder_cpu.add(meta.recorder_cpu);
        self.by_ticks.add(meta.by_ticks);
        if let Some(energy) = &meta.energy {
            self.with_energy += 1;
            add_energy(self.energy.get_or_insert_default(), energy);
        }
        if let Some(weighed) = meta.weighed {
            self.with_weighed += 1;
            let sum = &mut self.weighed;
            let add = |sum: &mut Nanos, more: Nanos| sum.0 = sum.0.saturating_add(more.0);
            add(&mut sum.sampled, weighed.sampled);
            add(&mut sum.sampled_in_kernel, weighed.sampled_in_kernel);
        }
        let machine = meta.machine.as_ref();
        match (&self.machine, machine) {
            (None, Some(_)) if self.inputs == 0 => self.machine = machine.cloned(),
            (Some(known), Some(its)) if known.is_like(its) => {}
            _ => self.machine = None,
        }
        self.add_heap(profile, input);
        self.with_waits += usize::from(!input.traffic.is_empty());
        if !input.traced.is_empty() || input.traced.tracing != Tracing::Unknown {
            self.with_traces += 1;
            profile.traced.tracing = input.traced.tracing;
            profile.traced.clock = input.traced.clock;
        }
        if meta.period.0 > 0 {
            self.periods.insert(meta.period.0);
        }
        let engine = meta.engine.name();
        if !self.engines.contains(&engine) {
            self.engines.push(engine);
        }
        let samples = input.sample_count();
        let merged = &mut profile.meta;
        if self.inputs == 0 || samples > self.most_samples {
            merged.engine = meta.engine;
            self.most_samples = samples;
        }
        if self.inputs == 0 {
            merged.kind = meta.kind;
            merged.event = meta.event.clone();
            merged.period = meta.period;
            merged.started_at_unix = meta.started_at_unix;
        }
        // Weights are times. The shortest period makes counts that are in proportion to them.
        if meta.period.0 > 0 && (merged.period.0 == 0 || meta.period < merged.period) {
            merged.period = meta.period;
        }
        let started = meta.started_at_unix;
        if started > 0 && (merged.started_at_unix == 0 || started < merged.started_at_unix) {
            merged.started_at_unix = started;
        }
        merged.lacks_times |= meta.lacks_times;
        merged.is_of_machine |= meta.is_of_machine;
        add_loss(&mut merged.loss, &meta.loss);
        merged.buffer_was_full |= meta.buffer_was_full;
        for pattern in &meta.mine {
            if !merged.mine.contains(pattern) {
                merged.mine.push(pattern.clone());
            }
        }
        let origin = profile.origins.len();
        for note in &meta.notes {
            match self.notes.iter_mut().find(|(known, _)| known == note) {
                Some((_, inputs)) => inputs.push(origin),
                None => self.notes.push((note.clone(), vec![origin])),
            }
        }
        self.inputs += 1;
        Ok(())
    }

    /// Completes the merged profile. `names` are those of its origins.
    pub(super) fn finish(self, profile: &mut Profile, names: &[String]) {
        let notes = self.notes(names);
        let Self {
            inputs,
            energy,
            with_energy,
            ..
        } = self;
        let meta = &mut profile.meta;
        meta.cpu = self.cpu.of_all(inputs);
        // Beside others, those weights are taken for measured ones, which changes none of them.
        meta.weighed = (self.with_weighed == inputs && inputs > 0).then_some(self.weighed);
        meta.own_cost = self.own_cost.of_all(inputs);
        meta.recorder_cpu = self.recorder_cpu.of_any();
        meta.by_ticks = self.by_ticks.of_any();
        // The part of programs whose energy was not recorded would be unknown.
        meta.energy = energy.filter(|_| with_energy == inputs);
        // What else ran meanwhile has no common sum: several inputs may be from the same time.
        meta.machine = self.machine.map(|machine| Machine {
            others: None,
            ..machine
        });
        meta.notes = notes;
    }

    fn notes(&self, names: &[String]) -> Vec<String> {
        let all = self.inputs;
        let mut notes = Vec::new();
        if self.periods.len() > 1 {
            let rates: Vec<String> = (self.periods.iter().rev())
                .map(|&period| format!("{:.0}", 1e9 / period as f64))
                .collect();
            notes.push(format!(
                "the merged recordings have different rates ({} samples per second); a sample of a \
                 slower one counts as several",
                rates.join(", ")
            ));
        }
        if self.engines.len() > 1 {
            notes.push(format!(
                "the samples of the merged recordings come from different engines: {}",
                self.engines.join(", ")
            ));
        }
        let mut only_some = |some: usize, what: &str| {
            if some > 0 && some < all {
                notes.push(format!(
                    "{what} in {some} of the {all} merged recordings only"
                ));
            }
        };
        only_some(self.with_memory, "memory was recorded");
        only_some(self.with_copies, "copies of memory were recorded");
        only_some(self.with_waits, "waits and I/O were recorded");
        only_some(self.with_traces, "calls or lines were counted");
        only_some(
            self.with_energy,
            "energy is left out, because it was recorded",
        );
        for (note, inputs) in &self.notes {
            let which: Vec<&str> = (inputs.iter())
                .filter_map(|&origin| names.get(origin).map(String::as_str))
                .collect();
            notes.push(match which.len() < all && !which.is_empty() {
                true => format!("{}: {note}", listed(&which)),
                false => note.clone(),
            });
        }
        notes
    }

    /// Refuses what cannot be added up.
    fn check(&self, profile: &Profile, input: &Profile, name: &str) -> Result<(), MergeError> {
        let its = kind_words(&input.meta, input.traced.tracing, input.traced.clock);
        let (tracing, clock) = (profile.traced.tracing, profile.traced.clock);
        let others = kind_words(&profile.meta, tracing, clock);
        if its != others {
            return Err(MergeError::Kind {
                name: name.to_owned(),
                its,
                others,
            });
        }
        let (heap, from) = (&profile.heap, &input.heap);
        let error = |its, others| MergeError::Memory {
            name: name.to_owned(),
            its,
            others,
        };
        let is_exact = !from.sites.is_empty();
        let are_blocks = !from.blocks.is_empty();
        let is_mixed = is_exact && self.with_memory > self.with_exact_memory
            || are_blocks && self.with_exact_memory > 0;
        let is_rate_known = doublings(heap.sampling, from.sampling).is_some();
        if is_mixed || !is_rate_known {
            let others = sampling_words(heap.sampling, self.with_exact_memory > 0);
            return Err(error(sampling_words(from.sampling, is_exact), others));
        }
        let is_shortest_same = heap.copies_from == from.copies_from;
        let has_both = heap.copying != Sampling::None && from.copying != Sampling::None;
        let is_rate_known = doublings(heap.copying, from.copying).is_some();
        if has_both && !is_shortest_same || !is_rate_known {
            let copies = |sampling, least| {
                let sampling = sampling_words(sampling, false);
                format!("copies from {least} bytes on, {sampling}")
            };
            return Err(error(
                copies(from.copying, from.copies_from),
                copies(heap.copying, heap.copies_from),
            ));
        }
        Ok(())
    }

    fn add_heap(&mut self, profile: &mut Profile, input: &Profile) {
        let (heap, from) = (&mut profile.heap, &input.heap);
        if from.sampling != Sampling::None {
            self.with_memory += 1;
            self.with_exact_memory += usize::from(!from.sites.is_empty());
            if heap.sampling == Sampling::None {
                heap.sampling = from.sampling;
            }
        }
        if from.copying != Sampling::None {
            self.with_copies += 1;
            if heap.copying == Sampling::None {
                heap.copying = from.copying;
                heap.copies_from = from.copies_from;
            }
        }
    }
}

/// How many doublings make `base` the sampling `of` an input. `None` where none do.
pub(super) fn doublings(base: Sampling, of: Sampling) -> Option<u8> {
    if base == Sampling::None || of == Sampling::None {
        return Some(0);
    }
    (0..64).find(|&doublings| base.rarer(doublings) == of)
}

/// The first names of a list, and the number of the others.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 4;
    match names.len() {
        0..=MOST => names.join("; "),
        all => format!("{} and {} more", names[..MOST].join("; "), all - MOST),
    }
}

fn kind_words(meta: &Meta, tracing: Tracing, clock: Clock) -> String {
    if meta.kind == SampleKind::Events {
        return match &meta.event[..] {
            "" => "numbers of samples".to_owned(),
            event => format!("numbers of {event}"),
        };
    }
    let words = match (meta.kind, tracing, clock) {
        (SampleKind::Wall, ..) => "samples of elapsed time",
        (SampleKind::Events, ..) => "numbers of events",
        (SampleKind::Heap(_), ..) => "samples of memory",
        (_, Tracing::Lines, _) => "lines that were counted and timed",
        (_, Tracing::SampledLines, _) => "lines that were counted and sampled",
        (_, Tracing::LinesOnce, _) => "lines that ran at all",
        (_, Tracing::Exceptions, _) => "exceptions",
        (SampleKind::Traced, _, Clock::Wall) => "calls by the wall clock",
        (SampleKind::Traced, _, Clock::Cpu) => "calls by CPU time",
        (SampleKind::Traced, _, Clock::None) | (_, Tracing::Calls, Clock::None) => {
            "calls that were counted without times"
        }
        (SampleKind::Cpu, Tracing::Calls, _) => "calls without samples",
        (SampleKind::Cpu, Tracing::Unknown, _) => "samples of CPU time",
    };
    words.to_owned()
}

fn sampling_words(sampling: Sampling, is_exact: bool) -> String {
    match sampling {
        Sampling::None => "no allocations".to_owned(),
        Sampling::All if is_exact => "sums of all allocations".to_owned(),
        Sampling::All => "all allocations".to_owned(),
        Sampling::Bytes(mean) => format!("one sample about each {mean} allocated bytes"),
        Sampling::Events(rate) => format!("one in {:.0} allocations", 1.0 / rate),
    }
}

pub(super) fn add_loss(sum: &mut Loss, more: &Loss) {
    let Loss {
        buffer_full,
        overwritten,
        truncated,
        broken,
        reentrant,
        thread_table_full,
    } = more;
    for (sum, more) in [
        (&mut sum.buffer_full, buffer_full),
        (&mut sum.overwritten, overwritten),
        (&mut sum.truncated, truncated),
        (&mut sum.broken, broken),
        (&mut sum.reentrant, reentrant),
        (&mut sum.thread_table_full, thread_table_full),
    ] {
        *sum = sum.saturating_add(*more);
    }
}

/// Adds the energy of a recording. A machine that two recordings share at the same time counts in
/// both: its CPU time does, too, so the programs' parts stay right.
fn add_energy(sum: &mut Energy, more: &Energy) {
    for zone in &more.zones {
        let known = sum.zones.iter_mut().find(|known| known.name == zone.name);
        match known {
            Some(EnergyZone { microjoules, .. }) => {
                *microjoules = microjoules.saturating_add(zone.microjoules);
            }
            None => sum.zones.push(zone.clone()),
        }
    }
    for (sum, more) in [
        (&mut sum.duration, more.duration),
        (&mut sum.machine_cpu, more.machine_cpu),
        (&mut sum.program_cpu, more.program_cpu),
    ] {
        sum.0 = sum.0.saturating_add(more.0);
    }
}
