//! Tasks for developers of Profundo, run as `cargo xtask TASK`: scripts in Rust, the same on every
//! machine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the terminal"
)]

mod arm;
mod cpython;
mod dist;
mod field;
mod figures;
mod fuzz;
mod glibc;
mod harm;
mod metadata;
mod processor;
mod pythons;
mod sides;
mod soak;
mod static_command;
mod suites;
mod test;
mod tidy;
mod tools;
mod tree;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

tasks:
  test [--long]
          everything that must pass: format, clippy, tidy, all tests, the Python package as a wheel,
          loom and Miri where they are; the last line is `N passed, N failed, N skipped`; with --long the tests, too, that are
          marked as long, each of which has a shorter one of its subject
  arm [PACKAGE…], arm --kernel
          library tests built for aarch64 and run by qemu's emulator of a single program; with --kernel the
          command in Debian's kernel of aarch64 in a whole machine; needs Debian's gcc-aarch64-linux-gnu,
          qemu-user-static, qemu-system-arm, debootstrap and cpio
  cpython-tests [--all [--part K/N] | --short] [--jobs N] [PYTHON…] [test_MODULE…]
          CPython's own tests without and with `profundo record`: those that a profiler is most
          likely to break, with --all every one, with --short those that `test` runs
  field [--load N] [--list] [NAME…]
          real programs without and with `profundo record`: sanitizers, other loaders, emulators,
          servers under load; with --load beside so many busy processes
  faults [--seed N] [--jobs N] [NAME…]
          each system call of the recorder and of the agent fails in turn, over ten ordinary runs; needs root,
          strace, gcc and python3; a repeated call goes on where the last one ended
  figures [NAME…]
          the benchmarks, and what misses its target: for a machine that does nothing else
  fuzz [--seconds N | --repeatable N | --runs N] [TARGET…]
          every reader of foreign bytes with inputs of libFuzzer's: all targets for 300 seconds together, or each
          for N inputs; with `--repeatable` always the same inputs; `import:pprof` is the reader of that format
  kills [--rounds N] [--seed N] [--jobs N] [NAME…]
          SIGKILL for the recorder or the program at random moments, in 10000 short runs; needs root; a repeated
          call goes on where the last one ended
  pythons [--only PYTHON]… [TEST…]
          the tests of Python programs on CPython 3.14 and 3.15 of Debian unstable, with their JIT and
          without, their debug builds, and builds from source (free-threaded, its debug build, tail
          calls), in a root of their own; needs root and debootstrap
  static [--quick]
          the command as one static file, which runs in any container; with --quick without
          optimisations
  suites [--mode run|memory|exact|wall|trace|late] [--python PATH] [--resume] [NAME…]
          the tests of gevent, greenlet, uvloop, numpy, cffi, psutil, pexpect, coverage, trio, ipykernel and pytest
          without and with the profiler, from PyPI; results are in target/suites, and --resume goes on there
  wheel [--sdist] [FILE], wheel --quick
          the Python package as it is published: built by maturin and zig, looked into, and installed
          in each way; with FILE a wheel that is there already, with --sdist from the sources, too;
          with --quick what `test` does
  dist [--target TARGET]… [--no-wheel] [--check-reproducible], dist --crates
          a release of the commit, in target/dist: the command for each target as archive, .deb and .rpm, the
          Python package, bills of materials and checksums; with --check-reproducible all of it twice, the second
          time in another folder, with the same bytes; with --crates what crates.io and others' compilers want:
          terms, known weaknesses, the oldest compiler, packages
  tidy    the rules of the house that no compiler knows: arrows between crates, file headers and
          lengths, links in documents, unfinished business, manifests";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        ["test"] => test::run(&root(), false),
        ["test", "--long"] => test::run(&root(), true),
        ["arm", ref rest @ ..] => arm::run(&root(), rest),
        ["cpython-tests", ref rest @ ..] => cpython::run(&root(), rest),
        ["field", ref rest @ ..] => field::run(&root(), rest),
        ["faults", ref rest @ ..] => harm::faults::run(&root(), rest),
        ["kills", ref rest @ ..] => harm::kills::run(&root(), rest),
        ["fuzz", ref rest @ ..] => fuzz::run(&root(), rest),
        ["pythons", ref rest @ ..] => pythons::run(&root(), rest),
        ["figures", ref rest @ ..] => figures::run(&root(), rest),
        ["soak", ref rest @ ..] => soak::run(&root(), rest),
        ["suites", ref rest @ ..] => suites::run(&root(), rest),
        ["static", ref rest @ ..] => static_command::run(&root(), rest),
        ["wheel", ref rest @ ..] => wheel::run(&root(), rest),
        ["dist", ref rest @ ..] => dist::run(&root(), rest),
        ["tidy"] => tidy::run(&root()),
        ["test" | "tidy", unknown, ..] => {
            eprintln!("xtask: {unknown} is not known");
            return ExitCode::from(2);
        }
        [unknown, ..] => {
            eprintln!(
                "xtask: there is no task {unknown}: the tasks are test, tidy, arm, dist, faults, field, figures, fuzz, kills, pythons, soak, static, suites, wheel and cpython-tests"
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository, independent of the working directory.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
