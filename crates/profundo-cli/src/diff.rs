//! `diff`: what has changed between two recordings, or two sets of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use profundo_analysis::diff::{
    CompareError, Options, Per, StackTree, Subject, Trend, Unit, compare, compare_stacks,
    hide_alike,
};
use profundo_analysis::{Hidden, Libraries, Shown};
use profundo_console::{output, stderr};
use profundo_formats::export::{self, Format, Holds, flame};
use profundo_launch::LocalTime;
use profundo_model::Profile;
use profundo_report::{Choices, Compared, Names, Ready};

use crate::fleet::{self, Replicas, split};
use crate::input::{Input, Wanted};
use crate::options::{self, Diff};
use crate::ready;
use crate::recordings::meant;
use crate::snapshot_files::is_snapshot;

/// The exit code if something has grown by more than `--fail-above` permits.
const GROWN: u8 = 3;

pub fn diff(options: &Diff) -> Result<ExitCode> {
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    let sides = options.sides().unwrap_or_else(|why| options::refuse(&why));
    let [before, after] = sides.map(|side| {
        let paths = side.iter().map(|path| meant(Some(path)));
        paths.collect::<Result<Vec<PathBuf>>>()
    });
    let (before, after) = (before?, after?);
    let all: Vec<&Path> = before.iter().chain(&after).map(PathBuf::as_path).collect();
    if all.iter().all(|path| is_snapshot(path)) {
        return of_snapshots(options, &before, &after);
    }
    if let Some(path) = &options.output {
        output::check(
            path,
            output::Kind::Export(Format::FLAME),
            &all,
            options.force,
        )?;
    }
    let mut profiles = read(options, &all)?;
    let are_answers = all.iter().all(|path| fleet::query(path).is_some());
    let mut names: Vec<Named> = (all.iter().zip(&profiles))
        .map(|(path, profile)| Named::new(path, profile))
        .collect();
    let mut before_count = before.len();
    let mut unit = "runs";
    // Hosts differ as runs do, and show by how much.
    if are_answers {
        let by = Replicas::of(&profiles);
        unit = by.map_or(unit, Replicas::name);
        if let Some(by) = by {
            let behind = profiles.split_off(before_count);
            let (before, after) = (split(profiles, by), split(behind, by));
            before_count = before.len();
            profiles = before.into_iter().chain(after).collect();
            names = (profiles.iter())
                .map(|profile| Named::new(Path::new(""), profile))
                .collect();
        }
    }
    if !options.filters.c {
        hide_alike(&mut profiles);
    }
    let (profiles_before, profiles_after) = profiles.split_at(before_count);
    let compared: Vec<Compared<'_>> = (names.iter().zip(&profiles))
        .map(|(Named { name, made }, profile)| Compared {
            name,
            made,
            of: unit,
            profile,
        })
        .collect();
    let (compared_before, compared_after) = compared.split_at(before_count);
    let choices = Options {
        by: options.by.clone(),
        shown: shown(options),
        per: match options.scale() {
            Per::Automatic if are_answers => Per::Share,
            per => per,
        },
        ..Options::default()
    };
    let sides: [Vec<&Profile>; 2] =
        [profiles_before, profiles_after].map(|side| side.iter().collect());
    let comparison = compare(&sides[0], &sides[1], &choices).map_err(why)?;
    let filter = options.filters.filter(options.until.to);
    let passing = filter.to_string();
    let report = profundo_report::Diff::new(&comparison, compared_before, compared_after)
        .filter(Choices::command().filter(filter).words())
        .limit(options.limit.unwrap_or(20))
        .fail_above(options.fail_above)
        .look(ready::look(&options.paper, None));
    let draws_only = options.output.as_deref().is_some_and(output::is_stdout);
    if !draws_only {
        ready::print(&report, &options.paper)?;
    }
    if let Some(path) = &options.output {
        let tree = compare_stacks(&sides[0], &sides[1], &choices).map_err(why)?;
        let drawing = export::Options {
            filter: passing,
            only_mine: options.filters.only_mine,
            // Both roots are in sight, and not below what hangs on them.
            icicle: true,
            ..export::Options::default()
        };
        draw(options, &drawing, &report, &tree, &sides, &all, path)?;
    }
    Ok(match report.fails() {
        true => ExitCode::from(GROWN),
        false => ExitCode::SUCCESS,
    })
}

/// The shown part of stacks.
fn shown(options: &Diff) -> Shown {
    Shown {
        hidden: match options.filters.c {
            true => Hidden::Nothing,
            false => Hidden::Runtime,
        },
        libraries: match options.filters.only_mine {
            true => Libraries::Hidden,
            false => Libraries::Shown,
        },
    }
}

