//! The sentences around the tables of a report: that there is nothing to show, what the filter lets
//! through, that there are few samples, and the line on quality.

use std::io;

use profundo_analysis::Selection;
use profundo_model::{Engine, Profile};

use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::palette::Color;
use crate::page::units::duration;
use crate::quality::warning::Warning;
use crate::{Choices, Unit};

/// Writes what was left out by the filter, and the line on quality.
pub(super) fn write_end(
    page: &mut Page<'_>,
    choices: &Choices,
    selection: &Selection,
    quality: Option<bool>,
) -> io::Result<()> {
    write_warnings(page, choices, selection)?;
    crate::quality::write(page, selection, quality)
}

/// Writes what a reader of the tables must know: the effect of the filter, that there are few
/// samples, and that the buffer was too small.
pub(super) fn write_warnings(
    page: &mut Page<'_>,
    choices: &Choices,
    selection: &Selection,
) -> io::Result<()> {
    write_filter(page, choices, selection)?;
    crate::quality::write_few(page, selection, true)?;
    if page.profile.meta.buffer_was_full {
        let text = format!(" {}", Warning::BufferFull.text(true));
        page.marked("Warning:", Color::Yellow, &text)?;
    }
    Ok(())
}

/// Writes how much passes the filter, where there is one.
pub(crate) fn write_filter(
    page: &mut Page<'_>,
    choices: &Choices,
    selection: &Selection,
) -> io::Result<()> {
    let Some(words) = choices.words() else {
        return Ok(());
    };
    let weighs = Weighs::of(page.profile);
    let (some, all) = match weighs {
        Weighs::Traced => {
            let calls = page.profile.traced.calls.iter().map(|node| node.calls);
            let all = calls.fold(0, u64::saturating_add);
            (selection.calls(page.profile), all)
        }
        _ => (selection.taken(page.profile), page.profile.samples_taken()),
    };
    if some == all && !choices.filter.transforms.is_empty() {
        let text = format!(" {words}; no sample is left out.");
        return page.marked("Stacks:", Color::Cyan, &text);
    }
    let share = some as f64 / all.max(1) as f64;
    let all = weighs.samples(all);
    let text = format!(" {words}: {some} of {all} ({:.1} %).", share * 100.0);
    page.marked("Only:", Color::Cyan, &text)
}

fn has_memory(profile: &Profile) -> bool {
    let heap = &profile.heap;
    !(heap.sites.is_empty() && heap.blocks.is_empty() && heap.gauges.is_empty())
}

/// Writes that there is nothing to show, if there is nothing; returns true then.
pub(super) fn write_empty(
    page: &mut Page<'_>,
    choices: &Choices,
    selection: &Selection,
) -> io::Result<bool> {
    if !selection.is_empty() {
        return Ok(false);
    }
    let is_foreign = page.profile.meta.engine == Engine::Unknown;
    if is_foreign && page.profile.samples.is_empty() && has_memory(page.profile) {
        // A file of another tool that has memory only.
        return Ok(true);
    }
    let text = match choices.words() {
        Some(words) if !page.profile.samples.is_empty() => {
            let what = match Weighs::of(page.profile) {
                Weighs::Traced => "calls",
                _ => "samples",
            };
            format!(" no {what} pass the filter: {words}.")
        }
        _ if Weighs::of(page.profile) == Weighs::Traced => {
            " no calls were counted in this recording.".to_owned()
        }
        _ if Weighs::of(page.profile).heap().is_some() => {
            format!(
                " nothing is known that was {}.",
                Weighs::of(page.profile).which()
            )
        }
        _ => {
            let warning = Warning::no_samples(page.profile, selection, Unit::Snapshots);
            match busy_time(page.profile) {
                Some(cpu) if warning == Warning::NoSamples => format!(
                    " no samples were taken, although the program used {} of CPU time.",
                    duration(cpu)
                ),
                _ => format!(" {}", warning.sentence(page.profile, true)),
            }
        }
    };
    page.marked("Warning:", Color::Yellow, &text)?;
    Ok(true)
}

/// The CPU time that the kernel counted, where it is long enough that samples were to be expected.
fn busy_time(profile: &Profile) -> Option<u64> {
    const ENOUGH: u64 = 20;
    let used = profile
        .processes
        .iter()
        .flat_map(|process| [process.user, process.system]);
    let used = used
        .flatten()
        .fold(0_u64, |sum, time| sum.saturating_add(time.0));
    (profile.meta.period.0 > 0 && used / profile.meta.period.0 >= ENOUGH).then_some(used)
}
