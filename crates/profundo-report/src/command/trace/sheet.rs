//! The table of calls with its names, in the order that was asked for.

use profundo_analysis::{CallLabel, CallTable, Counted, Selection, traced};
use profundo_model::{Clock, Profile};

use super::Trace;

/// The table and its names.
pub(super) struct Sheet<'a> {
    pub table: CallTable,
    /// The name of each row of the table, in three parts.
    pub labels: Vec<CallLabel<'a>>,
    /// The name of each row of the table, in one part.
    pub standard: Vec<String>,
    /// The rows that are shown, in their order.
    pub rows: Vec<usize>,
    /// The restrictions in their order: the number of rows before and after, and the restriction.
    pub left_out: Vec<(usize, usize, String)>,
    /// The number of rows that are not shown because there are too many of them for a terminal.
    pub unseen: usize,
    /// True if going on after an await counts as a call.
    resumes_are_calls: bool,
    /// True if calls were measured.
    pub is_timed: bool,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(profile: &'a Profile, selection: &Selection, view: &Trace) -> Self {
        let table = traced(profile, selection);
        let labels: Vec<CallLabel<'a>> = (table.functions.iter())
            .map(|function| CallLabel::of(profile, function.place))
            .collect();
        let mut sheet = Self {
            standard: labels.iter().map(CallLabel::standard_name).collect(),
            rows: (0..labels.len()).collect(),
            left_out: Vec::new(),
            unseen: 0,
            resumes_are_calls: view.is_pstats,
            is_timed: profile.traced.clock != Clock::None,
            labels,
            table,
        };
        let mut rows = std::mem::take(&mut sheet.rows);
        // Equals stay in the order of their standard names.
        let order = view.order(profile);
        rows.sort_by(|&a, &b| order.compare(&sheet, a, b));
        for only in &view.only {
            let before = rows.len();
            only.leave(&mut rows, &sheet.standard);
            if rows.len() != before {
                sheet.left_out.push((before, rows.len(), only.to_string()));
            }
        }
        sheet.rows = rows;
        sheet
    }

    /// Keeps the first rows only, as many as fit on a small terminal with the text above and below:
    /// the first ones are the most wanted, and must not scroll away.
    pub(super) fn for_terminal(mut self) -> Self {
        const MOST: usize = 15;
        self.unseen = self.rows.len().saturating_sub(MOST);
        self.rows.truncate(MOST);
        self
    }

    /// The numbers of all calls, and of the primitive ones.
    pub(super) fn calls(&self, counted: &Counted) -> (u64, u64) {
        match self.resumes_are_calls {
            true => (counted.begun.all(), counted.outermost.all()),
            false => (counted.begun.calls, counted.outermost.calls),
        }
    }

    /// Both numbers in one text, as `pstats` writes them.
    pub(super) fn calls_text(&self, counted: &Counted) -> String {
        match self.calls(counted) {
            (all, primitive) if all == primitive => all.to_string(),
            (all, primitive) => format!("{all}/{primitive}"),
        }
    }

    /// True if any function went on after it had awaited.
    pub(super) fn has_resumes(&self) -> bool {
        let mut functions = self.table.functions.iter();
        functions.any(|function| function.counted.begun.resumes > 0)
    }
}
