//! The output of real compilers, read as by their own tools, and the same cut and changed anywhere.

use std::path::Path;

use proptest::prelude::*;

use super::llvm::Sections;
use super::*;

/// The output for one program.
struct Kept {
    data: &'static [u8],
    data_at: u64,
    counters_at: u64,
    names: &'static [u8],
    functions: &'static [u8],
    files: &'static [u8],
    version: u64,
}

macro_rules! kept {
    ($name:literal, $kind:literal) => {
        include_bytes!(concat!("../../../../testdata/coverage/", $name, ".", $kind))
    };
}

/// By rustc 1.95, with LLVM 22.
const RUST: Kept = Kept {
    data: kept!("small_rs", "data"),
    data_at: 0x5_c368,
    counters_at: 0x5_c340,
    names: kept!("small_rs", "names"),
    functions: kept!("small_rs", "functions"),
    files: kept!("small_rs", "files"),
    version: 10,
};

/// By clang 14.
const C: Kept = Kept {
    data: kept!("small_c", "data"),
    data_at: 0xB1B8,
    counters_at: 0xB190,
    names: kept!("small_c", "names"),
    functions: kept!("small_c", "functions"),
    files: kept!("small_c", "files"),
    version: 8,
};

const COUNTERS: u64 = 5;

impl Kept {
    fn sections(&self) -> Sections {
        Sections {
            data: self.data.to_vec(),
            data_at: self.data_at,
            counters_at: self.counters_at,
            counters_size: COUNTERS * 8,
            names: self.names.to_vec(),
            functions: self.functions.to_vec(),
            files: self.files.to_vec(),
            version: Some(self.version),
        }
    }
}

fn read(sections: &Sections) -> Result<LlvmMap, Uncounted> {
    LlvmMap::of(sections, Path::new("program"))
}

type Row<'a> = (&'a str, &'a str, u32, u64, u32, &'a [(u32, u64)]);

