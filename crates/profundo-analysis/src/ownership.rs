//! The owner of a frame's code: the reader, or a library.
//!
//! The place of a file decides it. Python keeps packages below `site-packages` and its own library
//! below `lib/pythonX.Y`; Rust has its sources below `/rustc` and those of other crates in cargo's
//! registry; the system's libraries lie below `/usr/lib`. Native code without debug information is
//! judged by its module. An executable is its reader's own, wherever it lies: the reader has asked
//! to run it. Code that only starts a library's ([`launcher`]) is not the reader's own. Where the
//! place of a file does not decide, the reader does: see [`Rules`].

mod launcher;
mod pattern;
mod rules;

use profundo_model::{FrameId, Language, LocationId, Profile, Role};

use crate::Place;

pub use rules::Rules;

/// The owners of frames and modules.
#[derive(Debug)]
pub struct Ownership<'a> {
    profile: &'a Profile,
    /// By frame.
    frames: Vec<bool>,
    /// By frame, whether a rule makes it the reader's own, whatever its module.
    chosen: Vec<bool>,
    /// By frame, whether it only starts other code.
    launchers: Vec<bool>,
    /// By module.
    modules: Vec<bool>,
}

impl<'a> Ownership<'a> {
    /// Looks at every file and module of the profile once.
    pub fn new(profile: &'a Profile) -> Self {
        let strings = &profile.strings;
        let rules = Rules::new(&profile.meta.mine);
        let by_rules: Vec<Option<bool>> = (profile.files.iter())
            .map(|file| rules.is_mine(strings.get(file.path)))
            .collect();
        let files: Vec<bool> = (profile.files.iter().zip(&by_rules))
            .map(|(file, by_rule)| match by_rule {
                Some(is_mine) => !is_mine,
                None => {
                    is_library_prefix(strings.get(file.prefix))
                        || is_library_file(strings.get(file.path))
                }
            })
            .collect();
        let launchers = launcher::frames(profile, &files);
        let frames = profile.frames.iter().zip(&launchers);
        let frames = frames.map(|(frame, &launches)| match frame.language {
            Language::Runtime => true,
            Language::Synthetic => false,
            // Without a line, the file is only the module, which may hold code of any owner.
            Language::Rust if frame.line == 0 && is_rust_library(strings.get(frame.function)) => {
                true
            }
            _ => launches || files[frame.file.index()],
        });
        let modules = profile.modules.iter();
        let frames: Vec<bool> = frames.collect();
        let chosen = profile.frames.iter().zip(&frames);
        let chosen = chosen.map(|(frame, is_library)| {
            // Without a line, the rule is about the module.
            !is_library && frame.line > 0 && by_rules[frame.file.index()] == Some(true)
        });
        Self {
            profile,
            chosen: chosen.collect(),
            frames,
            launchers,
            modules: modules
                .map(|(_, module)| {
                    let path = strings.get(module.path);
                    let is_library = || match rules.is_mine(path) {
                        Some(is_mine) => !is_mine,
                        None => is_library_module(path),
                    };
                    module.role != Role::Ordinary || is_library()
                })
                .collect(),
        }
    }

    /// Whether a frame only starts a library's code, so that it is not the reader's own.
    pub fn is_launcher(&self, frame: FrameId) -> bool {
        self.launchers[frame.index()]
    }

    /// Whether a place is not the reader's own, in any location.
    pub fn is_library_frame(&self, place: Place) -> bool {
        matches!(place, Place::Frame(frame) if self.frames[frame.index()])
    }

    /// Whether a place is not the reader's own.
    pub fn is_library(&self, place: Place, location: LocationId) -> bool {
        let in_library_module = || {
            let module = self.profile.locations.get(location).module;
            module.is_some_and(|module| self.modules[module.index()])
        };
        match place {
            Place::Frame(frame) => {
                self.frames[frame.index()] || !self.chosen[frame.index()] && in_library_module()
            }
            Place::Reason(_) => false,
            Place::Unknown => in_library_module(),
        }
    }
}

/// The prefix of a short path that is not of an own crate.
fn is_library_prefix(prefix: &str) -> bool {
    matches!(
        prefix,
        "@std" | "@core" | "@alloc" | "@test" | "@proc_macro" | "@stdlib" | "@python"
    )
}

