//! Collapsed (folded) stacks: `root;…;leaf weight`, a line for each distinct stack.
//!
//! The format has no escapes, so a name gives up what would break a line: `;` becomes `:`, line
//! breaks and other control characters become spaces, and a name that ends in a number of its own
//! (`worker 12`) gets `_` before it, since `flamegraph.pl` takes two numbers at the end of a line
//! for the weights of two profiles. A Python function carries its file, for half of them are
//! called `<module>`, `run` or `__init__`; any other one does where two files have its name.
//!
//! With [`Options::kinds`] names end in what `flamegraph.pl --color java` colours by: `_[k]` the
//! kernel's, `_[j]` interpreted or generated; and `[system]_[k]` stands above what made a system call, where the
//! kernel's functions are not known.

use std::io::Write;

use profundo_model::{Kinds, Profile, SampleKind};
use rustc_hash::FxHashMap;

use super::calls::{Callee, Calls, Manner};
use super::view::{Side, View};
use super::{Options, Weights};
use crate::Error;

/// Writes the stacks, those of one caller side by side, in the order of their names. They weigh
/// their counts unless told otherwise.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let view = View::new(profile, options);
    // Who calls once may take all the time.
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

    // The line so far, and where it ends for each level above.
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

/// Where the space stands before a number that ends the line and is not its weight.
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

/// The name of each function, by which it can be told from the others.
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

/// The text without what ends a frame or a line.
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
