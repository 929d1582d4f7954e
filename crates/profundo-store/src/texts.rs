//! Each distinct text is held once; rows hold its number. Number 0 is the empty text.

use rustc_hash::FxHashMap;

/// A number of a text.
pub type Text = u32;

/// Texts by number.
#[derive(Debug, Clone)]
pub struct Texts {
    texts: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, Text>,
}

impl Default for Texts {
    fn default() -> Self {
        let mut texts = Self {
            texts: Vec::new(),
            numbers: FxHashMap::default(),
        };
        texts.add("");
        texts
    }
}

impl Texts {
    /// The number of `text`, which is added when it is new.
    pub fn add(&mut self, text: &str) -> Text {
        if text.is_empty() && !self.texts.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = Text::try_from(self.texts.len()).unwrap_or(Text::MAX);
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// The same for a text that is mostly that of the number `last`.
    pub fn add_again(&mut self, text: &str, last: &mut Text) -> Text {
        if self.get(*last) != text {
            *last = self.add(text);
        }
        *last
    }

    /// The number of `text`, where it is known.
    pub fn find(&self, text: &str) -> Option<Text> {
        self.numbers.get(text).copied()
    }

    /// The text of `number`.
    pub fn get(&self, number: Text) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Never true: the empty text is there from the start.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
