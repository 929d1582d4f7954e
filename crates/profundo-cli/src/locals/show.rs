//! An object as a short text: what Python's `repr` would say, as far as it is known from outside.

use profundo_cpython::Kind;
use profundo_process::reading::{Beginning, Object, Shape, Value};

use super::number::{complex, float, integer};
use super::secret::{has_secret, is_secret_name};

const SECRET: &str = "hidden: looks like a secret";
const SECRET_ITEM: &str = "<hidden>";

/// The choice of what is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shower {
    /// Whether the contents of texts and bytes are shown.
    pub shows_texts: bool,
}

/// The contents of a text.
enum Text {
    Shown(String),
    Hidden,
    Secret,
}

impl Shower {
    /// The value of a variable, and whether contents of it are hidden.
    pub fn variable(&self, name: &str, object: &Object) -> (String, bool) {
        if is_secret_name(name) {
            return (SECRET.to_owned(), true);
        }
        let (text, unit) = match &object.value {
            Value::Text(text) => (text, "character"),
            Value::Bytes(bytes) => (bytes, "byte"),
            value => return (self.value(object, value), false),
        };
        let length = count(text.length, unit);
        match self.text(object, text) {
            Text::Shown(shown) if text.is_whole => (shown, false),
            Text::Shown(shown) => (format!("{shown} {length}"), false),
            Text::Hidden => (length, text.length > 0),
            Text::Secret => (format!("{length}, {SECRET}"), true),
        }
    }

    /// The value of a variable that is no text.
    fn value(&self, object: &Object, value: &Value) -> String {
        match value {
            Value::Items(_, number, _) => {
                format!("{}: {}", count(*number, "item"), self.inside(object))
            }
            Value::Pairs(number, _) => {
                format!("{}: {}", count(*number, "item"), self.inside(object))
            }
            Value::Class(name) | Value::Named(_, name) => name.clone(),
            Value::Exception(number, arguments) => self.all(*number, arguments, "(", ")"),
            Value::Other => format!("at {:#x}", object.address),
            _ => self.inside(object),
        }
    }

    /// An item of a container.
    fn item(&self, object: &Object) -> String {
        let class = &object.class;
        let short = class.rsplit('.').next().unwrap_or(class);
        match &object.value {
            Value::Text(text) => self.text_item(object, text, "character"),
            Value::Bytes(bytes) => self.text_item(object, bytes, "byte"),
            Value::Items(_, number, items) if items.is_empty() && *number > 0 => {
                format!("<{class}, {}>", count(*number, "item"))
            }
            Value::Pairs(number, pairs) if pairs.is_empty() && *number > 0 => {
                format!("<{class}, {}>", count(*number, "item"))
            }
            Value::Items(shape, ..) if !is_plain(class) => match shape {
                Shape::Tuple => format!("{short}{}", self.inside(object)),
                _ => format!("{short}({})", self.inside(object)),
            },
            Value::Pairs(..) if !is_plain(class) => format!("{short}({})", self.inside(object)),
            Value::Items(..) | Value::Pairs(..) => self.inside(object),
            Value::Class(name) => format!("<class {name}>"),
            Value::Named(Kind::Module, name) => format!("<module {name}>"),
            Value::Named(_, name) => format!("<function {name}>"),
            Value::Exception(number, arguments) => {
                format!("{short}{}", self.all(*number, arguments, "(", ")"))
            }
            Value::Other => format!("<{class} at {:#x}>", object.address),
            _ => self.inside(object),
        }
    }

    /// The value without its class.
    fn inside(&self, object: &Object) -> String {
        match &object.value {
            Value::Unreadable => "<unreadable>".to_owned(),
            Value::Changing => "<changed while it was read>".to_owned(),
            Value::Single => match object.class.as_str() {
                "NoneType" => "None".to_owned(),
                "ellipsis" => "...".to_owned(),
                _ => "NotImplemented".to_owned(),
            },
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::Int(number) => integer(*number),
            Value::Float(number) => float(*number),
            Value::Complex(real, imaginary) => complex(*real, *imaginary),
            Value::Range(parts) => {
                let [start, stop, step] = &**parts;
                let (start, stop) = (self.item(start), self.item(stop));
                match self.item(step).as_str() {
                    "1" => format!("range({start}, {stop})"),
                    step => format!("range({start}, {stop}, {step})"),
                }
            }
            Value::Items(shape, number, items) => self.items(*shape, *number, items),
            Value::Pairs(number, pairs) => {
                let shown = pairs.iter().map(|(key, value)| self.pair(key, value));
                braced(shown.collect(), *number, "{", "}")
            }
            Value::Text(_)
            | Value::Bytes(_)
            | Value::Class(_)
            | Value::Named(..)
            | Value::Exception(..)
            | Value::Other => self.item(object),
        }
    }

