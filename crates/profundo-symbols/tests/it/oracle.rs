//! The outside reader: binutils' `addr2line`, which shares no code with ours.

use std::path::Path;
use std::sync::Arc;

use profundo_symbols::{NamedFrame, Symbolizer, demangle};

use crate::build::{Scratch, functions};

/// A frame in the form that both readers can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    function: String,
    file: String,
    line: u32,
}

/// binutils' frames of each address, innermost first.
fn binutils(scratch: &Scratch, program: &Path, addresses: &[u64]) -> Option<Vec<Vec<Seen>>> {
    let mut arguments = vec![
        "-afi".to_owned(),
        "-e".to_owned(),
        program.display().to_string(),
    ];
    arguments.extend(addresses.iter().map(|address| format!("{address:#x}")));
    let text = scratch.run("addr2line", &arguments)?;
    let mut all: Vec<Vec<Seen>> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            all.push(Vec::new());
            continue;
        }
        let place = lines.next()?.split(" (discriminator").next()?;
        let (file, number) = place.rsplit_once(':')?;
        all.last_mut()?.push(Seen {
            function: last_part(&demangle(line).function),
            file: tidy(file),
            line: number.parse().unwrap_or(0),
        });
    }
    Some(all)
}

fn ours(frames: &[NamedFrame]) -> Vec<Seen> {
    frames
        .iter()
        .map(|frame| Seen {
            function: last_part(&frame.function),
            file: tidy(&frame.file),
            line: frame.line,
        })
        .collect()
}

/// binutils gives some functions by their plain name and others by their linkage name; generics
/// are in one but not in the other.
fn last_part(function: &str) -> String {
    let mut depth = 0;
    let without_generics: String = function
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '<');
            let keep = depth == 0;
            depth -= i32::from(*c == '>');
            keep
        })
        .collect();
    let last = without_generics
        .trim_end_matches("::")
        .rsplit("::")
        .next()
        .unwrap_or_default();
    if last.starts_with("{closure") || last.starts_with("{{closure") {
        return "{closure}".to_owned();
    }
    last.to_owned()
}

/// Whether both readers agree. Where there is no line, binutils guesses a file from the symbol
/// table, and we give the module.
fn same(theirs: &[Seen], ours: &[Seen]) -> bool {
    theirs.len() == ours.len()
        && theirs.iter().zip(ours).all(|(a, b)| {
            a.function == b.function && a.line == b.line && (a.file == b.file || a.line == 0)
        })
}

/// The readers differ in how far they normalise a path.
fn tidy(file: &str) -> String {
    file.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Like [`compare`], but without the names: where there is no linkage name, binutils names the
/// innermost inlined function by the symbol of the function around it.
#[track_caller]
pub fn compare_places(scratch: &Scratch, program: &Path, part: &str) -> Option<usize> {
    compare_by(
        scratch,
        program,
        &Symbolizer::new(),
        part,
        |theirs, ours| {
            let places = |frames: &[Seen]| -> Vec<Seen> {
                let unnamed = |frame: &Seen| Seen {
                    function: String::new(),
                    ..frame.clone()
                };
                frames.iter().map(unnamed).collect()
            };
            same(&places(theirs), &places(ours))
        },
    )
}

/// Asks both readers for addresses all over the functions whose symbol contains `part`, and
/// compares. Returns the number of compared addresses.
#[track_caller]
pub fn compare(
    scratch: &Scratch,
    program: &Path,
    symbolizer: &Symbolizer,
    part: &str,
) -> Option<usize> {
    compare_by(scratch, program, symbolizer, part, same)
}

#[track_caller]
fn compare_by(
    scratch: &Scratch,
    program: &Path,
    symbolizer: &Symbolizer,
    part: &str,
    agree: impl Fn(&[Seen], &[Seen]) -> bool,
) -> Option<usize> {
    let addresses: Vec<u64> = functions(program, part)
        .into_iter()
        .flat_map(|(_, range)| range.step_by(5))
        .collect();
    assert!(!addresses.is_empty(), "no symbol has {part} in its name");
    let theirs = binutils(scratch, program, &addresses)?;
    assert_eq!(theirs.len(), addresses.len());
    let found: Vec<Arc<[NamedFrame]>> =
        symbolizer.resolve(program.to_str().unwrap(), &[], &addresses);
    let different: Vec<_> = addresses
        .iter()
        .zip(theirs.iter().zip(&found))
        .filter(|(_, (theirs, found))| !agree(theirs, &ours(found)))
        .map(|(address, (theirs, found))| {
            format!("{address:#x}\n  {theirs:?}\n  {:?}", ours(found))
        })
        .collect();
    assert!(
        different.is_empty(),
        "{} of {} differ, theirs first:\n{}",
        different.len(),
        addresses.len(),
        different[..different.len().min(8)].join("\n")
    );
    Some(addresses.len())
}
