//! Code without names: not looked up yet, looked up in vain, or generated. Each place has a row of
//! its own, because a single row for all would be of no use.

use std::collections::BTreeMap;

use profundo_analysis::{Place, Selection, Shown, Split, each_shown_stack};
use profundo_model::{LocationId, LocationKind, Profile, is_generated_code};
use profundo_report::Names;
use rustc_hash::{FxHashMap, FxHashSet};

use super::picture::{Key, Row, Whereabouts};

/// The text in place of a name.
pub const NO_NAME: &str = "[unknown function]";

/// True if a place is code without a name.
pub fn is_nameless(profile: &Profile, place: Place) -> bool {
    match place {
        Place::Frame(frame) => profile.function_name(frame).is_empty(),
        Place::Reason(_) => false,
        Place::Unknown => true,
    }
}

/// The mapping in which code without a name lies.
pub fn whereabouts(profile: &Profile, place: Place, location: LocationId) -> Option<Whereabouts> {
    if !is_nameless(profile, place) {
        return None;
    }
    let location = profile.locations.get(location);
    let module = location
        .module
        .filter(|_| matches!(location.kind, LocationKind::Code(_)));
    let path = match (module, place) {
        (Some(module), _) => profile.modules.get(module).path,
        (None, Place::Frame(frame)) => profile.files.get(profile.frames.get(frame).file).path,
        (None, _) => return Some(Whereabouts::Nowhere),
    };
    Some(match profile.strings.get(path) {
        "" => Whereabouts::Nowhere,
        name if is_generated_code(name) => Whereabouts::Made,
        _ => Whereabouts::File(path),
    })
}

/// The words for that place.
pub fn words(profile: &Profile, whereabouts: Whereabouts) -> &str {
    match whereabouts {
        Whereabouts::File(path) => {
            let path = profile.strings.get(path);
            path.rsplit('/').next().unwrap_or(path)
        }
        Whereabouts::Made => "in code made at run time (JIT)",
        Whereabouts::Nowhere => "in memory of no file",
    }
}

/// The name of a place, and where it is.
pub fn line(profile: &Profile, names: &Names<'_>, place: Place, location: LocationId) -> String {
    let at = match whereabouts(profile, place, location) {
        Some(whereabouts) => words(profile, whereabouts).to_owned(),
        None => names.at(place),
    };
    let line = [names.function(place), &at].join("  ");
    line.trim_end().to_owned()
}

/// The rows of functions without names.
pub fn rows(profile: &Profile, selection: &Selection) -> Vec<Row> {
    let mut found: BTreeMap<Whereabouts, (Split, u64)> = BTreeMap::new();
    let stacks = selection.stacks(profile);
    let splits: FxHashMap<_, _> = (stacks.iter())
        .map(|stack| (stack.stack, stack.split))
        .collect();
    let mut seen = FxHashSet::default();
    let ids = stacks.iter().map(|stack| stack.stack);
    each_shown_stack(profile, ids, Shown::COMMAND, |stack, path| {
        let split = splits[&stack];
        seen.clear();
        for (level, &(place, location)) in path.iter().enumerate() {
            let Some(whereabouts) = whereabouts(profile, place, location) else {
                continue;
            };
            let (own, total) = found.entry(whereabouts).or_default();
            if seen.insert(whereabouts) {
                *total = total.saturating_add(split.sum());
            }
            if level + 1 == path.len() {
                *own += split;
            }
        }
    });
    let row = |(whereabouts, (split, total)): (Whereabouts, (Split, u64))| Row {
        key: Key::Unknown(whereabouts),
        name: NO_NAME.to_owned(),
        at: words(profile, whereabouts).to_owned(),
        own: split.sum(),
        total,
        split,
        threads: 0,
        sizes: None,
    };
    found.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use profundo_model::{Avma, CodeAddress, FrameKey, Nanos, Sample};

    use super::super::answer::{Texts, rows};
    use super::super::picture::View;
    use super::super::window::Part;
    use super::*;

    fn sample(profile: &mut Profile, path: &str, is_looked_up: bool, address: u64) -> Sample {
        let module = (!path.is_empty()).then(|| profile.hand_made_module(path));
        let address = CodeAddress::Instruction(Avma(address * 4096));
        let kind = LocationKind::Code(address);
        let key = FrameKey {
            file: path,
            ..FrameKey::default()
        };
        let location = match is_looked_up {
            true => profile.hand_made_location(kind, module, &[key]),
            false => profile.locations.intern(kind, module),
        };
        Sample {
            stack: profile.stacks.intern(None, location),
            weight: Nanos(1000),
            ..Sample::default()
        }
    }

    #[test]
    fn code_without_a_name_has_a_row_for_each_mapping() {
        let mut profile = Profile::default();
        let mut part = Part::default();
        let all = [
            ("/usr/lib/libfoo.so.1", false),
            // Looked up in vain: part of the same row.
            ("/usr/lib/libfoo.so.1", true),
            ("/usr/lib/libfoo.so.1", true),
            ("//anon", true),
            ("[anon:v8]", true),
            ("", false),
        ];
        for (address, (path, is_looked_up)) in (1..).zip(all) {
            let sample = sample(&mut profile, path, is_looked_up, address);
            part.rows.push(sample);
            part.counts.push(50);
        }
        let mut texts = Texts::default();
        let mut found = rows(&mut profile, &part, View::Functions, &mut texts).rows;
        found.sort_by_key(|row| std::cmp::Reverse(row.own));
        let rows: Vec<(&str, &str, u64, u64)> = (found.iter())
            .map(|row| (row.name.as_str(), row.at.as_str(), row.own, row.total))
            .collect();
        let wanted = [
            (NO_NAME, "libfoo.so.1", 3000, 3000),
            (NO_NAME, "in code made at run time (JIT)", 2000, 2000),
            (NO_NAME, "in memory of no file", 1000, 1000),
        ];
        assert_eq!(rows, wanted);
    }
}
