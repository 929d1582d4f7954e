//! Interpreters whose own list of offsets (`_Py_DebugOffsets`) is not the one that their version
//! should have: as a version that was not seen before may be. Programs run as ever, native frames
//! are read, and the command says why Python frames are not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_testing::{Python, profundo, pythons_for, skip};
use serde_json::Value;

use crate::program::{Program, number};
use crate::targets::{scratch, source};

/// The number of words in the list that are changed, behind its head.
const WORDS: usize = 100;

/// A change of the list.
type Change = fn(&mut [u8]);

const CHANGES: [(&str, Change); 3] = [
    ("another cookie", |list| list[0] ^= 1),
    ("a later version", |list| list[10] += 1),
    ("offsets that point nowhere", |list| {
        for word in list[24..8 * WORDS].chunks_exact_mut(8) {
            word.copy_from_slice(&0xFFF0_u64.to_le_bytes());
        }
    }),
];

/// The file that an interpreter's runtime lies in, the place of the list there, and the folder that
/// its library is below.
fn list_of(python: &Python) -> Option<(PathBuf, usize, String)> {
    const LOOK: &str = "
import json, sys
head = b'xdebugpy' + sys.hexversion.to_bytes(8, 'little')
with open('/proc/self/maps') as maps:
    files = {line.split()[-1] for line in maps if '/' in line}
for file in sorted(files):
    try:
        with open(file, 'rb') as contents:
            at = contents.read().find(head)
    except OSError:
        continue
    if at >= 0:
        print(json.dumps([file, at, sys.base_prefix]))
        break
";
    let output = Command::new(&python.path).args(["-c", LOOK]).output();
    let answer: Value = serde_json::from_slice(&output.ok()?.stdout).ok()?;
    Some((
        answer[0].as_str()?.into(),
        answer[1].as_u64()? as usize,
        answer[2].as_str()?.to_owned(),
    ))
}

/// A program of an interpreter with a changed list.
fn changed(python: &Python, change: Change) -> Option<Program> {
    let (file, at, home) = list_of(python)?;
    let mut bytes = fs::read(&file).unwrap();
    change(&mut bytes[at..at + 8 * WORDS]);
    let folder = scratch().join(format!("changed-{}", number()));
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join(file.file_name().unwrap());
    fs::write(&copy, bytes).unwrap();
    let is_library = copy.extension().is_some() && is_shared(&copy);
    let program = if is_library {
        // An executable that names the library's folder would find the one there.
        Program::new(&python.path).env("LD_PRELOAD", &copy)
    } else {
        fs::set_permissions(&copy, fs::metadata(&file).unwrap().permissions()).unwrap();
        Program::new(&copy).env("PYTHONHOME", home)
    };
    Some(program.with(&[source("fixed_work.py")]))
}

fn is_shared(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("lib"))
}

#[test]
fn python_with_an_unknown_list_of_offsets_is_read_by_its_native_frames() {
    for python in pythons_for("unknown_layouts, offsets") {
        if python.version < (3, 13) {
            skip("before 3.13 the interpreter has no list of offsets");
            continue;
        }
        for (what, change) in CHANGES {
            let Some(program) = changed(&python, change) else {
                return skip("the interpreter's list of offsets is not found in its file");
            };
            let program = program.slack(4.0);
            let recording = program.run_both_ways();
            recording.assert_sampled(90.0);
            assert_eq!(recording.share("burn"), 0.0, "{what}");
            let file = scratch().join(format!("unknown-{}.profundo", number()));
            let output = program.command(Some(&file)).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                said.contains("are not read, but its native ones are"),
                "{what}: {said}"
            );
            let report = Command::new(profundo())
                .args(["report", "--no-config"])
                .arg(&file)
                .arg("functions")
                .output()
                .unwrap();
            assert!(report.status.success(), "{what}");
        }
    }
}
