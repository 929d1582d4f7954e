//! The package of code: a crate, a Python package, a library, or a folder of the reader's own; and
//! its module. All pictures that group or colour by package use the same names.

use profundo_model::{Frame, Language, ModuleId, Profile};

/// Folders whose next part is a package.
const ABOVE: [&str; 4] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/vendor/",
];

/// The package of a frame; empty where unknown.
pub fn package(profile: &Profile, frame: &Frame, module: Option<ModuleId>) -> String {
    let file = profile.files.get(frame.file);
    let path = profile.strings.get(file.path);
    // The crate, by the manifest above its sources.
    if let Some(package) = profile.strings.get(file.prefix).strip_prefix('@') {
        return package.to_owned();
    }
    if frame.language == Language::Synthetic {
        return String::new();
    }
    if let Some(package) = by_marker(path) {
        return package.to_owned();
    }
    let module_of_rust = match frame.language {
        Language::Rust => rust_module(profile.strings.get(frame.function)),
        _ => String::new(),
    };
    let by_name = match frame.language {
        Language::Python => in_python_library(path).map(first_part),
        // A type alone, as in `<T as Into>::into`, is no crate.
        Language::Rust => (module_of_rust.split("::").next())
            .filter(|name| name.starts_with(|c: char| c.is_lowercase() || c == '_')),
        // A shared library has its own name; what is linked into a program has a folder.
        _ => Some(library(profile, module)).filter(|_| is_shared(profile, module)),
    };
    match (by_name, by_folder(path)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(folder)) => folder.to_owned(),
        (None, None) => library(profile, module).to_owned(),
    }
}

/// The name of a module's file, without the version of a shared library; empty where unknown.
pub fn library(profile: &Profile, module: Option<ModuleId>) -> &str {
    bare(module_file(profile, module))
}

/// `libz` for `libz.so.1.3`, and `_json` for `_json.cpython-312-x86_64-linux-gnu.so`.
fn bare(file: &str) -> &str {
    let ends = [".so", ".cpython-", ".abi3"].map(|end| file.find(end));
    let end = ends.into_iter().flatten().min();
    end.map_or(file, |end| &file[..end])
}

fn is_shared(profile: &Profile, module: Option<ModuleId>) -> bool {
    module_file(profile, module).contains(".so")
}

/// The name of a module's file; empty where unknown.
pub(crate) fn module_file(profile: &Profile, module: Option<ModuleId>) -> &str {
    let path = module.map_or("", |id| profile.strings.get(profile.modules.get(id).path));
    let file = path.rsplit('/').next().unwrap_or_default();
    file.trim_matches(['[', ']'])
}

/// The package by a folder that package managers make.
fn by_marker(path: &str) -> Option<&str> {
    if let Some(name) = below(path, &ABOVE) {
        return Some(name);
    }
    // Cargo's: `registry/src/index.crates.io-…/NAME-VERSION/src/lib.rs`, `checkouts/NAME-HASH/…`.
    if let Some((_, rest)) = path.split_once("/registry/src/") {
        return Some(without_version(rest.split('/').nth(1).unwrap_or("")));
    }
    if let Some((_, rest)) = path.split_once("/git/checkouts/") {
        let name = rest.split('/').next().unwrap_or("");
        return Some(name.rsplit_once('-').map_or(name, |(name, _)| name));
    }
    if path.starts_with("/rustc/")
        && let Some((_, rest)) = path.split_once("/library/")
    {
        return rest.split('/').next();
    }
    // Go's modules: `pkg/mod/github.com/owner/name@v1.2.3/file.go`.
    let (_, rest) = path.split_once("/pkg/mod/")?;
    rest.split('@').next()
}

fn below<'a>(path: &'a str, folders: &[&str]) -> Option<&'a str> {
    let found = folders.iter().filter_map(|folder| path.rsplit_once(folder));
    let (_, rest) = found.min_by_key(|(_, rest)| rest.len())?;
    Some(first_part(rest))
}

/// The first folder of a path, or the name of its only file without an ending.
fn first_part(path: &str) -> &str {
    match path.split_once('/') {
        Some((folder, _)) => folder,
        // A module of one file, or a dotted name.
        None => path.split('.').next().unwrap_or(path),
    }
}

/// `serde_json-1.0.140` without its version.
fn without_version(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => name,
    }
}

/// The path or the dotted name inside of Python's own library.
fn in_python_library(path: &str) -> Option<&str> {
    // Modules that are a part of the interpreter.
    if let Some(rest) = path.strip_prefix("<frozen ") {
        return rest.strip_suffix('>');
    }
    let (_, after) = path.split_once("/lib/python")?;
    let (version, inside) = after.split_once('/')?;
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(inside)
}

/// The crate or the project: the folder above its sources. A module without sources is one itself.
fn by_folder(path: &str) -> Option<&str> {
    if path.is_empty() || path.starts_with(['<', '[']) {
        return None;
    }
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file.contains(".so") || !file.contains('.') {
        return Some(bare(file));
    }
    let mut parts: Vec<&str> = (folder.split('/'))
        .filter(|part| !["", ".", ".."].contains(part))
        .collect();
    let sources = (parts.iter()).rposition(|part| matches!(*part, "src" | "lib"));
    let has_owner = |&at: &usize| at > 0 && !["usr", "local"].contains(&parts[at - 1]);
    if let Some(sources) = sources.filter(has_owner) {
        parts.truncate(sources);
    }
    Some(parts.last().copied().unwrap_or_else(|| first_part(file)))
}

