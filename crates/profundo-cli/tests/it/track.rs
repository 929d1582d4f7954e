//! `track-allocation`: the bytes that each line of source allocates, in files beside the sources.

use std::fs;
use std::path::{Path, PathBuf};

use profundo_testing::{python, pythons, skip};

use crate::machine::{Folder, c_program};

/// The `.mem` files of a folder.
fn mem_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_mem = |path: &PathBuf| path.extension().is_some_and(|end| end == "mem");
    let mut found: Vec<PathBuf> = paths.filter(is_mem).collect();
    found.sort();
    found
}

/// The numbers before the lines of a file that hold these words.
fn numbers<const N: usize>(text: &str, words: [&str; N]) -> [Option<u64>; N] {
    words.map(|word| {
        let line = text.lines().find(|line| line.contains(word));
        let line = line.unwrap_or_else(|| panic!("{word} in {text}"));
        assert_eq!(&line[9..10], " ", "{line}");
        match line[..9].trim() {
            "-" => None,
            number => Some(number.parse().unwrap()),
        }
    })
}

const PYTHON: &str = r#"import os

TEXT = """
several"""


def work(n):
    # a comment
    data = bytearray(n)
    return len(data)


def never(x):
    return [x]


print(work(8_000_000))
"#;

#[test]
fn python_lines_have_what_they_allocate() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let program = folder.file("app.py", PYTHON);
    // What ran has to be older than the run.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut command = folder.profundo(&["track-allocation", "--output", "mem", "--"]);
    let outcome = command.args([&python, &program]).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "8000000\n");
    assert_eq!(mem_files(folder.path()).len(), 0);
    let [file] = &mem_files(&folder.path().join("mem"))[..] else {
        panic!("one file: {outcome:?}")
    };
    let name = file.file_name().unwrap().to_string_lossy();
    let pid = name
        .strip_prefix("app.py.")
        .and_then(|rest| rest.strip_suffix(".mem"));
    let pid = pid.unwrap_or_else(|| panic!("{name}"));
    pid.parse::<u32>().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().count(), PYTHON.lines().count());
    let found = numbers(
        &text,
        [
            "bytearray(n)",
            "# a comment",
            "return [x]",
            "several",
            "import os",
        ],
    );
    let [Some(data), None, Some(0), None, Some(_)] = found else {
        panic!("{text}")
    };
    // A header, and a byte that ends it.
    assert!((8_000_000..8_000_200).contains(&data), "{text}");
    let listed = folder.run(&["track-allocation", "--analyze", "mem"]);
    let rows: Vec<u64> = (listed.succeeded().out.lines())
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    assert!(rows.is_sorted() && rows.last() == Some(&data), "{rows:?}");
    let last = listed.out.lines().last().unwrap();
    assert!(last.ends_with(".mem:9"), "{last}");
}

const C: &str = "#include <stdlib.h>
static void *kept;

static inline void *take(size_t size) {
    return malloc(size); // inlined
}

int never(int x) {
    return x + 1; // never
}

int main(void) {
    for (int i = 0; i < 10; i++) {
        kept = take(1000 + i);
        free(kept);
    }
    kept = malloc(5); // five
    return kept == NULL;
}
";

#[test]
fn lines_of_c_have_every_byte() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "tracked", C) else {
        return;
    };
    let built = std::process::Command::new("gcc")
        .args(["-O1", "-g", "-fno-builtin", "-o"])
        .arg(&program)
        .arg(folder.path().join("tracked.c"))
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return skip("there is no C compiler");
    }
    // What ran has to be older than the run.
    std::thread::sleep(std::time::Duration::from_millis(50));
    // The current folder is the scope.
    let mut command = folder.profundo(&["track-allocation=@", "--"]);
    let outcome = command.arg(&program).output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    let [file] = &mem_files(folder.path())[..] else {
        panic!("one file: {outcome:?}")
    };
    let text = fs::read_to_string(file).unwrap();
    let all: u64 = (0..10).map(|i| 1000 + i).sum();
    let found = numbers(
        &text,
        ["// inlined", "// never", "// five", "static void *kept"],
    );
    assert_eq!(found, [Some(all), Some(0), Some(5), None], "{text}");
    // Without a scope it just runs.
    let mut command = folder.profundo(&["track-allocation=none", "--"]);
    let outcome = command.arg(&program).output().unwrap();
    assert!(
        outcome.status.success() && outcome.stderr.is_empty(),
        "{outcome:?}"
    );
    assert_eq!(mem_files(folder.path()).len(), 1);
}

/// Up to 3.8 the main program has the name that it was given, and modules of a relative folder have
/// one that begins there.
#[test]
fn relative_files_are_found_where_the_program_began() {
    let Some(old) = pythons().iter().find(|python| python.version == (3, 8)) else {
        return skip("there is no Python 3.8");
    };
    let folder = Folder::new();
    folder.file(
        "app.py",
        "import os, sys\nsys.path[0] = 'lib'\nimport part\nos.chdir('/')\nprint(part.make(8000000))\nx = bytearray(50000)\n",
    );
    fs::create_dir(folder.path().join("lib")).unwrap();
    folder.file(
        "lib/part.py",
        "def make(n):\n    return len(bytearray(n))\n",
    );
    // What ran has to be older than the run.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut command = folder.profundo(&["track-allocation", "--"]);
    let outcome = command.arg(&old.path).arg("app.py").output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "8000000\n");
    for (place, line, least) in [
        (folder.path().to_owned(), "bytearray(50000)", 50_000),
        (folder.path().join("lib"), "bytearray(n)", 8_000_000),
    ] {
        let [file] = &mem_files(&place)[..] else {
            panic!("one file in {place:?}: {outcome:?}")
        };
        let [found] = numbers(&fs::read_to_string(file).unwrap(), [line]);
        assert!(found.is_some_and(|bytes| bytes >= least), "{found:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new();
    let outcome = folder.run(&["track-allocation=mine", "--", "true"]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome
            .err
            .contains("the scope is none, user, all, or @FOLDER")
    );
    folder
        .run(&["track-allocation", "--analyze", "."])
        .refused(1, "there are no .mem files");
    folder
        .run(&["track-allocation", "--analyze", "nowhere"])
        .refused(1, "cannot read nowhere");
    folder
        .run(&["track-allocation=@nowhere", "--", "true"])
        .refused(1, "cannot look into nowhere");
}
