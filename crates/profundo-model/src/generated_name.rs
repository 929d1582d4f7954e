//! The meaning of the names that compilers give to generated code.
//!
//! Each compiler has its own form: V8 `JS:*hot /x.js:1:15`, CPython `py::hot:/x.py`, Julia
//! `julia_hot_123`, numba `_ZN8__main__3hotB2v1E…`. A reader wants the function, and the file where
//! there is one.

use std::borrow::Cow;

use crate::Language;

/// A name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedName<'a> {
    /// The function, as its programmer would name it.
    pub function: Cow<'a, str>,
    /// The whole name, where it is longer; else empty.
    pub signature: Cow<'a, str>,
    /// The file, if the name has one; else empty.
    pub file: &'a str,
    /// The language of the code.
    pub language: Language,
    /// A piece of code through which an interpreter calls a function, so that other profilers see
    /// it.
    pub is_trampoline: bool,
}

/// Takes the name of a piece of generated code apart.
pub fn generated_name(name: &str) -> GeneratedName<'_> {
    python(name)
        .or_else(|| javascript(name))
        .or_else(|| julia(name))
        .or_else(|| mangled(name))
        .unwrap_or(GeneratedName {
            function: name.into(),
            signature: "".into(),
            file: "",
            language: Language::Generated,
            is_trampoline: false,
        })
}

/// `py::` the function's qualified name `:` the file.
fn python(name: &str) -> Option<GeneratedName<'_>> {
    let (function, file) = name.strip_prefix("py::")?.rsplit_once(':')?;
    Some(GeneratedName {
        function: function.into(),
        signature: "".into(),
        file,
        language: Language::Python,
        is_trampoline: true,
    })
}

/// A tag, a mark for the compiler that made the code, the function, and its place.
fn javascript(name: &str) -> Option<GeneratedName<'_>> {
    const FUNCTIONS: [&str; 5] = ["JS", "LazyCompile", "Function", "Script", "Eval"];
    const OTHERS: [&str; 6] = [
        "Builtin",
        "BytecodeHandler",
        "RegExp",
        "Stub",
        "Handler",
        "WasmFunction",
    ];
    let (tag, rest) = name.split_once(':')?;
    let made = |function: Cow<'_, str>, signature: Cow<'_, str>, file| {
        Some(GeneratedName {
            function: function.into_owned().into(),
            signature: signature.into_owned().into(),
            file,
            language: Language::JavaScript,
            is_trampoline: false,
        })
    };
    if OTHERS.contains(&tag) && !rest.is_empty() {
        return match tag {
            "RegExp" => made(name.into(), "".into(), ""),
            _ => made(rest.into(), name.into(), ""),
        };
    }
    if !FUNCTIONS.contains(&tag) {
        return None;
    }
    // The code of all compilers is the same function.
    let rest = rest.trim_start_matches(['~', '^', '+', '*', '\'']);
    let (function, place) = rest.rsplit_once(' ').unwrap_or(match rest.contains('/') {
        true => ("", rest),
        false => (rest, ""),
    });
    let (file, line, column) = place_of(place);
    let function = function.trim();
    let url = file.strip_prefix("file://").unwrap_or(file);
    let at = match place {
        "" => String::new(),
        _ => format!(
            " ({}:{line}:{column})",
            url.rsplit('/').next().unwrap_or(url)
        ),
    };
    match (function, line, column) {
        ("", "1", "1") | ("", "", _) => made("(top level)".into(), "".into(), url),
        // There may be many in one file.
        ("", ..) => made(
            format!("(anonymous:{line}:{column})").into(),
            "".into(),
            url,
        ),
        _ => made(function.into(), format!("{function}{at}").into(), url),
    }
}

/// `file:line:column`; the numbers may be missing.
fn place_of(place: &str) -> (&str, &str, &str) {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((rest, last)) = place.rsplit_once(':').filter(|(_, last)| number(last)) else {
        return (place, "", "");
    };
    match rest.rsplit_once(':').filter(|(_, line)| number(line)) {
        Some((file, line)) => (file, line, last),
        None => (rest, last, "1"),
    }
}

/// `julia_` the function `_` a number; other prefixes stand for other conventions.
fn julia(name: &str) -> Option<GeneratedName<'_>> {
    const PREFIXES: [&str; 7] = [
        "julia_", "jlsys_", "jfptr_", "japi1_", "japi3_", "jlplt_", "gfptr_",
    ];
    let rest = PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    let (function, number) = rest.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !function.is_empty()).then(|| GeneratedName {
        function: function.into(),
        signature: name.into(),
        file: "",
        language: Language::Julia,
        is_trampoline: false,
    })
}

