//! The words above a picture: what it shows, and how good that is.

use std::fmt::Write as _;

use profundo_analysis::{Filter, Selection, effective_samples, quality};
use profundo_model::{Engine, Kind, Kinds, Profile, SampleKind};

use super::super::text::{date, percent, time};
use super::super::{Counts, Options, Weights, add, measured, owner};
use super::words::{Amounts, Unit};

/// The title: the command, unless another is wanted.
pub(in crate::export) fn title(profile: &Profile, options: &Options) -> String {
    match &options.title {
        Some(title) => title.clone(),
        None => owner::title(profile),
    }
}

/// The meaning of the picture's numbers.
pub(super) fn amounts(profile: &Profile, weights: Weights, total: u64, count: u64) -> Amounts {
    let all = Selection::new(profile, &Filter::default());
    let measure = measured::of(profile);
    let is_traced = profile.meta.kind == SampleKind::Traced;
    let counts = Counts::new(profile);
    let each = profile.samples.iter().enumerate();
    let each = each.map(|(row, sample)| weights.of(&counts, row, sample));
    let samples = match measure {
        None if !profile.gathered.is_any() => effective_samples(each),
        _ => all.mass(profile).effective_samples(),
    };
    Amounts {
        unit: match (measure, weights) {
            (Some(measure), _) => Unit::of_measure(measure),
            (None, Weights::Time) => Unit::Time,
            (None, Weights::Samples) => Unit::Counts,
        },
        total,
        count,
        is_traced,
        samples: (!is_traced).then_some(samples),
        is_few: all.is_few(profile),
    }
}

/// The name of the whole.
pub(super) fn whole(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Blocks | Unit::Times => "blocks",
        Unit::Time | Unit::Counts | Unit::Things => "time",
    }
}

/// The lines below the title: the amount by kind, what passes the filter, then the quality of the
/// recording.
pub(super) fn lines(
    profile: &Profile,
    options: &Options,
    amounts: &Amounts,
    weights: Weights,
    kinds: &Kinds,
) -> Vec<String> {
    vec![
        summary(profile, amounts, weights, kinds),
        options.passing().unwrap_or_default(),
        recorded_and_sure(profile, amounts),
    ]
    .into_iter()
    .filter(|line| !line.is_empty())
    .collect()
}

fn summary(profile: &Profile, amounts: &Amounts, weights: Weights, kinds: &Kinds) -> String {
    let meta = &profile.meta;
    let clock = match meta.kind {
        SampleKind::Cpu => "CPU time",
        SampleKind::Traced => "traced time",
        SampleKind::Wall => "elapsed time of threads and tasks",
        SampleKind::Events => "events",
        // Its weights are shown instead.
        SampleKind::Heap(_) => "memory",
    };
    let measure = measured::of(profile);
    // One sample may count as several.
    let all = Selection::new(profile, &Filter::default());
    let taken = match measure.is_none() && !amounts.is_traced && meta.settled.is_some() {
        true => all.taken(profile),
        false => amounts.count,
    };
    if let Some(measure) = measure {
        // Allocations have no kind of time.
        return format!(
            "{} {}",
            measured::text(measure, amounts.total),
            measured::which(measure)
        );
    }
    let mut text = match amounts.unit {
        Unit::Time => format!(
            "{} of {clock} in {taken} {}",
            time(amounts.total),
            amounts.counted(taken)
        ),
        _ => format!("{} {}", amounts.count, amounts.counted(amounts.count)),
    };
    let counts = Counts::new(profile);
    let mut weight_of = [0; Kind::ALL.len()];
    for (row, sample) in profile.samples.iter().enumerate() {
        let sum = &mut weight_of[kinds.kind(sample) as usize];
        add(sum, weights.of(&counts, row, sample));
    }
    let mut separator = ": ";
    for kind in Kind::ALL {
        let weight = weight_of[kind as usize];
        // A program without Python has no Python share.
        if weight > 0 {
            let share = weight as f64 / amounts.total as f64;
            let _ = write!(text, "{separator}{} {}", kind.name(), percent(share));
            separator = ", ";
        }
    }
    text
}

/// When it was recorded and how, what is lost, and how sure shares are.
fn recorded_and_sure(profile: &Profile, amounts: &Amounts) -> String {
    let mut parts = recorded(profile);
    let is_sampled = measured::of(profile).is_none() && !amounts.is_traced;
    let quality = quality(profile, &Selection::new(profile, &Filter::default()));
    match quality.margin {
        _ if !is_sampled => {}
        Some(margin) => parts.push(format!("shares are ± {:.1} points (95 %)", margin * 100.0)),
        None if amounts.is_few => parts.push("too few samples for shares".into()),
        None => {}
    }
    parts.join(" · ")
}

/// When it was recorded and how, and what is lost.
pub(in crate::export) fn recorded(profile: &Profile) -> Vec<String> {
    let meta = &profile.meta;
    let mut parts = Vec::new();
    if meta.started_at_unix > 0 {
        parts.push(format!("recorded {}", date(meta.started_at_unix)));
    }
    if measured::of(profile).is_some() {
        match profile.heap.sampling {
            profundo_model::Sampling::All => parts.push("every allocation was recorded".into()),
            profundo_model::Sampling::Bytes(mean) => parts.push(format!(
                "{} allocations recorded, one about each {}",
                profile.samples.len(),
                measured::bytes(mean)
            )),
            _ => {}
        }
        return parts;
    }
    if meta.kind == SampleKind::Traced {
        parts.push("every call was counted".into());
        return parts;
    }
    let quality = quality(profile, &Selection::new(profile, &Filter::default()));
    if let Some(period) = quality.period.filter(|_| meta.engine != Engine::Unknown) {
        let milliseconds = period.0 as f64 / 1e6;
        parts.push(format!("{} every {milliseconds:.3} ms", meta.engine.name()));
    }
    if quality.lost > 0 || meta.engine != Engine::Unknown {
        let plural = if quality.lost == 1 { "" } else { "s" };
        parts.push(format!("{} sample{plural} lost", quality.lost));
    }
    for (count, how) in [
        (quality.truncated, "cut short"),
        (quality.broken, "without their callers"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {how}"));
        }
    }
    parts
}
