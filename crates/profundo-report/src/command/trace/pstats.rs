//! The tables of Python's `pstats`, to the letter.

use std::fmt::Write as _;
use std::io;

use profundo_analysis::CallsBetween;

use super::sheet::Sheet;
use super::{Neighbours, Trace};
use crate::page::Page;

/// Seconds, which Python has as a floating-point number of 64 bits.
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

pub(super) fn write(page: &mut Page<'_>, view: &Trace, sheet: &Sheet<'_>) -> io::Result<()> {
    match view.neighbours {
        Neighbours::None => write_table(page, view, sheet),
        Neighbours::Callers => write_neighbours(page, view, sheet, "was called by...", "<-"),
        Neighbours::Callees => write_neighbours(page, view, sheet, "called...", "->"),
    }
}

fn write_table(page: &mut Page<'_>, view: &Trace, sheet: &Sheet<'_>) -> io::Result<()> {
    let functions = &sheet.table.functions;
    let (mut all, mut primitive, mut took) = (0_u64, 0_u64, 0.0);
    for function in functions {
        let calls = sheet.calls(&function.counted);
        all = all.saturating_add(calls.0);
        primitive = primitive.saturating_add(calls.1);
        took += seconds(function.counted.own);
    }
    let mut text = format!("         {all} function calls ");
    if all != primitive {
        let _ = write!(text, "({primitive} primitive calls) ");
    }
    let _ = write!(text, "in {took:.3} seconds");
    page.plain(&text)?;
    page.plain("")?;
    if sheet.rows.is_empty() {
        return Ok(());
    }
    write_order(page, view, sheet)?;
    page.plain("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)")?;
    for &row in &sheet.rows {
        let counted = &functions[row].counted;
        let (all, primitive) = sheet.calls(counted);
        let each = |took: u64, calls: u64| match calls {
            0 => " ".repeat(8),
            calls => format!("{:8.3}", seconds(took) / calls as f64),
        };
        page.plain(&format!(
            "{:>9} {:8.3} {} {:8.3} {} {}",
            sheet.calls_text(counted),
            seconds(counted.own),
            each(counted.own, all),
            seconds(counted.total),
            each(counted.total, primitive),
            sheet.standard[row],
        ))?;
    }
    page.plain("")?;
    page.plain("")
}

/// Writes how the rows are ordered, and what was left out.
fn write_order(page: &mut Page<'_>, view: &Trace, sheet: &Sheet<'_>) -> io::Result<()> {
    page.plain(&format!(
        "   Ordered by: {}",
        view.order(page.profile).words()
    ))?;
    for (before, after, only) in &sheet.left_out {
        page.plain(&format!(
            "   List reduced from {before} to {after} due to restriction <{only}>"
        ))?;
    }
    page.plain("")
}

fn write_neighbours(
    page: &mut Page<'_>,
    view: &Trace,
    sheet: &Sheet<'_>,
    title: &str,
    arrow: &str,
) -> io::Result<()> {
    if sheet.rows.is_empty() {
        return Ok(());
    }
    write_order(page, view, sheet)?;
    let longest = sheet.rows.iter().map(|&row| length(&sheet.standard[row]));
    let width = longest.max().unwrap_or(0) + 2;
    page.plain(&format!("{}{title}", padded("Function ", width)))?;
    if !sheet.table.between.is_empty() {
        page.plain(&format!(
            "{}    ncalls  tottime  cumtime",
            " ".repeat(width)
        ))?;
    }
    for &row in &sheet.rows {
        let head = format!("{}{arrow} ", padded(&sheet.standard[row], width));
        let neighbours = view.neighbours.of(sheet, row);
        if neighbours.is_empty() {
            page.plain(&head)?;
        }
        for (number, (other, between)) in neighbours.into_iter().enumerate() {
            let line = neighbour(sheet, other, between, number > 0);
            match number {
                0 => page.plain(&format!("{head}{line}"))?,
                _ => page.plain(&format!("{}{line}", " ".repeat(width + 1)))?,
            }
        }
    }
    page.plain("")?;
    page.plain("")
}

fn neighbour(sheet: &Sheet<'_>, other: usize, between: &CallsBetween, is_further: bool) -> String {
    let width = if is_further { 9 } else { 7 };
    format!(
        "{:>width$} {:8.3} {:8.3}  {}",
        sheet.calls_text(&between.counted),
        seconds(between.counted.own),
        seconds(between.counted.total),
        sheet.standard[other],
    )
}

/// Python counts characters, not columns.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(length(text));
    format!("{text}{}", " ".repeat(spaces))
}
