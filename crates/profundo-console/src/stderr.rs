//! Messages on stderr: one sentence that begins with our name.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// An error in one sentence: what failed, then why.
pub fn error(error: &anyhow::Error) {
    note(&chain(error.as_ref()));
}

/// An error with its causes.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut sentence = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        next = cause.source();
        let text = cause
            .downcast_ref::<io::Error>()
            .map_or_else(|| cause.to_string(), reason);
        let text = without_numbers(&text);
        // Some errors repeat their cause in their own text.
        if sentence.to_lowercase().contains(&text.to_lowercase()) {
            continue;
        }
        if !sentence.is_empty() {
            sentence.push_str(": ");
        }
        sentence.push_str(&text);
    }
    sentence
}

/// The message for a wrong command line, with a guess at the right one.
pub fn usage(error: &clap::Error) {
    let text = error.render();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let text = if io::stderr().is_terminal() && !no_color {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    // Every message begins with our name.
    let text = text.replacen("error:", "profundo:", 1);
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A sentence for the reader.
pub fn note(sentence: &str) {
    // If stderr is closed, the message is lost.
    let _ = writeln!(io::stderr(), "profundo: {sentence}");
}

/// A path as it is shown: relative, if it lies in the current folder.
pub fn path(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let inside = here.and_then(|here| Some(path.strip_prefix(here).ok()?.to_owned()));
    inside.as_deref().unwrap_or(path).display().to_string()
}

/// The system's reason, without the error number.
pub fn reason(error: &io::Error) -> String {
    let text = without_numbers(&error.to_string());
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => text,
    }
}

/// The text without the error numbers that Rust adds.
fn without_numbers(text: &str) -> String {
    const BEFORE: &str = " (os error ";
    let mut parts = text.split(BEFORE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                plain.push_str(rest);
            }
            _ => {
                plain.push_str(BEFORE);
                plain.push_str(part);
            }
        }
    }
    plain
}

/// True if a broken pipe is among the causes: our output's reader has closed it.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// The size of a heap snapshot, in words.
pub fn graph(objects: u64, references: u64) -> String {
    let counted = |number, noun| match number {
        1 => format!("1 {noun}"),
        other => format!("{other} {noun}s"),
    };
    format!(
        "{}, {}",
        counted(objects, "object"),
        counted(references, "reference")
    )
}

/// The sentence after one that says that no function has a name.
pub fn near_ones(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; near ones are {}", near.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_follow_a_sentence() {
        let near = ["app::biggest".to_owned()];
        assert_eq!(near_ones(&near), "; near ones are app::biggest");
        assert_eq!(near_ones(&[]), "");
    }

    #[test]
    fn a_cause_is_named_once_and_without_its_number() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let inside = anyhow::Error::new(full()).context(format!("no room ({}); free some", full()));
        assert_eq!(
            chain(inside.as_ref()),
            "no room (No space left on device); free some"
        );
        let outside = anyhow::Error::new(full()).context("cannot write it");
        assert_eq!(
            chain(outside.as_ref()),
            "cannot write it: no space left on device"
        );
        assert_eq!(without_numbers("(os error x) (os error 2)"), "(os error x)");
    }
}
