//! A list of checks, one line for each with its result, and below it the remedy: for `doctor`.

use std::io::{self, Write};

use crate::Look;
use crate::json::Json;
use crate::json::SCHEMA;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::width::{broken, width};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The thing works.
    Works,
    /// The thing works in part, or something else stands in for it.
    Partly,
    /// The thing does not work.
    Fails,
    /// A fact, neither good nor bad.
    Fact,
}

impl Mark {
    fn sign(self) -> &'static str {
        match self {
            Self::Works => "✓",
            Self::Partly => "~",
            Self::Fails => "✗",
            Self::Fact => "·",
        }
    }

    fn color(self) -> Color {
        match self {
            Self::Works => Color::Green,
            Self::Partly => Color::Yellow,
            Self::Fails => Color::Red,
            Self::Fact => Color::Gray,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Partly => "partly",
            Self::Fails => "fails",
            Self::Fact => "fact",
        }
    }
}

/// A remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// A command, which is never broken into lines: it is to be copied.
    Command(String),
    /// A sentence.
    Advice(String),
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// A word or two.
    pub topic: String,
    /// The mark before the line.
    pub mark: Mark,
    /// The result, in words.
    pub message: String,
    /// The remedy.
    pub mend: Option<Mend>,
    /// True if nothing works without it.
    pub essential: bool,
}

/// A list of checks, in parts with a heading each.
#[derive(Debug, Clone, Default)]
pub struct Checklist {
    parts: Vec<(String, Vec<Check>)>,
    ending: String,
    look: Look,
}

impl Checklist {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part.
    pub fn part(mut self, heading: impl Into<String>, checks: Vec<Check>) -> Self {
        self.parts.push((heading.into(), checks));
        self
    }

    /// Sets the last sentence.
    pub fn ending(mut self, ending: impl Into<String>) -> Self {
        self.ending = ending.into();
        self
    }

    /// Sets the appearance.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// Writes it as text.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let colored = self.look.is_colored();
        let columns = self.look.columns();
        let all = self.parts.iter().flat_map(|(_, checks)| checks);
        let topics = all.map(|check| width(&check.topic)).max().unwrap_or(0);
        let mut line = Line::default();
        for (heading, checks) in &self.parts {
            line.push(heading, BOLD);
            line.write(&mut out, colored)?;
            for (index, check) in checks.iter().enumerate() {
                let before = checks.get(..index).unwrap_or_default();
                let short = same_reason(before, check);
                let check = short.as_ref().unwrap_or(check);
                write_check(&mut out, check, topics, columns, colored)?;
            }
            line.write(&mut out, colored)?;
        }
        if !self.ending.is_empty() {
            line.push(&self.ending, Style::PLAIN);
            line.write(&mut out, colored)?;
        }
        out.flush()
    }

    /// Writes it as JSON: the schema is in `docs/json.md`.
    pub fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        Json::document(&mut out, |json| {
            json.row("profundo", |json| {
                json.number("schema", SCHEMA);
                json.text("report", "doctor");
            });
            let mut all = self.parts.iter().flat_map(|(_, checks)| checks);
            let works = all.all(|check| !(check.essential && check.mark == Mark::Fails));
            json.is("works", works);
            json.array("parts", |json| {
                for (heading, checks) in &self.parts {
                    json.object("", |json| {
                        json.text("heading", heading);
                        json.array("checks", |json| {
                            for check in checks {
                                json.row("", |json| members(json, check));
                            }
                        });
                    });
                }
            });
        })?;
        out.flush()
    }
}

const BOLD: Style = Style {
    bold: true,
    color: None,
    link: false,
};

/// A terminal that is narrower than this breaks lines itself.
const LEAST: usize = 20;

fn write_check(
    out: &mut dyn Write,
    check: &Check,
    topics: usize,
    columns: usize,
    colored: bool,
) -> io::Result<()> {
    let mut line = Line::default();
    let indent = topics + 6;
    let room = columns.saturating_sub(indent).max(LEAST);
    for (index, text) in broken(&check.message, room).iter().enumerate() {
        if index == 0 {
            line.push("  ", Style::PLAIN);
            let style = Style {
                bold: true,
                ..Style::color(check.mark.color())
            };
            line.push(check.mark.sign(), style);
            line.push(" ", Style::PLAIN);
            line.push(&check.topic, BOLD);
        }
        line.push_spaces(indent - line.width());
        line.push(text, Style::PLAIN);
        line.write(out, colored)?;
    }
    match &check.mend {
        None => {}
        Some(Mend::Command(command)) => {
            line.push_spaces(indent);
            line.push("→ ", Style::color(Color::Cyan));
            line.push(command, Style::color(Color::Cyan));
            line.write(out, colored)?;
        }
        Some(Mend::Advice(advice)) => {
            for (index, text) in broken(advice, room - 2).iter().enumerate() {
                line.push_spaces(indent);
                let head = if index == 0 { "→ " } else { "  " };
                line.push(head, Style::color(Color::Cyan));
                line.push(text, Style::PLAIN);
                line.write(out, colored)?;
            }
        }
    }
    Ok(())
}

