//! Lines as JSON.

use profundo_analysis::{FileLines, Selection};
use profundo_model::Profile;

use super::Lines;
use super::table::{Columns, SourceLine, table};
use crate::command::{launched, lineless};
use crate::json::{Json, share_members};
use crate::naming::source::Source;
use crate::naming::statements::Statements;

/// Writes the report.
pub(super) fn members(view: &Lines, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
    let (shares, statements) = view.shares(profile, selection);
    let all = selection.weight(profile);
    let files = view.hot_files(&shares);
    json.array("files", |json| {
        for file in &files {
            json.object("", |json| {
                view.file_members(json, profile, file, &statements, selection)
            });
        }
    });
    json.number("files_left_out", (shares.files.len() - files.len()) as u64);
    json.row("without_line", |json| {
        let share = shares.elsewhere.share(shares.whole);
        share_members(json, "", &share, &shares.elsewhere, all);
    });
    lineless::members(json, profile, &shares.lineless, shares.whole);
    if shares.launched.amount.weight > 0 {
        launched::members(json, profile, &shares.launched, shares.whole);
    }
}

impl Lines {
    fn file_members(
        &self,
        json: &mut Json<'_>,
        profile: &Profile,
        file: &FileLines,
        statements: &Statements<'_>,
        selection: &Selection,
    ) {
        let all = selection.weight(profile);
        let source = Source::of(profile, file.file, self.from_disk);
        let path = profile.strings.get(profile.files.get(file.file).path);
        json.text("file", path);
        json.text("language", if file.is_python { "python" } else { "native" });
        json.text(
            "source",
            source.problem.map_or("found", |problem| problem.name()),
        );
        share_members(json, "self_", &file.own, &file.own_amount, all);
        let columns = Columns::off_screen(profile, selection);
        let text = |number: u32| source.line(profile, file.file, number);
        let table = table(self, profile, columns, text, |_, _| {});
        json.array("lines", |json| {
            for row in &file.lines {
                if !self.all_lines && !self.is_hot(row) {
                    continue;
                }
                let line = SourceLine {
                    number: row.line,
                    row: Some(row),
                    share: self.share_of(row),
                    is_total: self.total,
                    last: (statements.is_asked()).then(|| statements.last(file.file, row.line)),
                };
                json.row("", |json| table.members(json, &line));
            }
        });
    }
}
