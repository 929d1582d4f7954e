//! Damaged files: whatever the bytes, lookups return, and their memory is bounded.

use std::sync::Arc;

use profundo_symbols::{Problem, Symbolizer};

use crate::build::{C, RUST, Scratch, functions};
use crate::own_process::profile_of;

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Looks all `addresses` up in a file with these bytes.
fn look(bytes: Vec<u8>, addresses: &[u64]) {
    let symbolizer = Symbolizer::new()
        .with_debug_roots([])
        .with_threads(1)
        .with_image("/damaged", Arc::<[u8]>::from(bytes));
    let mut profile = profile_of("/damaged", &[], addresses);
    let summary = symbolizer.name_profile(&mut profile);
    assert!(
        profile
            .locations
            .iter()
            .all(|(_, location)| !location.frames.is_empty())
    );
    let panicked = summary.modules[0].problems.iter().any(
        |problem| matches!(problem, Problem::Damaged { reason } if reason.contains("panicked")),
    );
    assert!(!panicked, "{summary}");
}

fn addresses(program: &std::path::Path, part: &str) -> Vec<u64> {
    let mut addresses: Vec<u64> = functions(program, part)
        .into_iter()
        .flat_map(|(_, range)| range.step_by(9))
        .collect();
    addresses.truncate(200);
    addresses.extend([0, 1, u64::MAX, u64::MAX - 1, i64::MAX as u64]);
    addresses
}

/// The file offsets that matter most: headers, debug sections and symbols.
fn interesting(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    use object::{Object, ObjectSection};
    let file = object::File::parse(bytes).unwrap();
    let mut ranges: Vec<_> = file
        .sections()
        .filter(|section| {
            let name = section.name().unwrap_or_default();
            name.starts_with(".debug") || name.starts_with(".sym") || name.starts_with(".str")
        })
        .filter_map(|section| section.file_range())
        .filter(|(_, size)| *size > 0)
        .map(|(offset, size)| offset as usize..(offset + size) as usize)
        .collect();
    ranges.push(0..64);
    let tail = bytes.len() - 64 * 40;
    ranges.push(tail..bytes.len());
    ranges
}

/// `DAMAGE_FACTOR=20` makes the search so many times longer.
fn check(program: &std::path::Path, part: &str, rounds: usize) {
    let factor = std::env::var("DAMAGE_FACTOR")
        .ok()
        .and_then(|text| text.parse().ok());
    let rounds = rounds * factor.unwrap_or(1usize);
    let good = std::fs::read(program).unwrap();
    let addresses = addresses(program, part);
    let ranges = interesting(&good);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        let mut bytes = good.clone();
        match round % 4 {
            0 => bytes.truncate(random.below(good.len())),
            kind => {
                let range = ranges[random.below(ranges.len())].clone();
                for _ in 0..[1, 8, 200][kind - 1] {
                    let at = range.start + random.below(range.len());
                    bytes[at] = match random.below(3) {
                        0 => 0xff,
                        1 => 0,
                        _ => random.next() as u8,
                    };
                }
            }
        }
        look(bytes, &addresses);
    }
    // The files are a few megabytes; a length taken from damaged bytes would show here.
    assert!(peak_memory() < 1 << 20, "{} KB", peak_memory());
}

/// The largest resident size of this process so far, in KB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn c_files() {
    for options in [
        ["-O2", "-gdwarf-4"],
        ["-O2", "-gdwarf-5"],
        ["-g", "-gz=zlib"],
    ] {
        let scratch = Scratch::new();
        let Some(program) = scratch.compile("app.c", C, &options) else {
            return;
        };
        check(&program, "", 300);
    }
}

#[test]
fn a_rust_file() {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.rs", RUST, &["-g", "-O"]) else {
        return;
    };
    check(&program, "3app", 60);
}

#[test]
fn files_that_are_no_programs() {
    let scratch = Scratch::new();
    let text = scratch.write("text", "not a program");
    let empty = scratch.write("empty", "");
    for path in [
        text,
        empty,
        scratch.path().into(),
        "/dev/null".into(),
        "/nowhere".into(),
    ] {
        let found = Symbolizer::new().resolve(path.to_str().unwrap(), &[], &[0, 42]);
        assert!(found.iter().all(|frames| frames[0].function.is_empty()));
    }
}
