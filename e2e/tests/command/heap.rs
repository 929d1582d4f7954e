//! The allocations of programs: to the byte where all are counted, and near to it where they are
//! sampled.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use profundo_model::{Amount, Domain, Heap, Profile, Site, StackId};
use profundo_testing::{Python, skip};

use crate::program::{Program, is_entered_too, number};
use crate::targets::{c, cpp, pythons_for, rust, scratch, source};

/// The sums of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    pub allocated: Amount,
    pub live: Amount,
    pub temporary: u64,
}

/// The innermost line of a stack in this file.
pub fn line_of(profile: &Profile, stack: StackId, file: &str) -> Option<u32> {
    let locations = profile.stacks.locations(stack);
    let mut frames = locations.flat_map(|location| profile.locations.get(location).frames.iter());
    frames
        .find(|&&frame| profile.file_path(frame).ends_with(file))
        .map(|&frame| profile.frames.get(frame).line)
}

/// Exact sums by line of a file, of the sites that are wanted.
pub fn lines(profile: &Profile, file: &str, wanted: impl Fn(&Site) -> bool) -> BTreeMap<u32, Line> {
    let mut lines: BTreeMap<u32, Line> = BTreeMap::new();
    for site in profile.heap.sites.iter().filter(|site| wanted(site)) {
        if let Some(line) = line_of(profile, site.stack, file) {
            let line = lines.entry(line).or_default();
            line.allocated += site.allocated;
            line.live += site.live();
            line.temporary += site.temporary.count;
        }
    }
    lines
}

/// The number of the line that ends in this comment.
pub fn marked(path: &Path, comment: &str) -> u32 {
    let text = fs::read_to_string(path).unwrap();
    let line = text
        .lines()
        .position(|line| line.trim_end().ends_with(comment));
    1 + line.unwrap_or_else(|| panic!("no line ends in {comment}")) as u32
}

pub fn amount(count: u64, bytes: u64) -> Amount {
    Amount { count, bytes }
}

#[test]
fn c_is_counted_to_the_byte() {
    let Some(target) = c("known_heap.c", &["-fno-builtin"]) else {
        return;
    };
    let recording = Program::new(target)
        .options(&["--memory=exact"])
        .run_both_ways();
    let profile = &recording.profile;
    let found = lines(profile, "known_heap.c", |_| true);
    let source = source("known_heap.c");
    let line = |comment: &str| {
        let line = found.get(&marked(&source, comment)).copied();
        line.unwrap_or_default()
    };
    // 100 to 1099 bytes, of which another thread has freed every other block.
    let (all, half) = (amount(1000, 599_500), amount(500, 300_000));
    assert_eq!(
        (line("// keeps").allocated, line("// keeps").live),
        (all, half)
    );
    // The block is handed out on the line, and freed there at once.
    let passes = line("// passes");
    assert_eq!(passes.allocated, amount(1000, 64_000));
    assert_eq!((passes.live, passes.temporary), (amount(0, 0), 1000));
    for (comment, count, bytes) in [
        ("// zeroes", 1, 30_000),
        ("// grows", 10, 55_000),
        ("// arrays", 1, 77),
        ("// aligns", 1, 640),
        ("// pages", 1, 5000),
        ("// posix", 1, 777),
        ("// nothing", 1, 0),
        ("// maps", 1, 1 << 20),
        ("// reserves", 0, 0),
        ("// copies a text", 1, 21),
    ] {
        let line = line(comment);
        assert_eq!(
            line.allocated,
            amount(count, bytes),
            "{comment}: {found:#?}"
        );
        assert_eq!(line.live, amount(0, 0), "{comment}");
    }
    let mapped = lines(profile, "known_heap.c", |site| {
        site.domain == Domain::Mapped
    });
    assert_eq!(mapped.len(), 1, "{mapped:?}");
    check_copies(profile, marked(&source, "// copies"));
}

/// The line copies sixteen times four megabytes, of which about one copy in each megabyte is
/// sampled.
fn check_copies(profile: &Profile, line: u32) {
    let Heap {
        copies, copying, ..
    } = &profile.heap;
    let of_line = copies
        .iter()
        .filter(|copy| line_of(profile, copy.stack, "known_heap.c") == Some(line));
    let copied: f64 = of_line
        .map(|copy| copying.weight(copy.size) * copy.size as f64)
        .sum();
    let expected = f64::from(16 << 22);
    assert!(
        (copied / expected - 1.0).abs() < 0.3,
        "{copied} of {expected}"
    );
}

