//! Lines that go to a writer, as wide and as colourful as they should be.

use std::io::{self, Write};

use crate::Look;
use crate::command::{BOLD, GRAY, heat};
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, percent};
use crate::page::width::{broken, keep_head};

/// The lines of a report on a heap, in the width of the screen.
pub(super) struct Sheet<'a> {
    pub columns: usize,
    colored: bool,
    out: &'a mut dyn Write,
    line: Line,
}

/// The width of numbers.
const NUMBER: usize = 9;
const SHARE: usize = 6;

impl<'a> Sheet<'a> {
    pub fn new(look: &Look, out: &'a mut dyn Write) -> Self {
        Self {
            columns: look.columns(),
            colored: look.is_colored(),
            out,
            line: Line::default(),
        }
    }

    pub fn end(&mut self) -> io::Result<()> {
        self.line.write(self.out, self.colored)
    }

    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        self.sentence(text, BOLD)
    }

    pub fn plain(&mut self, text: &str) -> io::Result<()> {
        self.sentence(text, Style::PLAIN)
    }

    /// Writes a sentence in as many lines as it takes.
    fn sentence(&mut self, text: &str, style: Style) -> io::Result<()> {
        /// A number and what it counts stay together.
        const GLUE: char = '\u{a0}';
        let mut before = ' ';
        let glued = text.chars().map(|letter| {
            let is_glue = letter == ' ' && before.is_ascii_digit();
            before = letter;
            if is_glue { GLUE } else { letter }
        });
        let glued: String = glued.collect();
        for line in broken(&glued, self.columns) {
            self.line.push(&line.replace(GLUE, " "), style);
            self.end()?;
        }
        Ok(())
    }

    pub fn warning(&mut self, text: &str) -> io::Result<()> {
        let style = Style {
            bold: true,
            ..Style::color(Color::Yellow)
        };
        self.line.push("Warning:", style);
        self.line.push(&format!(" {text}"), Style::PLAIN);
        self.end()
    }

    /// The titles of columns: those of numbers, then that of the text.
    pub fn titles(&mut self, numbers: &[&str], text: &str) -> io::Result<()> {
        for title in numbers {
            let width = if *title == "%" { SHARE } else { NUMBER };
            self.line.push_fmt(format_args!("{title:>width$} "), GRAY);
        }
        self.line.push(&format!(" {text}"), GRAY);
        self.end()
    }

    pub fn number(&mut self, text: &str) {
        self.line
            .push_fmt(format_args!("{text:>NUMBER$} "), Style::PLAIN);
    }

    pub fn bytes(&mut self, number: u64) {
        self.number(&bytes(number));
    }

    /// Bytes and their share of all.
    pub fn share(&mut self, number: u64, share: f64) {
        let style = heat(share);
        self.line
            .push_fmt(format_args!("{:>NUMBER$} ", bytes(number)), style);
        self.line
            .push_fmt(format_args!("{:>SHARE$} ", percent(share)), style);
    }

    /// The last column: what is left of the line is for it.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.line.push_spaces(1);
        let left = self.columns.saturating_sub(self.line.width()).max(20);
        self.line.push(&keep_head(text, left), Style::PLAIN);
        self.end()
    }

    pub fn gray(&mut self, text: &str) -> io::Result<()> {
        self.line.push_spaces(1);
        let left = self.columns.saturating_sub(self.line.width()).max(20);
        self.line.push(&keep_head(text, left), GRAY);
        self.end()
    }
}
