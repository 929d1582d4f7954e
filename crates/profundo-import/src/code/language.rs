//! The language of a frame that a file names: by the file that it is in, and by marks of tools in
//! its name.

use profundo_model::Language;

/// The language of a function with this name in this file.
pub fn language_of(function: &str, file: &str) -> Language {
    let ending = file
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    match ending.map(|(_, ending)| ending) {
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

/// Code that has no file in Python: a cell, a command line, the import system.
fn is_python_place(file: &str) -> bool {
    file.starts_with("<ipython-input-")
        || file.starts_with("<frozen ")
        || matches!(file, "<string>" | "<stdin>" | "<python>")
}

/// Our own names for gaps: `[truncated]`.
fn is_gap(function: &str) -> bool {
    profundo_model::Reason::ALL
        .iter()
        .any(|reason| reason.name() == function)
}

/// Rust's mangled hash: `core::fmt::write::h0123456789abcdef`.
fn is_rust(function: &str) -> bool {
    function.rsplit_once("::h").is_some_and(|(_, hash)| {
        hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
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
        assert_eq!(language_of("[truncated]", ""), Language::Synthetic);
        assert_eq!(language_of("a::b::h0123456789abcdef", ""), Language::Rust);
    }
}