#[test]
fn cpp_is_counted_to_the_byte() {
    let Some(target) = cpp("known_heap.cpp", &["-O0", "-fno-builtin"]) else {
        return;
    };
    let recording = Program::new(target)
        .options(&["--memory=exact"])
        .run_both_ways();
    let found = lines(&recording.profile, "known_heap.cpp", |_| true);
    let source = source("known_heap.cpp");
    for (comment, count, bytes, live) in [
        ("// keeps", 100, 10_000, 100),
        ("// passes", 100, 800, 0),
        ("// aligns", 1, 576, 0),
        ("// a vector", 1, 24, 0),
        ("// its bytes", 1, 5000, 0),
        ("// afterwards", 10, 10_000, 10),
    ] {
        let line = found.get(&marked(&source, comment)).copied();
        let line = line.unwrap_or_else(|| panic!("{comment}: {found:?}"));
        assert_eq!(line.allocated, amount(count, bytes), "{comment}");
        assert_eq!(line.live.count, live, "{comment}");
    }
}

#[test]
fn rust_is_counted_as_its_own_allocator_counts() {
    let Some(target) = rust("known_heap.rs") else {
        return;
    };
    let program = Program::new(target).options(&["--memory=exact"]);
    let (recording, outcome) = program.run_both_ways_with(|outcome| outcome);
    let mut known = outcome
        .stdout
        .split_whitespace()
        .map(|number| number.parse().unwrap());
    let known = amount(known.next().unwrap(), known.next().unwrap());
    let profile = &recording.profile;
    let mut counted = Amount::default();
    for site in &profile.heap.sites {
        let mut frames = (profile.stacks.locations(site.stack))
            .flat_map(|location| profile.locations.get(location).frames.iter());
        if frames.any(|&frame| profile.function_name(frame).ends_with("work")) {
            counted += site.allocated;
        }
    }
    assert_eq!(counted, known);
}

/// The bytes that Python's own tracer finds on each line at the end.
fn traced(python: &Python, path: &Path) -> BTreeMap<u32, u64> {
    let mut command = Command::new(&python.path);
    let output = command.arg(path).arg("trace").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = text.lines().map(|line| {
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
        (numbers.next().unwrap() as u32, numbers.next().unwrap())
    });
    numbers.collect()
}

#[test]
fn python_is_counted_as_its_own_tracer_counts() {
    let path = source("known_heap.py");
    for python in pythons_for("known_heap.py") {
        let known = traced(&python, &path);
        let program = Program::new(&python.path).with(&[&path]);
        let recording = program
            .options(&["--memory=exact"])
            .slack(20.0)
            .run_both_ways();
        let found = lines(&recording.profile, "known_heap.py", |site| {
            site.domain == Domain::Python
        });
        for comment in ["# numbers", "# blocks", "# texts", "# table"] {
            let line = marked(&path, comment);
            let known = *known
                .get(&line)
                .unwrap_or_else(|| panic!("{python:?}: {comment}: {known:?}"));
            let found = found.get(&line).copied().unwrap_or_default().live.bytes;
            // Free lists keep a few blocks that were handed out elsewhere, or hand them out here.
            let off = found.abs_diff(known);
            assert!(
                off <= known / 50 + 3000,
                "{python:?}: {comment}: {found}, not {known}"
            );
        }
        let passes = found[&marked(&path, "# passes")];
        // A version may need a block of its own there.
        assert!((50..60).contains(&passes.allocated.count), "{passes:?}");
        assert!((5_000_000..5_010_000).contains(&passes.allocated.bytes));
        assert!(passes.live.bytes < 1000, "{passes:?}");
    }
}

