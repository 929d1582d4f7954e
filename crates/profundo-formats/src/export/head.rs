//! The head of a picture: its title and the lines below it, as wide as the picture.

use std::fmt::Write as _;

use super::text::{escaped, wrapped};

/// The width of a letter of a line, and of the title.
pub(super) const LETTER: f64 = 7.3;
const TITLE_LETTER: f64 = 9.2;
/// The most lines of a title.
const TITLE_LINES: usize = 3;
/// The distance of two lines, and of two lines of the title.
const LINE: u32 = 17;
const TITLE_LINE: u32 = 20;

/// The title and the lines.
pub(super) struct Head {
    /// The text elements.
    pub svg: String,
    /// The place of the next line.
    pub y: u32,
    left: f64,
    width: f64,
}

impl Head {
    /// The title of a picture of this width.
    pub(super) fn new(title: &str, left: f64, width: f64) -> Self {
        let mut head = Self {
            svg: String::new(),
            y: 22,
            left,
            width,
        };
        head.set("title", title, TITLE_LETTER, TITLE_LINES, TITLE_LINE);
        head
    }

    /// Adds a line, or several where it is longer than the picture is wide.
    pub(super) fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.set("line faint", text, LETTER, usize::MAX, LINE);
        }
    }

    fn set(&mut self, class: &str, text: &str, letter: f64, most: usize, step: u32) {
        let left = self.left;
        let _ = write!(self.svg, "<text class=\"{class}\">");
        let room = ((self.width - 2.0 * left) / letter) as usize;
        for line in wrapped(text, room, most) {
            let _ = write!(
                self.svg,
                "<tspan x=\"{left}\" y=\"{}\">{}</tspan>",
                self.y,
                escaped(&line)
            );
            self.y += step;
        }
        self.svg.push_str("</text>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_has_lines_and_nothing_is_lost() {
        let words: Vec<String> = (0..30).map(|number| format!("word{number}")).collect();
        let mut head = Head::new(&words.join(" "), 8.0, 1200.0);
        assert_eq!(head.y, 22 + 2 * 20);
        head.line("a <b>");
        head.line("");
        assert_eq!(head.y, 22 + 2 * 20 + 17);
        assert!(words.iter().all(|word| head.svg.contains(word)));
        assert!(
            head.svg.contains("y=\"62\">a &lt;b&gt;</tspan>"),
            "{}",
            head.svg
        );
    }
}
