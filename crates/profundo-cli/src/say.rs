//! What is said on stderr: one sentence that begins with our name.

use std::io::{self, IsTerminal, Write};

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
        // Some errors repeat their cause in their own text.
        if sentence.ends_with(&text) {
            continue;
        }
        if !sentence.is_empty() {
            sentence.push_str(": ");
        }
        sentence.push_str(&text);
    }
    sentence
}

/// What was typed wrong, and what was meant perhaps.
pub fn usage(error: &clap::Error) {
    let text = error.render();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let text = if io::stderr().is_terminal() && !no_color {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    // All that we say begins with our name.
    let text = text.replacen("error:", "profundo:", 1);
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A sentence that the reader has to know.
pub fn note(sentence: &str) {
    // Where stderr is closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "profundo: {sentence}");
}

/// Why the system refused, without the number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match text.find(" (os error ") {
        Some(at) => &text[..at],
        None => &text,
    };
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => text.into(),
    }
}

/// Whether a broken pipe is among the causes: the reader of our output has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}
