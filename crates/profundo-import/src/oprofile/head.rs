//! What stands before the rows: the events that were counted, and the titles of the columns.
//!
//! ```text
//! CPU: Intel Haswell microarchitecture, speed 3501 MHz (estimated)
//! Counted CPU_CLK_UNHALTED events (Clock cycles when not halted) with a unit mask of 0x00 (No unit mask) count 100000
//! samples  %        linenr info                 image name               symbol name
//! ```

/// The head of a report.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// The names of the events, and the number of them behind a sample; 0 where unknown.
    pub events: Vec<(String, u64)>,
    /// The threads, processes or processors that the columns of samples are of.
    pub classes: Vec<Class>,
    pub columns: Vec<Column>,
    /// Whether rows are programs and their libraries.
    pub is_of_images: bool,
    /// The number of lines.
    pub lines: u64,
}

/// The owner of a column of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Thread(u64),
    Process(u64),
    Processor(u64),
}

/// A column: its first letter and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub start: usize,
    pub content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Address,
    Samples,
    Percent,
    Line,
    Image,
    Program,
    Symbol,
    Other,
}

/// The titles of columns. A longer one comes before its part.
const TITLES: &[(&str, Content)] = &[
    ("vma", Content::Address),
    ("cum. samples", Content::Other),
    ("samples", Content::Samples),
    ("cum. %", Content::Other),
    ("%", Content::Percent),
    ("linenr info", Content::Line),
    ("image name", Content::Image),
    ("app name", Content::Program),
    ("symbol name", Content::Symbol),
];

/// Makes a class of its number.
type OfNumber = fn(u64) -> Class;

/// The starts of lines that say whose samples a column has.
const CLASSES: &[(&str, OfNumber)] = &[
    ("Processes with a thread ID of ", Class::Thread),
    ("Processes with a thread group ID of ", Class::Process),
    ("Processes with a tgid of ", Class::Process),
    ("Processes with a tid of ", Class::Thread),
    ("Samples on CPU ", Class::Processor),
];

/// The most lines before the titles.
const MOST_LINES: usize = 64;

impl Head {
    /// Reads the head. `None`: it is not that of a report.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut head = Self::default();
        for line in text.lines().take(MOST_LINES) {
            head.lines += 1;
            if let Some(columns) = columns(line) {
                head.columns = columns;
                return Some(head);
            }
            if line.trim_start().starts_with("samples|") && line.trim_end().ends_with("%|") {
                head.is_of_images = true;
                return Some(head);
            }
            head.line(line);
        }
        None
    }

    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Counted ") {
            let name = rest.split_whitespace().next().unwrap_or_default();
            let count = rest
                .rsplit_once(" count ")
                .map_or("", |(_, count)| count.trim());
            self.events
                .push((name.to_owned(), count.parse().unwrap_or(0)));
        } else if line.starts_with("Profiling through timer interrupt") {
            self.events.push((String::new(), 0));
        }
        for (start, class) in CLASSES {
            if let Some(number) = line.strip_prefix(start)
                && let Ok(number) = number.trim().parse()
            {
                self.classes.push(class(number));
            }
        }
    }

    /// The number of columns of samples.
    pub(super) fn values(&self) -> usize {
        let is_samples = |column: &&Column| column.content == Content::Samples;
        self.columns.iter().filter(is_samples).count()
    }

    /// The place of the first column with this content.
    pub(super) fn position(&self, content: Content) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.content == content)
    }
}

/// The columns of a line of titles: it has nothing else, and ends with a name.
fn columns(line: &str) -> Option<Vec<Column>> {
    let mut columns = Vec::new();
    let mut at = 0;
    loop {
        let rest = line.get(at..)?;
        let title = rest.trim_start();
        if title.is_empty() {
            break;
        }
        at = line.len() - title.len();
        let (name, content) = TITLES.iter().find(|(name, _)| title.starts_with(name))?;
        columns.push(Column {
            start: at,
            content: *content,
        });
        at += name.len();
    }
    let has = |content| {
        columns
            .iter()
            .any(|column: &Column| column.content == content)
    };
    let is_named = has(Content::Symbol) || has(Content::Image) || has(Content::Program);
    (has(Content::Samples) && is_named).then_some(columns)
}

/// The cells of a row. One that is too wide pushes the others to the right.
pub(super) fn cells<'a>(columns: &[Column], row: &'a str, cells: &mut Vec<&'a str>) {
    cells.clear();
    let mut shift = 0;
    let mut from = 0;
    for (number, _) in columns.iter().enumerate() {
        let Some(next) = columns.get(number + 1) else {
            cells.push(row.get(from..).unwrap_or_default().trim());
            return;
        };
        // The gap before the next column.
        let is_gap = |at: usize| row.as_bytes().get(at).is_none_or(|&byte| byte == b' ');
        let begins = |at: usize| is_gap(at.saturating_sub(1)) && !is_gap(at);
        let mut shifts = (0..=shift).rev();
        shift = shifts
            .find(|shift| begins(next.start + shift))
            .unwrap_or(shift);
        let mut end = next.start + shift;
        if !is_gap(end.saturating_sub(1)) {
            let wide = row
                .get(end..)
                .map_or(0, |rest| rest.find(' ').unwrap_or(rest.len()));
            let gap = row
                .get(end + wide..)
                .map_or(0, |rest| rest.len() - rest.trim_start().len());
            shift += wide + gap;
            end += wide + gap;
        }
        while end < row.len() && !row.is_char_boundary(end) {
            end += 1;
        }
        cells.push(row.get(from..end.min(row.len())).unwrap_or_default().trim());
        from = end.min(row.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_known_and_nothing_else() {
        let columns = columns("vma      samples  %        image name               symbol name");
        let columns = columns.unwrap();
        let contents: Vec<Content> = columns.iter().map(|column| column.content).collect();
        use Content::*;
        assert_eq!(contents, [Address, Samples, Percent, Image, Symbol]);
        for other in ["samples per second", "samples  %", "image name", ""] {
            assert_eq!(super::columns(other), None, "{other}");
        }
    }

    #[test]
    fn a_wide_cell_pushes_the_others() {
        let columns = columns("samples  %        image name               symbol name").unwrap();
        let mut found = Vec::new();
        let mut row = |row| {
            cells(&columns, row, &mut found);
            found.join("|")
        };
        assert_eq!(
            row("9366      9.4223  vmlinux                  pid_alive"),
            "9366|9.4223|vmlinux|pid_alive"
        );
        assert_eq!(
            row("103450    6.8222  libtorch_python_and_more.so.1 f(int, long)"),
            "103450|6.8222|libtorch_python_and_more.so.1|f(int, long)"
        );
        assert_eq!(row("1         6.2e-04 a"), "1|6.2e-04|a|");
    }
}
