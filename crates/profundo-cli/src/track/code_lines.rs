//! The lines of a source file that have code: the interpreter knows those of Python, and debug
//! information those of compiled programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use profundo_model::{Profile, Role};
use profundo_symbols::Symbolizer;

/// Compiles files without running them, and prints a line for each: its number, and the lines that
/// have code.
const LIST: &str = r#"
import dis, sys, warnings
warnings.simplefilter("ignore")
def lines(code):
    found = {line for _, line in dis.findlinestarts(code) if line}
    for value in code.co_consts:
        if hasattr(value, "co_code"):
            found |= lines(value)
    return found
for number, path in enumerate(sys.argv[1:]):
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        print(number, *sorted(lines(code)))
    except (OSError, SyntaxError, ValueError):
        pass
"#;

/// The lines that have code in these Python files, as far as an interpreter is there that can
/// compile them.
pub fn of_python(profile: &Profile, files: &[&str]) -> BTreeMap<String, BTreeSet<u32>> {
    /// The number of files on one command line.
    const AT_ONCE: usize = 100;
    let mut found = BTreeMap::new();
    let Some(python) = interpreters(profile)
        .into_iter()
        .find(|python| works(python))
    else {
        return found;
    };
    for files in files.chunks(AT_ONCE) {
        let mut command = Command::new(&python);
        command.args(["-I", "-S", "-c", LIST]).args(files);
        let Ok(output) = command.stdin(Stdio::null()).output() else {
            continue;
        };
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut numbers = line.split(' ').map(str::parse);
            if let Some(Ok(file)) = numbers.next()
                && let Some(file) = files.get(file as usize)
            {
                let lines = numbers.filter_map(Result::ok).collect::<BTreeSet<u32>>();
                found.insert((*file).to_owned(), lines);
            }
        }
    }
    found
}

/// Interpreters that may know these files, the program's own first.
fn interpreters(profile: &Profile) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (_, module) in profile.modules.iter() {
        let path = Path::new(profile.strings.get(module.path));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("python") {
            found.push(path.to_owned());
        }
        // …/lib/libpython3.12.so.1.0 lies beside …/bin/python3.12.
        if let Some(version) = name.strip_prefix("libpython")
            && let Some(version) = version.split(".so").next()
            && let Some(prefix) = path.parent().and_then(Path::parent)
        {
            found.push(prefix.join(format!("bin/python{version}")));
        }
    }
    found.push("python3".into());
    found
}

fn works(python: &Path) -> bool {
    let mut command = Command::new(python);
    let command = command.args(["-I", "-S", "-c", "import dis"]);
    let command = command.stdin(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The lines that have code in what was compiled, by the debug information of all modules of the
/// program's own.
pub fn of_modules(profile: &Profile) -> BTreeMap<String, BTreeSet<u32>> {
    let symbolizer = Symbolizer::new();
    let mut found: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (_, module) in profile.modules.iter() {
        let path = profile.strings.get(module.path);
        if module.role != Role::Ordinary || !path.starts_with('/') {
            continue;
        }
        // A module that cannot be read has no lines. Its missing names have been reported already.
        for (file, lines) in symbolizer.code_lines(Path::new(path)).unwrap_or_default() {
            found.entry(file).or_default().extend(lines);
        }
    }
    found
}