/// Reads the recordings, two at a time: reading takes longer than comparing.
fn read(options: &Diff, paths: &[&Path]) -> Result<Vec<Profile>> {
    let one = |path: &Path| -> Result<Profile> {
        let input = Input::new(
            Some(path),
            &options.filters,
            options.until.to,
            &options.measuring,
        )
        .reading(&options.reading);
        let wanted = Wanted {
            holds: Holds::Samples,
            is_in_order: false,
            has_memory_too: false,
        };
        let profile = input.read_for(path, wanted)?;
        let traced = &profile.traced;
        let holds = match (profile.samples.is_empty(), traced.calls.is_empty()) {
            (true, false) => Holds::Calls,
            (true, true) if !traced.lines.is_empty() => Holds::Lines,
            _ => Holds::Samples,
        };
        let part = input.part(profile, Wanted { holds, ..wanted })?;
        Ok(part.profile)
    };
    let mut profiles = Vec::new();
    for pair in paths.chunks(2) {
        let read = std::thread::scope(|scope| -> Vec<Result<Profile>> {
            let threads: Vec<_> = pair.iter().map(|path| scope.spawn(|| one(path))).collect();
            let ended = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(anyhow!("cannot read a recording")))
            });
            ended.collect()
        });
        for profile in read {
            profiles.push(profile?);
        }
    }
    Ok(profiles)
}

/// The difference of heap snapshots.
fn of_snapshots(options: &Diff, before: &[PathBuf], after: &[PathBuf]) -> Result<ExitCode> {
    let ([before], [after]) = (before, after) else {
        options::refuse("heap snapshots are compared one with one");
    };
    let is_of_recordings = options.output.is_some()
        || options.fail_above.is_some()
        || options.per.is_some()
        || !options.by.is_empty();
    if is_of_recordings {
        options::refuse(
            "--by, --per, --fail-above and -o are about recordings, and these are heap snapshots",
        );
    }
    crate::heap::difference(before, after, options.limit, &options.paper)
}

/// A recording in words.
struct Named {
    /// Its file's name without folder and ending, or what a store was asked.
    name: String,
    /// When it was made.
    made: String,
}

impl Named {
    fn new(path: &Path, profile: &Profile) -> Self {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let question = profile.meta.question.as_ref();
        let name = question.map(|question| question.title.clone());
        Self {
            name: name.unwrap_or_else(|| stem.to_string_lossy().into_owned()),
            made: made(profile),
        }
    }
}

/// When a recording was made.
fn made(profile: &Profile) -> String {
    match profile.meta.started_at_unix {
        0 => String::new(),
        nanos => LocalTime::at((nanos / 1_000_000_000) as i64).shown(),
    }
}

fn why(error: CompareError) -> anyhow::Error {
    anyhow!("cannot compare these recordings: {error}")
}

/// Writes the picture.
fn draw(
    options: &Diff,
    drawing: &export::Options,
    report: &profundo_report::Diff<'_>,
    tree: &StackTree,
    sides: &[Vec<&Profile>; 2],
    inputs: &[&Path],
    path: &Path,
) -> Result<()> {
    if tree.nodes.is_empty() {
        bail!(
            "there are no stacks to draw; {} was not written",
            path.display()
        );
    }
    let [before, after] = report.sides_in_words();
    let difference = flame::Difference {
        title: report.verdict(),
        subtitle: report.scale(),
        before,
        after,
        unit: match tree.unit {
            Unit::Time => flame::Unit::Time,
            Unit::Bytes => flame::Unit::Bytes,
            Unit::Count => flame::Unit::Count,
        },
        nodes: nodes(tree, sides),
    };
    let kind = output::Kind::Export(Format::FLAME);
    let text = output::Text::create(path, kind, inputs, options.force)?;
    text.write(|out: &mut dyn Write| {
        let mut buffer = Vec::new();
        flame::write_difference(&difference, drawing, &mut buffer)?;
        out.write_all(&buffer)?;
        Ok(())
    })?;
    if !output::is_stdout(path) {
        stderr::note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn nodes(tree: &StackTree, sides: &[Vec<&Profile>; 2]) -> Vec<flame::DifferenceNode> {
    let names = [0, 1].map(|side| -> Vec<Names<'_>> {
        let profiles = sides[side].iter();
        profiles
            .map(|profile| {
                let files = profile.frames.iter().map(|frame| frame.file);
                Names::new(profile, files)
            })
            .collect()
    });
    let label = |of: &Subject| match (of.after, of.before) {
        (Some((run, place)), _) => (
            names[1][run].function(place).to_owned(),
            names[1][run].at(place),
        ),
        (None, Some((run, place))) => (
            names[0][run].function(place).to_owned(),
            names[0][run].at(place),
        ),
        (None, None) => (String::new(), String::new()),
    };
    let node = |node: &profundo_analysis::diff::StackNode| {
        let (name, place) = label(&node.of);
        flame::DifferenceNode {
            parent: node.parent,
            name,
            place,
            before: node.total.before,
            after: node.total.after,
            own_before: node.own.before,
            own_after: node.own.after,
            change: match node.trend {
                Trend::Grew => flame::Change::Grew,
                Trend::Shrank => flame::Change::Shrank,
                Trend::New => flame::Change::New,
                Trend::Gone => flame::Change::Gone,
                Trend::Unclear => flame::Change::Unclear,
            },
        }
    };
    tree.nodes.iter().map(node).collect()
}
