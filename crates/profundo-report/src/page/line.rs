//! One line of a report: text with styles, cut to the width of the screen before any escape
//! sequence goes in, since those take no column.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use profundo_analysis::palette::Hue;

use crate::page::palette::Color;
use crate::page::width::{ELLIPSIS, cut, width};

/// The appearance of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub bold: bool,
    pub color: Option<Color>,
    /// True if it is part of the line's hyperlink.
    pub link: bool,
}

impl Style {
    pub(crate) const PLAIN: Self = Self {
        bold: false,
        color: None,
        link: false,
    };
    pub(crate) const LINK: Self = Self {
        bold: false,
        color: None,
        link: true,
    };

    /// The colour of a kind of time.
    pub(crate) fn hue(hue: Hue) -> Self {
        Self::color(hue.into())
    }

    pub(crate) fn color(color: Color) -> Self {
        Self {
            color: Some(color),
            ..Self::PLAIN
        }
    }
}

/// True if a character changes the direction in which those after it are written.
pub(crate) fn turns_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A line in the making; it is used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: String,
    /// The end of each style.
    spans: Vec<(usize, Style)>,
    /// The target of the hyperlink, where there is one.
    pub link: Option<String>,
    /// True if all of the line is bold.
    pub bold: bool,
}

impl Line {
    /// Adds text. A name may have any characters: control characters in it must not reach
    /// the terminal.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        // Control characters are below a space, or are DEL, or start with the byte 0xC2; those
        // that turn the direction of writing, and so the rest of a line, start with 0xD8 or 0xE2.
        let suspicious = |byte: u8| byte < b' ' || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2);
        if text.bytes().any(suspicious) {
            let safe = |character: char| {
                if character.is_control() || turns_direction(character) {
                    char::REPLACEMENT_CHARACTER
                } else {
                    character
                }
            };
            self.text.extend(text.chars().map(safe));
        } else {
            self.text.push_str(text);
        }
        self.end_span(style);
    }

    /// Adds numbers and the like, which hold no control characters.
    pub(crate) fn push_fmt(&mut self, text: fmt::Arguments<'_>, style: Style) {
        self.text.write_fmt(text).expect("a string takes all text");
        self.end_span(style);
    }

    /// Gives a style to all text since the last span.
    fn end_span(&mut self, style: Style) {
        match self.spans.last_mut() {
            Some((end, last)) if *last == style => *end = self.text.len(),
            _ => self.spans.push((self.text.len(), style)),
        }
    }

    /// Adds spaces.
    pub(crate) fn push_spaces(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.text.extend(std::iter::repeat_n(' ', count));
        self.end_span(Style::PLAIN);
    }

    /// The number of columns that the line takes so far.
    pub(crate) fn width(&self) -> usize {
        width(&self.text)
    }

    /// Cuts the line to `columns`.
    pub(crate) fn truncate(&mut self, columns: usize) {
        let Some(end) = cut(&self.text, columns) else {
            return;
        };
        self.text.truncate(end);
        if columns > 0 {
            self.text.push(ELLIPSIS);
        }
        for span in &mut self.spans {
            span.0 = span.0.min(end);
        }
        // The ellipsis has the first style that does not fit.
        let cut = self
            .spans
            .iter()
            .rposition(|span| span.0 < end)
            .map_or(0, |fits| fits + 1);
        self.spans.truncate(cut + 1);
        if let Some(last) = self.spans.last_mut() {
            last.0 = self.text.len();
        }
    }

    /// Writes the line and empties it.
    pub(crate) fn write(&mut self, out: &mut dyn Write, colored: bool) -> io::Result<()> {
        if colored || self.link.is_some() {
            self.write_styled(out, colored)?;
        } else {
            out.write_all(self.text.as_bytes())?;
        }
        out.write_all(b"\n")?;
        self.text.clear();
        self.spans.clear();
        self.link = None;
        self.bold = false;
        Ok(())
    }

    fn write_styled(&self, out: &mut dyn Write, colored: bool) -> io::Result<()> {
        let mut start = 0;
        for &(end, style) in &self.spans {
            let text = &self.text[start..end];
            start = end;
            if text.is_empty() {
                continue;
            }
            let link = self.link.as_deref().filter(|_| style.link);
            if let Some(link) = link {
                write!(out, "\x1b]8;;{link}\x1b\\")?;
            }
            let bold = colored && (style.bold || self.bold);
            match (bold, style.color.filter(|_| colored)) {
                (false, None) => out.write_all(text.as_bytes())?,
                (true, None) => write!(out, "\x1b[1m{text}\x1b[0m")?,
                (false, Some(color)) => write!(out, "\x1b[{}m{text}\x1b[0m", color.code())?,
                (true, Some(color)) => write!(out, "\x1b[1;{}m{text}\x1b[0m", color.code())?,
            }
            if link.is_some() {
                out.write_all(b"\x1b]8;;\x1b\\")?;
            }
        }
        Ok(())
    }
}
