//! The transforms, each as one pass over the stack table.

use profundo_model::{FrameKey, Language, LocationId, LocationKind, Profile};

use super::library::Libraries;
use super::names::{By, is_no_code, matching};
use super::recursion::{collapse_cycles, collapse_functions};
use super::rows::{End, Row, Rows};
use super::{Operation, Transform, Transforms};
use crate::expression::Expression;

/// Applies all transforms in their order.
pub(super) fn apply(rows: &mut Rows, profile: &mut Profile, transforms: &Transforms) {
    let Transforms {
        hide,
        show,
        show_from,
        steps,
    } = transforms;
    if !hide.is_empty() {
        take_away(rows, &matching(profile, hide, By::Any));
    }
    if !show.is_empty() {
        let shown = matching(profile, show, By::Any);
        let others = shown.iter().zip(profile.locations.iter());
        let is_other = |(&is_shown, (_, location)): (&bool, (_, &profundo_model::Location))| {
            !is_shown && !is_no_code(location.kind)
        };
        take_away(rows, &others.map(is_other).collect::<Vec<bool>>());
    }
    if !show_from.is_empty() {
        cut_above(rows, &matching(profile, show_from, By::Any));
    }
    for step in steps {
        apply_step(rows, profile, step);
    }
}

fn apply_step(rows: &mut Rows, profile: &mut Profile, step: &Transform) {
    let expressions = match &step.expression {
        Some(expression) => std::slice::from_ref::<Expression>(expression),
        None => &[],
    };
    let by = |by| matching(profile, expressions, by);
    match step.operation {
        Operation::MergeFunction => take_away(rows, &by(By::Function)),
        Operation::MergeFile => take_away(rows, &by(By::File)),
        Operation::MergeLibrary => take_away(rows, &by(By::Library)),
        Operation::DropFunction => drop_stacks(rows, &by(By::Function)),
        Operation::DropFile => drop_stacks(rows, &by(By::File)),
        Operation::DropLibrary => drop_stacks(rows, &by(By::Library)),
        Operation::DropHidden => drop_hidden(rows),
        Operation::FocusFunction => cut_above(rows, &by(By::Function)),
        Operation::CollapseFunctionSubtree => cut_below(rows, &by(By::Function)),
        Operation::CollapseLibrary => {
            let meant = by(By::Library);
            collapse_libraries(rows, profile, &meant);
        }
        Operation::CollapseRecursion if expressions.is_empty() => collapse_cycles(rows, profile),
        Operation::CollapseRecursion => collapse_functions(rows, profile, &by(By::Function)),
    }
}

/// Takes away these locations.
fn take_away(rows: &mut Rows, meant: &[bool]) {
    rows.rewrite(End::ROOT, |table, caller, row| {
        match meant[row.location.index()] {
            true => caller.merged(),
            false => caller.call(table, row.location),
        }
    });
}

/// Leaves out stacks with these locations.
fn drop_stacks(rows: &mut Rows, meant: &[bool]) {
    rows.rewrite(End::ROOT, |table, caller, row| {
        let end = caller.call(table, row.location);
        End {
            is_dropped: end.is_dropped || meant[row.location.index()],
            ..end
        }
    });
}

/// Leaves out stacks of which nothing is left.
fn drop_hidden(rows: &mut Rows) {
    for end in rows.ends.iter_mut().filter(|end| end.stack.is_none()) {
        end.is_dropped = true;
    }
}

/// Makes the first of these locations on each stack the root, and leaves out stacks without one.
fn cut_above(rows: &mut Rows, meant: &[bool]) {
    let outside = End {
        is_dropped: true,
        ..End::ROOT
    };
    rows.rewrite(outside, |table, caller, row| {
        let is_inside = caller.stack.is_some();
        match is_inside || meant[row.location.index()] {
            true => End {
                is_dropped: false,
                ..caller.call(table, row.location)
            },
            false => outside,
        }
    });
}

/// Takes away all that is called by these locations.
fn cut_below(rows: &mut Rows, meant: &[bool]) {
    let mut is_inside: Vec<bool> = Vec::with_capacity(rows.table.len());
    rows.rewrite(
        End::ROOT,
        |table,
         caller,
         Row {
             caller: above,
             location,
             ..
         }| {
            let was_inside = above.is_some_and(|above| is_inside[above]);
            is_inside.push(was_inside || meant[location.index()]);
            match was_inside {
                true => caller.merged(),
                false => caller.call(table, location),
            }
        },
    );
}

/// Makes each run of functions of one of these libraries a frame with the library's name.
///
/// Plumbing between two functions of a library does not end the run.
fn collapse_libraries(rows: &mut Rows, profile: &mut Profile, meant: &[bool]) {
    let libraries = Libraries::new(profile);
    let mut places: Vec<Option<LocationId>> = vec![None; libraries.len()];
    let mut runs: Vec<Option<(u32, End)>> = Vec::with_capacity(rows.table.len());
    rows.rewrite(End::ROOT, |table, caller, row| {
        let library = libraries
            .of(row.location)
            .filter(|_| meant[row.location.index()]);
        let run = row.caller.and_then(|above| runs[above]);
        let (run, end) = match (library, run) {
            (Some(library), Some((same, end))) if library == same => (run, end.merged()),
            (Some(library), _) => {
                let place = *places[library as usize].get_or_insert_with(|| {
                    let library = libraries.get(library);
                    named_after(profile, row.location, &library.name, &library.path)
                });
                let end = caller.call(table, place);
                (Some((library, end)), end)
            }
            (None, run) => {
                let run = run.filter(|_| is_plumbing(profile, row.location));
                (run, caller.call(table, row.location))
            }
        };
        runs.push(run);
        end
    });
}

fn is_plumbing(profile: &Profile, location: LocationId) -> bool {
    let frames = &profile.locations.get(location).frames;
    frames
        .first()
        .is_some_and(|&frame| profile.frames.get(frame).language == Language::Runtime)
}

/// A location with the name of a library, of the library's code at `first`.
fn named_after(profile: &mut Profile, first: LocationId, name: &str, path: &str) -> LocationId {
    let location = profile.locations.get(first);
    let module = location.module;
    let language = location
        .frames
        .first()
        .map(|&frame| profile.frames.get(frame).language);
    let of = match location.kind {
        LocationKind::Part { of, .. } => of,
        _ => first,
    };
    let frame = profile.frame(FrameKey {
        function: &format!("[{name}]"),
        file: path,
        language: language.unwrap_or_default(),
        ..FrameKey::default()
    });
    let kind = LocationKind::Part {
        of,
        frame: u16::MAX,
        ends: None,
    };
    let place = profile.locations.intern(kind, module);
    profile.locations.set_frames(place, &[frame]);
    place
}
