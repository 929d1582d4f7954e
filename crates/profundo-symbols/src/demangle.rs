//! Symbol names in readable form.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite};
use profundo_model::Language;

/// A symbol name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demangled {
    /// The path of the function, without parameters.
    pub function: String,
    /// The name with parameters; empty where the symbol has no more than the path.
    pub signature: String,
    /// Rust if the mangling is Rust's.
    pub language: Language,
}

/// A C++ name of a few hundred bytes can stand for gigabytes of text.
const MAX_LENGTH: usize = 64 << 10;

/// The suffix of the name of a PLT stub.
pub(crate) const STUB: &str = "@plt";

/// Demangles `symbol`. An unmangled name is taken as it is.
pub fn demangle(symbol: &str) -> Demangled {
    if let Some(target) = symbol.strip_suffix(STUB) {
        let mut name = demangle(target);
        name.function.push_str(STUB);
        return name;
    }
    let bare = symbol
        .split_once('@')
        .map_or(symbol, |(name, _version)| name);
    if is_rust(bare)
        && let Ok(name) = rustc_demangle::try_demangle(bare)
    {
        // The alternate form leaves the hash out.
        return Demangled {
            function: format!("{name:#}"),
            signature: String::new(),
            language: Language::Rust,
        };
    }
    if let Some((function, signature)) = cpp(bare) {
        let signature = if signature == function {
            String::new()
        } else {
            signature
        };
        return Demangled {
            function,
            signature,
            language: Language::Native,
        };
    }
    Demangled {
        function: bare.to_owned(),
        signature: String::new(),
        language: Language::Native,
    }
}

/// Whether the mangling is Rust's. The legacy scheme is C++'s with a hash as the last part.
pub(crate) fn is_rust(symbol: &str) -> bool {
    if symbol.starts_with("_R") {
        return rustc_demangle::try_demangle(symbol).is_ok();
    }
    // The compiler may append `.llvm.123` or `.cold`.
    let Some(end) = symbol.rfind("17h").map(|start| start + 3) else {
        return false;
    };
    let rest = &symbol.as_bytes()[end..];
    symbol.starts_with("_ZN")
        && rest.len() > 16
        && rest[..16].iter().all(u8::is_ascii_hexdigit)
        && rest[16] == b'E'
}

fn cpp(symbol: &str) -> Option<(String, String)> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let (parsed, rest) = cpp_demangle::BorrowedSymbol::with_tail(symbol.as_bytes()).ok()?;
    let write = |options: DemangleOptions| {
        let mut out = Bounded(String::new());
        parsed.structured_demangle(&mut out, &options).ok()?;
        Some(without_empty_packs(out.0))
    };
    let function = write(DemangleOptions::new().no_params().no_return_type())?;
    if !rest.is_empty() {
        // The parser does not read every expression in the return type of a template or in its
        // parameters. The name itself comes before them.
        return function.ends_with('>').then(|| (function, String::new()));
    }
    let is_template = function.ends_with('>');
    if is_template && write(DemangleOptions::new())?.starts_with(&function) {
        // A constructor has no return type. The parser takes its first parameter for one, and
        // leaves it out.
        return Some((function, String::new()));
    }
    let signature = write(DemangleOptions::new().no_return_type())?;
    Some((without_qualifiers(function, &signature), signature))
}

/// `geo::Shape::area` for `geo::Shape::area const`, where the signature is `geo::Shape::area()
/// const`.
fn without_qualifiers(mut function: String, signature: &str) -> String {
    let mut signature = signature;
    if function == signature {
        return function;
    }
    while let Some((name, outer)) =
        [" const", " volatile", " &", " &&"]
            .into_iter()
            .find_map(|suffix| {
                function
                    .strip_suffix(suffix)
                    .zip(signature.strip_suffix(suffix))
            })
    {
        signature = outer;
        function.truncate(name.len());
    }
    function
}

/// A parameter pack without elements leaves its comma: `tuple<int, >`.
fn without_empty_packs(mut name: String) -> String {
    while name.contains(", , ") {
        name = name.replace(", , ", ", ");
    }
    match name.contains(", >") {
        true => name.replace(", >", ">"),
        false => name,
    }
}

struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// The path with generics: legacy mangling drops them, but the debug information's plain name
/// (`push<u8, Global>`) has them. Empty where `plain` adds nothing.
pub(crate) fn with_generics(function: &str, plain: &str) -> String {
    let Some(base) = plain
        .ends_with('>')
        .then(|| plain.split('<').next())
        .flatten()
    else {
        return String::new();
    };
    let (path, last) = match function.rfind("::") {
        Some(at) => function.split_at(at + 2),
        None => ("", function),
    };
    // Legacy mangling calls every closure `{{closure}}`.
    let closure = last == "{{closure}}" && base.starts_with("{closure");
    if !base.is_empty() && (last == base || closure) {
        return format!("{path}{plain}");
    }
    String::new()
}

/// Whether `function` is the last part of a path alone, perhaps with generics.
pub(crate) fn is_short(function: &str) -> bool {
    let (name, _) = function.split_once('<').unwrap_or((function, ""));
    !name.contains("::") && !function.starts_with('<')
}

/// Whether the path `long` ends in the name `short`.
pub(crate) fn is_long_form(long: &str, short: &str) -> bool {
    let ends_in = |path: &str| {
        path.strip_suffix(short)
            .is_some_and(|rest| rest.ends_with("::"))
    };
    let closure = short.starts_with("{closure") && long.ends_with("::{{closure}}");
    if closure || ends_in(long) || ends_in(without_generics(long)) {
        return true;
    }
    // Debug information and symbols write template arguments differently: `long int` and `long`,
    // `main()::<lambda()>` and `main::{lambda()#1}`.
    let template = without_generics(short);
    let path = without_generics(long).strip_suffix(template);
    template != short && !template.is_empty() && path.is_some_and(|path| path.ends_with("::"))
}

