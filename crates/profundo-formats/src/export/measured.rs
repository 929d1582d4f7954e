//! Weights that are no time: bytes and blocks of memory, in words and in the units of other tools.

use profundo_model::{Measure, Part, Profile, SampleKind};

/// The measure of a heap, if the profile's samples have one.
pub(super) fn of(profile: &Profile) -> Option<Measure> {
    match profile.meta.kind {
        SampleKind::Heap(measure) => Some(measure),
        _ => None,
    }
}

/// A weight in words.
pub(super) fn text(measure: Measure, weight: u64) -> String {
    match measure.counts {
        true if measure.part == Part::Copied => format!("{weight} times"),
        true if weight == 1 => "1 block".into(),
        true => format!("{weight} blocks"),
        false => bytes(weight),
    }
}

/// The measured blocks.
pub(super) fn which(measure: Measure) -> &'static str {
    match measure.part {
        Part::Allocated => "allocated",
        Part::Live => "live at the end",
        Part::Peak => "live at the peak",
        Part::Temporary => "freed at once",
        Part::Copied => "copied",
    }
}

/// The name in Go's own heap profiles, and the unit; measures that they lack have our own names.
pub(super) fn pprof(measure: Measure) -> Option<(&'static str, &'static str)> {
    let unit = match measure.counts {
        true => "count",
        false => "bytes",
    };
    let name = match (measure.part, measure.counts) {
        (Part::Allocated, true) => "alloc_objects",
        (Part::Allocated, false) => "alloc_space",
        (Part::Live, true) => "inuse_objects",
        (Part::Live, false) => "inuse_space",
        (Part::Copied, false) => "copy_space",
        (Part::Copied, true) | (Part::Peak | Part::Temporary, _) => return None,
    };
    Some((name, unit))
}

pub(super) fn bytes(number: u64) -> String {
    let (mut size, mut unit) = (number as f64, "B");
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        if size < 999.5 {
            break;
        }
        (size, unit) = (size / 1e3, next);
    }
    match (unit, size) {
        ("B", _) => format!("{number} B"),
        (_, small) if small < 9.995 => format!("{small:.2} {unit}"),
        (_, middle) if middle < 99.95 => format!("{middle:.1} {unit}"),
        (_, large) => format!("{large:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_that_suit_them() {
        let rows = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.00 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_600, "1.00 MB"),
            (u64::MAX, "18.4 EB"),
        ];
        for (number, text) in rows {
            assert_eq!(bytes(number), text, "{number}");
        }
    }
}
