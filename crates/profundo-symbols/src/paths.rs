//! Short forms of source paths: `@crate` and the path inside it.
//!
//! The place of a file decides its crate: the standard library's sources have a known place in the
//! compiler's tree, those of other crates one in cargo's registry, and the user's own lie below a
//! `Cargo.toml`. The answer depends on the machine that built the program, so it is found here,
//! with the names, and stored with them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// A path in its short form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortPath {
    /// `@std`, `@my-crate`, or empty.
    pub prefix: Arc<str>,
    /// The rest, with its leading `/`; the whole path, normalised, where there is no prefix.
    pub rest: Arc<str>,
}

/// Shortens paths and remembers the answers, so that each `Cargo.toml` is read once.
#[derive(Debug, Default)]
pub struct Shortener {
    files: FxHashMap<Box<str>, ShortPath>,
    /// By directory: the length of the package's root and its name.
    packages: FxHashMap<Box<str>, Option<(usize, Arc<str>)>>,
}

impl Shortener {
    /// The short form of `path`.
    pub fn shorten(&mut self, path: &str) -> ShortPath {
        if let Some(known) = self.files.get(path) {
            return known.clone();
        }
        let tidy = normalise(path);
        let short = match self.package_of(&tidy) {
            Some((prefix, rest)) => ShortPath {
                prefix,
                rest: rest.into(),
            },
            None => ShortPath {
                prefix: "".into(),
                rest: tidy.into(),
            },
        };
        self.files.insert(path.into(), short.clone());
        short
    }

    fn package_of<'p>(&mut self, path: &'p str) -> Option<(Arc<str>, &'p str)> {
        let at = |(name, rest): (&str, &'p str)| (prefix(name), rest);
        if let Some(found) = rust_library(path).or_else(|| registry(path)) {
            return Some(at(found));
        }
        if let Some(found) = self.cargo_package(path) {
            return Some(found);
        }
        checkout(path).map(at)
    }

    /// The package of the nearest `Cargo.toml` above a file that exists.
    fn cargo_package<'p>(&mut self, path: &'p str) -> Option<(Arc<str>, &'p str)> {
        let directory = Path::new(path).parent()?.to_str()?;
        if !path.starts_with('/') || !Path::new(path).is_file() {
            return None;
        }
        if !self.packages.contains_key(directory) {
            let found = nearest_package(directory);
            self.packages.insert(directory.into(), found);
        }
        let (length, name) = self.packages.get(directory)?.clone()?;
        Some((name, &path[length..]))
    }
}

fn prefix(name: &str) -> Arc<str> {
    format!("@{name}").into()
}

/// `/rustc/<hash>/library/std/src/…`, and the same sources where rustup installs them.
fn rust_library(path: &str) -> Option<(&str, &str)> {
    if let Some(rest) = path.strip_prefix("/rust/deps/") {
        return versioned(rest);
    }
    let inside = match path.strip_prefix("/rustc/") {
        Some(rest) => rest.split_once('/')?.1,
        None => path.split_once("/lib/rustlib/src/rust/")?.1,
    };
    let inside = inside
        .strip_prefix("library/")
        .or_else(|| inside.strip_prefix("compiler/"))?;
    if let Some(rest) = inside.strip_prefix("vendor/") {
        return versioned(rest);
    }
    split_at_slash(inside)
}

/// `…/registry/src/<index>/<name>-<version>/src/…`
fn registry(path: &str) -> Option<(&str, &str)> {
    let (_index, inside) = path.split_once("/registry/src/")?.1.split_once('/')?;
    versioned(inside)
}

/// `…/git/checkouts/<name>-<hash>/<revision>/src/…`, for sources that are not on this machine.
fn checkout(path: &str) -> Option<(&str, &str)> {
    let inside = path.split_once("/git/checkouts/")?.1;
    let (directory, inside) = inside.split_once('/')?;
    let (name, _hash) = directory.rsplit_once('-')?;
    let revision = inside.find('/')?;
    Some((name, &inside[revision..]))
}

fn split_at_slash(path: &str) -> Option<(&str, &str)> {
    let slash = path.find('/').filter(|at| *at > 0)?;
    Some(path.split_at(slash))
}

/// `name-1.2.3/rest`. Names may have hyphens and digits: the version is the part that looks like
/// one.
fn versioned(path: &str) -> Option<(&str, &str)> {
    let (directory, rest) = split_at_slash(path)?;
    let name = directory
        .match_indices('-')
        .find(|(at, _)| {
            let version = &directory[at + 1..];
            let digits = version.trim_start_matches(|c: char| c.is_ascii_digit());
            digits.len() < version.len() && digits.starts_with('.')
        })
        .map_or(directory, |(at, _)| &directory[..at]);
    Some((name, rest))
}

