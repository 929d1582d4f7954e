//! The short tree of calls.

use std::io;

use crate::command::short_tree::{Branch, ShortTree};
use crate::command::{BOLD, GRAY, heat};
use crate::naming::Names;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::units::percent;
use crate::page::width::{keep_tail, width};

/// Writes the tree.
pub(super) fn write_tree(
    page: &mut Page<'_>,
    tree: &ShortTree,
    names: &Names<'_>,
    is_few: bool,
) -> io::Result<()> {
    let mut line = Line::default();
    let title = if is_few {
        "Calls"
    } else {
        "Total %  Self  Calls"
    };
    line.push(title, BOLD);
    page.line(&mut line)?;
    for branch in &tree.branches {
        if !is_few {
            let (total, own) = (percent(branch.total), percent(branch.own));
            line.push_fmt(format_args!("{total:>7}"), heat(branch.total));
            line.push_fmt(format_args!("{own:>6}  "), Style::PLAIN);
        }
        if let [middle @ .., last] = &branch.guides[1..] {
            for &goes_on in middle {
                line.push(if goes_on { "│ " } else { "  " }, GRAY);
            }
            line.push(if *last { "├ " } else { "└ " }, GRAY);
        }
        let at = (branch.chain.last()).map_or(String::new(), |&last| names.at(last));
        let room = page.columns.saturating_sub(line.width());
        // The place of the last one has to be seen; of the names, the last is the most important.
        let for_at = match at.is_empty() || room < width(&at) + 2 + SHORTEST {
            true => 0,
            false => width(&at) + 2,
        };
        let chain = chain(branch, names, room - for_at);
        for (text, style) in &chain {
            line.push(text, *style);
        }
        if for_at > 0 {
            line.push_spaces(2);
            line.push(&at, GRAY);
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    if tree.is_cut {
        line.push("                … smaller shares are left out", GRAY);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    Ok(())
}

/// Shorter names are of no use.
const SHORTEST: usize = 12;

/// The names of a chain, in at most this many columns: all of them, the first and the last, or the
/// last alone.
fn chain(branch: &Branch, names: &Names<'_>, room: usize) -> Vec<(String, Style)> {
    let Some((&last, before)) = branch.chain.split_last() else {
        return Vec::new();
    };
    let name = names.function(last);
    let (arrow, dots) = ((" › ".to_owned(), GRAY), ("… › ".to_owned(), GRAY));
    let behind = branch.folds.then(|| (" › …".to_owned(), GRAY));
    let pieces = |kept: usize, name: &str| {
        let mut pieces = Vec::new();
        let is_short = kept < before.len();
        for (at, &place) in before[..kept].iter().enumerate() {
            pieces.push((names.alone(place).into_owned(), Style::PLAIN));
            pieces.push(arrow.clone());
            if at == 0 && (is_short || branch.skipped > 0) {
                pieces.push(dots.clone());
            }
        }
        if kept == 0 && is_short {
            pieces.push(dots.clone());
        }
        pieces.push((name.to_owned(), Style::PLAIN));
        pieces.extend(behind.clone());
        pieces
    };
    let columns =
        |pieces: &[(String, Style)]| pieces.iter().map(|(text, _)| width(text)).sum::<usize>();
    for kept in [before.len(), before.len().min(1), 0] {
        let pieces = pieces(kept, name);
        if columns(&pieces) <= room {
            return pieces;
        }
    }
    let others = columns(&pieces(0, ""));
    pieces(
        0,
        &keep_tail(name, room.saturating_sub(others).max(SHORTEST)),
    )
}
