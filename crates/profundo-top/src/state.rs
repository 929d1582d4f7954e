//! The user's choices, and the effect of each key on them.

use std::cmp::Reverse;

use super::keeper::Question;
use super::keys::Key;
use super::picture::{self, Picture, Row, View};
use super::window::Span;

/// The windows that a key steps through.
const SPANS: [Span; 6] = [
    Span::Last(2),
    Span::Last(5),
    Span::Last(10),
    Span::Last(30),
    Span::Last(60),
    Span::SinceStart,
];

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By own time.
    Own,
    /// By time with callees.
    Total,
    /// By name.
    Name,
}

/// The action that a key requires of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// At most a redraw of the page.
    Draw,
    /// Other numbers.
    Ask,
    /// To leave the page.
    Quit,
    /// To interrupt the program, or else to leave.
    Interrupt,
    /// To stop for a while, and give the terminal back meanwhile.
    Suspend,
    /// To redraw everything: another program has written to the terminal.
    Redraw,
}

/// The choices.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The table.
    pub view: View,
    /// True if there is a table of waits.
    pub has_waits: bool,
    /// The part of the past.
    pub span: Span,
    /// The order of the rows.
    pub order: Order,
    /// True if the order is reversed.
    pub reversed: bool,
    /// Only rows that contain this text are shown.
    pub filter: String,
    /// True if the filter is being typed.
    pub is_typing: bool,
    /// True if the page is frozen.
    pub paused: bool,
    /// True if the keys are explained.
    pub help: bool,
    /// The row whose details are shown.
    pub detail: Option<picture::Key>,
    /// The selected row, if any: it stays selected wherever it moves.
    pub chosen: Option<picture::Key>,
    /// The number of rows, or lines of details, that are scrolled past.
    pub above: usize,
    /// The number of rows last shown.
    pub shown: usize,
}

impl State {
    /// The initial choices.
    pub fn new(span: Span, has_waits: bool) -> Self {
        Self {
            view: View::Functions,
            has_waits,
            span,
            order: Order::Own,
            reversed: false,
            filter: String::new(),
            is_typing: false,
            paused: false,
            help: false,
            detail: None,
            chosen: None,
            above: 0,
            shown: 1,
        }
    }

    /// The question whose answer it needs.
    pub fn question(&self) -> Question {
        Question {
            view: self.view,
            span: self.span,
            detail: self.detail,
            paused: self.paused,
        }
    }