/// `a::b` for `a::b::<u8>`, as version 0 mangling writes the generics of a function.
fn without_generics(function: &str) -> &str {
    if !function.ends_with('>') {
        return function;
    }
    let mut depth = 0;
    let mut later = '\0';
    for (at, c) in function.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' => depth -= 1,
            // The arrow of a function type closes nothing.
            '-' if later == '>' => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return function[..at].trim_end_matches("::");
        }
        later = c;
    }
    function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(symbol: &str, function: &str, signature: &str, language: Language) {
        let name = demangle(symbol);
        assert_eq!(
            (&*name.function, &*name.signature, name.language),
            (function, signature, language)
        );
    }

    #[test]
    fn every_mangling() {
        use Language::{Native, Rust};
        check(
            "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
            "core::fmt::Write::write_fmt",
            "",
            Rust,
        );
        check(
            "_ZN3app4work17h0123456789abcdefE.llvm.42",
            "app::work",
            "",
            Rust,
        );
        check("_RNvC6_123foo3bar", "123foo::bar", "", Rust);
        check(
            "_ZN3geo5Shape4areaEi",
            "geo::Shape::area",
            "geo::Shape::area(int)",
            Native,
        );
        check("_Z5twiceIiET_S0_", "twice<int>", "twice<int>(int)", Native);
        check("memcpy@@GLIBC_2.14", "memcpy", "", Native);
        check("memcpy@plt", "memcpy@plt", "", Native);
        check("work.part.0", "work.part.0", "", Native);
        check("_Znonsense", "_Znonsense", "", Native);
        check("_R", "_R", "", Native);
        check("", "", "", Native);
    }

    #[test]
    fn templates_that_are_chosen_by_their_return_type() {
        for (symbol, function) in [
            (
                "_ZSt3sinIiEN9__gnu_cxx11__enable_ifIXsrSt12__is_integerIT_E7__valueEdE6__typeES3_",
                "std::sin<int>",
            ),
            (
                "_ZSt4swapIiENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SE_",
                "std::swap<int>",
            ),
        ] {
            check(symbol, function, "", Language::Native);
        }
        // A name that only begins like a mangled one is not mangled.
        check("_Z3foo$bar", "_Z3foo$bar", "", Language::Native);
    }

    #[test]
    fn qualifiers_belong_to_the_signature() {
        use Language::Native;
        check(
            "_ZZN3app1S1fEiENKUliE_clEi",
            "app::S::f(int)::{lambda(int)#1}::operator()",
            "app::S::f(int)::{lambda(int)#1}::operator()(int) const",
            Native,
        );
        check(
            "_ZNKR3geo5Shape4areaEv",
            "geo::Shape::area",
            "geo::Shape::area() const &",
            Native,
        );
        check(
            "_ZN3geo5ShapecvKcEv",
            "geo::Shape::operator char const",
            "geo::Shape::operator char const()",
            Native,
        );
    }

    #[test]
    fn a_template_constructor_has_no_signature_rather_than_half_of_it() {
        check(
            "_ZN3geo5ShapeC2IidEET_T0_",
            "geo::Shape::Shape<int, double>",
            "",
            Language::Native,
        );
    }

    #[test]
    fn an_empty_pack_leaves_no_comma() {
        check(
            "_Z4callIiJEEvT_",
            "call<int>",
            "call<int>(int)",
            Language::Native,
        );
    }

    #[test]
    fn generics_come_from_the_plain_name() {
        assert_eq!(
            with_generics("vec::Vec<T,A>::push", "push<u8, Global>"),
            "vec::Vec<T,A>::push<u8, Global>"
        );
        assert_eq!(
            with_generics("app::main::{{closure}}", "{closure#0}<u8>"),
            "app::main::{closure#0}<u8>"
        );
        assert_eq!(with_generics("app::work", "work"), "");
        assert_eq!(with_generics("app::work", "other<u8>"), "");
    }

    #[test]
    fn long_forms() {
        assert!(is_long_form("app::work", "work"));
        assert!(is_long_form(
            "app::Map<K,V>::insert::<fn(u8) -> a::B>",
            "insert"
        ));
        assert!(is_long_form("app::main::{{closure}}", "{closure#0}"));
        assert!(is_long_form("geo::twice<int>", "twice<int>"));
        assert!(is_long_form(
            "std::sort<int*, main::{lambda(int, int)#1}>",
            "sort<int*, main()::<lambda(int, int)> >"
        ));
        assert!(is_long_form("geo::count<long>", "count<long int>"));
        assert!(!is_long_form("geo::recount<long>", "count<long int>"));
        assert!(!is_long_form("geo::count", "<lambda()>"));
        assert!(!is_long_form("app::rework", "work"));
        assert!(!is_long_form("work", "work"));
        assert!(is_short("fold<core::option::Option<u64>>"));
        assert!(!is_short("<T as core::fmt::Debug>::fmt"));
        assert!(!is_short("app::work"));
    }

    #[test]
    fn a_name_cannot_grow_without_bound() {
        let mut symbol = String::from("_Z1fI");
        symbol.push_str("St4pairIiiES0_IS_S_ES0_IS1_S1_ES0_IS2_S2_ES0_IS3_S3_ES0_IS4_S4_E");
        symbol.push_str("EvT_");
        assert!(demangle(&symbol).signature.len() <= MAX_LENGTH);
    }
}
