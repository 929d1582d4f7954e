//! Details of one row: its callers, and its hottest stack.

use profundo_analysis::{Place, Selection, Shown, StackWeight, each_shown_stack};
use profundo_model::{LocationId, LocationKind, Profile, StackId};
use profundo_report::Names;
use rustc_hash::{FxHashMap, FxHashSet};

use super::answer::{files, key, with_samples};
use super::nameless::{self, whereabouts};
use super::picture::{Detail, Key, View};
use super::window::Part;

/// The number of heaviest stacks that are examined.
const MOST_STACKS: usize = 20_000;

/// The shown places of a stack.
type Path = Vec<(Place, LocationId)>;

/// The details of a row.
pub fn detail(profile: &mut Profile, part: &Part, view: View, wanted: Key) -> Detail {
    let mut samples = part.only(view == View::Waits);
    if let Key::Thread(thread) = wanted {
        samples = part.rows.clone();
        let programs = profile.programs();
        let its = |other| programs.thread(other) == programs.thread(thread);
        samples.retain(|sample| its(sample.thread));
    }
    if let Key::Process(pid) = wanted {
        samples.retain(|sample| {
            let process = profile.threads.get(sample.thread).process;
            let process = profile.processes.get(process.index());
            process.is_some_and(|process| process.pid == pid)
        });
    }
    with_samples(profile, samples, |profile, selection| {
        of_stacks(profile, selection, wanted)
    })
}

fn of_stacks(profile: &Profile, selection: &Selection, wanted: Key) -> Detail {
    let mut stacks: Vec<StackWeight> = selection.stacks(profile).to_vec();
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.weight));
    stacks.truncate(MOST_STACKS);
    let weights: FxHashMap<StackId, u64> = (stacks.iter())
        .map(|stack| (stack.stack, stack.weight))
        .collect();
    let mut callers: FxHashMap<Option<Place>, (u64, LocationId)> = FxHashMap::default();
    // Stacks that differ only in lines are one.
    let mut paths: FxHashMap<Vec<Key>, (u64, u64, Path)> = FxHashMap::default();
    let mut weight = 0_u64;
    let mut seen = FxHashSet::default();
    let ids = stacks.iter().map(|stack| stack.stack);
    each_shown_stack(profile, ids, Shown::COMMAND, |stack, path| {
        let its = weights[&stack];
        seen.clear();
        let mut is_on = matches!(wanted, Key::Thread(_) | Key::Process(_));
        for (level, &(place, location)) in path.iter().enumerate() {
            if !is_meant(profile, wanted, place, location) {
                continue;
            }
            is_on = true;
            let (caller, location) = match level.checked_sub(1) {
                Some(below) => (Some(path[below].0), path[below].1),
                None => (None, location),
            };
            // A recursive function counts once for each of its callers.
            let caller_key = caller.map(|caller| key(profile, caller));
            if caller_key != Some(wanted) && seen.insert(caller) {
                // Any of its locations shows where it is.
                callers.entry(caller).or_insert((0, location)).0 += its;
            }
        }
        if is_on {
            weight = weight.saturating_add(its);
            let keys = path.iter().map(|&(place, _)| key(profile, place));
            let (sum, most, places) = paths.entry(keys.collect()).or_default();
            *sum = sum.saturating_add(its);
            if its > *most {
                *most = its;
                *places = path.iter().rev().copied().collect();
            }
        }
    });
    let hottest = paths.into_iter().max_by_key(|(_, (sum, _, _))| *sum);
    let (stack_weight, _, stack) = hottest.map(|(_, hottest)| hottest).unwrap_or_default();
    let mut callers: Vec<(Option<Place>, (u64, LocationId))> = callers.into_iter().collect();
    callers.sort_by_key(|&(place, (weight, _))| (std::cmp::Reverse(weight), place));
    if matches!(wanted, Key::Thread(_) | Key::Process(_) | Key::Wait(..)) {
        callers.clear();
    }
    let all = callers.iter().filter_map(|&(place, _)| place);
    let places = stack.iter().map(|&(place, _)| place);
    let names = Names::new(profile, files(profile, places.chain(all)));
    let line = |place, location| nameless::line(profile, &names, place, location);
    Detail {
        key: wanted,
        name: name(profile, &names, wanted),
        callers: (callers.into_iter())
            .map(|(place, (weight, location))| {
                let nobody = || "nobody that is shown".to_owned();
                (
                    place.map_or_else(nobody, |place| line(place, location)),
                    weight,
                )
            })
            .collect(),
        stack: (stack.into_iter())
            .map(|(place, location)| line(place, location))
            .collect(),
        stack_weight,
        weight,
        whole: 0,
    }
}

