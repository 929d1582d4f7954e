//! The name of a row, and what has happened to its code.

use profundo_analysis::Place;
use profundo_analysis::diff::{By, Change, Row, Table};
use profundo_model::{FileId, Profile};

use super::Diff;
use crate::naming::source::{Source, shown};

/// A row's name, for the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// The function, or what else it is.
    pub name: String,
    /// `file:line`; empty where not known.
    pub at: String,
    /// The text of the line.
    pub text: String,
}

impl<'a> Diff<'a> {
    /// The side, run and place that name a row: after, where it is there.
    fn place(&self, row: &Row) -> Option<(usize, usize, Place)> {
        let after = row.of.after.map(|(run, place)| (1, run, place));
        after.or(row.of.before.map(|(run, place)| (0, run, place)))
    }

    pub(super) fn name(&self, row: &Row) -> Name {
        let Some((side, run, place)) = self.place(row) else {
            return Name {
                name: row.of.name.clone().unwrap_or_default(),
                ..Name::default()
            };
        };
        let names = &self.names[side][run];
        Name {
            name: (row.of.name.clone()).unwrap_or_else(|| names.function(place).to_owned()),
            at: names.at(place),
            text: String::new(),
        }
    }

    /// The name of a row of lines, with its text.
    pub(super) fn name_with_text(&self, table: &Table, row: &Row) -> Name {
        let mut name = self.name(row);
        if matches!(table.by, By::Line | By::Hits)
            && let Some((side, run, Place::Frame(frame))) = self.place(row)
        {
            let profile = self.sides[side][run].profile;
            let frame = profile.frames.get(frame);
            name.text = text(profile, frame.file, frame.line).unwrap_or_default();
        }
        name
    }

    /// What has happened to the code of a row, in a word or some.
    pub(super) fn what(&self, table: &Table, row: &Row) -> String {
        let is_line = matches!(table.by, By::Line | By::Hits);
        match &row.what {
            Change::None => String::new(),
            Change::New => "new".to_owned(),
            Change::Gone => "gone".to_owned(),
            Change::Edited => "edited".to_owned(),
            Change::Renamed(from) => format!("renamed from {from}"),
            Change::Moved => match (is_line, row.of.before) {
                (true, Some((run, Place::Frame(frame)))) => {
                    let line = self.sides[0][run].profile.frames.get(frame).line;
                    format!("was line {line}")
                }
                (false, Some((run, place))) => {
                    let at = self.names[0][run].at(place);
                    let file = at.rsplit_once(':').map_or(&at[..], |(file, _)| file);
                    format!("moved from {file}")
                }
                _ => "moved".to_owned(),
            },
        }
    }
}

/// The text of a line: what the recording carries, or the file on the disk where it is the same.
fn text(profile: &Profile, file: FileId, line: u32) -> Option<String> {
    let kept = profile.sources.get(file, line);
    if let Some(kept) = kept {
        return Some(shown(profile.strings.get(kept)).trim().to_owned());
    }
    let source = Source::of(profile, file, true);
    source
        .line(profile, file, line)
        .map(|text| shown(text).trim().to_owned())
}
