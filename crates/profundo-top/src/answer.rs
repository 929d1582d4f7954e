//! The rows of each table, computed from a part of the past by the same queries as reports, so that
//! a page and a report agree.

use std::path::Path;

use profundo_analysis::{
    Few, Filter, Libraries, LinesOptions, Place, Selection, Shown, Split, lines, shares, totals,
    waits,
};
use profundo_model::{FileId, Frame, Language, Profile, Sample, Wait};
use profundo_report::Names;
use profundo_save::sources;
use rustc_hash::FxHashMap;

use super::nameless::{self, is_nameless};
use super::picture::{Key, Row, View, short_command};
use super::processes::{Alive, Processes};
use super::window::{Part, Span};

/// The number of hottest lines whose text is read.
const HOT_LINES: usize = 200;
/// The number of files that are read for them.
const MOST_FILES: usize = 100;
/// A longer line is data.
const LONGEST_LINE: usize = 400;

/// Source files that were read.
#[derive(Debug, Default)]
pub struct Texts(FxHashMap<FileId, Option<Vec<String>>>);

/// A profile that has these samples for the duration of a query.
pub fn with_samples<T>(
    profile: &mut Profile,
    samples: Vec<Sample>,
    ask: impl FnOnce(&Profile, &Selection) -> T,
) -> T {
    let before = std::mem::replace(&mut profile.samples, samples);
    let selection = Selection::new(profile, &Filter::default());
    let answer = ask(profile, &selection);
    profile.samples = before;
    answer
}

/// The rows of a table.
#[derive(Debug)]
pub struct Rows {
    /// The rows, the hottest first.
    pub rows: Vec<Row>,
    /// The whole that their shares are of: nanoseconds, or samples.
    pub whole: u64,
    /// The time of the whole part by kind, or the samples.
    pub split: Split,
}

/// True if a table of this part has no shares, because there are too few samples. Waiting is
/// measured and not sampled.
pub fn is_few(part: &Part, view: View) -> bool {
    let busy = part.busy();
    let is_sampled = match view {
        View::Functions | View::Lines | View::Processes => true,
        View::Threads => part.only(true).is_empty(),
        View::Waits => false,
    };
    is_sampled && (1..Few::LIMIT).contains(&busy)
}

/// The rows of a table.
pub fn rows(profile: &mut Profile, part: &Part, view: View, texts: &mut Texts) -> Rows {
    let is_few = is_few(part, view);
    let counted = is_few.then(|| part.counted());
    let part = counted.as_ref().unwrap_or(part);
    let samples = match view {
        View::Functions | View::Lines | View::Processes => part.only(false),
        View::Waits => part.only(true),
        View::Threads => part.rows.clone(),
    };
    let mut answer = with_samples(profile, samples, |profile, selection| {
        let rows = match view {
            View::Functions => functions(profile, selection),
            View::Lines => source_lines(profile, selection, texts),
            View::Threads => threads(profile, selection),
            View::Processes => Vec::new(),
            View::Waits => waiting(profile, selection),
        };
        Rows {
            rows,
            whole: selection.weight(profile).max(1),
            split: selection.split(profile),
        }
    });
    match view {
        View::Functions | View::Lines | View::Processes => {}
        View::Threads if is_few => {}
        // A thread that does nothing else takes all of the elapsed time.
        View::Threads => answer.whole = part.measured(),
        View::Waits => {
            let rest = part.only(false);
            let split = |profile: &Profile, rest: &Selection| rest.split(profile);
            answer.split += with_samples(profile, rest, split);
        }
    }
    answer
}

fn functions(profile: &Profile, selection: &Selection) -> Vec<Row> {
    let mut shares = shares(profile, selection, Shown::COMMAND);
    shares.sort_by_key(|row| std::cmp::Reverse(row.own_amount.weight));
    let names = Names::new(profile, files(profile, shares.iter().map(|row| row.place)));
    let mut rows: Vec<Row> = (shares.iter())
        .filter(|share| !is_nameless(profile, share.place))
        .map(|share| Row {
            key: key(profile, share.place),
            name: names.function(share.place).to_owned(),
            at: names.at(share.place),
            own: share.own_amount.weight,
            total: share.total_amount.weight,
            split: share.own_amount.split,
            threads: 0,
            sizes: None,
        })
        .collect();
    if rows.len() < shares.len() {
        rows.extend(nameless::rows(profile, selection));
    }
    rows
}

