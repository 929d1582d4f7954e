//! Details of one row, in place of the table: its callers and its hottest stack.

use profundo_report::text::keep_head;
use ratatui::style::Style;

use super::head::percent_or_0;
use super::{BOLD, FAINT, Pen};
use crate::picture::{Detail, Picture};
use crate::state::State;

/// Draws the details.
pub fn draw(pen: &mut Pen<'_>, state: &mut State, detail: &Detail, picture: &Picture) {
    let whole = detail.whole.max(1) as f64;
    let share = |part: u64| match picture.is_few {
        true => format!("{part} of {}", detail.whole),
        false => percent_or_0(part as f64 / whole),
    };
    let of_what = match picture.is_few {
        true => "samples",
        false => "of the time",
    };
    let mut lines: Vec<(String, Style)> = Vec::new();
    lines.push((
        format!("{}  {} {of_what}", detail.name, share(detail.weight)),
        BOLD,
    ));
    if !detail.callers.is_empty() {
        lines.push(("Called by".to_owned(), FAINT));
        for (caller, weight) in &detail.callers {
            lines.push((format!("{:>8}  {caller}", share(*weight)), Style::new()));
        }
    }
    if detail.stack.is_empty() {
        lines.push(("nothing was seen of it in this time".to_owned(), FAINT));
    } else {
        let head = format!(
            "Hottest stack, {}, innermost first",
            share(detail.stack_weight)
        );
        lines.push((head, FAINT));
        lines.extend(
            detail
                .stack
                .iter()
                .map(|level| (format!("  {level}"), Style::new())),
        );
    }
    let shown = usize::from(pen.area.height.saturating_sub(4));
    state.shown = shown.max(1);
    state.above = state.above.min(lines.len().saturating_sub(shown));
    let room = usize::from(pen.area.width);
    for (row, (line, style)) in (3..).zip(lines.into_iter().skip(state.above).take(shown)) {
        pen.text(0, row, &keep_head(&line, room), style);
    }
}
