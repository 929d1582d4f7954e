//! The package that a file belongs to: a crate, a Python package, a library, or a folder of the
//! reader's own.

/// Folders whose next part is a package.
const ABOVE: [&str; 4] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/vendor/",
];

/// The package of the file at `path`, or of the module at `path`; empty where unknown.
pub(super) fn package(path: &str) -> String {
    if let Some(name) = below(path, &ABOVE) {
        return name.into();
    }
    // Cargo's: `registry/src/index.crates.io-…/NAME-VERSION/src/lib.rs`, `checkouts/NAME-HASH/…`.
    if let Some((_, rest)) = path.split_once("/registry/src/") {
        return without_version(rest.split('/').nth(1).unwrap_or("")).into();
    }
    if let Some((_, rest)) = path.split_once("/git/checkouts/") {
        let name = rest.split('/').next().unwrap_or("");
        return name.rsplit_once('-').map_or(name, |(name, _)| name).into();
    }
    if let Some((_, rest)) = path
        .split_once("/library/")
        .filter(|_| path.starts_with("/rustc/"))
    {
        return rest.split('/').next().unwrap_or("std").into();
    }
    if is_python_library(path) {
        return "Python's library".into();
    }
    // Go's modules: `pkg/mod/github.com/owner/name@v1.2.3/file.go`.
    if let Some((_, rest)) = path.split_once("/pkg/mod/") {
        return rest.split('@').next().unwrap_or(rest).into();
    }
    if path.starts_with('<') || path.starts_with('[') || path.is_empty() {
        return path.into();
    }
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file.contains(".so") || !file.contains('.') {
        // A module: code without a source file.
        return file.split(".so").next().unwrap_or(file).into();
    }
    // The crate or the project: the folder above its sources.
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let sources = parts
        .iter()
        .rposition(|part| matches!(*part, "src" | "lib"));
    let has_owner = |&at: &usize| at > 0 && !["usr", "local"].contains(&parts[at - 1]);
    if let Some(sources) = sources.filter(has_owner) {
        parts.truncate(sources);
    }
    parts.last().map_or(file, |folder| folder).into()
}

fn below<'a>(path: &'a str, folders: &[&str]) -> Option<&'a str> {
    let found = folders.iter().filter_map(|folder| path.rsplit_once(folder));
    let (_, rest) = found.min_by_key(|(_, rest)| rest.len())?;
    let name = match rest.split_once('/') {
        Some((name, _)) => name,
        // A module of one file.
        None => rest.split('.').next()?,
    };
    Some(name)
}

/// `serde_json-1.0.140` without its version.
fn without_version(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => name,
    }
}

fn is_python_library(path: &str) -> bool {
    path.starts_with("<frozen ")
        || path
            .split("/lib/python")
            .nth(1)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_languages() {
        let rows = [
            (
                "/venv/lib/python3.12/site-packages/numpy/core/fromnumeric.py",
                "numpy",
            ),
            ("/venv/lib/python3.12/site-packages/six.py", "six"),
            ("/usr/lib/python3/dist-packages/yaml/loader.py", "yaml"),
            ("/usr/lib/python3.12/json/decoder.py", "Python's library"),
            ("<frozen importlib._bootstrap>", "Python's library"),
            (
                "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/serde_json-1.0.140/src/de.rs",
                "serde_json",
            ),
            (
                "/home/u/.cargo/git/checkouts/tokio-0a1b2c/9f1d/src/lib.rs",
                "tokio",
            ),
            (
                "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/ptr/mod.rs",
                "core",
            ),
            (
                "/root/go/pkg/mod/github.com/gin-gonic/gin@v1.9.1/context.go",
                "github.com/gin-gonic/gin",
            ),
            ("/srv/app/server/views.py", "server"),
            ("/home/u/service/src/area/one.rs", "service"),
            ("/usr/lib/x86_64-linux-gnu/libz.so.1.3", "libz"),
            ("/usr/bin/python3", "python3"),
            ("app.py", "app.py"),
            ("", ""),
        ];
        for (path, name) in rows {
            assert_eq!(package(path), name, "{path}");
        }
    }
}
