//! Every fuzz target on its seeds and on damaged ones, as often as fits into a second or two. The
//! targets themselves (`cargo +nightly fuzz run NAME`) run for any length of time.

use std::fs;
use std::path::{Path, PathBuf};

use profundo_fuzzing::TARGETS;
use profundo_testing::damage;

/// The number of damaged copies of each seed.
const TIMES: usize = 100;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The seeds of a target: its corpus in the repository.
fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz().join("corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut seeds: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    seeds
}

#[track_caller]
fn check(name: &str) {
    let (_, target) = TARGETS.iter().find(|(it, _)| *it == name).unwrap();
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    for (_, seed) in &seeds {
        damage(seed, TIMES, target);
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        /// The targets that are tested here.
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    eh_frame
    elf_symbols
    gcc_notes
    generated_code
    graph_items
    heapsnapshot
    import
    line_table
    llvm_map
    memory_counts
    proc_maps
    profundo_file
    pushed_body
    store_file
    store_query
    wire_records
}

/// Every reader of other tools' files, on the files that its tests have.
#[test]
fn every_reader_takes_damaged_files() {
    /// Larger files take too long.
    const LARGEST: usize = 2_000_000;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/import");
    let mut tried = Vec::new();
    for path in profundo_testing::files_below(&folder) {
        let bytes = fs::read(&path).unwrap();
        if path.parent().is_some_and(|it| it.ends_with("otf2/traces")) {
            let anchor = fs::read(folder.join("otf2/traces.otf2")).unwrap();
            let reader = profundo_import::reader_of(&anchor).unwrap();
            damage(&bytes, TIMES, |bytes| {
                profundo_import::read_beside(reader, bytes);
            });
        }
        if path
            .extension()
            .is_some_and(|it| it == "db" || it == "metric-db")
        {
            let meta = fs::read(folder.join("hpctoolkit/loops/meta.db")).unwrap();
            let reader = profundo_import::reader_of(&meta).unwrap();
            damage(&bytes, TIMES, |bytes| {
                profundo_import::read_beside(reader, bytes);
            });
        }
        let Ok(imported) = profundo_import::read_file(&path, &Default::default()) else {
            continue;
        };
        let unpacked = profundo_import::unpacked(&bytes);
        if unpacked.len() <= LARGEST {
            let times = (2_000_000 / unpacked.len().max(1)).clamp(2, TIMES / 4);
            damage(&unpacked, times, |bytes| {
                profundo_fuzzing::import_as(imported.reader, bytes);
            });
            tried.push(imported.reader.name());
        }
    }
    for reader in profundo_import::Reader::ALL {
        assert!(
            tried.contains(&reader.name()),
            "{} has no seed",
            reader.name()
        );
    }
}

#[test]
fn every_target_is_tested_and_can_be_fuzzed() {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, TESTED);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in names {
        let path = format!("fuzz_targets/{name}.rs");
        assert!(manifest.contains(&format!("path = \"{path}\"")), "{name}");
        let source = fs::read_to_string(fuzz().join(path)).unwrap();
        assert!(source.contains(&format!("profundo_fuzzing::{name}(bytes)")));
    }
}