/// The plain name of a mangled one: that in `_ZN 8__main__ 3hot B2v1 E…`. numba's tags and argument
/// types distinguish versions of a function, and are too long to read.
fn mangled(name: &str) -> Option<GeneratedName<'_>> {
    let (before, rest) = match name.split_once("_ZN") {
        Some((before, rest)) if before.is_empty() || before.ends_with('.') => (before, rest),
        _ => return None,
    };
    let mut parts: Vec<String> = Vec::new();
    let mut rest = rest;
    loop {
        rest = match rest.as_bytes().first()? {
            b'E' => break,
            b'K' | b'V' | b'r' if parts.is_empty() => rest.get(1..)?,
            // A tag of the name before.
            b'B' if !parts.is_empty() => counted(rest.get(1..)?)?.1,
            b'0'..=b'9' => {
                let (part, rest) = counted(rest)?;
                parts.push(unescaped(part));
                rest
            }
            _ => return None,
        };
    }
    (!parts.is_empty()).then(|| GeneratedName {
        function: format!("{before}{}", parts.join("::")).into(),
        signature: name.into(),
        file: "",
        language: Language::Generated,
        is_trampoline: false,
    })
}

/// The text behind its length, and what follows.
fn counted(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text.get(..digits)?.parse().ok()?;
    let end = digits.checked_add(length)?;
    Some((text.get(digits..end)?, text.get(end..)?))
}

/// Decodes characters that may not be in a name: numba writes `_3c` for `<`.
fn unescaped(part: &str) -> String {
    let mut out = String::new();
    let mut rest = part;
    while let Some(at) = rest.find('_') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 3);
        let lower = code.filter(|code| {
            code.bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        });
        match lower.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if byte.is_ascii_punctuation() || byte == b' ' => {
                out.push(byte.into());
                rest = &rest[at + 3..];
            }
            _ => {
                out.push('_');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str, language: Language) {
        let found = generated_name(name);
        let shown = match found.file {
            "" => found.function.to_string(),
            file => format!("{} {file}", found.function),
        };
        assert_eq!(
            (shown.as_str(), found.language),
            (expected, language),
            "{name}"
        );
    }

    #[test]
    fn v8() {
        let check = |name, expected| check(name, expected, Language::JavaScript);
        check("JS:*inner /tmp/hot.js:1:15", "inner /tmp/hot.js");
        check(
            "LazyCompile:~inner file:///tmp/hot.mjs:1:15",
            "inner /tmp/hot.mjs",
        );
        check("LazyCompile:*inner /tmp/hot.js:1", "inner /tmp/hot.js");
        check(
            "JS:^get big /tmp/a b/hot.js:2:17",
            "get big /tmp/a b/hot.js",
        );
        check("JS:~ /tmp/hot.js:5:49", "(anonymous:5:49) /tmp/hot.js");
        check("Script:~ /tmp/hot.js:1:1", "(top level) /tmp/hot.js");
        check(
            "Eval:~ node:internal/fs:1:1",
            "(top level) node:internal/fs",
        );
        check("Builtin:ArrayMap", "ArrayMap");
        check("RegExp:a:b", "RegExp:a:b");
        assert_eq!(
            generated_name("JS:*inner /tmp/hot.js:1:15").signature,
            "inner (hot.js:1:15)"
        );
    }

    #[test]
    fn python_julia_and_numba() {
        check("py::A.hot:/tmp/x.py", "A.hot /tmp/x.py", Language::Python);
        assert!(generated_name("py::A.hot:/tmp/x.py").is_trampoline);
        check(
            "py::<module>:<string>",
            "<module> <string>",
            Language::Python,
        );
        check("julia_mysum_1234", "mysum", Language::Julia);
        check("jfptr_#foo#5_12", "#foo#5", Language::Julia);
        check(
            "_ZN8__main__3hotB2v2B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3dE26Literal_5bint_5d",
            "__main__::hot",
            Language::Generated,
        );
        check(
            "cfunc._ZN8__main__5outerB2v1Ex",
            "cfunc.__main__::outer",
            Language::Generated,
        );
        check(
            "_ZN3a_b12_3clocals_3eEv",
            "a_b::<locals>",
            Language::Generated,
        );
    }

    #[test]
    fn all_others_are_names() {
        for name in [
            "",
            "f",
            "_ZN",
            "_ZN3ab",
            "_ZN99hotE",
            "julia_",
            "julia__1x",
            "JSX:a",
            "py::",
            "TRACE_1:f.lua:3",
            "ü",
        ] {
            check(name, name, Language::Generated);
        }
        // Not at the ends of characters.
        generated_name("_ZN1üE");
        generated_name("a_ü_3");
        generated_name("_ZN4a_3ü1bE");
    }
}