/// The processes, with the kernel's counts for them, whose interval differs slightly. CPU times are
/// scaled to `whole`.
pub fn processes(profile: &Profile, processes: &Processes, span: Span, whole: u64) -> Vec<Row> {
    let row = |&Alive { pid, row }: &Alive| {
        let sizes = processes.sizes(pid, span);
        let cpu = |cpu: u64, length: u64| (cpu as f64 / length.max(1) as f64 * whole as f64) as u64;
        let process = profile.processes.get(row);
        let command = process.map_or("", |process| profile.strings.get(process.command));
        Row {
            key: Key::Process(pid),
            name: short_command(command),
            at: format!("pid {pid}"),
            own: sizes.map_or(0, |sizes| cpu(sizes.cpu, sizes.length)),
            total: sizes.map_or(0, |sizes| sizes.resident),
            split: Split::default(),
            threads: sizes.map_or(0, |sizes| sizes.threads),
            sizes,
        }
    };
    processes.alive().iter().map(row).collect()
}

/// The identity of a place from one page to the next: a function is hottest now at one line, now at
/// another.
pub fn key(profile: &Profile, place: Place) -> Key {
    match place {
        Place::Frame(frame) => {
            let row = profile.frames.get(frame);
            Key::Function(row.function, row.file)
        }
        nameless => Key::Nameless(nameless),
    }
}

fn source_lines(profile: &Profile, selection: &Selection, texts: &mut Texts) -> Vec<Row> {
    let options = LinesOptions {
        shown: Shown {
            libraries: Libraries::Folded,
            ..Shown::COMMAND
        },
        files: Vec::new(),
    };
    let found = lines(profile, selection, &options).files;
    let names = Names::new(profile, found.iter().map(|file| file.file));
    let mut rows: Vec<Row> = Vec::new();
    for file in &found {
        let path = names.file(file.file);
        rows.extend(file.lines.iter().map(|line| Row {
            key: Key::Line(file.file, line.line),
            name: format!("{path}:{}", line.line),
            at: String::new(),
            own: line.own_amount.weight,
            total: line.total_amount.weight,
            split: line.own_amount.split,
            threads: 0,
            sizes: None,
        }));
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.own, row.total)));
    for row in rows.iter_mut().take(HOT_LINES) {
        if let Key::Line(file, line) = row.key
            && let Some(text) = texts.line(profile, file, line)
        {
            row.at = text.to_owned();
        }
    }
    rows
}

fn threads(profile: &Profile, selection: &Selection) -> Vec<Row> {
    let several = profile.process_count() > 1;
    totals(profile, selection)
        .threads
        .into_iter()
        .filter(|total| total.amount.weight > 0)
        .map(|total| {
            let thread = profile.threads.get(total.thread);
            let name = profile.strings.get(thread.name);
            let process = profile.processes.get(thread.process.index());
            let mut at = format!("tid {}", thread.tid);
            if let Some(process) = process.filter(|_| several) {
                let command = profile.strings.get(process.command);
                at = format!("{at} of {} {command}", process.pid);
            }
            let split = total.amount.split;
            Row {
                key: Key::Thread(total.thread),
                name: match name {
                    "" => format!("thread {}", thread.number),
                    name => name.to_owned(),
                },
                at,
                own: total.amount.weight.saturating_sub(split.waiting),
                total: total.amount.weight,
                split,
                threads: 1,
                sizes: None,
            }
        })
        .collect()
}

fn waiting(profile: &Profile, selection: &Selection) -> Vec<Row> {
    let rows = waits(profile, selection, Shown::COMMAND);
    let names = Names::new(
        profile,
        files(profile, rows.iter().filter_map(|row| row.at)),
    );
    rows.iter()
        .map(|row| {
            let line = row.at.map_or_else(String::new, |at| {
                let (name, at) = (names.function(at), names.at(at));
                [name, &at].join("  ").trim_end().to_owned()
            });
            Row {
                key: Key::Wait(row.wait, row.what, row.at),
                name: match row.what {
                    Some(what) => names.function(what).trim_matches(['[', ']']).to_owned(),
                    None => row.wait.map_or("waits", Wait::name).to_owned(),
                },
                at: line,
                own: row.weight,
                total: row.weight,
                split: Split {
                    waiting: row.weight,
                    ..Split::default()
                },
                threads: row.threads,
                sizes: None,
            }
        })
        .collect()
}

