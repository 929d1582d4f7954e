//! A column of a table is declared once: its title, its cell on the screen, and its members in
//! JSON, by the names that `docs/json.md` has for them. A column may be on the screen only, or in
//! JSON only.
//!
//! Columns are declared in the order of JSON. On the screen they stand in the order of their
//! [`Zone`]s: shares first, then numbers, and last what the row is about, which takes what is left
//! of the line. A test compares the members of every table with the schema in `docs/json.md`.
//!
//! ```text
//! let threads = Table::new("thread", vec![
//!     Column::titled("Thread").last().draw(…).member("thread", "number", …),
//!     Column::right("CPU", 11).text(…).member("cpu_seconds", "number?", …),
//!     Column::json_only().member("alive_seconds", "number?", …),
//!     Column::left("Time %", 6).first().text(…).group("amount", …),
//! ]);
//! ```

use std::borrow::Cow;

use profundo_analysis::Figure;

use crate::json::{Json, figure_members};
use crate::page::Page;
use crate::page::line::{Line, Style};

/// The part of a row that a column stands in; within a zone, columns are in the order of their
/// declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    First,
    Middle,
    Late,
    Last,
}

#[derive(Debug, Clone, Copy)]
enum Align {
    Left,
    Right,
}

type Draw<'a, R> = Box<dyn Fn(&mut Page<'_>, &mut Line, &R) + 'a>;
type Write<'a, R> = Box<dyn Fn(&mut Json<'_>, &R) + 'a>;

/// A member of JSON, or several that are written together.
struct Member<'a, R> {
    /// The members as the schema has them: `name: type`, or the name of the group.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test compares it with the page")
    )]
    schema: Vec<String>,
    write: Write<'a, R>,
}

/// A column of a table.
pub(crate) struct Column<'a, R> {
    zone: Zone,
    is_shown: bool,
    /// Spaces before the title and before each cell of text.
    indent: usize,
    /// Spaces after the title and after each cell of text, in their styles.
    then: usize,
    /// Spaces after the title, without a style.
    gap: usize,
    title: Cow<'a, str>,
    width: usize,
    align: Align,
    draw: Option<Draw<'a, R>>,
    members: Vec<Member<'a, R>>,
}

impl<'a, R> Column<'a, R> {
    fn new(title: Cow<'a, str>, width: usize, align: Align) -> Self {
        Self {
            zone: Zone::Middle,
            is_shown: true,
            indent: 0,
            then: 0,
            gap: 0,
            title,
            width,
            align,
            draw: None,
            members: Vec::new(),
        }
    }

    /// A column that is flush right.
    pub(crate) fn right(title: impl Into<Cow<'a, str>>, width: usize) -> Self {
        Self::new(title.into(), width, Align::Right)
    }

    /// A column that is flush left.
    pub(crate) fn left(title: impl Into<Cow<'a, str>>, width: usize) -> Self {
        Self::new(title.into(), width, Align::Left)
    }

    /// A column that draws its cells itself, such as the last one.
    pub(crate) fn titled(title: impl Into<Cow<'a, str>>) -> Self {
        Self::left(title, 0)
    }

    /// Members that the screen does not show.
    pub(crate) fn json_only() -> Self {
        Self {
            is_shown: false,
            ..Self::titled("")
        }
    }

    /// Puts the column before the numbers: a share.
    pub(crate) fn first(mut self) -> Self {
        self.zone = Zone::First;
        self
    }

    /// Puts the column behind the other numbers, though JSON has it before some of them.
    pub(crate) fn late(mut self) -> Self {
        self.zone = Zone::Late;
        self
    }

    /// Puts the column at the end of the line: the subject of the row.
    pub(crate) fn last(mut self) -> Self {
        self.zone = Zone::Last;
        self
    }

    /// Hides the column on this screen if `is_shown` is false.
    pub(crate) fn when(mut self, is_shown: bool) -> Self {
        self.is_shown &= is_shown;
        self
    }

    /// Spaces before the title and before each cell of text; to be set before the text.
    pub(crate) fn indent(mut self, spaces: usize) -> Self {
        self.indent = spaces;
        self
    }

    /// Spaces after the title and after each cell of text; to be set before the text.
    pub(crate) fn then(mut self, spaces: usize) -> Self {
        self.then = spaces;
        self
    }

    /// Spaces after the title alone.
    pub(crate) fn gap(mut self, spaces: usize) -> Self {
        self.gap = spaces;
        self
    }

    fn padding(&self) -> Padding {
        Padding {
            width: self.width,
            align: self.align,
            then: self.then,
        }
    }

    /// Cells of one text in one style.
    pub(crate) fn text(mut self, cell: impl Fn(&R) -> (String, Style) + 'a) -> Self {
        let (indent, padding) = (self.indent, self.padding());
        self.draw = Some(Box::new(move |_, line, row| {
            let (text, style) = cell(row);
            line.push_spaces(indent);
            padding.push(line, &text, style);
        }));
        self
    }