/// The check with a reference to the check before that has the same reason and remedy, if there is
/// one.
fn same_reason(before: &[Check], check: &Check) -> Option<Check> {
    check.mend.as_ref()?;
    let reason = |check: &Check| match check.message.split_once(". ") {
        Some((reason, _)) => reason.to_owned(),
        None => check.message.clone(),
    };
    let own = reason(check);
    let same = before
        .iter()
        .find(|other| other.mend == check.mend && reason(other) == own)?;
    let rest = check.message.get(own.len()..).unwrap_or_default();
    Some(Check {
        message: format!("for the same reason as {}{rest}", same.topic),
        mend: None,
        ..check.clone()
    })
}

fn members(json: &mut Json<'_>, check: &Check) {
    json.text("topic", &check.topic);
    json.text("verdict", check.mark.name());
    json.is("essential", check.essential);
    json.text("says", &check.message);
    let (command, advice) = match &check.mend {
        Some(Mend::Command(command)) => (command.as_str(), ""),
        Some(Mend::Advice(advice)) => ("", advice.as_str()),
        None => ("", ""),
    };
    json.text_or_null("command", command);
    json.text_or_null("advice", advice);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Checklist {
        let check = |topic: &str, mark, message: &str, mend| Check {
            topic: topic.into(),
            mark,
            message: message.into(),
            mend,
            essential: mark == Mark::Fails,
        };
        let long = "perf_event_open is refused (permission denied): a setting of the kernel's";
        let command = Mend::Command("sudo sysctl kernel.perf_event_paranoid=2".into());
        let advice = Mend::Advice("have the debugger let it go, or wait until it does".into());
        Checklist::new()
            .part(
                "A machine",
                vec![
                    check("memory", Mark::Works, "58 MB", None),
                    check("clocks", Mark::Fails, long, Some(command)),
                    check("a debugger", Mark::Partly, "traces it", Some(advice)),
                ],
            )
            .ending("One essential thing does not work.")
    }

    #[test]
    fn sentences_are_broken_and_commands_are_not() {
        let mut out = Vec::new();
        let look = Look::new().width(46);
        list().look(look).write(&mut out).unwrap();
        let expected = "\
A machine
  ✓ memory      58 MB
  ✗ clocks      perf_event_open is refused
                (permission denied): a setting
                of the kernel's
                → sudo sysctl kernel.perf_event_paranoid=2
  ~ a debugger  traces it
                → have the debugger let it go,
                  or wait until it does

One essential thing does not work.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_reason_is_given_once() {
        let check = |topic: &str, message: &str| Check {
            topic: topic.into(),
            mark: Mark::Partly,
            message: message.into(),
            mend: Some(Mend::Command("mend".into())),
            essential: false,
        };
        let checks = vec![
            check("one", "it is refused. Something helps"),
            check("two", "it is refused"),
            check("three", "it is refused. Another thing helps"),
            check("four", "it is not there"),
        ];
        let mut out = Vec::new();
        let list = Checklist::new().part("A machine", checks);
        list.look(Look::new().width(80)).write(&mut out).unwrap();
        let expected = "\
A machine
  ~ one    it is refused. Something helps
           → mend
  ~ two    for the same reason as one
  ~ three  for the same reason as one. Another thing helps
  ~ four   it is not there
           → mend

";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn json_has_the_same_checks() {
        let mut out = Vec::new();
        list().write_json(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for part in [
            "\"report\": \"doctor\"",
            "\"works\": false",
            "\"command\": \"sudo sysctl kernel.perf_event_paranoid=2\", \"advice\": null",
            "{\"topic\": \"memory\", \"verdict\": \"works\", \"essential\": false, \"says\": \"58 MB\", \
             \"command\": null, \"advice\": null}",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
