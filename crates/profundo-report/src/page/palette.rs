//! Colours. The standard library is gray, because it is rarely of interest; every other
//! crate gets the next of four colours when it first appears.

use profundo_analysis::palette::{Ansi, Hue};
use profundo_model::{Profile, StringId};
use rustc_hash::FxHashMap;

/// A colour of the terminal's own set of sixteen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Gray,
    Red,
    Magenta,
    Cyan,
    Green,
    Yellow,
    Blue,
}

impl Color {
    /// The number in an SGR escape sequence.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Gray => 90,
            Self::Red => 31,
            Self::Magenta => 35,
            Self::Cyan => 36,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
        }
    }
}

impl From<Hue> for Color {
    fn from(hue: Hue) -> Self {
        match hue.tint().ansi {
            Ansi::Red => Self::Red,
            Ansi::Green => Self::Green,
            Ansi::Yellow => Self::Yellow,
            Ansi::Magenta => Self::Magenta,
            Ansi::Cyan => Self::Cyan,
            Ansi::Gray => Self::Gray,
        }
    }
}

const CYCLE: [Color; 4] = [Color::Magenta, Color::Cyan, Color::Green, Color::Yellow];

/// The colours that a report has given so far.
#[derive(Debug, Default)]
pub(crate) struct Palette {
    colors: FxHashMap<StringId, Color>,
    given: usize,
}

impl Palette {
    /// The colour of a prefix such as `@std`.
    pub(crate) fn color(&mut self, profile: &Profile, prefix: StringId) -> Color {
        *self
            .colors
            .entry(prefix)
            .or_insert_with(|| match profile.strings.get(prefix) {
                "@std" | "@core" | "@alloc" => Color::Gray,
                _ => {
                    self.given += 1;
                    CYCLE[(self.given - 1) % CYCLE.len()]
                }
            })
    }
}
