//! Programs whose changes are known, sampled by chance over many seeds.

use profundo_model::{FrameKey, Gil, Language, LocationKind, Nanos, Profile, Sample, State};

use super::*;

/// A line of a program: its function, its number, its text, and the samples that it takes.
#[derive(Debug, Clone, Copy)]
struct Line {
    file: &'static str,
    function: &'static str,
    line: u32,
    text: &'static str,
    samples: f64,
}

const fn line(function: &'static str, line: u32, text: &'static str, samples: f64) -> Line {
    Line {
        file: "/app/app.py",
        function,
        line,
        text,
        samples,
    }
}

/// Twelve lines in six functions, of which one takes 30 %.
const PROGRAM: [Line; 12] = [
    line("parse", 11, "for word in text.split():", 0.08),
    line("parse", 12, "total += len(word)", 0.30),
    line("score", 20, "for value in values:", 0.05),
    line("score", 21, "x = value * value % 97", 0.17),
    line("score", 22, "best = max(best, x)", 0.08),
    line("encode", 30, "text = json.dumps(rows)", 0.12),
    line("encode", 31, "return len(text)", 0.01),
    line("search", 40, "match = pattern.search(text)", 0.07),
    line("search", 41, "count += 1", 0.03),
    line("load", 50, "data = handle.read()", 0.04),
    line("load", 51, "return data.decode()", 0.03),
    line("main", 60, "result += parse(text)", 0.02),
];

/// Random numbers: xorshift, and a sum of uniform ones where a normal one is wanted.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// How a run differs from others of the same program.
#[derive(Debug, Clone, Copy)]
struct Noise {
    row: f64,
    common: f64,
}

const QUIET: Noise = Noise {
    row: 0.004,
    common: 0.01,
};

/// A run with about so many samples, each of a line that is drawn at random.
fn run(program: &[Line], samples: f64, noise: Noise, random: &mut Random) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    profile.meta.period = Nanos(1_000_000);
    let main = location(&mut profile, "/app/app.py", "main", 60);
    let root = profile.stacks.intern(None, main);
    let common = 1.0 + noise.common * random.normal();
    let mut ends = Vec::new();
    let mut all = 0.0;
    for row in program {
        let location = location(&mut profile, row.file, row.function, row.line);
        let stack = match row.function {
            "main" => root,
            _ => profile.stacks.intern(Some(root), location),
        };
        all += row.samples * samples * common * (1.0 + noise.row * random.normal());
        ends.push((all, stack));
    }
    for row in program {
        let file = profile.file(row.file, "", "");
        let text = profile.strings.intern(row.text);
        profile.sources.insert(file, row.line, text);
    }
    let thread = profile.threads.find_number(1).unwrap();
    let task = profile.tasks.find_number(1).unwrap();
    for number in 0..all.round() as u64 {
        let at = random.uniform() * all;
        let (_, stack) = ends[ends
            .partition_point(|(end, _)| *end < at)
            .min(ends.len() - 1)];
        profile.samples.push(Sample {
            time: Nanos(number * 1_000_000),
            weight: Nanos(1_000_000),
            clock: 0,
            thread,
            task,
            stack,
            state: State::Running,
            gil: Gil::None,
            ..Sample::default()
        });
    }
    profile
}

fn location(
    profile: &mut Profile,
    file: &str,
    function: &str,
    line: u32,
) -> profundo_model::LocationId {
    let frame = profile.frame(FrameKey {
        function,
        file,
        line,
        language: Language::Python,
        ..FrameKey::default()
    });
    let kind = LocationKind::Python {
        frame,
        column: 0,
        is_call: false,
    };
    let location = profile.locations.intern(kind, None);
    profile.locations.set_frames(location, &[frame]);
    location
}

fn options() -> Options {
    Options {
        shown: Shown::COMMAND,
        ..Options::default()
    }
}

/// The comparison of two runs.
fn compared(before: &Profile, after: &Profile) -> Comparison {
    compare(&[before], &[after], &options()).unwrap()
}

fn names_any(comparison: &Comparison) -> bool {
    let mut rows = comparison.tables.iter().flat_map(|table| &table.rows);
    rows.any(Row::is_significant)
}

/// The row of a line after, or before where it is gone.
fn row_of<'a>(
    comparison: &'a Comparison,
    profiles: [&Profile; 2],
    by: By,
    at: (&str, u32),
) -> &'a Row {
    let is_it = |row: &&Row| {
        let (profile, place) = match (row.of.after, row.of.before) {
            (Some((_, place)), _) => (profiles[1], place),
            (None, Some((_, place))) => (profiles[0], place),
            (None, None) => return false,
        };
        let crate::Place::Frame(frame) = place else {
            return false;
        };
        let line = profile.frames.get(frame).line;
        profile.function_name(frame) == at.0 && (by == By::Function || line == at.1)
    };
    comparison
        .table(by)
        .unwrap()
        .rows
        .iter()
        .find(is_it)
        .unwrap()
}

