//! The sentence on energy. It distinguishes counts from estimates.

use std::io;

use profundo_analysis::{EnergyUse, energy};
use profundo_model::{EnergyZone, Profile};

use crate::page::Page;
use crate::page::units::{duration, joules};

/// Writes the sentence, where energy was recorded.
pub(crate) fn write(page: &mut Page<'_>) -> io::Result<()> {
    match sentence(page.profile) {
        Some(text) => page.sentence(&text),
        None => Ok(()),
    }
}

fn sentence(profile: &Profile) -> Option<String> {
    let used = energy(profile)?;
    let recorded = profile.meta.energy.as_ref()?;
    let zones: Vec<&EnergyZone> = recorded
        .zones
        .iter()
        .filter(|zone| zone.is_counted)
        .collect();
    let by = match zones.as_slice() {
        [only] => only.name.clone(),
        several => {
            let part = |zone: &&EnergyZone| {
                format!("{} ({})", zone.name, joules(zone.microjoules as f64 / 1e6))
            };
            several.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    };
    let watts = match used.watts() {
        Some(watts) => format!("{watts:.1} W, "),
        None => String::new(),
    };
    Some(format!(
        "Energy: {} by {by} in {} ({watts}the whole machine); {}.",
        joules(used.joules),
        duration(recorded.duration.0),
        of_program(&used)
    ))
}

fn of_program(used: &EnergyUse) -> String {
    match (used.program(), used.share) {
        (Some(program), Some(share)) => format!(
            "about {} of it is this program's, by its share of the CPU time of all that ran ({:.1} %)",
            joules(program),
            share * 100.0
        ),
        _ => "what of it is this program's cannot be told, because it was too short".to_owned(),
    }
}