    /// Cells that take care of their width themselves.
    pub(crate) fn draw(mut self, draw: impl Fn(&mut Page<'_>, &mut Line, &R) + 'a) -> Self {
        self.draw = Some(Box::new(draw));
        self
    }

    /// A member of JSON, with the type that the schema has: `number?` may be `null`, and a name
    /// that ends in `?` may be missing.
    pub(crate) fn member(
        mut self,
        name: &'static str,
        kind: &'static str,
        write: impl Fn(&mut Json<'_>, &str, &R) + 'a,
    ) -> Self {
        let key = name.trim_end_matches('?');
        self.members.push(Member {
            schema: vec![format!("{name}: {kind}")],
            write: Box::new(move |json, row| write(json, key, row)),
        });
        self
    }

    /// Members that come again, under the name that the schema has for them.
    pub(crate) fn group(
        mut self,
        name: &'static str,
        write: impl Fn(&mut Json<'_>, &R) + 'a,
    ) -> Self {
        self.members.push(Member {
            schema: vec![name.into()],
            write: Box::new(write),
        });
        self
    }

    /// Members that are written together, each as the schema has it.
    pub(crate) fn members(
        mut self,
        schema: &[&str],
        write: impl Fn(&mut Json<'_>, &R) + 'a,
    ) -> Self {
        self.members.push(Member {
            schema: schema.iter().map(|part| (*part).to_owned()).collect(),
            write: Box::new(write),
        });
        self
    }

    /// A number, and its range where it is a guess.
    pub(crate) fn figure(mut self, name: &'static str, figure: impl Fn(&R) -> Figure + 'a) -> Self {
        self.members.push(Member {
            schema: figure_schema(name, "number"),
            write: Box::new(move |json, row| figure_members(json, name, figure(row))),
        });
        self
    }

    /// Like [`Column::figure`], but `null` where there is no figure.
    pub(crate) fn figure_or_null(
        mut self,
        name: &'static str,
        figure: impl Fn(&R) -> Option<Figure> + 'a,
    ) -> Self {
        self.members.push(Member {
            schema: figure_schema(name, "number?"),
            write: Box::new(move |json, row| match figure(row) {
                Some(figure) => figure_members(json, name, figure),
                None => json.null(name),
            }),
        });
        self
    }
}

/// A cell of JSON, which has no screen.
pub(crate) fn undrawn<R>(_: &mut Page<'_>, _: &mut Line, _: &R) {}

/// The columns of a table.
pub(crate) struct Table<'a, R> {
    /// The schema's name for an object of this table.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test compares it with the page")
    )]
    object: &'static str,
    columns: Vec<Column<'a, R>>,
}

impl<'a, R> Table<'a, R> {
    /// A table whose rows the schema calls `object`.
    pub(crate) fn new(object: &'static str, columns: Vec<Column<'a, R>>) -> Self {
        Self { object, columns }
    }

    /// The columns on the screen, in their order.
    fn shown(&self) -> Vec<&Column<'a, R>> {
        // Zone by zone, since a sort would be built anew for each kind of row.
        let zones = [Zone::First, Zone::Middle, Zone::Late, Zone::Last];
        let shown = |zone| {
            let columns = self.columns.iter();
            columns.filter(move |column| column.is_shown && column.zone == zone)
        };
        zones.into_iter().flat_map(shown).collect()
    }

    /// Adds the titles.
    pub(crate) fn push_titles(&self, line: &mut Line) {
        const BOLD: Style = Style {
            bold: true,
            ..Style::PLAIN
        };
        for column in self.shown() {
            line.push_spaces(column.indent);
            column.padding().push(line, &column.title, BOLD);
            line.push_spaces(column.gap);
        }
    }

    /// Adds the cells of a row.
    pub(crate) fn push_row(&self, page: &mut Page<'_>, line: &mut Line, row: &R) {
        for column in self.shown() {
            if let Some(draw) = &column.draw {
                draw(page, line, row);
            }
        }
    }

    /// Writes the members of a row.
    pub(crate) fn members(&self, json: &mut Json<'_>, row: &R) {
        for member in self.columns.iter().flat_map(|column| &column.members) {
            (member.write)(json, row);
        }
    }

    /// The schema's name for an object of this table, and its members.
    #[cfg(test)]
    pub(crate) fn schema(&self) -> (&'static str, Vec<String>) {
        let members = self.columns.iter().flat_map(|column| &column.members);
        let members = members.flat_map(|member| member.schema.clone());
        (self.object, members.collect())
    }
}

/// The width of a text in a column, and the spaces after it.
#[derive(Debug, Clone, Copy)]
struct Padding {
    width: usize,
    align: Align,
    then: usize,
}

impl Padding {
    /// Adds a text in its width, and spaces after it, all in one style.
    fn push(self, line: &mut Line, text: &str, style: Style) {
        let Self { width, align, then } = self;
        if text.is_empty() && width + then == 0 {
            return;
        }
        match align {
            Align::Left => line.push_fmt(format_args!("{text:<width$}{:then$}", ""), style),
            Align::Right => line.push_fmt(format_args!("{text:>width$}{:then$}", ""), style),
        }
    }
}

fn figure_schema(name: &str, kind: &str) -> Vec<String> {
    let range = ["low", "high"].map(|end| format!("{name}_{end}?: number"));
    [format!("{name}: {kind}")]
        .into_iter()
        .chain(range)
        .collect()
}