/// The dotted name of a Python file: `json.decoder`, `numpy.linalg`, or `app` for a script.
pub(crate) fn python_module(path: &str) -> String {
    let inside = ["/site-packages/", "/dist-packages/"]
        .iter()
        .find_map(|folder| path.split_once(folder).map(|(_, inside)| inside))
        .or_else(|| in_python_library(path))
        .unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path));
    let bare = inside.strip_suffix(".py").unwrap_or(inside);
    let bare = bare.strip_suffix("/__init__").unwrap_or(bare);
    if bare == "__init__" || bare == "__main__" {
        // Of a package whose root is unknown, its folder has the name.
        let mut folders = path.rsplit('/').skip(1);
        return folders.next().unwrap_or(bare).to_owned();
    }
    bare.replace('/', ".")
}

/// The path of a Rust function without its own name: `app::parser` for `app::parser::parse`, and
/// for a method the module of its type.
pub(crate) fn rust_module(function: &str) -> String {
    let bare = crate::function_names::without_instance(function);
    let bare = bare.trim_start_matches('<').trim_start_matches(['&', '*']);
    let end = bare.find([' ', '>', '(', '[']).unwrap_or(bare.len());
    let mut parts: Vec<&str> = bare[..end].split("::").collect();
    // Types have capitals; the closures and methods of a type are in its module.
    let first_type = (parts.iter()).position(|part| {
        let first = part.chars().next();
        first.is_none_or(|letter| letter.is_uppercase() || letter == '{')
    });
    parts.truncate(first_type.unwrap_or(parts.len() - 1).max(1));
    match bare.contains("::") {
        true => parts.join("::"),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(function: &str, path: &str, language: Language) -> String {
        let mut profile = Profile::from_folded("main 1").unwrap();
        let file = profile.file(path, "", path);
        let function = profile.strings.intern(function);
        let id = profile.samples[0].stack;
        let location = profile.stacks.locations(id).next().unwrap();
        let frame = profile.locations.get(location).frames[0];
        let frame = Frame {
            function,
            file,
            language,
            ..*profile.frames.get(frame)
        };
        package(&profile, &frame, None)
    }

    #[test]
    fn packages_are_those_of_the_languages() {
        use Language::{Native, Python, Rust};
        let rows = [
            (
                "/venv/lib/python3.12/site-packages/numpy/core/fromnumeric.py",
                Python,
                "numpy",
            ),
            ("/venv/lib/python3.12/site-packages/six.py", Python, "six"),
            (
                "/usr/lib/python3/dist-packages/yaml/loader.py",
                Python,
                "yaml",
            ),
            ("/usr/lib/python3.12/json/decoder.py", Python, "json"),
            ("/usr/lib/python3.12/re.py", Python, "re"),
            ("<frozen importlib._bootstrap>", Python, "importlib"),
            ("/srv/app/server/views.py", Python, "server"),
            ("/home/me/tool/__main__.py", Python, "tool"),
            ("app.py", Python, "app"),
            (
                "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/serde_json-1.0.140/src/de.rs",
                Rust,
                "serde_json",
            ),
            (
                "/home/u/.cargo/git/checkouts/tokio-0a1b2c/9f1d/src/lib.rs",
                Rust,
                "tokio",
            ),
            (
                "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/ptr/mod.rs",
                Rust,
                "core",
            ),
            ("/home/u/service/src/area/one.rs", Rust, "work"),
            (
                "/root/go/pkg/mod/github.com/gin-gonic/gin@v1.9.1/context.go",
                Native,
                "github.com/gin-gonic/gin",
            ),
            ("/home/u/game/src/physics/step.c", Native, "game"),
            ("/usr/lib/x86_64-linux-gnu/libz.so.1.3", Native, "libz"),
            (
                "/usr/lib/python3.12/_json.cpython-312-x86_64-linux-gnu.so",
                Native,
                "_json",
            ),
            ("/usr/bin/python3", Native, "python3"),
            ("./malloc/malloc.c", Native, "malloc"),
            ("", Native, ""),
        ];
        for (path, language, name) in rows {
            assert_eq!(named("work::area::one", path, language), name, "{path}");
        }
        // Without a crate in its name, a function belongs to the folder.
        let own = "/home/u/service/src/area/one.rs";
        assert_eq!(named("main", own, Rust), "service");
        assert_eq!(named("<T as Into>::into", own, Rust), "service");
    }

    #[test]
    fn rust_functions_have_modules() {
        for (function, module) in [
            ("app::parser::parse", "app::parser"),
            ("app::main", "app"),
            ("app::main::{closure#0}", "app::main"),
            ("<app::lexer::Token as core::fmt::Debug>::fmt", "app::lexer"),
            ("alloc::vec::Vec<T>::push", "alloc::vec"),
            ("main", ""),
        ] {
            assert_eq!(rust_module(function), module, "{function}");
        }
    }

    #[test]
    fn python_files_have_modules() {
        for (path, module) in [
            ("/v/lib/python3.12/json/decoder.py", "json.decoder"),
            ("/v/lib/python3.12/json/__init__.py", "json"),
            (
                "/v/lib/python3.12/site-packages/numpy/linalg/x.py",
                "numpy.linalg.x",
            ),
            ("<frozen importlib._bootstrap>", "importlib._bootstrap"),
            ("/home/me/app.py", "app"),
            ("/home/me/tool/__main__.py", "tool"),
        ] {
            assert_eq!(python_module(path), module, "{path}");
        }
    }
}
