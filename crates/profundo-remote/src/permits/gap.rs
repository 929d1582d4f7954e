//! One thing that is refused, and one thing that mends it.

use std::fmt;
use std::io;

/// What mends a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// A command to type.
    Command(String),
    /// What no command does.
    Advice(String),
}

impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => write!(f, "mend it with `{command}`"),
            Self::Advice(advice) => f.write_str(advice),
        }
    }
}

/// Why something does not work here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// What is refused, and why.
    pub why: String,
    /// What to do about it, where anything can be done.
    pub mend: Option<Mend>,
}

impl Gap {
    /// The same for another verb of the command than `attach`.
    #[must_use]
    pub fn of_verb(mut self, verb: &str) -> Self {
        if let Some(Mend::Command(command)) = &mut self.mend {
            *command = command.replace("profundo attach ", &format!("profundo {verb} "));
        }
        self
    }

    pub(super) fn command(why: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            mend: Some(Mend::Command(command.into())),
        }
    }

    pub(super) fn advice(why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            mend: Some(Mend::Advice(advice.into())),
        }
    }

    pub(super) fn of(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            mend: None,
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        match &self.mend {
            Some(mend) => write!(f, "; {mend}"),
            None => Ok(()),
        }
    }
}

/// How something works here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Works,
    /// Something else stands in, or something is missing.
    Partly,
    /// Not at all.
    Fails,
    /// Neither: it is only told.
    Fact,
}

/// What was found out about one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A word or two.
    pub topic: &'static str,
    /// How it works.
    pub verdict: Verdict,
    /// What was found.
    pub says: String,
    /// What mends it.
    pub mend: Option<Mend>,
    /// Whether recording, or attaching, stands or falls with it.
    pub essential: bool,
}

impl Finding {
    /// It works.
    pub fn works(topic: &'static str, says: impl Into<String>) -> Self {
        Self::new(topic, Verdict::Works, says)
    }

    /// It is so.
    pub fn fact(topic: &'static str, says: impl Into<String>) -> Self {
        Self::new(topic, Verdict::Fact, says)
    }

    /// It does not work, or not well.
    pub fn gap(topic: &'static str, verdict: Verdict, gap: Gap) -> Self {
        Self {
            mend: gap.mend,
            ..Self::new(topic, verdict, gap.why)
        }
    }

    /// The program is of little use without it.
    pub fn essential(mut self) -> Self {
        self.essential = true;
        self
    }

    fn new(topic: &'static str, verdict: Verdict, says: impl Into<String>) -> Self {
        Self {
            topic,
            verdict,
            says: says.into(),
            mend: None,
            essential: false,
        }
    }

    /// Whether something essential does not work.
    pub fn is_grave(&self) -> bool {
        self.essential && self.verdict == Verdict::Fails
    }
}

/// What the system said, as a part of a sentence.
pub(super) fn said(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_one_sentence() {
        let gap = Gap::command("it is refused", "sudo it");
        assert_eq!(gap.to_string(), "it is refused; mend it with `sudo it`");
        let gap = Gap::advice("it is refused", "wait for it");
        assert_eq!(gap.to_string(), "it is refused; wait for it");
        assert_eq!(Gap::of("it is refused").to_string(), "it is refused");
        let error = io::Error::from_raw_os_error(libc::EMFILE);
        assert_eq!(said(&error), "too many open files");
    }
}