/// The length of the root directory and the name of the package that `directory` belongs to.
/// A manifest without a package, such as a virtual workspace's, ends the search.
fn nearest_package(directory: &str) -> Option<(usize, Arc<str>)> {
    Path::new(directory).ancestors().find_map(|ancestor| {
        let manifest = fs::read_to_string(ancestor.join("Cargo.toml")).ok()?;
        let length = ancestor.to_str()?.trim_end_matches('/').len();
        Some(package_name(&manifest).map(|name| (length, prefix(name))))
    })?
}

/// The `name` in a manifest's `[package]`. Read by hand: this much of TOML is two kinds of line.
fn package_name(manifest: &str) -> Option<&str> {
    let mut in_package = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            let header = line.split('#').next().unwrap_or_default().trim();
            let inner = header
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            in_package = inner.is_some_and(|inner| inner.trim() == "package");
        } else if in_package
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
        {
            let value = value.trim();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            return value[1..]
                .split(quote)
                .next()
                .filter(|name| !name.is_empty());
        }
    }
    None
}

/// The path without `.`, `..` and doubled slashes, as text: files of other machines are tidied
/// the same way.
fn normalise(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if absolute {
        format!("/{joined}")
    } else {
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, prefix: &str, rest: &str) {
        let short = Shortener::default().shorten(path);
        assert_eq!((&*short.prefix, &*short.rest), (prefix, rest));
    }

    #[test]
    fn the_standard_library() {
        check(
            "/rustc/0123abcd/library/std/src/rt.rs",
            "@std",
            "/src/rt.rs",
        );
        check(
            "/rustc/0123abcd/library/core/src/ops/function.rs",
            "@core",
            "/src/ops/function.rs",
        );
        check(
            "/rustc/0123abcd/library/core/src/../../stdarch/crates/core_arch/src/x86/sse2.rs",
            "@stdarch",
            "/crates/core_arch/src/x86/sse2.rs",
        );
        check(
            "/rustc/0123abcd/compiler/rustc_span/src/lib.rs",
            "@rustc_span",
            "/src/lib.rs",
        );
        check(
            "/rust/deps/hashbrown-0.16.1/src/raw.rs",
            "@hashbrown",
            "/src/raw.rs",
        );
        check(
            "/home/u/.rustup/toolchains/stable-x86_64-unknown-linux-gnu/lib/rustlib/src/rust/library/alloc/src/vec/mod.rs",
            "@alloc",
            "/src/vec/mod.rs",
        );
    }

    #[test]
    fn crates_from_elsewhere() {
        let index = "/home/u/.cargo/registry/src/index.crates.io-6f17d22bba15001f";
        check(
            &format!("{index}/md-5-0.10.6/src/lib.rs"),
            "@md-5",
            "/src/lib.rs",
        );
        check(
            &format!("{index}/a-b2-1.0.0-rc.1+x/src/lib.rs"),
            "@a-b2",
            "/src/lib.rs",
        );
        check(
            "/nowhere/.cargo/git/checkouts/tokio-rs-377c595163f99a10/cc70a21/tokio/src/lib.rs",
            "@tokio-rs",
            "/tokio/src/lib.rs",
        );
    }

    #[test]
    fn other_paths_are_only_tidied() {
        check("./src/./a//b.rs", "", "src/a/b.rs");
        check("/nowhere/x/../y.c", "", "/nowhere/y.c");
        check("../y.c", "", "../y.c");
        check("/../y.c", "", "/y.c");
        check("", "", "");
        check("/rustc/short", "", "/rustc/short");
    }

    #[test]
    fn own_sources_lie_below_a_manifest() {
        let path = format!("{}/src/paths.rs", env!("CARGO_MANIFEST_DIR"));
        check(&path, "@profundo-symbols", "/src/paths.rs");
    }

    #[test]
    fn manifests() {
        assert_eq!(package_name("[package]\nname = \"a-b\" # c\n"), Some("a-b"));
        assert_eq!(package_name("[ package ] # x\n  name='a'\n"), Some("a"));
        assert_eq!(
            package_name("[workspace]\nmembers = []\n[lib]\nname = \"x\"\n"),
            None
        );
        assert_eq!(
            package_name("[package]\nversion = \"1\"\n[lib]\nname = \"x\"\n"),
            None
        );
        assert_eq!(package_name("\u{0}[package\nname = \"x"), None);
    }
}
