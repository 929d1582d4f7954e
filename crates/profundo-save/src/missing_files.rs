//! Time in files that are gone when names are looked up: most often the program saw them in a
//! container or a mount namespace that has ended.

use std::collections::BTreeMap;
use std::path::Path;

use profundo_analysis::{Place, Shown, each_innermost_place};
use profundo_model::{LocationKind, ModuleId, Profile, StackId, is_generated_code};

/// A smaller share of the time is not reported.
const SHARE: f64 = 0.05;

const OPENING: &str = "functions of ";

/// Notes it in the recording, if there is much of it. `times` are those of the stacks.
pub fn note(profile: &mut Profile, times: &[u64]) {
    if profile
        .meta
        .notes
        .iter()
        .any(|note| note.starts_with(OPENING))
    {
        return;
    }
    if let Some(note) = sentence(profile, times) {
        profile.meta.notes.push(note);
    }
}

fn sentence(profile: &Profile, times: &[u64]) -> Option<String> {
    let is_gone =
        |path: &str| path.starts_with('/') && !is_generated_code(path) && !Path::new(path).exists();
    let gone: Vec<bool> = (profile.modules.iter())
        .map(|(_, module)| is_gone(profile.strings.get(module.path)))
        .collect();
    if !gone.contains(&true) {
        return None;
    }
    let all: u64 = times.iter().sum();
    let mut found: BTreeMap<ModuleId, u64> = BTreeMap::new();
    let stacks = (0..times.len()).filter(|&stack| times[stack] > 0);
    let stacks = stacks.map(StackId::from_index);
    each_innermost_place(profile, stacks, Shown::COMMAND, |stack, innermost| {
        let module = innermost.and_then(|(place, location)| nameless(profile, place, location));
        if let Some(module) = module.filter(|module| gone[module.index()]) {
            *found.entry(module).or_default() += times[stack.index()];
        }
    });
    let (module, weight) = found.into_iter().max_by_key(|(_, weight)| *weight)?;
    let share = weight as f64 / all.max(1) as f64;
    let path = profile.strings.get(profile.modules.get(module).path);
    (share >= SHARE).then(|| {
        format!(
            "{OPENING}{path} ({:.1} % of the time) have no names: there was no such file when names were looked up. It was \
             removed, or only the program saw it, in a container or a mount namespace; `profundo attach` reads it while \
             the program runs",
            share * 100.0
        )
    })
}

/// The module of a location without a name.
fn nameless(
    profile: &Profile,
    place: Place,
    location: profundo_model::LocationId,
) -> Option<ModuleId> {
    let has_no_name = match place {
        Place::Frame(frame) => profile.function_name(frame).is_empty(),
        Place::Reason(_) => false,
        Place::Unknown => true,
    };
    let location = profile.locations.get(location);
    let is_code = matches!(location.kind, LocationKind::Code(_));
    location.module.filter(|_| has_no_name && is_code)
}
