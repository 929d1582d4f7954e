//! The text of `python -c TEXT`, from the command line. Its file is called `<string>`, and so is
//! the text that a program runs with `exec`: a line has a text only if all functions that ran on it
//! are in the program of `-c`.

use std::collections::{BTreeMap, BTreeSet};

use profundo_model::{FileId, Language, Profile, words_of_command};

/// CPython's name for the file of a text.
pub(super) const STRING: &str = "<string>";

/// The programs of `-c` in a recording.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// The lines of each, without duplicates.
    texts: Vec<Vec<String>>,
    /// The functions that ran on each line.
    functions: BTreeMap<u32, BTreeSet<String>>,
    /// Lines of module code that other Python code had called.
    called: BTreeSet<u32>,
}

impl Programs {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut found = Self::default();
        let commands: BTreeSet<&str> = (profile.processes.iter())
            .map(|process| profile.strings.get(process.command))
            .collect();
        let texts: BTreeSet<String> = commands.into_iter().filter_map(program).collect();
        if texts.is_empty() {
            return found;
        }
        found.texts = (texts.into_iter())
            .map(|text| text.lines().map(str::to_owned).collect())
            .collect();
        found.find_in_stacks(profile);
        found
    }

    fn find_in_stacks(&mut self, profile: &Profile) {
        let is_string = |file: FileId| profile.strings.get(profile.files.get(file).path) == STRING;
        // Callers are stored before what they call.
        let mut has_python: Vec<bool> = Vec::with_capacity(profile.stacks.len());
        for stack in profile.stacks.iter() {
            let mut below = stack
                .parent
                .is_some_and(|parent| has_python[parent.index()]);
            for &frame in profile.locations.get(stack.location).frames.iter().rev() {
                let frame = profile.frames.get(frame);
                if frame.language != Language::Python {
                    continue;
                }
                if is_string(frame.file) {
                    let function = profile.strings.get(frame.function);
                    let functions = self.functions.entry(frame.line).or_default();
                    functions.insert(function.to_owned());
                    if below && function == MODULE {
                        self.called.insert(frame.line);
                    }
                }
                below = true;
            }
            has_python.push(below);
        }
    }

    /// The program that a line belongs to: the only one that has all functions of the line.
    pub(super) fn of_line(&self, line: u32) -> Option<&[String]> {
        let mut fitting = self.texts.iter().filter(|text| self.fits(text, line));
        let only = fitting.next()?;
        fitting.next().is_none().then_some(only)
    }

    /// True if the context of a line may be shown: there is one program, and no other text ran on
    /// this line.
    pub(super) fn may_surround(&self, line: u32) -> bool {
        let [text] = self.texts.as_slice() else {
            return false;
        };
        !self.functions.contains_key(&line) || self.fits(text, line)
    }

    fn fits(&self, text: &[String], line: u32) -> bool {
        let Some(functions) = self.functions.get(&line) else {
            return false;
        };
        let is_empty = |text: &String| text.trim().is_empty();
        let has_text = (text.get(line as usize - 1)).is_some_and(|text| !is_empty(text));
        has_text
            && !self.called.contains(&line)
            && (functions.iter()).all(|function| is_in(text, line, function))
    }
}

/// The name of the code outside all functions.
const MODULE: &str = "<module>";

/// True if a line is in the function with this qualified name.
fn is_in(text: &[String], line: u32, function: &str) -> bool {
    let until = &text[..line as usize];
    let mut parts = function
        .split('.')
        .filter(|part| !part.starts_with('<'))
        .rev();
    let is_enclosed = match parts.next() {
        None if function == MODULE => enclosing(until).is_none(),
        None if function == "<lambda>" => until.iter().any(|line| line.contains("lambda")),
        None => until.iter().any(|line| line.contains("for ")),
        // The header's line belongs to the function and to its enclosing scope.
        Some(name) => {
            until.last().and_then(|line| header(line)) == Some(name)
                || enclosing(until) == Some(name)
        }
    };
    is_enclosed && parts.all(|part| until.iter().any(|line| header(line) == Some(part)))
}

/// The function or class that encloses the last of these lines, by its indentation.
fn enclosing(until: &[String]) -> Option<&str> {
    let (last, before) = until.split_last()?;
    let mut inside = indent(last);
    for line in before.iter().rev().filter(|line| !line.trim().is_empty()) {
        if indent(line) < inside {
            inside = indent(line);
            if let Some(name) = header(line) {
                return Some(name);
            }
        }
    }
    None
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name of the function or class whose definition begins on a line.
fn header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line
        .strip_prefix("def ")
        .or_else(|| line.strip_prefix("class "))?;
    let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

/// The text after `-c` of a Python interpreter.
fn program(command: &str) -> Option<String> {
    /// Options whose value is the next word.
    const WITH_VALUE: [&str; 3] = ["-X", "-W", "--check-hash-based-pycs"];
    let mut words = words_of_command(command).into_iter();
    let interpreter = words.next()?;
    let name = interpreter.rsplit('/').next()?;
    if !name.to_ascii_lowercase().starts_with("python") {
        return None;
    }
    loop {
        let word = words.next()?;
        if WITH_VALUE.contains(&&*word) {
            words.next()?;
            continue;
        }
        let letters = word.strip_prefix('-')?;
        if letters.starts_with('-') || letters.starts_with(['X', 'W']) {
            continue;
        }
        // `-Ic TEXT` is `-I -c TEXT`.
        match letters.strip_suffix('c') {
            Some(others) if !others.contains(['c', 'm']) => return words.next(),
            _ if letters.is_empty() || letters.contains(['c', 'm']) => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_stands_behind_the_option() {
        let cases = [
            ("python3 -c $'a = 1\\nb = 2' argument", Some("a = 1\nb = 2")),
            ("/usr/bin/python3.12 -X dev -Wd -Ic x", Some("x")),
            ("python3 script.py -c x", None),
            ("python3 -m module -c x", None),
            ("python3 - -c x", None),
            ("sh -c x", None),
            ("python3", None),
        ];
        for (command, wanted) in cases {
            assert_eq!(program(command).as_deref(), wanted, "{command}");
        }
    }

    #[test]
    fn a_line_is_in_the_function_around_it() {
        let text = "class A:\n    async def run(self):\n        pass\n\nx = 1\nf = lambda: 1";
        let text: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, function, wanted) in [
            (1, "<module>", true),
            (1, "A", true),
            (2, "A", true),
            (2, "A.run", true),
            (3, "A.run", true),
            (3, "run", true),
            (3, "A.run.<locals>.<lambda>", true),
            (3, "A", false),
            (3, "<module>", false),
            (3, "__create_fn__.<locals>.run", false),
            (5, "A.run", false),
            (5, "<module>", true),
            (5, "<lambda>", false),
            (6, "<lambda>", true),
            (6, "<genexpr>", false),
        ] {
            assert_eq!(is_in(&text, line, function), wanted, "{line} {function}");
        }
    }
}