fn is_meant(profile: &Profile, wanted: Key, place: Place, location: LocationId) -> bool {
    match wanted {
        Key::Function(..) | Key::Nameless(_) => key(profile, place) == wanted,
        Key::Line(file, line) => matches!(place, Place::Frame(frame) if {
            let row = profile.frames.get(frame);
            (row.file, row.line) == (file, line)
        }),
        Key::Unknown(its) => whereabouts(profile, place, location) == Some(its),
        Key::Thread(_) | Key::Process(_) => false,
        Key::Wait(wait, what, _) => {
            let kind = profile.locations.get(location).kind;
            matches!(kind, LocationKind::Wait { wait: its, .. } if Some(its) == wait)
                && what.is_none_or(|what| what == place)
        }
    }
}

fn name(profile: &Profile, names: &Names<'_>, wanted: Key) -> String {
    match wanted {
        Key::Function(function, _) => profile.strings.get(function).to_owned(),
        Key::Nameless(place) => names.function(place).to_owned(),
        Key::Unknown(its) => {
            format!("{}  {}", nameless::NO_NAME, nameless::words(profile, its))
        }
        Key::Process(pid) => format!("process {pid}"),
        Key::Line(file, line) => format!("{}:{line}", names.file(file)),
        Key::Thread(thread) => {
            let thread = profile.threads.get(thread);
            let name = profile.strings.get(thread.name);
            format!("thread {} {name}", thread.number)
                .trim_end()
                .to_owned()
        }
        Key::Wait(_, Some(what), _) => names.function(what).to_owned(),
        Key::Wait(wait, None, _) => wait.map_or("waits", profundo_model::Wait::name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use profundo_model::{Nanos, Sample};

    use super::super::window::{Span, Window};
    use super::*;

    /// The details of a function of folded stacks.
    fn detail_of(folded: &str, name: &str) -> Detail {
        let mut profile = Profile::from_folded(folded).unwrap();
        for sample in &mut profile.samples {
            sample.weight = Nanos(10);
            sample.time = Nanos(0);
        }
        let mut window = Window::new();
        window.take(&mut profile, Nanos(1));
        let function = profile.strings.find(name).expect("it is there");
        let frames = profile.frames.iter();
        let file = frames
            .filter(|frame| frame.function == function)
            .map(|frame| frame.file)
            .next();
        let wanted = Key::Function(function, file.expect("a frame"));
        let part = window.part(Span::SinceStart);
        let before: Vec<Sample> = profile.samples.clone();
        let found = detail(&mut profile, &part, View::Functions, wanted);
        assert_eq!(
            profile.samples, before,
            "they are there only for the question"
        );
        found
    }

    #[test]
    fn callers_and_the_hottest_stack_are_found() {
        let found = detail_of("main;a;work 3\nmain;b;work;leaf 4\nmain;b;other 9", "work");
        assert_eq!((found.name.as_str(), found.weight), ("work", 70));
        assert_eq!(found.callers, [("b".to_owned(), 40), ("a".to_owned(), 30)]);
        assert_eq!(found.stack, ["leaf", "work", "b", "main"]);
        assert_eq!(found.stack_weight, 40);
    }

    #[test]
    fn recursion_is_no_caller_and_counts_once() {
        let found = detail_of("main;f;f;f 2\nf;g;f 1", "f");
        assert_eq!(found.weight, 30);
        let callers = [
            ("main".to_owned(), 20),
            ("nobody that is shown".to_owned(), 10),
            ("g".to_owned(), 10),
        ];
        assert_eq!(found.callers, callers);
    }
}
