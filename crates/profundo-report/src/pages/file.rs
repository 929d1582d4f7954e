//! The page of a file: each line with its shares, and the links up and down the stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use profundo_analysis::{FileLines, LineCall, LineShare, SourceLine};

use super::Pages;
use super::text::{escaped, heat, page};
use crate::naming::source::SourceText;

/// The most callers or callees of a line that are listed.
const MOST: usize = 20;

pub(super) fn html(pages: &Pages<'_>, file: &FileLines) -> String {
    let name = escaped(&pages.names.file(file.file));
    let source = SourceText::of(pages.profile, file.file);
    let rows: BTreeMap<u32, &LineShare> = file.lines.iter().map(|line| (line.line, line)).collect();
    let last = rows.keys().next_back().copied().unwrap_or(0);
    let is_known = source.lines.iter().any(Option::is_some);
    let mut body = format!(
        "<p><a href=\"index.html\">All files and functions</a></p>\n<h1>{name}</h1>\n\
         <p>{} of the {} ends in its lines.</p>\n",
        match pages.share(file.own_amount.weight) {
            share if share.is_empty() => "None".to_owned(),
            share => share,
        },
        pages.weighs.whole(),
    );
    if source.state != "found" && !is_known {
        let _ = writeln!(
            body,
            "<p class=\"soft\">The text of the file was not kept.</p>"
        );
    }
    body += "<table class=\"code\">\n<tr><th class=\"number\">Self</th><th class=\"number\">Total</th><th class=\"number\">Line</th><th>Source</th><th>Called from</th><th>Calls</th></tr>\n";
    let lines = u32::try_from(source.lines.len()).unwrap_or(u32::MAX);
    // Without its text, a file has only the lines that ran.
    let numbers: Vec<u32> = match is_known {
        true => (1..=lines.max(last)).collect(),
        false => rows.keys().copied().collect(),
    };
    for number in numbers {
        let text = source
            .lines
            .get(number as usize - 1)
            .and_then(Option::as_deref);
        line(
            pages,
            file,
            number,
            rows.get(&number).copied(),
            text,
            &mut body,
        );
    }
    body += "</table>\n";
    page(&name, &body)
}

fn line(
    pages: &Pages<'_>,
    file: &FileLines,
    number: u32,
    row: Option<&LineShare>,
    text: Option<&str>,
    body: &mut String,
) {
    let at = (file.file, number);
    let own = row.map_or(0, |row| row.own_amount.weight);
    let total = row.map_or(0, |row| row.total_amount.weight);
    let _ = writeln!(
        body,
        "<tr id=\"L{number}\"{}><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\"><a href=\"#L{number}\">{number}</a></td><td class=\"text\">{}</td><td>{}</td><td>{}</td></tr>",
        heat(own as f64 / pages.whole.max(1) as f64),
        pages.share(own),
        pages.share(total),
        escaped(text.unwrap_or("")),
        calls(pages, pages.callers.get(&at), |call| call.caller),
        calls(pages, pages.callees.get(&at), |call| call.callee),
    );
}

/// The links of a line, folded: the heaviest first.
fn calls(
    pages: &Pages<'_>,
    calls: Option<&Vec<LineCall>>,
    other: fn(&LineCall) -> SourceLine,
) -> String {
    let Some(calls) = calls else {
        return String::new();
    };
    if let [call] = &calls[..] {
        return pages.link(other(call));
    }
    let mut out = format!("<details><summary>{} lines</summary><ul>", calls.len());
    for call in calls.iter().take(MOST) {
        let share = pages.share(call.weight);
        let _ = write!(out, "<li>{share} {}</li>", pages.link(other(call)));
    }
    if calls.len() > MOST {
        let _ = write!(out, "<li>… and {} more</li>", calls.len() - MOST);
    }
    out + "</ul></details>"
}
