//! A refusal, and what mends it.

use std::fmt;
use std::io;

/// The way to mend a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// A command to type.
    Command(String),
    /// A change that no command makes.
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

/// Something that does not work here, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The refusal and its reason.
    pub why: String,
    /// The way to mend it, if there is one.
    pub mend: Option<Mend>,
}

impl Gap {
    /// The gap for another verb of the command than `attach`.
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

/// The degree to which something works here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It works as it should.
    Works,
    /// Something else stands in, or a part is missing.
    Partly,
    /// The feature does not work.
    Fails,
    /// A fact without a verdict.
    Fact,
}

/// The finding about one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The topic, in a word or two.
    pub topic: &'static str,
    /// The degree to which it works.
    pub verdict: Verdict,
    /// The finding, as a part of a sentence.
    pub text: String,
    /// The way to mend it, if there is one.
    pub mend: Option<Mend>,
    /// Whether recording, or attaching, depends on it.
    pub essential: bool,
}

impl Finding {
    /// A topic that works.
    pub fn works(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(topic, Verdict::Works, text)
    }

    /// A fact.
    pub fn fact(topic: &'static str, text: impl Into<String>) -> Self {
        Self::new(topic, Verdict::Fact, text)
    }

    /// A topic that does not work, or only in part.
    pub fn gap(topic: &'static str, verdict: Verdict, gap: Gap) -> Self {
        Self {
            mend: gap.mend,
            ..Self::new(topic, verdict, gap.why)
        }
    }

    /// Marks the finding as essential.
    pub fn essential(mut self) -> Self {
        self.essential = true;
        self
    }

    fn new(topic: &'static str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self {
            topic,
            verdict,
            text: text.into(),
            mend: None,
            essential: false,
        }
    }

    /// Whether something essential fails.
    pub fn is_grave(&self) -> bool {
        self.essential && self.verdict == Verdict::Fails
    }
}

/// The system's error, as a part of a sentence.
pub(super) fn error_text(error: &io::Error) -> String {
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
        assert_eq!(error_text(&error), "too many open files");
    }
}
