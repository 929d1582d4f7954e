//! Code that only starts a library's: a few imports and a call.
//!
//! The script that pip writes for an installed tool is one, `manage.py` is, and so is the text that
//! `multiprocessing` gives to a new interpreter. Where such code is the only own code on a stack,
//! its one line would have all the time, so it counts as a library's. A call whose result is kept,
//! or whose argument is another call's result, is work of the reader's own: a launcher has none of
//! that.

mod runs;

use std::collections::BTreeMap;

use profundo_model::{
    FileId, FrameId, Language, LocationId, Profile, StackId, StringId, words_of_command,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::{Statement, statements};

/// The file name of text that `-c` and `exec` run.
const TEXT: &str = "<string>";
/// More than a launcher's lines: files with more are not read.
const MOST_FRAMES: usize = 32;
/// The calls in multiprocessing's texts.
const STARTERS: [&str; 3] = [
    "/multiprocessing/spawn.py",
    "/multiprocessing/forkserver.py",
    "/multiprocessing/resource_tracker.py",
];
/// The text of execnet, which runs code from a pipe.
const FROM_PIPE: &str = "exec(eval(sys.stdin.readline()))";

/// By frame, whether it only starts other code, or was made by a library with `exec`.
pub(super) fn frames(profile: &Profile, is_library: &[bool]) -> Vec<bool> {
    let mut found = vec![false; profile.frames.iter().count()];
    let mut by_file: FxHashMap<FileId, Vec<usize>> = FxHashMap::default();
    for (index, frame) in profile.frames.iter().enumerate() {
        if frame.language == Language::Python && !is_library[frame.file.index()] {
            by_file.entry(frame.file).or_default().push(index);
        }
    }
    for (at, frame) in profile.frames.iter().enumerate() {
        found[at] = frame.language == Language::Python && is_runner(path(profile, frame.file));
    }
    let is_given_text = |&file: &FileId| path(profile, file) == TEXT;
    if let Some(file) = by_file.keys().copied().find(is_given_text) {
        let frames = by_file.remove(&file).unwrap_or_default();
        mark_text(profile, is_library, &frames, &mut found);
    }
    by_file.retain(|_, frames| frames.len() <= MOST_FRAMES);
    let mut texts: FxHashMap<FileId, BTreeMap<u32, StringId>> = FxHashMap::default();
    for (file, line, text) in profile.sources.iter() {
        if by_file.contains_key(&file) {
            texts.entry(file).or_default().insert(line, text);
        }
    }
    for (file, lines) in texts {
        let frames = &by_file[&file];
        let is_kept = |&at: &usize| {
            let frame = profile.frames.get(FrameId::from_index(at));
            lines.contains_key(&frame.line)
        };
        if frames.iter().all(is_kept) && is_launcher(&joined(profile, &lines)) {
            for &frame in frames {
                found[frame] = true;
            }
        }
    }
    found
}

/// Whether a file is the one that runs the modules of `-m`.
fn is_runner(path: &str) -> bool {
    path == "<frozen runpy>" || path.ends_with("/runpy.py")
}

fn path(profile: &Profile, file: FileId) -> &str {
    profile.strings.get(profile.files.get(file).path)
}

/// The kept lines, each in its place.
fn joined(profile: &Profile, lines: &BTreeMap<u32, StringId>) -> String {
    let mut text = String::new();
    let mut next = 1;
    for (&line, &kept) in lines {
        // A long file is no launcher, and blank lines cost room.
        let gap = (line.saturating_sub(next)).min(1000);
        text.extend(std::iter::repeat_n('\n', gap as usize));
        text.push_str(profile.strings.get(kept));
        text.push('\n');
        next = line.saturating_add(1);
    }
    text
}

/// Marks the frames of `<string>` that are not the reader's own.
fn mark_text(profile: &Profile, is_library: &[bool], frames: &[usize], found: &mut [bool]) {
    let is_started = |text: String| text.contains(FROM_PIPE) || is_launcher(&text);
    // A recording of a shell has thousands of processes and few commands.
    let mut known: FxHashMap<StringId, Option<bool>> = FxHashMap::default();
    let processes = profile.processes.iter().map(|process| {
        *known.entry(process.command).or_insert_with(|| {
            text_of_command(profile.strings.get(process.command)).map(is_started)
        })
    });
    let runs = runs::Runs::of(profile, frames, &processes.collect::<Vec<_>>());
    let started = started(profile, is_library);
    for &at in frames {
        let frame = FrameId::from_index(at);
        let name = profile.function_name(frame);
        let programs = runs.programs(at);
        found[at] = match name {
            "<module>" => programs.only_start() || started.contains(&at),
            // Dataclasses make methods of text; an own program given by `-c` may have such names,
            // too.
            _ => {
                name.starts_with("__create_fn__.")
                    || !programs.works && name.starts_with("__") && name.ends_with("__")
            }
        };
    }
}

/// The program that an interpreter was given by `-c`. In older recordings, without quotes, the
/// arguments stand behind it.
fn text_of_command(command: &str) -> Option<String> {
    let (program, rest) = command.split_once(' ')?;
    let name = program.rsplit('/').next()?;
    let is_python = name.starts_with("python") || name.starts_with("pypy");
    let (options, text) = if let Some(text) = rest.strip_prefix("-c ") {
        ("", text)
    } else {
        rest.split_once(" -c ")?
    };
    let are_options = options
        .split(' ')
        .all(|option| option.is_empty() || option.starts_with('-'));
    if !is_python || !are_options {
        return None;
    }
    if text.starts_with('\'') || text.starts_with("$'") {
        return words_of_command(text).into_iter().next();
    }
    let text = text.strip_suffix(" --multiprocessing-fork").unwrap_or(text);
    Some(text.to_owned())
}

/// The frames of `<string>` that a library runs, or that call the start of a multiprocessing
/// process.
fn started(profile: &Profile, is_library: &[bool]) -> FxHashSet<usize> {
    let mut starts = FxHashSet::default();
    // Frames that a library runs, and frames that own code or nothing runs.
    let mut by_library = FxHashSet::default();
    let mut by_others = FxHashSet::default();
    for stack in profile.stacks.iter() {
        let Some(callee) = python_frame(profile, stack.location) else {
            continue;
        };
        let file = profile.file_path(callee);
        if STARTERS.iter().any(|starter| file.ends_with(starter)) {
            starts.extend(callers(profile, stack.parent).next().map(FrameId::index));
        } else if file == TEXT {
            let runs = |caller: FrameId| is_library[profile.frames.get(caller).file.index()];
            match callers(profile, stack.parent).find(|&caller| profile.file_path(caller) != TEXT) {
                Some(caller) if runs(caller) => by_library.insert(callee.index()),
                _ => by_others.insert(callee.index()),
            };
        }
    }
    starts.extend(by_library.difference(&by_others));
    starts
}

fn python_frame(profile: &Profile, location: LocationId) -> Option<FrameId> {
    let frames = &profile.locations.get(location).frames;
    let is_python = |&frame: &FrameId| profile.frames.get(frame).language == Language::Python;
    frames.iter().copied().find(is_python)
}

/// The Python frames from a stack on, the innermost first. The interpreter's own functions may
/// stand between.
fn callers(profile: &Profile, stack: Option<StackId>) -> impl Iterator<Item = FrameId> + '_ {
    let stacks = std::iter::successors(stack, |&id| profile.stacks.get(id).parent);
    stacks.filter_map(|id| python_frame(profile, profile.stacks.get(id).location))
}