/// The files of these places, those of Python first: names leave out their common part, and a
/// Python program is usually the user's own, unlike its libraries.
pub fn files(profile: &Profile, places: impl IntoIterator<Item = Place>) -> Vec<FileId> {
    let frame = |place| match place {
        Place::Frame(frame) => Some(profile.frames.get(frame)),
        _ => None,
    };
    let (mut python, others): (Vec<&Frame>, Vec<&Frame>) = (places.into_iter())
        .filter_map(frame)
        .partition(|frame| frame.language == Language::Python);
    python.extend(others);
    python.into_iter().map(|frame| frame.file).collect()
}

impl Texts {
    fn line(&mut self, profile: &Profile, file: FileId, line: u32) -> Option<&str> {
        if self.0.len() >= MOST_FILES && !self.0.contains_key(&file) {
            return None;
        }
        let lines = self.0.entry(file).or_insert_with(|| {
            let path = profile.strings.get(profile.files.get(file).path);
            sources::read(Path::new(path), profile.meta.started_at_unix)
        });
        let text = lines.as_ref()?.get(line.checked_sub(1)? as usize)?.trim();
        (!text.is_empty() && text.len() <= LONGEST_LINE).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use profundo_model::{Nanos, State, ThreadId};

    use super::super::window::{Span, Window};
    use super::*;

    /// A part of the past in which these stacks took a nanosecond for each count.
    fn past(folded: &str, state: State) -> (Profile, Part) {
        let mut profile = Profile::from_folded(folded).unwrap();
        for sample in &mut profile.samples {
            sample.weight = Nanos(1);
            sample.time = Nanos(0);
            sample.state = state;
            sample.thread = ThreadId(0);
        }
        let mut window = Window::new();
        window.take(&mut profile, Nanos(100));
        (profile, window.part(Span::SinceStart))
    }

    #[test]
    fn functions_have_their_own_time_and_all_of_it() {
        let (mut profile, part) = past("main;work;leaf 30\nmain;work 10", State::Running);
        let mut answer = rows(&mut profile, &part, View::Functions, &mut Texts::default());
        answer.rows.sort_by(|a, b| a.name.cmp(&b.name));
        let rows: Vec<(&str, u64, u64)> = (answer.rows.iter())
            .map(|row| (row.name.as_str(), row.own, row.total))
            .collect();
        assert_eq!(rows, [("leaf", 30, 30), ("main", 0, 40), ("work", 10, 40)]);
        assert_eq!((answer.whole, answer.split.sum()), (40, 40));
        assert!(profile.samples.is_empty());
    }

    #[test]
    fn few_samples_are_counted() {
        let folded = "main;work;leaf 3\nmain;work 1";
        let (mut profile, part) = past(folded, State::Running);
        let part = Part {
            rows: (part.rows.iter())
                .map(|row| Sample {
                    weight: Nanos(row.weight.0 * 1_000_000),
                    ..*row
                })
                .collect(),
            ..part
        };
        assert!(is_few(&part, View::Functions));
        let mut texts = Texts::default();
        let mut answer = rows(&mut profile, &part, View::Functions, &mut texts);
        answer.rows.sort_by(|a, b| a.name.cmp(&b.name));
        let rows: Vec<(&str, u64, u64)> = (answer.rows.iter())
            .map(|row| (row.name.as_str(), row.own, row.total))
            .collect();
        assert_eq!(rows, [("leaf", 3, 3), ("main", 0, 4), ("work", 1, 4)]);
        assert_eq!((answer.whole, answer.split.sum()), (4, 4));
    }

    #[test]
    fn a_thread_is_measured_by_the_time_that_passes() {
        const SECOND: u64 = 1_000_000_000;
        let (mut profile, part) = past("main;work 30", State::System);
        let part = Part {
            length: SECOND,
            ..part
        };
        let answer = rows(&mut profile, &part, View::Threads, &mut Texts::default());
        assert_eq!(answer.rows.len(), 1);
        assert_eq!((answer.rows[0].own, answer.whole), (30, SECOND));
        assert_eq!(answer.split.system, 30);
    }

    #[test]
    fn waiting_is_no_time_of_functions() {
        let (mut profile, part) = past("main;work 30", State::WallWaiting);
        let of = |profile: &mut Profile, view| rows(profile, &part, view, &mut Texts::default());
        assert!(of(&mut profile, View::Functions).rows.is_empty());
        let waits = of(&mut profile, View::Waits);
        assert_eq!((waits.rows.len(), waits.rows[0].own), (1, 30));
        assert_eq!(waits.split.waiting, 30);
        let threads = of(&mut profile, View::Threads).rows;
        assert_eq!((threads[0].own, threads[0].split.waiting), (0, 30));
    }
}
