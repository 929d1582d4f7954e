//! Each function with those that called it, or that it called: a block for each.

use std::io;

use profundo_analysis::Counted;

use super::sheet::Sheet;
use super::table::{Columns, names, push_name, write_head, write_unseen};
use super::{Neighbours, Trace};
use crate::command::{BOLD, GRAY};
use crate::page::Page;
use crate::page::line::{Line, Style};

pub(super) fn write(page: &mut Page<'_>, view: &Trace, sheet: &Sheet<'_>) -> io::Result<()> {
    write_head(page, view, sheet)?;
    if sheet.rows.is_empty() {
        return Ok(());
    }
    let names = names(page, sheet);
    let mut columns = Columns::new(sheet, figures(view, sheet));
    columns.each = false;
    let (title, nobody) = match view.neighbours {
        Neighbours::Callees => ("function, and what it called", "(nothing)"),
        _ => ("function, and who called it", "(nobody: it is a root)"),
    };
    let all = sheet.table.sum().own;
    let mut line = Line::default();
    columns.push_titles(&mut line);
    line.push(title, BOLD);
    line.truncate(page.columns);
    page.line(&mut line)?;
    for &row in &sheet.rows {
        let function = &sheet.table.functions[row];
        line.bold = true;
        columns.push(&mut line, sheet, &function.counted, all);
        push_name(page, &mut line, &names, function.place, columns.width());
        line.truncate(page.columns);
        page.line(&mut line)?;
        let neighbours = view.neighbours.of(sheet, row);
        if neighbours.is_empty() {
            line.push_spaces(columns.width() + 2);
            line.push(nobody, GRAY);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        for (other, between) in neighbours {
            columns.push(&mut line, sheet, &between.counted, all);
            line.push("  ", Style::PLAIN);
            let place = sheet.table.functions[other].place;
            push_name(page, &mut line, &names, place, columns.width() + 2);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
    }
    write_unseen(page, sheet)?;
    page.plain("")
}

/// All figures that are shown.
fn figures<'a>(view: &'a Trace, sheet: &'a Sheet<'_>) -> impl Iterator<Item = &'a Counted> {
    sheet.rows.iter().flat_map(|&row| {
        let beside = view.neighbours.of(sheet, row);
        let beside = beside.into_iter().map(|(_, between)| &between.counted);
        std::iter::once(&sheet.table.functions[row].counted).chain(beside)
    })
}
