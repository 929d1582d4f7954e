//! A filter as text: `thread=main focus=^parse hide=^std::`. Reports, pictures and JSON print this
//! text, and it can be read back.
//!
//! A term is the name of an option without its dashes, `=`, and the value. Terms are separated by
//! spaces, and stand in a fixed order. A value with a space or a quote in it is in quotes:
//! `process="sleep 5"`. Inside of them, `\"` is a quote and `\\` a backslash.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use profundo_model::{Gil, Nanos};

use super::{Filter, LabelChoice, Numbers, ProcessChoice, TaskChoice, ThreadChoice};
use crate::expression::ExpressionError;
use crate::transform::TransformError;
use crate::{UnknownChoice, choose};

/// The states of the interpreter's lock, by their names.
const GIL: [(&str, Gil); 4] = [
    ("held", Gil::Held),
    ("waiting", Gil::Waiting),
    ("released", Gil::Released),
    ("none", Gil::None),
];

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// No `name=value`.
    #[error("“{0}” is no term of a filter: NAME=VALUE")]
    Term(String),
    /// The name is unknown.
    #[error("a filter has no “{0}”")]
    Name(String),
    /// The value is no number, or no set of numbers.
    #[error("“{0}” is no number")]
    Number(String),
    /// The value is no label.
    #[error("“{0}” is no label: KEY=VALUE")]
    Label(String),
    /// A quote has no end.
    #[error("a quote has no end")]
    Quote,
    /// The state of the interpreter's lock is unknown.
    #[error(transparent)]
    Gil(#[from] UnknownChoice),
    /// A regular expression is wrong.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A transform is wrong.
    #[error(transparent)]
    Transform(#[from] TransformError),
}

impl Filter {
    /// Also the samples in this state of the interpreter's lock: held, waiting, released or none.
    pub fn gil(mut self, state: &str) -> Result<Self, UnknownChoice> {
        self.gil.push(choose("gil", state, &GIL)?);
        Ok(self)
    }

    /// The names of the states of the interpreter's lock.
    pub const GIL: [&'static str; 4] = [GIL[0].0, GIL[1].0, GIL[2].0, GIL[3].0];
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms = Terms { f, is_first: true };
        for choice in &self.named_threads {
            match choice {
                ThreadChoice::Number(number) => terms.add("thread", number)?,
                ThreadChoice::Name(name) => terms.add("thread", name.text())?,
            }
        }
        for choice in &self.processes {
            match choice {
                ProcessChoice::Pid(pid) => terms.add("process", pid)?,
                ProcessChoice::Command(text) => terms.add("process", text.text())?,
            }
        }
        for choice in &self.named_tasks {
            match choice {
                TaskChoice::Number(number) => terms.add("task", format_args!("{number:#x}"))?,
                TaskChoice::Name(name) => terms.add("task", name.text())?,
            }
        }
        for LabelChoice { key, value } in &self.labels {
            terms.add("label", format_args!("{key}={}", value.text()))?;
        }
        for span in &self.spans {
            terms.add("span", span)?;
        }
        for file in &self.files {
            terms.add("file", file.text())?;
        }
        for function in &self.functions {
            terms.add("function", function.text())?;
        }
        for (name, numbers) in [("threads", &self.threads), ("tasks", &self.tasks)] {
            if !numbers.is_all() {
                terms.add(name, numbers)?;
            }
        }
        for (name, time) in [("from", self.from), ("to", self.to)] {
            if let Some(time) = time {
                terms.add(name, Seconds(time))?;
            }
        }
        for state in &self.gil {
            let row = GIL.iter().find(|(_, known)| known == state);
            terms.add("gil", row.map_or("", |(name, _)| name))?;
        }
        let transforms = &self.transforms;
        for (name, expressions) in [
            ("focus", &self.focus),
            ("ignore", &self.ignore),
            ("hide", &transforms.hide),
            ("show", &transforms.show),
            ("show-from", &transforms.show_from),
        ] {
            for expression in expressions {
                terms.add(name, expression)?;
            }
        }
        for step in &transforms.steps {
            terms.add("transform", step)?;
        }
        Ok(())
    }
}

struct Terms<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    is_first: bool,
}

impl Terms<'_, '_> {
    fn add(&mut self, name: &str, value: impl fmt::Display) -> fmt::Result {
        if !std::mem::take(&mut self.is_first) {
            self.f.write_char(' ')?;
        }
        let value = value.to_string();
        let is_plain =
            !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '"');
        match is_plain {
            true => write!(self.f, "{name}={value}"),
            false => {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                write!(self.f, "{name}=\"{value}\"")
            }
        }
    }
}

