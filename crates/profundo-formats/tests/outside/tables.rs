//! Our own numbers, found in another way than in the exports: by a walk up each sample's stack to
//! the first shown frame.

use std::collections::BTreeMap;

use profundo_analysis::{Filter, Place, Selection, Shown, shares};
use profundo_model::{Language, LocationKind, Profile, Sample};

use crate::made;

/// A function, in the way that a reader of any format could name it: by name and path.
pub type Name = (String, String);

/// Count and time of the samples that end in each function, and of those that contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Numbers {
    pub own_count: u64,
    pub own_time: u64,
    pub count: u64,
    pub time: u64,
}

/// The numbers of all functions.
pub fn functions(profile: &Profile, include_runtime: bool) -> BTreeMap<Name, Numbers> {
    let mut functions: BTreeMap<Name, Numbers> = BTreeMap::new();
    for sample in &profile.samples {
        let names = shown(profile, sample, include_runtime);
        let (count, time) = (profile.count_of(sample), sample.weight.0);
        let own = functions.entry(names[0].clone()).or_default();
        own.own_count += count;
        own.own_time += time;
        let mut once = names.clone();
        once.sort();
        once.dedup();
        for name in once {
            let sum = functions.entry(name).or_default();
            sum.count += count;
            sum.time += time;
        }
    }
    functions
}

/// The functions on a sample's stack, leaf first.
pub fn shown(profile: &Profile, sample: &Sample, include_runtime: bool) -> Vec<Name> {
    let mut names = Vec::new();
    for id in profile.stacks.locations(sample.stack) {
        let location = profile.locations.get(id);
        let unknown = || {
            let module = location.module.map(|id| profile.modules.get(id).path);
            let path = module.map_or("", |path| profile.strings.get(path));
            match path.rsplit_once('/').map_or(path, |(_, file)| file) {
                "" => "[unknown]".to_owned(),
                file => format!("[unknown in {file}]"),
            }
        };
        if location.frames.is_empty() {
            let name = match location.kind {
                LocationKind::Reason(reason) => reason.name().to_owned(),
                _ => unknown(),
            };
            names.push((name, String::new()));
        }
        for &frame in &location.frames {
            if profile.frames.get(frame).language == Language::Runtime && !include_runtime {
                continue;
            }
            let name = match profile.function_name(frame) {
                "" => unknown(),
                name => name.replace(char::is_control, " "),
            };
            names.push((name, profile.file_path(frame).to_owned()));
        }
    }
    if names.is_empty() {
        names.push(("[runtime]".into(), String::new()));
    }
    names
}

/// This walk and the tables of our reports agree, so agreement with one is agreement with both.
#[test]
fn these_are_the_numbers_of_our_reports() {
    for profile in [made::odd(), made::odd_wall(), made::large(20_000)] {
        for (shown, include_runtime) in [(Shown::COMMAND, false), (Shown::ALL, true)] {
            let selection = Selection::new(&profile, &Filter::default());
            let mut reported: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
            for row in shares(&profile, &selection, shown) {
                let (name, path) = match row.place {
                    Place::Frame(frame) => (
                        profile.function_name(frame).replace(char::is_control, " "),
                        profile.file_path(frame).to_owned(),
                    ),
                    Place::Reason(reason) => (reason.name().to_owned(), String::new()),
                    // Reports do not split unnamed functions by module.
                    _ => ("[unknown]".into(), String::new()),
                };
                let name = match name.as_str() {
                    "" => "[unknown]".into(),
                    _ => name,
                };
                let sum = reported.entry((name, path)).or_default();
                sum.0 += row.own_amount.count;
                sum.1 += row.own_amount.weight;
            }
            let mut ours: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
            for ((name, path), numbers) in functions(&profile, include_runtime) {
                let name = if name.starts_with("[unknown") {
                    "[unknown]".into()
                } else {
                    name
                };
                let sum = ours.entry((name, path)).or_default();
                sum.0 += numbers.own_count;
                sum.1 += numbers.own_time;
            }
            // Where everything is hidden, a report has no row.
            ours.remove(&("[runtime]".into(), String::new()));
            assert_eq!(reported, ours);
        }
    }
}
