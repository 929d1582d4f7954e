//! The columns of the table. A line of dots shows where each one lies; with `-t` a character stands
//! between them instead.

/// A column that a profile takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// The share of the function itself.
    Own,
    /// The share with what it calls.
    Total,
    Command,
    /// A number and a command, with a colon between them.
    Thread,
    Module,
    Symbol,
    Samples,
    Period,
}

impl Column {
    fn of_title(title: &str) -> Option<Self> {
        Some(match title {
            "Overhead" | "Self" => Self::Own,
            "Children" => Self::Total,
            "Command" => Self::Command,
            "Pid:Command" | "Tid:Command" => Self::Thread,
            "Shared Object" | "Shared object" => Self::Module,
            "Symbol" => Self::Symbol,
            "Samples" => Self::Samples,
            "Period" => Self::Period,
            _ => return None,
        })
    }
}

/// The layout of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Columns {
    /// Each column's first character, and the character behind it.
    Places(Vec<(usize, usize, Option<Column>)>),
    /// The character between columns.
    Separated(char, Vec<Option<Column>>),
}

impl Columns {
    /// The columns of a line of titles, and of the line below.
    pub(super) fn of(titles: &str, below: &str) -> Option<Self> {
        let text = titles.strip_prefix('#')?;
        let first = text.trim_start();
        if !["Overhead", "Children", "Self"]
            .iter()
            .any(|it| text.contains(it))
        {
            return None;
        }
        let is_dots = |line: &str| {
            let dots = line.strip_prefix("# ").unwrap_or_default();
            dots.contains("...") && dots.bytes().all(|byte| matches!(byte, b'.' | b' '))
        };
        if is_dots(below) {
            return Some(Self::Places(places(titles, below)));
        }
        let separator = first
            .chars()
            .find(|letter| !(letter.is_alphanumeric() || *letter == ' '))?;
        let titles = text.split(separator).map(str::trim).map(Column::of_title);
        let columns: Vec<_> = titles.collect();
        let has_share =
            columns.contains(&Some(Column::Own)) || columns.contains(&Some(Column::Total));
        has_share.then_some(Self::Separated(separator, columns))
    }

    /// A cell of a line; empty where there is none.
    pub(super) fn cell<'a>(&self, line: &'a str, column: Column) -> &'a str {
        let found = match self {
            Self::Places(places) => {
                let place = places.iter().find(|(.., kind)| *kind == Some(column));
                // Shares may be wider than their titles, to the left.
                let is_first = |start: usize| places.first().is_some_and(|it| it.0 == start);
                place.and_then(|&(start, end, _)| {
                    let start = if is_first(start) { 0 } else { start };
                    line.get(start..end.min(line.len()))
                })
            }
            Self::Separated(separator, columns) => {
                let index = columns.iter().position(|kind| *kind == Some(column));
                index.and_then(|index| line.split(*separator).nth(index))
            }
        };
        found.unwrap_or_default().trim()
    }

    pub(super) fn has(&self, column: Column) -> bool {
        match self {
            Self::Places(places) => places.iter().any(|(.., kind)| *kind == Some(column)),
            Self::Separated(_, columns) => columns.contains(&Some(column)),
        }
    }
}

fn places(titles: &str, dots: &str) -> Vec<(usize, usize, Option<Column>)> {
    let mut places: Vec<(usize, usize, Option<Column>)> = Vec::new();
    let mut at = 2;
    for word in dots.get(2..).unwrap_or_default().split(' ') {
        let end = at + word.len();
        if !word.is_empty() {
            let title = titles.get(at..end.min(titles.len())).unwrap_or_default();
            places.push((at, end, Column::of_title(title.trim())));
        }
        at = end + 1;
    }
    if let Some(last) = places.last_mut() {
        last.1 = usize::MAX;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_show_the_places_of_cells() {
        let titles = "# Children      Self  Command        Shared Object  Symbol  ";
        let dots = "# ........  ........  .............  .............  ......";
        let columns = Columns::of(titles, dots).unwrap();
        let line = "    63.49%     0.00%  side 12: io/0  libc.so.6      [.] operator new(int)";
        let cell = |column| columns.cell(line, column);
        assert_eq!(cell(Column::Total), "63.49%");
        assert_eq!(cell(Column::Own), "0.00%");
        assert_eq!(cell(Column::Command), "side 12: io/0");
        assert_eq!(cell(Column::Module), "libc.so.6");
        assert_eq!(cell(Column::Symbol), "[.] operator new(int)");
        assert_eq!(cell(Column::Samples), "");
        assert_eq!(columns.cell("  ü", Column::Symbol), "");
    }

    #[test]
    fn a_character_may_stand_between_columns() {
        let titles = "# Overhead;Children;      Period;Symbol   ;Shared Object";
        let columns =
            Columns::of(titles, " 63.49% ; 63.49% ; 201005000  ;[.] leaf  ;work").unwrap();
        let cell = |column| columns.cell(" 63.49% ; 64 % ; 201 ;[.] leaf  ;work", column);
        assert_eq!(cell(Column::Own), "63.49%");
        assert_eq!(cell(Column::Period), "201");
        assert_eq!(cell(Column::Symbol), "[.] leaf");
        assert!(Columns::of("# Samples: 1 of event", "").is_none());
    }
}
