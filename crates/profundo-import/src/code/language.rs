//! The language of a frame that a file names: by the file that it is in, and by marks of tools in
//! its name.

use profundo_model::Language;

/// The language of a function with this name in this file.
#[inline]
pub fn language_of(function: &str, file: &str) -> Language {
    match ending_of(file) {
        Some("py" | "pyx" | "pxd" | "pyw" | "ipynb") => Language::Python,
        Some("rs") => Language::Rust,
        Some("jl") => Language::Julia,
        Some("js" | "mjs" | "cjs" | "ts" | "tsx" | "jsx" | "mts") => Language::JavaScript,
        _ if is_python_place(file) => Language::Python,
        _ if is_gap(function) => Language::Synthetic,
        _ if is_rust(function) => Language::Rust,
        _ => Language::Native,
    }
}

/// What stands behind the last dot of a file's name, which is short: it is looked for from the end.
#[inline]
fn ending_of(file: &str) -> Option<&str> {
    let place = (file.bytes()).rposition(|byte| matches!(byte, b'.' | b'/'))?;
    file[place..].strip_prefix('.')
}

/// Code that has no file in Python: a cell, a command line, the import system.
#[inline]
fn is_python_place(file: &str) -> bool {
    file.starts_with("<ipython-input-")
        || file.starts_with("<frozen ")
        || matches!(file, "<string>" | "<stdin>" | "<python>")
}

/// Our own names for gaps: `[truncated]`.
fn is_gap(function: &str) -> bool {
    if !function.starts_with('[') {
        return false;
    }
    profundo_model::Reason::ALL
        .iter()
        .any(|reason| reason.name() == function)
}

/// Rust's mangled hash: `core::fmt::write::h0123456789abcdef`.
#[inline]
fn is_rust(function: &str) -> bool {
    const HASH: usize = 16;
    let hash = function.len().checked_sub(HASH);
    let parts = hash.and_then(|start| function.split_at_checked(start));
    parts.is_some_and(|(name, hash)| {
        name.ends_with("::h") && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_the_language() {
        assert_eq!(language_of("f", "/a/b.py"), Language::Python);
        assert_eq!(
            language_of("f", "<frozen importlib._bootstrap>"),
            Language::Python
        );
        assert_eq!(language_of("f", "a.rs"), Language::Rust);
        assert_eq!(language_of("main.main", "/go/main.go"), Language::Native);
        assert_eq!(language_of("f", "a.py/b"), Language::Native);
        assert_eq!(language_of("f", "/.py"), Language::Python);
        for reason in profundo_model::Reason::ALL {
            assert_eq!(language_of(reason.name(), ""), Language::Synthetic);
        }
        assert_eq!(language_of("a::b::h0123456789abcdef", ""), Language::Rust);
    }
}
