//! Checks for names and lines of code: of the C library, and of a process's own files.

use std::path::Path;

use profundo_permits::{self as permits, Finding, Gap, Mend, Verdict};
use profundo_symbols::{DebugInformation, Symbolizer};

/// Folders of a distribution's programs and libraries.
const SYSTEM: [&str; 4] = ["/usr/bin", "/usr/sbin", "/usr/lib", "/lib"];
/// The folder of a distribution's debug files.
const DEBUG_FILES: &str = "/usr/lib/debug";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Program,
    Library,
    Interpreter,
}

/// The finding on the C library, which is in nearly every program.
pub fn of_machine() -> Option<Finding> {
    let files = permits::files_of(std::process::id());
    let library = files.iter().find(|path| part_of(path) == Part::Library)?;
    Some(of_file(library))
}

/// The findings on a process's program, its C library and its interpreter.
pub fn of_process(pid: u32) -> Vec<Finding> {
    let files = permits::files_of(pid);
    files.iter().map(|path| of_file(path)).collect()
}

fn part_of(path: &Path) -> Part {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("libpython") || name.starts_with("python") {
        Part::Interpreter
    } else if name.starts_with("libc.so") || name.starts_with("libc-2") {
        Part::Library
    } else {
        Part::Program
    }
}

fn of_file(path: &Path) -> Finding {
    const TOPIC: &str = "names";
    let part = part_of(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let from = |separate: &Option<std::path::PathBuf>| match separate {
        // Names made of build ids are long, and say nothing.
        Some(file) if file.starts_with(DEBUG_FILES) => format!(" (from {DEBUG_FILES})"),
        Some(file) => format!(" (from {})", file.display()),
        None => String::new(),
    };
    let partly = |why: String, mend| Finding::gap(TOPIC, Verdict::Partly, Gap { why, mend });
    match Symbolizer::new().debug_information(path) {
        DebugInformation::Lines(separate) => Finding::works(
            TOPIC,
            format!("{name}: functions and lines{}", from(&separate)),
        ),
        // Lines in the interpreter or in the C library are of no interest.
        DebugInformation::Functions(separate) if part != Part::Program => {
            Finding::works(TOPIC, format!("{name}: all functions{}", from(&separate)))
        }
        DebugInformation::Functions(_) => partly(
            format!("{name}: functions, but no lines and no inlined ones"),
            Some(debug_option(path)),
        ),
        DebugInformation::Exports => partly(
            format!("{name}: it was stripped, so exported functions alone have names"),
            match part {
                Part::Program => Some(debug_option(path)),
                Part::Library => permits::install_debug_files("libc6-dbg", "glibc"),
                Part::Interpreter => of_python(path),
            },
        ),
        DebugInformation::Unreadable(problem) => partly(format!("{name}: {problem}"), None),
    }
}

fn debug_option(path: &Path) -> Mend {
    let advice = match SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        true => {
            "install the debug files of its package, which has -dbgsym or -debuginfo in its name"
        }
        false => "build it with -g; in Rust with `debug = \"line-tables-only\"` in the profile",
    };
    Mend::Advice(advice.to_owned())
}

/// The debug files of a distribution's own interpreter.
fn of_python(path: &Path) -> Option<Mend> {
    if !SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return None;
    }
    let name = path.file_name()?.to_string_lossy();
    let (_, version) = name.split_once("python")?;
    let version: String = version
        .chars()
        .take_while(|character| character.is_ascii_digit() || *character == '.')
        .collect();
    let version = version.trim_end_matches('.');
    permits::install_debug_files(&format!("python{version}-dbg"), "python3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        assert_eq!(part_of(Path::new("/usr/bin/python3.12")), Part::Interpreter);
        assert_eq!(
            part_of(Path::new("/x/libpython3.9.so.1.0")),
            Part::Interpreter
        );
        assert_eq!(part_of(Path::new("/lib/libc.so.6")), Part::Library);
        assert_eq!(part_of(Path::new("/srv/app")), Part::Program);
    }

    #[test]
    fn a_python_of_ones_own_has_no_package() {
        assert_eq!(
            of_python(Path::new("/home/u/.pyenv/x/bin/python3.12")),
            None
        );
    }

    #[test]
    fn this_very_program_has_lines() {
        let program = std::env::current_exe().unwrap();
        let found = of_file(&program);
        assert_eq!(found.verdict, Verdict::Works, "{found:?}");
    }
}
