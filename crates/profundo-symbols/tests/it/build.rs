//! Builds programs to look into. A test whose tools are missing reports that and passes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSymbol, SymbolKind};
use profundo_testing::Folder;

/// A program with inlined functions, a closure and a generic function.
pub const RUST: &str = r#"
use std::hint::black_box;

#[inline(always)]
fn leaf(x: u64) -> u64 {
    black_box(x).wrapping_mul(31)
}

#[inline(always)]
fn middle<T: Into<u64>>(x: T) -> u64 {
    leaf(x.into()) ^ 7
}

pub mod deep {
    #[inline(never)]
    pub fn outer(n: u32) -> u64 {
        let mut sum = 0u64;
        for i in 0..n {
            sum = sum.wrapping_add(super::middle(i));
        }
        sum
    }
}

#[inline(never)]
fn generic<T: std::fmt::Debug>(value: T) -> usize {
    format!("{value:?}").len()
}

fn main() {
    let shift = black_box(3u64);
    let twice = |x: u64| black_box(x) << shift;
    println!("{}", deep::outer(1000) + twice(5) + generic(vec![1u8]) as u64 + generic("x") as u64);
}
"#;

/// A C program with inlined functions.
pub const C: &str = r#"
#include <stdio.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) void leaf(unsigned long x) {
    sink += x * 31;
}
static inline __attribute__((always_inline)) void middle(unsigned long x) {
    leaf(x);
    sink ^= 7;
}
__attribute__((noinline)) void outer(int n) {
    for (int i = 0; i < n; i++)
        middle(i);
}
static __attribute__((noinline)) int helper(int n) {
    outer(n);
    return printf("%lu\n", sink);
}
int main(int argc, char **argv) {
    return helper(argc) < 0;
}
"#;

/// Functions with namespaces, parameters and templates.
pub const CPP: &str = r#"
#include <cstdio>
namespace geo {
struct Shape {
    int side;
    __attribute__((noinline)) int area(int scale) const { return side * side * scale; }
};
template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }
}
namespace {
__attribute__((noinline)) int hidden(int x) { return geo::twice(x) + geo::Shape{x}.area(2); }
}
int main(int argc, char **) {
    printf("%d\n", hidden(argc));
    return 0;
}
"#;

/// A directory that goes away with its test, and tools that are run in it: what they write down of
/// themselves has the names that they were given.
pub struct Scratch(Folder);

impl Scratch {
    pub fn new() -> Self {
        Self(Folder::new("symbols"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a source file.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        self.0.write(name, text)
    }

    /// Runs a tool in the directory; `None`, with a message, where it is missing or fails.
    pub fn run<S: AsRef<OsStr>>(&self, tool: &str, arguments: &[S]) -> Option<String> {
        let output = Command::new(tool)
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if output.status.success() => {
                Some(String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Ok(output) => {
                let message = String::from_utf8_lossy(&output.stderr).into_owned();
                skip(&format!(
                    "{tool} failed: {}",
                    message.lines().next().unwrap_or_default()
                ))
            }
            Err(error) => skip(&format!("{tool}: {error}")),
        }
    }

    /// Compiles a source with the tool for its suffix. The program is called `program`.
    pub fn compile(&self, name: &str, text: &str, options: &[&str]) -> Option<PathBuf> {
        self.write(name, text);
        let tool = match name.rsplit('.').next() {
            Some("rs") => "rustc",
            Some("cpp") => "g++",
            _ => "cc",
        };
        let mut arguments = vec![name, "-o", "program"];
        arguments.extend(options);
        self.run(tool, &arguments)?;
        Some(self.0.join("program"))
    }
}

/// Reports a test as skipped.
pub fn skip<T>(why: &str) -> Option<T> {
    profundo_testing::skip(why);
    None
}

/// The address ranges of the functions whose symbol contains `part`.
pub fn functions(program: &Path, part: &str) -> Vec<(String, std::ops::Range<u64>)> {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
        .filter_map(|symbol| {
            let name = symbol.name().ok()?.to_owned();
            Some((name, symbol.address()..symbol.address() + symbol.size()))
        })
        .filter(|(name, _)| name.contains(part))
        .collect()
}

/// The range of the one function whose symbol contains `part`.
#[track_caller]
pub fn function(program: &Path, part: &str) -> std::ops::Range<u64> {
    let found = functions(program, part);
    found
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no symbol has {part} in its name"))
        .1
}
