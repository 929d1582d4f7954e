//! Builds programs to look into. A test whose tools are missing says so and passes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use object::{Object, ObjectSymbol, SymbolKind};

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

/// The same in C.
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

/// A directory that goes away with its test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("profundo-symbols-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        // Compilers record the real path.
        Self(path.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a source file.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs a tool in the directory; `None`, with a word about it, where it is missing or fails.
    pub fn run<S: AsRef<OsStr>>(&self, tool: &str, arguments: &[S]) -> Option<String> {
        let output = Command::new(tool)
            .args(arguments)
            .current_dir(&self.0)
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

    /// Compiles a source with the tool that its name asks for. The program is called `program`.
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

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Says why a test did not run.
#[expect(
    clippy::print_stderr,
    reason = "a skipped test must be told from a passed one"
)]
pub fn skip<T>(why: &str) -> Option<T> {
    eprintln!("skipped: {why}");
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
