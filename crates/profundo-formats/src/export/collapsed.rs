//! Collapsed (folded) stacks: `root;…;leaf weight`, a line for each distinct stack.
//!
//! The format has no escapes, so characters in names that would break a line are replaced: `;`
//! becomes `:`, line breaks and other control characters become spaces, and a name that ends in a
//! number of its own (`worker 12`) gets `_` before it, since `flamegraph.pl` takes two numbers at
//! the end of a line for the weights of two profiles. A Python function carries its file, for half
//! of them are called `<module>`, `run` or `__init__`; any other one does where two files have its
//! name.
//!
//! With [`Options::kinds`] names end in the marks for `flamegraph.pl --color java`: `_[k]` the
//! kernel's, `_[j]` interpreted or generated; and `[system]_[k]` stands above the caller of a
//! system call, where the kernel's functions are unknown.

use std::io::Write;

use profundo_model::{Kinds, Profile, SampleKind};
use rustc_hash::FxHashMap;

use super::Format;
use super::calls::{Callee, Calls, Manner};
use super::format::{Holds, Row};
use super::view::{Side, View};
use super::{Options, Weights};
use crate::Error;

impl Format {
    /// See [`collapsed`](self).
    pub const COLLAPSED: Self = Self(&Row {
        name: "collapsed",
        aliases: &["folded"],
        extensions: &["folded", "collapsed", "txt"],
        about: "A line for each stack, for flame graph scripts",
        file: "file of collapsed stacks",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: false,
        has_memory_too: false,
        misfit: |_| None,
        is_start,
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Writes the stacks, those of one caller side by side, in the order of their names. By default
/// they weigh their counts.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    // A single call may take all the time.
    let usual = match profile.meta.kind {
        SampleKind::Traced => Weights::or_time(None, profile),
        _ => Weights::Samples,
    };
    let weights = options.weights.unwrap_or(usual);
    let manner = Manner::new(options, weights, options.kinds);
    let calls = Calls::new(&view, &Kinds::of(profile), manner);
    let names = names(&view);
    let label = |call: u32| label(&view, &calls, &names, options.kinds, call);
    let (roots, children) = calls.children(label);

    // The line so far, and its end at each level above.
    let mut line = String::new();
    let mut open: Vec<(u32, usize)> = roots.iter().rev().map(|&root| (root, 0)).collect();
    while let Some((call, length)) = open.pop() {
        line.truncate(length);
        if length > 0 {
            line.push(';');
        }
        line.push_str(&label(call));
        let own = calls.calls[call as usize].own;
        if own > 0 {
            let end = last_gap(&line).map(|gap| (&line[..gap], &line[gap + 1..]));
            match end {
                Some((start, number)) => writeln!(out, "{start}_{number} {own}"),
                None => writeln!(out, "{line} {own}"),
            }
            .map_err(Error::Write)?;
        }
        let below = children[call as usize].iter().rev();
        open.extend(below.map(|&child| (child, line.len())));
    }
    Ok(())
}

/// Whether a file begins with lines that end in a number, with more than one name before it.
fn is_start(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let Some((whole, _)) = text.rsplit_once('\n') else {
        return false;
    };
    let is_stack = |line: &str| {
        let parts = line.rsplit_once(' ');
        parts.is_some_and(|(stack, number)| !stack.is_empty() && number.parse::<u64>().is_ok())
    };
    let has_callers = |line: &str| line.contains(';');
    whole.lines().all(is_stack) && whole.lines().any(has_callers)
}

/// The position of the space before a number that ends the line and is not its weight.
fn last_gap(line: &str) -> Option<usize> {
    let (start, number) = line.rsplit_once(' ')?;
    let is_number = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && number.starts_with(|c: char| c.is_ascii_digit());
    is_number.then_some(start.len())
}

fn label(view: &View<'_>, calls: &Calls, names: &[String], kinds: bool, call: u32) -> String {
    let (mut label, side) = match calls.calls[call as usize].callee {
        Callee::Owner(owner) => (clean(&calls.owners[owner as usize]), None),
        Callee::System => ("[system]".into(), Some(Side::Kernel)),
        Callee::Function { function, line } => {
            let side = view.functions[function as usize].side;
            let name = &names[function as usize];
            let label = match (line, name.strip_suffix(')')) {
                (0, _) => name.clone(),
                // A file stands there already.
                (line, Some(start)) if name.contains(" (") => format!("{start}:{line})"),
                (line, _) => {
                    let file = view.short_path(view.functions[function as usize].file);
                    clean(&format!("{name} ({file}:{line})"))
                }
            };
            (label, Some(side))
        }
    };
    match side {
        Some(Side::Kernel) if kinds => label.push_str("_[k]"),
        Some(Side::Python | Side::Generated) if kinds => label.push_str("_[j]"),
        _ => {}
    }
    label
}

/// A distinct name for each function.
fn names(view: &View<'_>) -> Vec<String> {
    let mut names: Vec<String> = (view.functions.iter())
        .map(|function| match function.side {
            Side::Python => with_file(&function.name, &view.short_path(function.file)),
            _ => clean(&function.name),
        })
        .collect();
    // First the short form of the file, then its whole path.
    for path in [
        |view: &View<'_>, file| view.short_path(file),
        |view: &View<'_>, file| view.path(file).to_owned(),
    ] {
        let mut times: FxHashMap<&str, u32> = FxHashMap::default();
        for name in &names {
            *times.entry(name).or_default() += 1;
        }
        let doubtful: Vec<usize> = (0..names.len())
            .filter(|&index| times[names[index].as_str()] > 1)
            .collect();
        for index in doubtful {
            let function = &view.functions[index];
            names[index] = with_file(&function.name, &path(view, function.file));
        }
    }
    names
}

fn with_file(name: &str, file: &str) -> String {
    if file.is_empty() {
        clean(name)
    } else {
        clean(&format!("{name} ({file})"))
    }
}

/// The text without characters that end a frame or a line.
fn clean(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| match c {
            ';' => ':',
            '\u{2028}' | '\u{2029}' => ' ',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    match text.trim() {
        "" => "[unknown]".into(),
        trimmed => trimmed.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_stacks_differ_from_lines_of_code() {
        assert!(is_start(b"main;work 3\nmain 1\nmain;li"));
        for no in [
            &b"int x = 1;\n"[..],
            b"a 1\nb 2\n",
            b"main;work 3",
            b"main;work\n",
            b"",
        ] {
            assert!(!is_start(no), "{no:?}");
        }
    }
}
