//! The row that a function or a line of one side has in common with the other side.

use profundo_model::Profile;
use rustc_hash::FxHashMap;

use super::matching::{LineMap, Pairing};
use super::measure::Key;
use super::table::{Change, Subject};
use super::{By, Prepared};
use crate::Place;

/// The same row on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Joint<'a> {
    Function(u32),
    GoneFunction(u32),
    Line(&'a str, u32),
    GoneLine(&'a str, u32),
    Named(String, Option<(&'a str, u32)>),
}

/// The lines of files and functions, as far as they were asked for.
#[derive(Default)]
pub(super) struct LineMaps {
    of_files: FxHashMap<(u32, u32), LineMap>,
}

impl LineMaps {
    pub(super) fn joint<'a>(
        &mut self,
        prepared: &mut Prepared<'a>,
        by: By,
        side: usize,
        run: usize,
        of: &Key,
    ) -> (Joint<'a>, Change) {
        let is_line = matches!(by, By::Line | By::Hits);
        match of {
            Key::Named(name, None) => (Joint::Named(name.clone(), None), Change::None),
            Key::Named(name, Some(place)) => {
                let (joint, _) = self.place(prepared, side, run, *place, true);
                let at = match joint {
                    Joint::Line(path, line) => Some((path, line)),
                    _ => None,
                };
                (Joint::Named(name.clone(), at), Change::None)
            }
            Key::Place(place) => self.place(prepared, side, run, *place, is_line),
        }
    }

    fn place<'a>(
        &mut self,
        prepared: &mut Prepared<'a>,
        side: usize,
        run: usize,
        place: Place,
        is_line: bool,
    ) -> (Joint<'a>, Change) {
        let profile = prepared.profiles[side][run];
        let function = prepared.codes[side].of(run, place);
        let line = line_of(profile, place);
        if side == 1 {
            return match is_line && line > 0 {
                true => {
                    let path = prepared.codes[1].functions[function as usize].path;
                    (Joint::Line(path, line), Change::None)
                }
                false => (Joint::Function(function), prepared.newness_of(function)),
            };
        }
        let (other, what) = prepared.after_of(function);
        if !is_line || line == 0 {
            return match other {
                Some(other) => (Joint::Function(other), what),
                None => (Joint::GoneFunction(function), Change::Gone),
            };
        }
        let path = prepared.codes[0].functions[function as usize].path;
        let to = match other {
            Some(other) => prepared.codes[1].functions[other as usize].path,
            None => prepared.matching.file(path, &prepared.codes[1]),
        };
        let map = self.map(prepared, function, other, [path, to]);
        match map.of(line) {
            None => (Joint::GoneLine(path, line), Change::Gone),
            Some(mapped) => {
                let moved = match what {
                    Change::Renamed(_) | Change::Moved => what,
                    _ if mapped.is_edited => Change::Edited,
                    _ if mapped.line != line => Change::Moved,
                    _ => Change::None,
                };
                (Joint::Line(to, mapped.line), moved)
            }
        }
    }
}

impl LineMaps {
    /// The lines of a function, and of the one that it has become, in these files.
    fn map(
        &mut self,
        prepared: &Prepared<'_>,
        function: u32,
        other: Option<u32>,
        [path, to]: [&str; 2],
    ) -> &LineMap {
        let key = (function, other.unwrap_or(u32::MAX));
        let [before, after] = &prepared.codes;
        self.of_files.entry(key).or_insert_with(|| {
            let none = std::collections::BTreeSet::new();
            let lines = &before.functions[function as usize].lines;
            let others = other.map_or(&none, |other| &after.functions[other as usize].lines);
            LineMap::new(before.files.get(path), after.files.get(to), [lines, others])
        })
    }

    /// Whether a row that has an amount on one side only is a line that the other side has as well,
    /// such as one whose blocks were all freed.
    pub(super) fn is_on_both(&mut self, prepared: &mut Prepared<'_>, of: &Subject) -> bool {
        let (side, run, place) = match (of.before, of.after) {
            (None, Some((run, place))) => (1, run, place),
            (Some((run, place)), None) => (0, run, place),
            _ => return false,
        };
        let line = line_of(prepared.profiles[side][run], place);
        let function = prepared.codes[side].of(run, place);
        let pair = match side {
            0 => prepared.after_of(function).0.map(|other| (function, other)),
            _ => (prepared.matching.before(function)).map(|one| (one, function)),
        };
        let Some((one, other)) = pair.filter(|_| line > 0) else {
            return false;
        };
        let [before, after] = &prepared.codes;
        let (from, to) = (
            &before.functions[one as usize],
            &after.functions[other as usize],
        );
        let map = self.map(prepared, one, Some(other), [from.path, to.path]);
        let is_at = |line: u32, at: u32| {
            let to = map.of(line);
            to.is_some_and(|to| to.line == at && !to.is_edited)
        };
        match side {
            0 => to.lines.iter().any(|&at| is_at(line, at)),
            _ => from.lines.iter().any(|&from| is_at(from, line)),
        }
    }
}

fn line_of(profile: &Profile, place: Place) -> u32 {
    match place {
        Place::Frame(frame) => profile.frames.get(frame).line,
        Place::Reason(_) | Place::Unknown => 0,
    }
}

impl Prepared<'_> {
    /// The function after that one before has become, and how that is known.
    pub(super) fn after_of(&mut self, function: u32) -> (Option<u32>, Change) {
        let code = &self.codes[0].functions[function as usize];
        match self
            .matching
            .forward
            .get(function as usize)
            .copied()
            .flatten()
        {
            Some((other, Pairing::Same)) => (Some(other), Change::None),
            Some((other, Pairing::Moved)) => (Some(other), Change::Moved),
            Some((other, Pairing::Renamed)) => (Some(other), Change::Renamed(code.name.to_owned())),
            // Reasons and unnamed code have no frame, and are the same by name.
            None => {
                let other = self.codes[1].find(code.name, code.path);
                (other, Change::None)
            }
        }
    }

    /// Whether a row is no code, but time of which the function is not known.
    pub(super) fn is_gap(&self, of: &Subject) -> bool {
        let sides = [(0, of.before), (1, of.after)];
        of.name.is_none()
            && sides.into_iter().any(|(side, at)| match at {
                Some((run, Place::Frame(frame))) => {
                    let profile = self.profiles[side][run];
                    let is_synthetic =
                        profile.frames.get(frame).language == profundo_model::Language::Synthetic;
                    let collects = profundo_model::Reason::Collecting.name();
                    is_synthetic && profile.function_name(frame) != collects
                }
                Some((_, Place::Reason(reason))) => reason.is_gap(),
                _ => false,
            })
    }

    /// Whether a function after is new.
    pub(super) fn newness_of(&self, function: u32) -> Change {
        let is_known = self.matching.is_taken(function);
        match is_known {
            true => Change::None,
            false => Change::New,
        }
    }
}