    /// The available tables.
    pub fn views(&self) -> &'static [View] {
        match self.has_waits {
            true => &View::ALL,
            false => &View::ALL[..4],
        }
    }

    /// The word for the sort order in this table.
    pub fn order_word(&self) -> &'static str {
        match (self.order, self.view) {
            (Order::Name, _) => "name",
            (Order::Own, View::Functions | View::Lines) => "self",
            (Order::Own | Order::Total, View::Waits) => "time",
            (Order::Own, _) => "CPU",
            (Order::Total, View::Processes) => "memory",
            (Order::Total, _) => "total",
        }
    }

    /// The sort order in words, as the user's choice.
    pub fn order_name(&self) -> String {
        let reversed = if self.reversed { ", reversed" } else { "" };
        format!("by {}{reversed}", self.order_word())
    }

    /// The shown rows of a picture, in their order.
    pub fn rows<'a>(&self, picture: &'a Picture) -> Vec<&'a Row> {
        let has_capitals = self.filter.chars().any(char::is_uppercase);
        let is_in = |text: &str| match has_capitals {
            true => text.contains(&self.filter),
            false => text.to_lowercase().contains(&self.filter),
        };
        let passes = |row: &&Row| self.filter.is_empty() || is_in(&row.name) || is_in(&row.at);
        // Rows without time of their own are left out if that is what counts.
        let is_of_cpu = matches!(picture.view, View::Functions | View::Lines);
        let counts = |row: &&Row| !is_of_cpu || self.order != Order::Own || row.own > 0;
        let mut rows: Vec<&Row> = (picture.rows.iter())
            .filter(passes)
            .filter(counts)
            .collect();
        match self.order {
            Order::Own => rows.sort_by_key(|row| Reverse((row.own, row.total))),
            Order::Total => rows.sort_by_key(|row| Reverse((row.total, row.own))),
            Order::Name => rows.sort_by(|a, b| (&a.name, &a.at).cmp(&(&b.name, &b.at))),
        }
        if self.reversed {
            rows.reverse();
        }
        rows
    }

    /// The position of the selected row.
    pub fn position(&self, rows: &[&Row]) -> Option<usize> {
        let chosen = self.chosen?;
        rows.iter().position(|row| row.key == chosen)
    }

    /// Handles a key that was pressed on a page that shows `picture`.
    pub fn press(&mut self, key: Key, picture: Option<&Picture>) -> Act {
        // The rows of another table are not meant: the right ones are about to come.
        let picture = picture.filter(|picture| picture.view == self.view);
        match key {
            Key::Control('c') => return Act::Interrupt,
            Key::Control('z') => return Act::Suspend,
            Key::Control('l') => return Act::Redraw,
            _ => {}
        }
        if self.is_typing {
            return self.type_filter(key);
        }
        if self.help {
            // Any key closes the help; but a key that quits does quit.
            self.help = false;
            return match key {
                Key::Char('q') => Act::Quit,
                _ => Act::Draw,
            };
        }
        match key {
            Key::Char('q') => return Act::Quit,
            Key::Char('?' | 'h') => self.help = true,
            Key::Char(' ') => {
                self.paused = !self.paused;
                return Act::Ask;
            }
            Key::Char('w') => return self.next_span(1),
            Key::Char('W') => return self.next_span(SPANS.len() - 1),
            Key::Char(digit @ '1'..='5') => {
                let number = digit as usize - '1' as usize;
                return match self.views().get(number) {
                    Some(&view) => self.show(view),
                    None => Act::Draw,
                };
            }
            Key::Tab | Key::Right => return self.next_view(1),
            Key::BackTab | Key::Left => return self.next_view(self.views().len() - 1),
            Key::Escape | Key::Backspace => return self.back(),
            _ if self.detail.is_some() => self.scroll(key, picture),
            Key::Char('s') => {
                self.order = match self.order {
                    Order::Own => Order::Total,
                    Order::Total => Order::Name,
                    Order::Name => Order::Own,
                };
            }
            Key::Char('r') => self.reversed = !self.reversed,
            Key::Char('/') => {
                self.is_typing = true;
                self.above = 0;
            }
            Key::Enter => {
                let chosen = self.chosen.or_else(|| {
                    let picture = picture?;
                    self.rows(picture).first().map(|row| row.key)
                });
                if chosen.is_some() {
                    self.detail = chosen;
                    self.above = 0;
                    return Act::Ask;
                }
            }
            key => self.choose(key, picture),
        }
        Act::Draw
    }

    fn type_filter(&mut self, key: Key) -> Act {
        match key {
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Control('u') => self.filter.clear(),
            Key::Char(character) if self.filter.len() < 200 => self.filter.push(character),
            _ => {}
        }
        self.above = 0;
        Act::Draw
    }

    fn next_span(&mut self, steps: usize) -> Act {
        let at = SPANS.iter().position(|&span| span == self.span);
        // A window from the command line lies between two of them.
        let at = at.unwrap_or_else(|| {
            let Span::Last(seconds) = self.span else {
                return 0;
            };
            let shorter = |span: &&Span| matches!(span, Span::Last(length) if *length < seconds);
            let before = SPANS.iter().filter(shorter).count();
            if steps == 1 {
                before + SPANS.len() - 1
            } else {
                before
            }
        });
        self.span = SPANS[(at + steps) % SPANS.len()];
        Act::Ask
    }

    fn next_view(&mut self, steps: usize) -> Act {
        let views = self.views();
        let at = views.iter().position(|&view| view == self.view);
        self.show(views[(at.unwrap_or(0) + steps) % views.len()])
    }

    fn show(&mut self, view: View) -> Act {
        if view != self.view {
            self.chosen = None;
        }
        self.view = view;
        self.detail = None;
        self.above = 0;
        Act::Ask
    }

    /// Undoes the last choice that hides something.
    fn back(&mut self) -> Act {
        if self.detail.take().is_some() {
            self.above = 0;
            return Act::Ask;
        }
        if !self.filter.is_empty() {
            self.filter.clear();
        } else {
            self.chosen = None;
            self.above = 0;
        }
        Act::Draw
    }

    fn scroll(&mut self, key: Key, picture: Option<&Picture>) {
        let detail = picture.and_then(|picture| picture.detail.as_ref());
        let last = detail.map_or(0, |detail| detail.stack.len() + detail.callers.len());
        let at = step(key, self.above, last, self.shown);
        self.above = at.unwrap_or(self.above);
    }

    /// Moves the selection.
    fn choose(&mut self, key: Key, picture: Option<&Picture>) {
        let Some(picture) = picture else { return };
        let rows = self.rows(picture);
        let Some(last) = rows.len().checked_sub(1) else {
            return;
        };
        let at = match self.position(&rows) {
            Some(at) => step(key, at, last, self.shown),
            // The first step selects the first visible row.
            None => match key {
                Key::End => Some(last),
                Key::Down | Key::Up | Key::PageDown | Key::PageUp | Key::Home => {
                    Some(self.above.min(last))
                }
                _ => None,
            },
        };
        if let Some(at) = at {
            self.chosen = Some(rows[at].key);
        }
    }

    /// Scrolls so that the selected row is visible among `rows`, with room for `shown`.
    pub fn keep_in_sight(&mut self, rows: &[&Row], shown: usize) -> Option<usize> {
        self.shown = shown.max(1);
        let position = self.position(rows);
        if let Some(at) = position {
            if at < self.above {
                self.above = at;
            } else if at >= self.above + self.shown {
                self.above = at + 1 - self.shown;
            }
        }
        self.above = self.above.min(rows.len().saturating_sub(self.shown));
        position
    }
}

