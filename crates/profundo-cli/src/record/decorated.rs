//! Whether a Python program has functions with line_profiler's `@profile`, which kernprof,
//! memory_profiler and Scalene offer as a builtin.
//!
//! Only such a program is offered that name. It is looked for in the script and in the modules
//! beside it, within bounds that take some milliseconds at most.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most modules that are looked at.
const MOST: usize = 200;
/// The size up to which a module is read.
const LONGEST: u64 = 1 << 18;

/// True if the program that these words start is such a program.
pub fn is_decorated(words: &[OsString]) -> bool {
    let Some(script) = words.iter().map(Path::new).find(|word| is_module(word)) else {
        return false;
    };
    if has_decorator(script) {
        return true;
    }
    // Where a link leads to is where Python looks for modules.
    let script = fs::canonicalize(script).unwrap_or_else(|_| script.to_owned());
    script.parent().is_some_and(|folder| {
        let mut left = MOST;
        modules(folder, &mut left, true)
            .iter()
            .any(|module| has_decorator(module))
    })
}

/// The modules in a folder, and in the packages there.
fn modules(folder: &Path, left: &mut usize, goes_on: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let path = entry.path();
        if is_module(&path) {
            found.push(path);
        } else if goes_on && path.join("__init__.py").is_file() {
            found.extend(modules(&path, left, false));
        }
    }
    found
}

fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py") && path.is_file()
}

fn has_decorator(module: &Path) -> bool {
    let mut text = Vec::new();
    let read = File::open(module).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    read.is_ok() && has_decorated_line(&text)
}

fn has_decorated_line(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let Some(rest) = line.trim_ascii().strip_prefix(b"@profile") else {
            return false;
        };
        matches!(rest.first(), None | Some(b' ' | b'\t' | b'#' | b'('))
    })
}

#[cfg(test)]
mod tests {
    use profundo_testing::Folder;

    use super::*;

    #[test]
    fn decorators_are_lines_of_their_own() {
        for text in [
            "@profile\ndef f(): pass",
            "x = 1\r\n\t@profile\r\n\tdef f",
            "@profile(precision=4)",
            "    @profile  # for kernprof",
        ] {
            assert!(has_decorated_line(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "# @profile",
            "@profiler",
            "@profile.method",
            "profile(f)",
            "x @profile",
        ] {
            assert!(!has_decorated_line(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn modules_beside_the_script_count() {
        let folder = Folder::new("decorated");
        let words = |name: &str| {
            let script = folder.path().join(name).into_os_string();
            vec![
                OsString::from("python3"),
                "-X".into(),
                script,
                "x.py".into(),
            ]
        };
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("app.py", "import work\n");
        assert!(!is_decorated(&words("app.py")));
        write("inner/__init__.py", "");
        write("other/work.py", "@profile\n");
        assert!(!is_decorated(&words("app.py")));
        write("inner/work.py", "@profile\n");
        assert!(is_decorated(&words("app.py")));
        write("other/app.py", "");
        assert!(is_decorated(&words("other/app.py")));
        assert!(!is_decorated(&words("no-such.py")));
        assert!(!is_decorated(&["ls".into()]));
    }
}