/// Whether the source file at `path` is a library's: not the reader's own.
pub fn is_library_file(path: &str) -> bool {
    // Images of containers keep the program itself in `/usr/src/app`.
    const BELOW: [&str; 14] = [
        "/rustc/",
        "/rust/deps/",
        "/usr/include/",
        "/usr/lib/",
        "/usr/src/debug/",
        "/usr/src/glibc",
        "/usr/src/linux",
        "/usr/src/python",
        "/usr/src/rustc",
        "<frozen ",
        "<attrs generated ",
        "<decorator-gen-",
        // `<class 'networkx.utils.decorators.argmap'> compilation 22`: what a decorator has
        // compiled.
        "<class '",
        "node:internal",
    ];
    BELOW.iter().any(|start| path.starts_with(start)) || is_in_library_folder(path)
}

/// Whether a path leads through a folder of libraries, wherever that lies.
fn is_in_library_folder(path: &str) -> bool {
    const INSIDE: [&str; 10] = [
        "/site-packages/",
        "/dist-packages/",
        "/registry/src/",
        "/.cargo/git/checkouts/",
        "/lib/rustlib/src/rust/",
        "/node_modules/",
        "/pkg/mod/",
        "/go/src/runtime/",
        "/sysdeps/",
        "/include/c++/",
    ];
    INSIDE.iter().any(|inside| path.contains(inside)) || is_python_library(path)
}

/// `…/lib/python3.12/json/decoder.py`, `…/lib/python312.zip/…`.
fn is_python_library(path: &str) -> bool {
    ["/lib/python", "/lib64/python"].iter().any(|lib| {
        path.find(lib).is_some_and(|at| {
            let after = &path[at + lib.len()..];
            after.starts_with(|letter: char| letter.is_ascii_digit())
        })
    })
}

/// Whether a function's name is one of Rust's own library.
fn is_rust_library(function: &str) -> bool {
    let function = function.trim_start_matches('<');
    ["std::", "core::", "alloc::", "__rustc::"]
        .iter()
        .any(|start| function.starts_with(start))
}

/// Whether a module is a foreign library. Executables never are.
fn is_library_module(path: &str) -> bool {
    const SYSTEM: [&str; 7] = [
        "/lib/",
        "/lib32/",
        "/lib64/",
        "/usr/lib/",
        "/usr/lib32/",
        "/usr/lib64/",
        "/usr/local/lib/",
    ];
    if path.starts_with("[vdso]") {
        return true;
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let is_shared = file.ends_with(".so") || file.contains(".so.");
    is_shared
        && (SYSTEM.iter().any(|start| path.starts_with(start))
            || path.starts_with("/nix/store/")
            || path.contains("conda")
            || path.contains("/site-packages/")
            || path.contains("/dist-packages/")
            || file.starts_with("libpython")
            || is_python_library(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_libraries_lie_where_libraries_do() {
        for path in [
            "/usr/lib/python3.12/random.py",
            "/home/me/.pyenv/versions/3.8.1/lib/python3.8/json/decoder.py",
            "/venv/lib/python3.12/site-packages/numpy/core/numeric.py",
            "/usr/lib/python3/dist-packages/yaml/__init__.py",
            // An environment within a project.
            "/home/me/app/.venv/lib/python3.12/site-packages/numpy/x.py",
            "<frozen importlib._bootstrap>",
            "<class 'networkx.utils.decorators.argmap'> compilation 22",
            "/usr/src/debug/glibc-2.39/malloc/malloc.c",
            "/rustc/abc/library/core/src/iter/range.rs",
            "/home/me/.cargo/registry/src/index.crates.io-1/regex-1.0.0/src/lib.rs",
        ] {
            assert!(is_library_file(path), "{path}");
        }
        for path in [
            "/home/me/app.py",
            "app.py",
            "<string>",
            "/home/me/lib/python_tools/x.py",
            "/home/me/library/core/src/lib.rs",
            "src/main.c",
            "/usr/src/app/manage.py",
            "/home/me/app/build/lib.linux-x86_64-cpython-312/app/x.py",
            // Installed for editing, a package stays in its place.
            "/home/me/app/src/app/__init__.py",
            "",
        ] {
            assert!(!is_library_file(path), "{path}");
        }
    }

    #[test]
    fn modules_of_libraries_are_shared_and_not_at_home() {
        for path in [
            "[vdso]",
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            "/home/me/.local/share/uv/python/cpython-3.12/lib/libpython3.12.so.1.0",
            "/venv/lib/python3.12/site-packages/numpy.libs/libopenblas.so",
            "/home/me/.pyenv/versions/3.9.1/lib/python3.9/lib-dynload/zlib.cpython-39.so",
        ] {
            assert!(is_library_module(path), "{path}");
        }
        for path in ["/usr/bin/sort", "/home/me/libmine.so", "target/release/app"] {
            assert!(!is_library_module(path), "{path}");
        }
    }
}