/// Seconds, with as many digits as there are.
struct Seconds(Nanos);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.0 / 1_000_000_000, self.0.0 % 1_000_000_000);
        let text = format!("{seconds}.{nanos:09}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Seconds {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let error = || FilterError::Number(text.to_owned());
        let (seconds, nanos) = text.split_once('.').unwrap_or((text, ""));
        let seconds: u64 = seconds.parse().map_err(|_| error())?;
        let is_fine = nanos.len() <= 9 && nanos.bytes().all(|byte| byte.is_ascii_digit());
        let nanos = is_fine.then(|| format!("{nanos:0<9}")).ok_or_else(error)?;
        let nanos: u64 = nanos.parse().map_err(|_| error())?;
        let seconds = seconds.checked_mul(1_000_000_000);
        let all = seconds.and_then(|seconds| seconds.checked_add(nanos));
        all.map(|all| Self(Nanos(all))).ok_or_else(error)
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_char(',')?;
            }
            match (range.start(), range.end()) {
                (start, end) if start == end => write!(f, "{start}")?,
                (start, &u64::MAX) => write!(f, "{start}-")?,
                (start, end) => write!(f, "{start}-{end}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Numbers {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let number = |text: &str| {
            let parsed = text.parse::<u64>();
            parsed.map_err(|_| FilterError::Number(text.to_owned()))
        };
        let parts = text.split(',').filter(|part| !part.is_empty());
        let ranges = parts.map(|part| match part.split_once('-') {
            None => number(part).map(|only| only..=only),
            Some((start, "")) => Ok(number(start)?..=u64::MAX),
            Some((start, end)) => Ok(number(start)?..=number(end)?),
        });
        Ok(Self(ranges.collect::<Result<_, _>>()?))
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let term = rest.split_whitespace().next().unwrap_or(rest);
            let Some((name, after)) = rest.split_once('=').filter(|_| term.contains('=')) else {
                return Err(FilterError::Term(term.to_owned()));
            };
            let (value, after) = value(after)?;
            filter = filter.with(name, &value)?;
            rest = after.trim_start();
        }
        Ok(filter)
    }
}

/// The value at the start of `text`, and what is behind it.
fn value(text: &str) -> Result<(String, &str), FilterError> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &quoted[at + 1..])),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            letter => value.push(letter),
        }
    }
    Err(FilterError::Quote)
}

impl Filter {
    /// The filter with one more term.
    fn with(mut self, name: &str, value: &str) -> Result<Self, FilterError> {
        let transforms = &mut self.transforms;
        match name {
            "thread" => return Ok(self.thread(value)),
            "process" => return Ok(self.process(value)),
            "task" => return Ok(self.task(value)),
            "label" => {
                let label = value.split_once('=');
                let (key, value) = label.ok_or_else(|| FilterError::Label(value.to_owned()))?;
                return Ok(self.label(key, value));
            }
            "span" => return Ok(self.span(value)),
            "file" => return Ok(self.file(value)),
            "function" => return Ok(self.function(value)),
            "threads" => self.threads = value.parse()?,
            "tasks" => self.tasks = value.parse()?,
            "from" => self.from = Some(value.parse::<Seconds>()?.0),
            "to" => self.to = Some(value.parse::<Seconds>()?.0),
            "gil" => return Ok(self.gil(value)?),
            "focus" => self.focus.push(value.parse()?),
            "ignore" => self.ignore.push(value.parse()?),
            "hide" => transforms.hide.push(value.parse()?),
            "show" => transforms.show.push(value.parse()?),
            "show-from" => transforms.show_from.push(value.parse()?),
            "transform" => transforms.steps.push(value.parse()?),
            _ => return Err(FilterError::Name(name.to_owned())),
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quoted(value: &str) -> String {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{value}\"")
    }

    fn term() -> impl Strategy<Value = String> {
        const NAMES: [&str; 6] = ["thread", "task", "process", "span", "file", "function"];
        let plain = (
            prop::sample::select(&NAMES[..]),
            "[a-z0-9 \"\\\\=漢.:-]{0,6}",
        )
            .prop_map(|(name, value)| format!("{name}={}", quoted(&value)));
        const EXPRESSIONS: [&str; 5] = ["focus", "ignore", "hide", "show", "show-from"];
        let expression = (
            prop::sample::select(&EXPRESSIONS[..]),
            "\\^?[a-z \"|.]{0,4}\\$?",
        )
            .prop_map(|(name, value)| format!("{name}={}", quoted(&value)));
        prop_oneof![
            plain,
            expression,
            (1..9_u64).prop_map(|number| format!("label=run={number}")),
            (1..9_u64).prop_map(|number| format!("threads={number}-,0-{number}")),
            (0..2_000_000_000_u64).prop_map(|nanos| format!("from={}", Seconds(Nanos(nanos)))),
            prop::sample::select(&Filter::GIL[..]).prop_map(|name| format!("gil={name}")),
            Just("transform=collapse-recursion".to_owned()),
            Just("transform=\"merge-function:a b\"".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_as_the_same(terms in prop::collection::vec(term(), 0..6)) {
            let filter: Filter = terms.join(" ").parse().unwrap();
            let text = filter.to_string();
            prop_assert_eq!(&text.parse::<Filter>().unwrap(), &filter, "{}", text);
            prop_assert_eq!(text.parse::<Filter>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn terms_have_a_fixed_order() {
        let filter: Filter = "transform=collapse-recursion hide=b focus=a from=1.5 thread=3"
            .parse()
            .unwrap();
        let text = "thread=3 from=1.5 focus=a hide=b transform=collapse-recursion";
        assert_eq!(filter.to_string(), text);
        assert_eq!(
            Filter::default().process("sleep 5").to_string(),
            "process=\"sleep 5\""
        );
        assert_eq!(Filter::default().to_string(), "");
    }

    #[test]
    fn a_wrong_term_is_named() {
        let error = |text: &str| text.parse::<Filter>().unwrap_err().to_string();
        assert_eq!(
            error("focus=a hide"),
            "“hide” is no term of a filter: NAME=VALUE"
        );
        assert_eq!(error("colour=red"), "a filter has no “colour”");
        assert_eq!(error("from=soon"), "“soon” is no number");
        assert_eq!(error("focus=\"a"), "a quote has no end");
        assert!(error("hide=(").contains("unclosed group"));
        assert!(error("gil=lost").contains("held, waiting, released, none"));
        assert!(error("transform=melt:a").contains("merge-function"));
        assert!(error("transform=drop-file").contains("drop-file:RE"));
    }
}