/// Sampled sums are near to the known ones, line by line.
#[test]
fn samples_stand_for_all_blocks() {
    let Some(target) = c("known_heap.c", &["-fno-builtin"]) else {
        return;
    };
    let options = ["--memory", "--memory-sample", "1k"];
    let recording = Program::new(target).options(&options).run_both_ways();
    let profile = &recording.profile;
    let heap = &profile.heap;
    let source = source("known_heap.c");
    // Bytes, those that were never freed, and the variance.
    let mut sums: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
    for block in &heap.blocks {
        if let Some(line) = line_of(profile, block.stack, "known_heap.c") {
            let (size, chance) = (block.size as f64, heap.sampling.probability(block.size));
            let [all, live, variance] = sums.entry(line).or_default();
            *all += size / chance;
            *variance += (1.0 - chance) * (size / chance).powi(2);
            if block.freed.is_none() {
                *live += size / chance;
            }
        }
    }
    for (comment, bytes, live) in [
        ("// keeps", 599_500.0, 300_000.0),
        ("// passes", 64_000.0, 0.0),
        ("// grows", 55_000.0, 0.0),
    ] {
        let [all, still, variance] = sums[&marked(&source, comment)];
        let near = 5.0 * variance.sqrt();
        assert!(
            (all - bytes).abs() <= near,
            "{comment}: {all} ± {near}, not {bytes}"
        );
        assert!(
            (still - live).abs() <= near,
            "{comment}: {still} ± {near}, not {live}"
        );
    }
}

#[test]
fn handlers_may_allocate_whatever_they_interrupt() {
    if is_entered_too() {
        return skip("the loader keeps its blocks for longer than this allocator");
    }
    let flags = ["-DALLOCATOR", "-shared", "-fPIC"];
    let Some(allocator) = c("handler_heap.c", &flags) else {
        return;
    };
    let Some(target) = c("handler_heap.c", &[allocator.to_str().unwrap()]) else {
        return;
    };
    for mode in ["--memory", "--memory=exact"] {
        // An agent that is not optimized takes long to count all of it.
        let recording = Program::new(&target)
            .options(&[mode])
            .slack(15.0)
            .run_both_ways();
        let heap = &recording.profile.heap;
        assert!(!heap.blocks.is_empty() || !heap.sites.is_empty(), "{mode}");
    }
}

#[test]
fn blocks_in_a_small_file_stand_for_more() {
    const BLOCKS: u64 = 150_000;
    const SIZE: u64 = 100 << 10;
    let Some(target) = c("churn.c", &["-fno-builtin"]) else {
        return;
    };
    let options = ["--memory", "--memory-sample", "16K", "--max-size", "100K"];
    let program = Program::new(target).with(&[BLOCKS.to_string()]);
    let file = scratch().join(format!("small-{}.profundo", number()));
    let output = program.options(&options).command(Some(&file)).output();
    assert!(output.as_ref().unwrap().status.success(), "{output:?}");
    let (profile, _) = profundo_formats::read_file(&file).unwrap();
    let heap = &profile.heap;
    let size = fs::metadata(&file).unwrap().len();
    fs::remove_file(&file).unwrap();
    assert!(size <= SIZE + SIZE / 10, "{size}");
    let notes = &profile.meta.notes;
    let is_said = |note: &String| note.contains("fewer allocations are kept");
    assert!(notes.iter().any(is_said), "{notes:?}");
    // A note counts the blocks that were not recorded for lack of time.
    let lost = notes
        .iter()
        .find(|note| note.contains("were to be recorded"));
    let lost = lost.and_then(|note| note.split(' ').next()?.parse::<f64>().ok());
    let lost = lost.unwrap_or(0.0) * f64::from(16 << 10);
    let (mut bytes, mut variance, mut live) = (0.0, 0.0, 0_u64);
    for block in &heap.blocks {
        let (size, chance) = (
            block.size as f64,
            heap.sampling.of(block).probability(block.size),
        );
        bytes += size / chance;
        variance += (1.0 - chance) * (size / chance).powi(2);
        live += u64::from(block.freed.is_none());
    }
    let expected = 1499.5 * BLOCKS as f64;
    let near = 5.0 * variance.sqrt();
    assert!(
        bytes <= expected + near && bytes >= expected - near - 4.0 * lost,
        "{bytes} ± {near}, not {expected}, {lost} were lost"
    );
    assert!(near < 0.7 * expected, "{near}");
    assert!((live as f64) < 0.2 * heap.blocks.len() as f64, "{live}");
}
