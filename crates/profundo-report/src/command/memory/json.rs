//! Memory as JSON.

use profundo_analysis::ProcessMemory;
use profundo_model::{Nanos, Profile};

use super::table::{Known, table};
use crate::json::Json;
use crate::table::undrawn;

impl<'a> Known<'a> {
    /// For JSON, which has no pictures.
    pub(super) fn off_screen(profile: &'a Profile) -> Self {
        Self {
            profile,
            span: (Nanos(0), Nanos(0)),
            picture: 0,
            top: 0,
            has_swapped: false,
        }
    }
}

/// Writes the memory of processes as JSON.
pub(in crate::command) fn members(
    json: &mut Json<'_>,
    profile: &Profile,
    found: &[ProcessMemory<'_>],
) {
    let table = table(Known::off_screen(profile), undrawn);
    json.array("memory", |json| {
        for memory in found {
            json.object("", |json| table.members(json, memory));
        }
    });
}

/// Writes the growth of a process's memory in the end.
pub(super) fn growth_members(json: &mut Json<'_>, key: &str, memory: &ProcessMemory<'_>) {
    match memory.growth {
        Some(growth) => json.row(key, |json| {
            json.rate("bytes_per_second", growth.rate);
            json.rate("bytes_per_second_low", growth.low);
            json.rate("bytes_per_second_high", growth.high);
            json.seconds("seconds", Some((growth.seconds * 1e9) as u64));
        }),
        None => json.null(key),
    }
}

/// The readings of a process's memory; of very many the largest in each stretch of time.
pub(super) fn looks_members(json: &mut Json<'_>, memory: &ProcessMemory<'_>) {
    /// The number of readings shown per process.
    const MOST: usize = 200;
    let (Some(first), Some(last)) = (memory.readings.first(), memory.readings.last()) else {
        return;
    };
    let resident = |at: usize| Some(memory.readings[at].resident);
    let mut looks = memory.largest(first.time, last.time, MOST, resident);
    if memory.readings.len() <= MOST {
        looks = (0..memory.readings.len()).map(Some).collect();
    }
    looks.dedup();
    for at in looks.into_iter().flatten() {
        let (look, used) = (memory.readings[at], memory.uses[at]);
        json.row("", |json| {
            json.seconds("at_seconds", Some(look.time.0));
            json.number("resident_bytes", look.resident);
            json.number_or_null("proportional_bytes", look.proportional);
            json.number("anonymous_bytes", look.anonymous);
            for (name, figure) in [
                ("in_use_bytes", used.in_use),
                ("slack_bytes", used.slack),
                ("mapped_bytes", used.mapped),
            ] {
                json.number_or_null(name, figure.map(|figure| figure.value));
            }
            json.number("arena_bytes", look.arenas);
            json.number("swapped_bytes", look.swapped);
            json.number("minor_faults", look.minor_faults);
            json.number("major_faults", look.major_faults);
        });
    }
}