/// The place in a list that a key leads to.
fn step(key: Key, at: usize, last: usize, page: usize) -> Option<usize> {
    let to = match key {
        Key::Up | Key::Char('k') => at.saturating_sub(1),
        Key::Down | Key::Char('j') => at + 1,
        Key::PageUp => at.saturating_sub(page),
        Key::PageDown => at + page,
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => last,
        _ => return None,
    };
    Some(to.min(last))
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::picture;
    use super::*;

    fn state() -> State {
        State::new(Span::Last(10), false)
    }

    fn names<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
        rows.iter().map(|row| &*row.name).collect()
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let picture = picture();
        let mut state = state();
        assert_eq!(names(&state.rows(&picture)), ["hot", "漢字の関数", "sort"]);
        state.press(Key::Char('r'), Some(&picture));
        assert_eq!(names(&state.rows(&picture)), ["sort", "漢字の関数", "hot"]);
        state.press(Key::Char('r'), Some(&picture));
        state.press(Key::Char('s'), Some(&picture));
        let by_total = ["main", "hot", "漢字の関数", "sort"];
        assert_eq!(names(&state.rows(&picture)), by_total);
        state.press(Key::Char('s'), Some(&picture));
        let by_name = ["hot", "main", "sort", "漢字の関数"];
        assert_eq!(names(&state.rows(&picture)), by_name);
        for key in "/漢".chars() {
            state.press(Key::Char(key), Some(&picture));
        }
        assert_eq!(names(&state.rows(&picture)), ["漢字の関数"]);
        assert!(state.is_typing);
        state.press(Key::Enter, Some(&picture));
        state.press(Key::Escape, Some(&picture));
        assert_eq!(state.rows(&picture).len(), 4);
        // Capitals are significant only in a filter that has them.
        for (filter, rows) in [("HOT", 0), ("hot", 1), ("APP.PY", 0), ("app.py", 3)] {
            state.filter = filter.into();
            assert_eq!(state.rows(&picture).len(), rows, "{filter}");
        }
    }

    #[test]
    fn a_filter_is_typed_and_not_obeyed() {
        let mut state = state();
        for key in ['/', 'q', ' ', 'w', '1'] {
            assert_eq!(state.press(Key::Char(key), None), Act::Draw);
        }
        assert_eq!(state.filter, "q w1");
        state.press(Key::Backspace, None);
        assert_eq!(state.filter, "q w");
        assert_eq!(state.press(Key::Control('c'), None), Act::Interrupt);
        state.press(Key::Escape, None);
        assert_eq!((state.filter.as_str(), state.is_typing), ("", false));
        assert_eq!(state.press(Key::Char('q'), None), Act::Quit);
    }

    #[test]
    fn windows_and_tables_follow_one_another() {
        let mut state = state();
        let mut spans = Vec::new();
        for _ in 0..4 {
            assert_eq!(state.press(Key::Char('w'), None), Act::Ask);
            spans.push(state.span);
        }
        let wanted = [
            Span::Last(30),
            Span::Last(60),
            Span::SinceStart,
            Span::Last(2),
        ];
        assert_eq!(spans, wanted);
        state.press(Key::Char('W'), None);
        assert_eq!(state.span, Span::SinceStart);
        // A window that is none of them is left for its neighbours.
        for (key, next) in [('w', 10), ('W', 5)] {
            state.span = Span::Last(7);
            state.press(Key::Char(key), None);
            assert_eq!(state.span, Span::Last(next));
        }
        assert_eq!(state.press(Key::Tab, None), Act::Ask);
        assert_eq!(state.view, View::Lines);
        state.press(Key::BackTab, None);
        state.press(Key::Left, None);
        assert_eq!(state.view, View::Processes);
        state.press(Key::Char('5'), None);
        assert_eq!(state.view, View::Processes, "there are no waits");
        state.has_waits = true;
        state.press(Key::Char('5'), None);
        assert_eq!(state.view, View::Waits);
    }

    #[test]
    fn the_chosen_row_stays_chosen_wherever_it_goes() {
        let mut picture = picture();
        let mut state = state();
        state.press(Key::Down, Some(&picture));
        state.press(Key::Down, Some(&picture));
        let chosen = state.chosen.expect("a row");
        assert_eq!(state.position(&state.rows(&picture)), Some(1));
        // It becomes the hottest.
        let mut rows = picture.rows.to_vec();
        let row = rows.iter_mut().find(|row| row.key == chosen).unwrap();
        row.own = u64::MAX / 2;
        picture.rows = rows.into();
        assert_eq!(state.position(&state.rows(&picture)), Some(0));
        state.press(Key::End, Some(&picture));
        let rows = state.rows(&picture);
        assert_eq!(state.keep_in_sight(&rows, 2), Some(2));
        assert_eq!(state.above, 1);
        assert_eq!(state.press(Key::Enter, Some(&picture)), Act::Ask);
        assert_eq!(state.detail, state.chosen);
        state.press(Key::Escape, Some(&picture));
        assert_eq!(state.detail, None);
        state.press(Key::Escape, Some(&picture));
        assert_eq!(state.chosen, None);
        // Keys that are faster than the numbers do not affect rows of another table.
        state.press(Key::Char('2'), Some(&picture));
        state.press(Key::Down, Some(&picture));
        assert_eq!(state.press(Key::Enter, Some(&picture)), Act::Draw);
        assert_eq!((state.chosen, state.detail), (None, None));
    }
}