/// The number of seeds of which two unchanged runs name anything.
fn false_alarms(seeds: u64, samples: f64, noise: Noise) -> usize {
    let alarms = (0..seeds).filter(|&seed| {
        let mut random = Random::new(seed);
        let before = run(&PROGRAM, samples, noise, &mut random);
        let after = run(&PROGRAM, samples, noise, &mut random);
        names_any(&compared(&before, &after))
    });
    alarms.count()
}

fn slower(by: f64) -> Vec<Line> {
    let mut program = PROGRAM.to_vec();
    program[1].samples *= by;
    program
}

/// The number of seeds of which a slower line is found.
fn found(seeds: u64, samples: f64, by: f64, noise: Noise) -> usize {
    let found = (0..seeds).filter(|&seed| {
        let mut random = Random::new(1000 + seed);
        let before = run(&PROGRAM, samples, noise, &mut random);
        let after = run(&slower(by), samples, noise, &mut random);
        let comparison = compared(&before, &after);
        let row = row_of(&comparison, [&before, &after], By::Line, ("parse", 12));
        row.own.is_significant && row.own.change > 0.0
    });
    found.count()
}

#[test]
fn an_unchanged_program_names_nothing() {
    let alarms = false_alarms(200, 3000.0, QUIET);
    assert!(alarms <= 10, "{alarms} of 200");
}

#[test]
fn a_busy_machine_is_no_change_of_any_function() {
    let busy = Noise {
        row: 0.004,
        common: 0.1,
    };
    let alarms = false_alarms(100, 4000.0, busy);
    assert!(alarms <= 10, "{alarms} of 100");
}

#[test]
fn a_line_that_is_a_tenth_slower_is_found() {
    let found = found(40, 20_000.0, 1.1, QUIET);
    assert!(found >= 34, "{found} of 40");
}

#[test]
fn all_functions_alike_are_no_change_of_any() {
    let mut random = Random::new(5);
    let slow: Vec<Line> = (PROGRAM.iter())
        .map(|line| Line {
            samples: line.samples * 1.25,
            ..*line
        })
        .collect();
    let before = run(&PROGRAM, 20_000.0, QUIET, &mut random);
    let after = run(&slow, 20_000.0, QUIET, &mut random);
    let comparison = compared(&before, &after);
    assert!(
        (comparison.factor - 1.25).abs() < 0.03,
        "{}",
        comparison.factor
    );
    assert!(comparison.whole.is_significant);
    let mut rows = comparison.tables.iter().flat_map(|table| &table.rows);
    assert!(rows.all(|row| !row.own.is_significant));
}

/// The program with lines inserted above, a function renamed, a call added and one removed.
fn rewritten() -> Vec<Line> {
    let mut program: Vec<Line> = (PROGRAM.iter())
        .filter(|line| line.function != "load")
        .map(|line| Line {
            line: line.line + 3,
            function: match line.function {
                "score" => "best_score",
                name => name,
            },
            ..*line
        })
        .collect();
    program.push(line("check", 70, "assert valid(row)", 0.05));
    program
}

#[test]
fn moved_renamed_new_and_gone_code_is_named() {
    let mut random = Random::new(7);
    let before = run(&PROGRAM, 20_000.0, QUIET, &mut random);
    let after = run(&rewritten(), 20_000.0, QUIET, &mut random);
    let comparison = compared(&before, &after);
    let profiles = [&before, &after];
    let line = |name: &str, line: u32| row_of(&comparison, profiles, By::Line, (name, line));
    let function = |name: &str| row_of(&comparison, profiles, By::Function, (name, 0));
    // It moved down by three lines and is the same.
    let moved = line("parse", 15);
    assert_eq!(moved.what, Change::Moved);
    assert!(
        moved.of.before.is_some() && !moved.own.is_significant,
        "{moved:#?}"
    );
    assert_eq!(function("parse").what, Change::None);
    let renamed = function("best_score");
    assert_eq!(renamed.what, Change::Renamed("score".into()));
    assert!(!renamed.own.is_significant);
    let new = function("check");
    assert_eq!(
        (new.what.clone(), new.own.is_significant),
        (Change::New, true)
    );
    let gone = function("load");
    assert_eq!(
        (gone.what.clone(), gone.own.is_significant),
        (Change::Gone, true)
    );
    // The difference of what is the same is small beside its size.
    assert!(
        moved.own.change.abs() < 0.1 * moved.own.before,
        "{moved:#?}"
    );
}

#[test]
fn a_function_that_is_above_its_neighbours_now_is_the_same() {
    let mut random = Random::new(12);
    // `search` was at 40, below three others.
    let reordered: Vec<Line> = (PROGRAM.iter())
        .map(|line| Line {
            line: match line.function {
                "search" => line.line - 38,
                _ => line.line,
            },
            ..*line
        })
        .collect();
    let before = run(&PROGRAM, 20_000.0, QUIET, &mut random);
    let after = run(&reordered, 20_000.0, QUIET, &mut random);
    let comparison = compared(&before, &after);
    assert!(!names_any(&comparison), "{comparison:#?}");
    let row = row_of(&comparison, [&before, &after], By::Line, ("search", 2));
    assert_eq!(row.what, Change::Moved);
    assert!(row.own.before > 0.0, "{row:#?}");
}

