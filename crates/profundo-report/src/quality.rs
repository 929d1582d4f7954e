//! The line on quality, and the notes that the recording left for the reader. Only what is known
//! is said.

use std::io;

use profundo_analysis::{Quality, Selection, quality};
use profundo_model::Engine;

use crate::palette::Color;
use crate::printer::Page;

/// Writes the line and the notes, where they are wanted.
pub(crate) fn write(
    page: &mut Page<'_>,
    selection: &Selection,
    wanted: Option<bool>,
) -> io::Result<()> {
    let meta = &page.profile.meta;
    if wanted.unwrap_or(meta.engine != Engine::Unknown) {
        let text = sentence(&quality(page.profile, selection), meta.loss.overwritten);
        page.sentence(&format!("Quality: {text}."))?;
    }
    if wanted.unwrap_or(true) {
        for note in &meta.notes {
            page.marked("Note:", Color::Cyan, &format!(" {note}"))?;
        }
    }
    Ok(())
}

/// Of the samples that are missing, those that a ring gave up for newer ones are no defect.
fn sentence(quality: &Quality, overwritten: u64) -> String {
    let &Quality {
        samples,
        counted,
        lost,
        truncated,
        broken,
        ..
    } = quality;
    let mut parts = Vec::new();
    let plural = if samples == 1 { "" } else { "s" };
    let mut taken = format!("{samples} sample{plural}");
    if counted != samples {
        taken += &format!(" (counted as {counted})");
    }
    if let Some(expected) = quality.expected {
        taken += &format!(" of {expected:.0} expected");
        if expected > 0.0 {
            taken += &format!(" ({:.1} %)", quality.comparable as f64 / expected * 100.0);
        }
    }
    let lost = lost.saturating_sub(overwritten);
    let given_up = match overwritten {
        0 => String::new(),
        several => format!("{several} overwritten by newer ones, "),
    };
    parts.push(format!(
        "{taken}, {given_up}{lost} lost, {truncated} truncated, {broken} broken"
    ));
    let engine = (quality.engine != Engine::Unknown).then(|| quality.engine.name());
    let period = quality
        .period
        .map(|it| format!("every {:.3} ms", it.0 as f64 / 1e6));
    let how: Vec<String> = engine
        .map(str::to_owned)
        .into_iter()
        .chain(period)
        .collect();
    if !how.is_empty() {
        parts.push(how.join(" "));
    }
    if let Some(cost) = quality.own_cost {
        parts.push(format!("own cost {:.1} %", cost * 100.0));
    }
    if let Some(margin) = quality.margin {
        parts.push(format!("shares are ± {:.1} points (95 %)", margin * 100.0));
    }
    parts.join("; ")
}