#[track_caller]
fn check(found: Vec<CountedFunction>, expected: &[Row<'_>]) {
    let found: Vec<Row<'_>> = (found.iter())
        .map(|function| {
            let lines = &function.lines[..];
            (
                &function.name[..],
                &function.file[..],
                function.line,
                function.calls,
                function.instances,
                lines,
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn rust() {
    let map = read(&RUST.sections()).unwrap();
    let main = [(5, 1), (6, 5), (7, 5), (8, 1), (9, 4), (11, 1), (12, 1)];
    let expected: [Row<'_>; 2] = [
        (
            "small::twice",
            "/src/small.rs",
            1,
            2,
            2,
            &[(1, 2), (2, 2), (3, 2)],
        ),
        ("small::main", "/src/small.rs", 5, 1, 1, &main),
    ];
    let counters = [1, 1, 1, 6, 1];
    check(map.functions(&counters).unwrap(), &expected);
    let other = Uncounted::OtherBuild("program".into());
    assert_eq!(map.functions(&counters[1..]), Err(other));
}

#[test]
fn clang() {
    let map = read(&C.sections()).unwrap();
    let main = [
        (8, 1),
        (9, 1),
        (10, 6),
        (11, 5),
        (12, 1),
        (13, 5),
        (14, 1),
        (15, 1),
    ];
    let expected: [Row<'_>; 2] = [
        ("twice", "/src/small.c", 3, 1, 1, &[(3, 1), (4, 1), (5, 1)]),
        ("main", "/src/small.c", 8, 1, 1, &main),
    ];
    check(map.functions(&[1, 5, 1, 1, 1]).unwrap(), &expected);
}

#[test]
fn the_version_of_a_program_without_symbols_is_the_one_that_fits() {
    for kept in [RUST, C] {
        let sections = Sections {
            version: None,
            ..kept.sections()
        };
        let found = read(&sections).unwrap().functions(&[1; 5]).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

#[test]
fn what_is_not_known_is_refused() {
    let said = |sections: &Sections| read(sections).unwrap_err().to_string();
    for version in [7, 99] {
        let sections = Sections {
            version: Some(version | 1 << 57),
            ..RUST.sections()
        };
        let expected =
            format!("version {version} of LLVM's counters is not known to this profundo");
        assert_eq!(said(&sections), expected);
    }
    let sections = Sections {
        version: Some(10 | 1 << 60),
        ..RUST.sections()
    };
    assert!(said(&sections).contains("a byte for each"));
    let mut sections = RUST.sections();
    sections.files[12] = 77;
    assert!(said(&sections).contains("version 78 of LLVM's coverage mapping"));
}

const NOTES: &[u8] = kept!("small", "gcno");

fn counted() -> [GccFunction; 2] {
    [
        (108_032_747, 0x320C_FF3E, vec![1, 1, 1, 5]),
        (1_614_574_758, 0xEB21_9516, vec![1, 1]),
    ]
    .map(|(ident, checksum, counters)| GccFunction {
        ident,
        checksum,
        counters,
    })
}

const STAMP: u32 = 51_297_947;

#[test]
fn gcc() {
    let notes = GccNotes::read(NOTES).unwrap().unwrap();
    let path = Path::new("small.gcno");
    let found = notes.functions(STAMP, &counted(), path).unwrap();
    let main = [(7, 1), (9, 1), (10, 6), (11, 5), (12, 1), (14, 1)];
    let expected: [Row<'_>; 2] = [
        ("twice", "/src/small/small.c", 2, 1, 1, &[(2, 1), (4, 1)]),
        ("main", "/src/small/small.c", 7, 1, 1, &main),
    ];
    check(found, &expected);
    let other = Err(Uncounted::OtherBuild(path.to_owned()));
    assert_eq!(notes.functions(STAMP + 1, &counted(), path), other);
    let [mut first, second] = counted();
    first.counters.pop();
    let damaged = Err(Uncounted::Damaged(path.to_owned()));
    assert_eq!(notes.functions(STAMP, &[first, second], path), damaged);
}

/// Changed bytes, up to some end.
fn damaged(bytes: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((0..bytes.len(), any::<u8>()), 0..4);
    (changes, 0..=bytes.len()).prop_map(|(changes, end)| {
        let mut bytes = bytes.to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes.truncate(end);
        bytes
    })
}

proptest! {
    #[test]
    fn damage_to_what_llvm_leaves_does_no_harm(
        kept in 0..2_usize,
        parts in [damaged(RUST.data), damaged(RUST.names), damaged(RUST.functions), damaged(RUST.files)],
        others in [damaged(C.data), damaged(C.names), damaged(C.functions), damaged(C.files)],
        which in 0..5_usize,
        counters in prop::collection::vec(any::<u64>(), COUNTERS as usize),
    ) {
        let (mut sections, parts) = match kept {
            0 => (RUST.sections(), parts),
            _ => (C.sections(), others),
        };
        let places = [&mut sections.data, &mut sections.names, &mut sections.functions, &mut sections.files];
        for (at, (place, part)) in places.into_iter().zip(parts).enumerate() {
            // One of them, or all.
            if which == at || which == 4 {
                *place = part;
            }
        }
        if let Ok(map) = read(&sections) {
            let _ = map.functions(&counters);
        }
    }

    #[test]
    fn damage_to_what_gcc_leaves_does_no_harm(
        bytes in damaged(NOTES),
        counters in prop::collection::vec(any::<u64>(), 6),
    ) {
        if let Some(Ok(notes)) = GccNotes::read(&bytes) {
            let mut counted = counted();
            let (first, second) = counters.split_at(4);
            counted[0].counters = first.to_vec();
            counted[1].counters = second.to_vec();
            let _ = notes.functions(STAMP, &counted, Path::new("small.gcno"));
        }
    }

    #[test]
    fn no_places_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(mapping) = mapping::Mapping::read(&bytes) {
            let (_, places) = mapping.counted(&[u64::MAX, 3]);
            let _ = lines::lines(places);
        }
    }
}

#[test]
fn an_instance_is_known_by_what_it_is_an_instance_of() {
    for (name, expected) in [
        ("sort::<u8>", "sort"),
        ("list::sort<std::vector<int> >", "list::sort"),
        ("<a::B as c::D>::e", "<a::B as c::D>::e"),
        ("<a::B as c::D>", "<a::B as c::D>"),
        ("operator<", "operator<"),
        ("operator->", "operator->"),
        ("call::<fn() -> u8>", "call"),
        ("main", "main"),
    ] {
        assert_eq!(general(name), expected);
    }
}
