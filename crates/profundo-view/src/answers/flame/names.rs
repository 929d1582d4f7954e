//! The names, files and kinds of functions, and which function a question names.

use profundo_analysis::{Forest, ForestFunction, Group, Place};
use profundo_model::{Language, LocationId, LocationKind, Profile, Reason};

use crate::{Error, Question};

/// The function that a question names: by its name, its file, and its line where lines are apart.
pub(in crate::answers) fn asked(
    question: &Question,
    profile: &Profile,
    forest: &Forest,
) -> Result<u32, Error> {
    let wanted = question.get("function").unwrap_or_default();
    let wanted_file = question.get("file");
    let wanted_line: Option<u32> = question.parsed("line")?;
    let is_it = |place: Place| {
        let line = match place {
            Place::Frame(frame) => profile.frames.get(frame).line,
            _ => 0,
        };
        name(profile, place) == wanted
            && wanted_file.is_none_or(|wanted| file(profile, place) == wanted)
            && (wanted_line.is_none_or(|wanted| wanted == line) || !question.is("by_line"))
    };
    let found = forest
        .functions()
        .iter()
        .position(|known| is_it(known.place));
    found
        .map(|row| row as u32)
        .ok_or_else(|| Error::Nothing(format!("no function “{wanted}” is in this recording")))
}

/// The name of a group.
pub(super) fn owner(profile: &Profile, group: &Group) -> String {
    let text = |id| profile.strings.get(id);
    let process = group
        .process
        .and_then(|id| profile.processes.get(id.index()));
    if let Some(process) = process {
        return format!("process {} {}", process.pid, text(process.command));
    }
    if let Some(thread) = group.thread {
        let thread = profile.threads.get(thread);
        return format!("thread {} {}", thread.number, text(thread.name));
    }
    if let Some(task) = group.task {
        let task = profile.tasks.get(task);
        return match task.is_root {
            true => "outside of tasks".to_owned(),
            false => format!("task {} {:#x}", text(task.name), task.number),
        };
    }
    match group.span.map(text) {
        None | Some("") => "outside of spans".to_owned(),
        Some(name) => format!("span {name}"),
    }
}

/// By function, its place in the order of names.
pub(super) fn ranks(profile: &Profile, forest: &Forest) -> Vec<u32> {
    let functions = forest.functions();
    let names: Vec<String> = (functions.iter())
        .map(|known| name(profile, known.place))
        .collect();
    let mut order: Vec<u32> = (0..functions.len() as u32).collect();
    order.sort_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
    let mut rank = vec![0; order.len()];
    for (place, row) in (0..).zip(order) {
        rank[row as usize] = place;
    }
    rank
}

/// The name of a place. Code that a program made while it ran may have a file and no function.
pub(in crate::answers) fn name(profile: &Profile, place: Place) -> String {
    let name = match place {
        Place::Frame(frame) => profile.function_name(frame),
        Place::Reason(reason) => reason.name(),
        Place::Unknown => "",
    };
    if name.is_empty() { "[unknown]" } else { name }.to_owned()
}

pub(in crate::answers) fn file(profile: &Profile, place: Place) -> &str {
    match place {
        Place::Frame(frame) => profile.file_path(frame),
        _ => "",
    }
}

/// The kind of a function's code, by which it is coloured.
pub(super) fn kind(profile: &Profile, function: &ForestFunction) -> &'static str {
    match is_kernel(profile, function.location) {
        true => "system",
        false => kind_of(profile, function.place),
    }
}

/// The kind of a place that is not in the kernel.
pub(in crate::answers) fn kind_of(profile: &Profile, place: Place) -> &'static str {
    let of_reason = |reason| match reason {
        Reason::Collecting => "garbage",
        Reason::Unread => "waiting",
        _ => "missing",
    };
    let frame = match place {
        Place::Frame(frame) => profile.frames.get(frame),
        Place::Reason(reason) => return of_reason(reason),
        Place::Unknown => return "native",
    };
    match frame.language {
        Language::Python => "python",
        Language::Runtime => "runtime",
        // In a recording, reasons and waits have such a frame.
        Language::Synthetic => {
            let name = profile.strings.get(frame.function);
            let reason = Reason::ALL.iter().find(|reason| reason.name() == name);
            reason.map_or("waiting", |&reason| of_reason(reason))
        }
        _ => "native",
    }
}

/// Whether a location is in the kernel: the upper half of the addresses is its own.
pub(super) fn is_kernel(profile: &Profile, location: LocationId) -> bool {
    match profile.locations.get(location).kind {
        LocationKind::Code(address) => address.address().0 >= 1 << 63,
        LocationKind::Part { of, .. } => is_kernel(profile, of),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::FrameKey;

    #[test]
    fn code_without_a_name_is_not_a_box_without_one() {
        let mut profile = Profile::default();
        let frame = profile.frame(FrameKey {
            file: "[JIT]",
            language: Language::Native,
            ..FrameKey::default()
        });
        assert_eq!(name(&profile, Place::Frame(frame)), "[unknown]");
        assert_eq!(file(&profile, Place::Frame(frame)), "[JIT]");
    }
}