/// Whether a program has nothing but imports, preparations, and calls of imported names.
fn is_launcher(text: &str) -> bool {
    let mut known: FxHashSet<String> = FxHashSet::default();
    let mut calls = false;
    for Statement { text, .. } in statements(text) {
        let text = text.as_str();
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "import" => known.extend(rest.split(',').filter_map(imported)),
            "from" => {
                let names = rest.split_once(" import ").map_or("", |(_, names)| names);
                let names = names.trim_matches(|letter| matches!(letter, '(' | ')' | ' '));
                known.extend(names.split(',').filter_map(imported));
            }
            "def" => known.extend(rest.split('(').next().map(str::to_owned)),
            "if" | "elif" if rest.contains("__name__") || rest.contains("sys.") => {}
            "try:" | "except:" | "except" | "else:" | "finally:" | "pass" | "raise" | "\"\"" => {
                // `raise SystemExit(main())`
                calls |= starts(rest, &known);
            }
            "return" if rest.is_empty() => {}
            "return" if starts(rest, &known) => calls = true,
            _ if prepares(text) => {}
            _ if starts(text, &known) => calls = true,
            _ => return false,
        }
    }
    calls
}

/// The name that `module.part as name` defines.
fn imported(item: &str) -> Option<String> {
    let item = item.trim();
    let name = match item.rsplit_once(" as ") {
        Some((_, name)) => name,
        None => item.split('.').next()?,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether a statement only prepares: arguments, the path of modules, the environment, a constant.
fn prepares(text: &str) -> bool {
    const PLACES: [&str; 6] = [
        "sys.argv",
        "sys.path",
        "os.environ",
        "warnings.",
        "multiprocessing.freeze_support(",
        "os.chdir(",
    ];
    if PLACES.iter().any(|place| text.starts_with(place)) {
        return true;
    }
    text.split_once(" = ")
        .is_some_and(|(name, value)| is_dotted(name) && is_plain(value))
}

/// Whether an expression calls a known name, without computed arguments.
fn starts(text: &str, known: &FxHashSet<String>) -> bool {
    /// Functions that only pass on the result of another call.
    const AROUND: [&str; 8] = [
        "sys.exit(",
        "exit(",
        "quit(",
        "os._exit(",
        "SystemExit(",
        "asyncio.run(",
        "anyio.run(",
        "trio.run(",
    ];
    for around in AROUND {
        if let Some(rest) = text.strip_prefix(around) {
            return starts(rest.strip_suffix(')').unwrap_or(rest), known);
        }
    }
    let Some((name, rest)) = text.split_once('(') else {
        return false;
    };
    let root = name.split('.').next().unwrap_or(name);
    if !is_dotted(name) || !known.contains(root) {
        return false;
    }
    // `load_entry_point("", "")()`, `App().run()`: each call of the chain has plain arguments.
    let mut rest = rest;
    loop {
        let Some((arguments, behind)) = rest.split_once(')') else {
            return false;
        };
        if !is_plain(arguments) {
            return false;
        }
        let Some((attribute, more)) = behind.split_once('(') else {
            return behind.is_empty();
        };
        if !attribute.is_empty() && !attribute.strip_prefix('.').is_some_and(is_dotted) {
            return false;
        }
        rest = more;
    }
}

fn is_dotted(name: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    name.split('.').all(is_name)
}

/// Whether a value needs no computation: names, strings, numbers and lists of them.
fn is_plain(value: &str) -> bool {
    let words = value.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let computes = |word: &str| matches!(word, "for" | "lambda" | "await" | "yield" | "if");
    let operators = value.replace("**", "");
    !words.into_iter().any(computes)
        && !operators.contains(['(', '+', '*', '/', '%', '@', '|', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_a_call_start_something() {
        for text in [
            "# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom black import patched_main\nif __name__ == '__main__':\n    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    sys.exit(patched_main())\n",
            "import sys\nfrom tool.cli import (\n    main as run,\n)\nif __name__ == \"__main__\":\n    if sys.argv[0].endswith(\".exe\"):\n        sys.argv[0] = sys.argv[0][:-4]\n    sys.exit(run())\n",
            "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)",
            "from multiprocessing.forkserver import main; main(8, 9, ['__main__'], **{'sys_path': ['', '/x']})",
            "\"\"\"Django's command-line utility.\"\"\"\nimport os\nimport sys\n\ndef main():\n    \"\"\"Run.\"\"\"\n    os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'x.settings')\n    try:\n        from django.core.management import execute_from_command_line\n    except ImportError as exc:\n        raise ImportError(\n            \"Couldn't import Django\"\n        ) from exc\n    execute_from_command_line(sys.argv)\n\n\nif __name__ == '__main__':\n    main()\n",
            "__requires__ = 'x==1'\nfrom pkg_resources import load_entry_point\nload_entry_point('x==1', 'console_scripts', 'x')()",
            "import asyncio\nfrom app import main\nasyncio.run(main())",
            "from app import App\nraise SystemExit(App().run(debug=True))",
        ] {
            assert!(is_launcher(text), "{text}");
        }
    }

    #[test]
    fn work_of_ones_own_starts_nothing_else() {
        for text in [
            "",
            "import json",
            "import numpy as np\na = np.ones((9, 9))\na @ a.T\n",
            "import pandas as pd\ndf = pd.read_csv('x.csv')\n",
            "import numpy as np\nnp.linalg.svd(np.random.rand(2000, 2000))",
            "import re\nre.match('(a+)+$', 'a' * 30)",
            "from app import main\nfor _ in range(10):\n    main()\n",
            "def main():\n    total = sum(range(10))\nmain()\n",
            "import lib\nlib.run([x for x in y])",
            "import unittest\nclass Test(unittest.TestCase):\n    pass\nunittest.main()\n",
            "print(sum(range(1000)))",
            "from lib import f\nprint(f())",
            "sorted(range(100))",
        ] {
            assert!(!is_launcher(text), "{text}");
        }
    }

    #[test]
    fn the_text_of_a_command_follows_its_options() {
        for (command, text) in [
            ("python3 -c x = 1", Some("x = 1")),
            ("python3 -u -c $'x = 1\\ny' 'a b'", Some("x = 1\ny")),
            ("/usr/bin/python3.12 -u -X dev", None),
            (
                "/usr/bin/python3.12 -u -c import x; x.y()",
                Some("import x; x.y()"),
            ),
            ("python3 app.py -c config", None),
            ("bash -c ls", None),
            ("python3", None),
        ] {
            assert_eq!(text_of_command(command).as_deref(), text, "{command}");
        }
    }
}