#[test]
fn a_renamed_function_of_one_line_is_known_by_its_text_and_caller() {
    let mut random = Random::new(13);
    let mut program = PROGRAM.to_vec();
    program.retain(|line| line.line != 31);
    let mut renamed = program.clone();
    let encode = renamed.iter_mut().find(|line| line.function == "encode");
    encode.unwrap().function = "dump";
    let before = run(&program, 20_000.0, QUIET, &mut random);
    let after = run(&renamed, 20_000.0, QUIET, &mut random);
    let comparison = compared(&before, &after);
    let row = row_of(&comparison, [&before, &after], By::Function, ("dump", 0));
    assert_eq!(row.what, Change::Renamed("encode".into()));
    assert!(!names_any(&comparison), "{comparison:#?}");
}

#[test]
fn an_edited_line_is_the_same_row() {
    let mut random = Random::new(8);
    let mut program = PROGRAM;
    program[3].text = "x = value * value * value % 97";
    program[3].samples *= 1.5;
    let before = run(&PROGRAM, 20_000.0, QUIET, &mut random);
    let after = run(&program, 20_000.0, QUIET, &mut random);
    let comparison = compared(&before, &after);
    let row = row_of(&comparison, [&before, &after], By::Line, ("score", 21));
    assert_eq!(
        (row.what.clone(), row.own.is_significant),
        (Change::Edited, true)
    );
    // It alone has changed.
    assert_eq!(comparison.table(By::Line).unwrap().changed().count(), 1);
}

/// Five runs of each side on a machine where runs differ much.
fn sets(program: &[Line], random: &mut Random) -> Comparison {
    let loaded = Noise {
        row: 0.02,
        common: 0.08,
    };
    let runs = |program: &[Line], random: &mut Random| -> Vec<Profile> {
        (0..5)
            .map(|_| run(program, 4000.0, loaded, random))
            .collect()
    };
    let before = runs(&PROGRAM, random);
    let after = runs(program, random);
    let before: Vec<&Profile> = before.iter().collect();
    let after: Vec<&Profile> = after.iter().collect();
    compare(&before, &after, &options()).unwrap()
}

#[test]
fn sets_of_runs_on_a_loaded_machine_name_what_changed_and_nothing_else() {
    let (mut alarms, mut found) = (0, 0);
    for seed in 0..20 {
        let mut random = Random::new(3000 + seed);
        alarms += usize::from(names_any(&sets(&PROGRAM, &mut random)));
        let comparison = sets(&slower(1.15), &mut random);
        found +=
            usize::from(comparison.table(By::Line).unwrap().changed().any(|row| {
                row.own.before > 0.25 * comparison.whole.before && row.own.change > 0.0
            }));
    }
    assert!(alarms <= 3, "{alarms} of 20");
    assert!(found >= 13, "{found} of 20");
}

#[test]
fn one_run_a_side_is_scaled_by_work() {
    let mut random = Random::new(9);
    let before = run(&PROGRAM, 10_000.0, QUIET, &mut random);
    let after = run(&PROGRAM, 20_000.0, QUIET, &mut random);
    let with = |per: Per| {
        let options = Options { per, ..options() };
        compare(&[&before], &[&after], &options)
    };
    assert!(with(Per::Run).unwrap().whole.is_significant);
    let by_work = with(Per::Function("load".into())).unwrap();
    assert_eq!(
        by_work.scale,
        Scale::SecondOf {
            function: "load".into()
        }
    );
    assert!(by_work.whole.change.abs() < 0.2 * by_work.whole.before);
    let unknown = with(Per::Function("absent".into())).unwrap_err();
    assert!(matches!(unknown, CompareError::NoWork(..)), "{unknown}");
    assert_eq!(with(Per::Second).unwrap_err(), CompareError::NoDuration);
    assert_eq!(with(Per::Calls).unwrap_err(), CompareError::NoCalls);
}

#[test]
fn the_tree_of_both_has_each_function_once_below_its_callers() {
    let mut random = Random::new(10);
    let before = run(&PROGRAM, 20_000.0, QUIET, &mut random);
    let after = run(&rewritten(), 20_000.0, QUIET, &mut random);
    let tree = compare_stacks(&[&before], &[&after], &options()).unwrap();
    let trend = |name: &str| {
        let is_it = |node: &&StackNode| {
            let at = node.of.after.map(|(_, place)| (&after, place));
            let (profile, place) = at
                .or(node.of.before.map(|(_, place)| (&before, place)))
                .unwrap();
            matches!(place, crate::Place::Frame(frame) if profile.function_name(frame) == name)
        };
        let found: Vec<&StackNode> = tree.nodes.iter().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{name}");
        found[0].trend
    };
    assert_eq!(trend("check"), Trend::New);
    assert_eq!(trend("load"), Trend::Gone);
    assert_eq!(trend("parse"), Trend::Unclear);
    assert_eq!(trend("best_score"), Trend::Unclear);
    assert!(
        (0..)
            .zip(&tree.nodes)
            .all(|(at, node)| node.parent.is_none_or(|parent| parent < at))
    );
}
