//! Lines as JSON.

use profundo_analysis::{FileLines, Selection};
use profundo_model::Profile;

use super::Lines;
use crate::json::Json;
use crate::source::Source;
use crate::views::json::share_members;
use crate::views::{amounts_members, launched, lineless};

impl Lines {
    pub(super) fn report(&self) -> &'static str {
        "lines"
    }

    pub(super) fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let shares = self.shares(profile, selection);
        let all = selection.weight(profile);
        let files = self.hot_files(&shares);
        json.array("files", |json| {
            for file in &files {
                json.object("", |json| self.file_members(json, profile, file, all));
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

    fn file_members(&self, json: &mut Json<'_>, profile: &Profile, file: &FileLines, all: u64) {
        let source = Source::of(profile, file.file, self.from_disk);
        let path = profile.strings.get(profile.files.get(file.file).path);
        json.text("file", path);
        json.text("language", if file.is_python { "python" } else { "native" });
        json.text(
            "source",
            source.problem.map_or("found", |problem| problem.name()),
        );
        share_members(json, "self_", &file.own, &file.own_amount, all);
        json.array("lines", |json| {
            for row in &file.lines {
                if !self.all_lines && !self.is_hot(row) {
                    continue;
                }
                json.row("", |json| {
                    json.number("line", u64::from(row.line));
                    json.text_or_null("function", profile.function_name(row.frame));
                    amounts_members(
                        json,
                        (&row.own, &row.own_amount),
                        (&row.total, &row.total_amount),
                        all,
                    );
                    match source.line(profile, file.file, row.line) {
                        Some(text) => json.text("text", text),
                        None => json.null("text"),
                    }
                });
            }
        });
    }
}
