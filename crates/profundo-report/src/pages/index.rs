//! The first page: the recording, its functions and its files.

use std::fmt::Write as _;

use profundo_analysis::{FunctionShare, Place, Shown, shares};
use profundo_model::FileId;

use super::Pages;
use super::text::{escaped, heat, page, percent};
use crate::Choices;

/// The most functions that are listed.
const MOST: usize = 100;

pub(super) fn html(pages: &Pages<'_>, choices: &Choices) -> String {
    let profile = pages.profile;
    let command = profile.processes.first();
    let command = command.map_or("", |process| profile.strings.get(process.command));
    let title = match command {
        "" => "Profile".to_owned(),
        command => escaped(command),
    };
    let mut body = format!("<h1>{title}</h1>\n<p>{}", summary(pages));
    if let Some(words) = choices.words() {
        let _ = write!(body, " Only what passes this filter: {}.", escaped(&words));
    }
    body += "</p>\n";
    for note in &profile.meta.notes {
        let _ = writeln!(body, "<p class=\"soft\">Note: {}</p>", escaped(note));
    }
    list(pages, choices.shown, &mut body);
    files(pages, &mut body);
    page(&title, &body)
}

fn summary(pages: &Pages<'_>) -> String {
    let (profile, selection) = (pages.profile, pages.selection);
    let samples = pages.weighs.samples(selection.taken(profile));
    let weight = pages.weighs.text(pages.whole);
    let whole = pages.weighs.whole();
    format!("{weight} ({samples}); shares are of this {whole}.")
}

fn files(pages: &Pages<'_>, body: &mut String) {
    *body += "<h2>Files</h2>\n<table>\n<tr><th class=\"number\">Self</th><th class=\"number\">Hottest line</th><th>File</th></tr>\n";
    for file in &pages.files {
        let hottest = file.lines.iter().max_by_key(|line| line.own_amount.weight);
        let hottest = hottest.filter(|line| line.own_amount.weight > 0);
        let hottest = hottest.map_or(String::new(), |line| {
            let share = pages.share(line.own_amount.weight);
            format!(
                "{share} <a href=\"{}#L{1}\">{1}</a>",
                pages.links[&file.file], line.line
            )
        });
        let name = escaped(&pages.names.file(file.file));
        let _ = writeln!(
            body,
            "<tr{}><td class=\"number\">{}</td><td class=\"number\">{hottest}</td><td><a href=\"{}\">{name}</a></td></tr>",
            heat(file.own_amount.weight as f64 / pages.whole.max(1) as f64),
            pages.share(file.own_amount.weight),
            pages.links[&file.file],
        );
    }
    *body += "</table>\n";
}

fn list(pages: &Pages<'_>, shown: Shown, body: &mut String) {
    let mut rows = shares(pages.profile, pages.selection, shown);
    rows.sort_by_key(|row| std::cmp::Reverse((row.own_amount.weight, row.total_amount.weight)));
    *body += "<h2>Functions</h2>\n<table>\n<tr><th class=\"number\">Self</th><th class=\"number\">Total</th><th>Function</th><th>Place</th></tr>\n";
    for row in rows.iter().take(MOST) {
        function(pages, row, body);
    }
    *body += "</table>\n";
    if rows.len() > MOST {
        let _ = writeln!(
            body,
            "<p class=\"soft\">… and {} more</p>",
            rows.len() - MOST
        );
    }
}

fn function(pages: &Pages<'_>, row: &FunctionShare, body: &mut String) {
    let place = match row.place {
        Place::Frame(frame) => {
            let frame = pages.profile.frames.get(frame);
            match (frame.file, frame.line) {
                (FileId(0), _) => String::new(),
                (file, 0) => escaped(&pages.names.file(file)),
                at => pages.link(at),
            }
        }
        _ => String::new(),
    };
    let share = |share: f64| {
        if share > 0.0 {
            percent(share)
        } else {
            String::new()
        }
    };
    let _ = writeln!(
        body,
        "<tr{}><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{place}</td></tr>",
        heat(row.own.share),
        share(row.own.share),
        share(row.total.share),
        escaped(&pages.names.alone(row.place)),
    );
}