    fn items(&self, shape: Shape, number: u64, items: &[Object]) -> String {
        match shape {
            Shape::List => self.all(number, items, "[", "]"),
            Shape::Deque => self.all(number, items, "deque([", "])"),
            Shape::Set if number == 0 => "set()".to_owned(),
            Shape::Set => self.all(number, items, "{", "}"),
            Shape::FrozenSet if number == 0 => "frozenset()".to_owned(),
            Shape::FrozenSet => self.all(number, items, "frozenset({", "})"),
            Shape::Tuple => match items {
                // A header of a request.
                [key, value] if number == 2 && has_secret_name(key) => {
                    format!("({}, {})", self.key(key), hidden(value))
                }
                [only] if number == 1 => format!("({},)", self.item(only)),
                _ => self.all(number, items, "(", ")"),
            },
        }
    }

    fn all(&self, number: u64, items: &[Object], open: &str, close: &str) -> String {
        let shown = items.iter().map(|item| self.item(item));
        braced(shown.collect(), number, open, close)
    }

    fn pair(&self, key: &Object, value: &Object) -> String {
        let value = match has_secret_name(key) {
            true => hidden(value),
            false => self.item(value),
        };
        format!("{}: {value}", self.key(key))
    }

    /// What names a value. The name of a secret is none.
    fn key(&self, object: &Object) -> String {
        match &object.value {
            Value::Text(name) | Value::Bytes(name) if self.shows_texts && is_name(name) => {
                shown(object, name)
            }
            _ => self.item(object),
        }
    }

    fn text_item(&self, object: &Object, text: &Beginning, unit: &str) -> String {
        match self.text(object, text) {
            Text::Shown(shown) => shown,
            Text::Hidden => format!("<{}>", count(text.length, unit)),
            Text::Secret => SECRET_ITEM.to_owned(),
        }
    }

    fn text(&self, object: &Object, text: &Beginning) -> Text {
        if !self.shows_texts {
            return Text::Hidden;
        }
        match has_secret(&text.text) {
            true => Text::Secret,
            false => Text::Shown(shown(object, text)),
        }
    }
}

fn shown(object: &Object, text: &Beginning) -> String {
    let is_bytes = matches!(object.value, Value::Bytes(_));
    let end = if text.is_whole { "" } else { "…" };
    let prefix = if is_bytes { "b" } else { "" };
    format!("{prefix}{}{end}", quoted(&text.text, is_bytes))
}

/// The value of a secret. Nothing, and whether there is anything, is none.
fn hidden(value: &Object) -> String {
    match value.value {
        Value::Single => "None".to_owned(),
        _ => SECRET_ITEM.to_owned(),
    }
}

/// Whether an object is a text that names a secret.
fn has_secret_name(object: &Object) -> bool {
    match &object.value {
        Value::Text(name) | Value::Bytes(name) => is_secret_name(&name.text),
        _ => false,
    }
}

/// Whether a text is a name and no more.
fn is_name(text: &Beginning) -> bool {
    let mut characters = text.text.chars();
    text.is_whole
        && characters.all(|character| character.is_ascii_alphabetic() || "-_".contains(character))
}

/// Whether brackets say what it is.
fn is_plain(class: &str) -> bool {
    matches!(
        class,
        "list" | "tuple" | "dict" | "set" | "frozenset" | "collections.deque"
    )
}

/// `3 items`.
fn count(number: u64, unit: &str) -> String {
    match number {
        1 => format!("1 {unit}"),
        _ => format!("{number} {unit}s"),
    }
}

/// Items in brackets; if some are missing, with a sign for that.
fn braced(mut shown: Vec<String>, number: u64, open: &str, close: &str) -> String {
    if (shown.len() as u64) < number {
        shown.push("…".to_owned());
    }
    format!("{open}{}{close}", shown.join(", "))
}

/// A text in quotation marks, without anything that a terminal would act on.
fn quoted(text: &str, is_bytes: bool) -> String {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    let mut shown = String::from(quote);
    for character in text.chars() {
        match character {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ if character == quote => {
                shown.push('\\');
                shown.push(quote);
            }
            ' '..='~' => shown.push(character),
            _ if is_bytes || character <= '\u{ff}' && character.is_control() => {
                shown.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            // They turn the direction of writing, have no width, or end a line.
            '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                shown.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => shown.push(character),
        }
    }
    shown.push(quote);
    shown
}

#[cfg(test)]
mod tests;
