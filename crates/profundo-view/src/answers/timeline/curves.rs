//! Memory and power by column.

use profundo_analysis::{Activity, InWindow, Window, command_name, energy, levels};
use profundo_model::Profile;
use serde::Serialize;

use crate::library::{Part, Readings};

/// The most processes with a curve of their memory: the largest.
const MEMORIES: usize = 12;

/// The memory of a process by column, in bytes.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    pid: u32,
    command: String,
    resident: Vec<Option<u64>>,
    /// In live blocks of the allocators, where allocations are counted.
    in_use: Vec<Option<u64>>,
    /// The largest of the window.
    most: u64,
    /// The largest of the whole recording.
    peak: u64,
}

/// The program's part of the machine's energy. It was counted for the whole recording: by column it
/// is divided as the CPU time is.
#[derive(Debug, Serialize)]
pub(super) struct Energy {
    /// Of the machine, in the whole recording.
    joules: f64,
    /// Of the program in the window, an estimate.
    window_joules: f64,
    /// By column, the estimated power of the program.
    watts: Vec<f64>,
    most_watts: f64,
}

pub(super) fn memories(profile: &Profile, memory: &[Readings], window: Window) -> Vec<Memory> {
    let rows = memory.iter().take(MEMORIES).map(|row| {
        let readings = || row.each.iter();
        let resident = readings().map(|&(time, resident, _)| (time, Some(resident)));
        let resident = levels(window, resident);
        let in_use = levels(window, readings().map(|&(time, _, in_use)| (time, in_use)));
        let most = resident.iter().chain(&in_use).flatten().max();
        Memory {
            pid: (profile.processes.get(row.process.index())).map_or(0, |process| process.pid),
            command: command_name(profile, row.process).to_owned(),
            most: most.copied().unwrap_or(0),
            peak: row.peak,
            in_use: match in_use.iter().any(Option::is_some) {
                true => in_use,
                false => Vec::new(),
            },
            resident,
        }
    });
    rows.collect()
}

pub(super) fn power(part: &Part, found: &InWindow, window: Window) -> Option<Energy> {
    let used = energy(part.profile())?;
    let each = part.joules_per_nanosecond()?;
    let busy = Activity::ALL.iter().filter(|activity| activity.is_busy());
    let mut watts = vec![0.0; window.columns];
    for activity in busy {
        let columns = &found.times.columns[*activity as usize];
        for (sum, time) in watts.iter_mut().zip(columns) {
            *sum += *time as f64 * each / (window.step as f64 / 1e9);
        }
    }
    Some(Energy {
        joules: used.joules,
        window_joules: found.times.busy() as f64 * each,
        most_watts: watts.iter().copied().fold(0.0, f64::max),
        watts,
    })
}
