//! The weight of each stack: the lines of the heaviest ones are kept. Samples leave the memory
//! while a recording grows, and these sums stay.

use profundo_model::Profile;

/// Adds the samples' times to their stacks.
pub fn add_times(times: &mut Vec<u64>, profile: &Profile) {
    times.resize(profile.stacks.len(), 0);
    for sample in &profile.samples {
        let time = &mut times[sample.stack.index()];
        *time = time.saturating_add(sample.weight.0);
    }
}

/// Adds the samples' weights to their stacks. A byte counts as a nanosecond: a gigabyte allocated
/// matters about as much as a second.
pub fn add_samples(weights: &mut Vec<u64>, profile: &Profile) {
    weights.resize(profile.stacks.len(), 0);
    for sample in &profile.samples {
        let weight = &mut weights[sample.stack.index()];
        *weight = weight.saturating_add(sample.weight.0.max(1));
    }
    let heap = &profile.heap;
    for block in &heap.blocks {
        let weight = &mut weights[block.stack.index()];
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        *weight = weight.saturating_add(bytes as u64);
    }
}

/// Adds the weights of exact sums, which stay in the profile while it grows.
pub fn add_sums(weights: &mut Vec<u64>, profile: &Profile) {
    weights.resize(profile.stacks.len(), 0);
    for site in &profile.heap.sites {
        let weight = &mut weights[site.stack.index()];
        *weight = weight.saturating_add(site.allocated.bytes);
    }
}
