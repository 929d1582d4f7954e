//! Programs in C, C++ and Rust, compiled by what this machine has. A machine without the compiler,
//! or without a library that is asked for, has its test skipped; a program that is wrong fails it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Folder, skip};

/// Parts of compilers' errors when they lack something that no test can provide.
const LACKS: &[&str] = &[
    "cannot find -l",
    "No such file or directory",
    "unrecognized",
];

/// Compiles a source file into a program; `None`, and skipped, where this machine cannot. The flags
/// follow the source, so that libraries come after what needs them.
#[track_caller]
pub fn compile(compiler: &str, source: &Path, output: &Path, flags: &[&str]) -> Option<PathBuf> {
    let mut command = Command::new(compiler);
    command.arg("-o").arg(output).arg(source).args(flags);
    match run_compiler(command) {
        Ok(()) => Some(output.to_owned()),
        Err(why) => {
            skip(&why);
            None
        }
    }
}

/// Like [`compile`], for a source text. The program has the name of the source, without its
/// extension.
#[track_caller]
pub fn compile_text(
    compiler: &str,
    folder: &Folder,
    name: &str,
    text: &str,
    flags: &[&str],
) -> Option<PathBuf> {
    let source = folder.write(name, text);
    compile(compiler, &source, &source.with_extension(""), flags)
}

/// Runs a compiler. An error is the reason why this machine cannot; a program that is wrong panics.
#[track_caller]
pub fn run_compiler(mut command: Command) -> Result<(), String> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Err(error) => return Err(format!("{compiler}: {error}")),
        Ok(output) => output,
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let is_lacking = LACKS.iter().any(|what| said.contains(what));
    assert!(is_lacking, "{command:?}: {said}");
    let why = said.lines().next().unwrap_or("cannot compile");
    Err(format!("{compiler}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_lacks_is_told_from_what_is_wrong() {
        let absent = run_compiler(Command::new("no-such-compiler"));
        let absent = absent.unwrap_err();
        assert!(absent.starts_with("no-such-compiler: "), "{absent}");

        let folder = Folder::new("compile");
        let fine = "int main(void) { return 7; }";
        let flags = ["-O1"];
        let Some(program) = compile_text("gcc", &folder, "fine.c", fine, &flags) else {
            return;
        };
        let status = Command::new(program).status().unwrap();
        assert_eq!(status.code(), Some(7));

        let mut lacking = Command::new("gcc");
        let source = folder.write("lacking.c", "#include <no/such/header.h>\n");
        lacking
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(folder.join("x.o"));
        let why = run_compiler(lacking).unwrap_err();
        assert!(why.contains("no/such/header.h"), "{why}");
    }
}
