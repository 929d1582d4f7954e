//! Files that no writer of ours makes: lies about lengths, ids and parents, and additions of newer
//! versions. `raw.rs` writes them.

use profundo_formats::{Damage, Error, Warning, is_profundo, read};
use profundo_model::{LocationKind, Profile, State};

use crate::raw::{chunk, header, plain, signed, table};
use crate::write;

fn file(chunks: &[Vec<u8>]) -> Vec<u8> {
    [header(1), chunks.concat()].concat()
}

fn end(samples: u64) -> Vec<u8> {
    table(b"END.", 0, 1, &[(1, plain(&[samples]))])
}

/// The damage of a file whose one chunk is `bad`.
#[track_caller]
fn check_damage(bad: Vec<u8>, expected: Damage) {
    let (_, warnings) = read(&file(&[bad])).unwrap();
    let damaged = Warning::Damaged {
        offset: 16,
        damage: expected,
        samples: 0,
    };
    assert_eq!(warnings, [damaged]);
}

#[test]
fn lengths_that_lie() {
    // A stored chunk has its claimed length.
    check_damage(chunk(b"STRS", 0, 5, b"four"), Damage::Length);
    // Beyond the limit, and beyond what the bytes can hold.
    check_damage(chunk(b"STRS", 1, u32::MAX, b"four"), Damage::Length);
    check_damage(chunk(b"STRS", 1, 60 << 20, b"four"), Damage::Length);
    // Not deflate at all.
    check_damage(chunk(b"STRS", 1, 100, b"\xff\xff\xff\xff"), Damage::Unpack);
    // More rows than bytes, with and without a column.
    check_damage(table(b"STRS", 1, 1 << 40, &[]), Damage::Length);
    check_damage(table(b"STRS", 1, 1, &[]), Damage::Column(1));
    check_damage(table(b"STRS", 1, 2, &[(1, plain(&[0]))]), Damage::Column(1));
    // A text that is longer than the texts.
    check_damage(
        table(b"STRS", 1, 1, &[(1, plain(&[9])), (2, b"short".to_vec())]),
        Damage::Column(2),
    );
    // More frames than bytes.
    check_damage(
        table(
            b"LOCA",
            0,
            1,
            &[(1, plain(&[3])), (4, plain(&[1 << 50])), (5, plain(&[0]))],
        ),
        Damage::Column(5),
    );
    // A column that claims more than the chunk.
    let payload = [1, 1, 1, 200, 1, 0];
    check_damage(chunk(b"STRS", 0, 6, &payload), Damage::Column(0));
}

#[test]
fn a_bomb_is_not_unpacked_beyond_its_claim() {
    let raw = vec![0; 1 << 20];
    let mut packed = Vec::with_capacity(1 << 16);
    let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
    deflate
        .compress_vec(&raw, &mut packed, flate2::FlushCompress::Finish)
        .unwrap();
    check_damage(chunk(b"STRS", 1, 1000, &packed), Damage::Unpack);
}

#[test]
fn many_bombs_are_not_unpacked_either() {
    // A million samples in 4 KB, again and again.
    let rows = 1_000_000;
    let column = |number| (number, vec![0; rows as usize + usize::from(number == 1)]);
    let tables = [
        table(b"LOCA", 0, 1, &[(1, plain(&[3]))]),
        table(b"STAK", 0, 1, &[(1, plain(&[0])), (2, signed(&[0]))]),
        table(b"PROC", 0, 1, &[(1, plain(&[1]))]),
        table(b"THRD", 0, 1, &[(1, signed(&[1]))]),
        table(b"TASK", 0, 1, &[(1, signed(&[1]))]),
    ];
    let mut bytes = file(&tables);
    for batch in 0..20 {
        let columns = [column(1), column(4), column(5), column(6)];
        let stored = table(b"SAMP", batch * rows, rows, &columns);
        let mut packed = Vec::with_capacity(1 << 16);
        let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
        deflate
            .compress_vec(&stored[20..], &mut packed, flate2::FlushCompress::Finish)
            .unwrap();
        bytes.extend(chunk(b"SAMP", 1, stored.len() as u32 - 20, &packed));
    }
    let (profile, warnings) = read(&bytes).unwrap();
    assert_eq!(profile.samples.len(), 2 * rows as usize);
    assert!(matches!(
        warnings[..],
        [Warning::Damaged {
            damage: Damage::Length,
            ..
        }]
    ));
}

#[test]
fn our_writer_makes_no_bombs() {
    // The first texts are packed, the third would go beyond the allowance.
    let mut profile = Profile::default();
    for number in 0..3 {
        profile
            .strings
            .intern(&number.to_string().repeat(4_000_000));
    }
    let bytes = write(&profile);
    assert!(
        (4_000_000..5_000_000).contains(&bytes.len()),
        "{}",
        bytes.len()
    );
    let (again, warnings) = read(&bytes).unwrap();
    assert!(again.strings.iter().eq(profile.strings.iter()));
    assert_eq!(warnings, []);
}

#[test]
fn numbers_that_are_none() {
    let too_long = vec![0xff; 11];
    check_damage(table(b"STRS", 1, 1, &[(1, too_long)]), Damage::Number);
    let too_large = [vec![0xff; 9], vec![2]].concat();
    check_damage(table(b"STRS", 1, 1, &[(1, too_large)]), Damage::Number);
    check_damage(table(b"STRS", 1, 1, &[(1, vec![0x80])]), Damage::Column(1));
    check_damage(
        table(b"STRS", 1, 1, &[(1, plain(&[1])), (2, vec![0xff])]),
        Damage::Text,
    );
}

#[test]
fn ids_that_are_not_there() {
    let missing = |table, id| Damage::Id { table, id };
    check_damage(
        table(b"FILE", 1, 1, &[(1, signed(&[7]))]),
        missing("strings", 7),
    );
    check_damage(
        table(b"FRAM", 0, 1, &[(1, signed(&[0])), (3, signed(&[1]))]),
        missing("files", 1),
    );
    check_damage(
        table(b"LOCA", 0, 1, &[(1, plain(&[3])), (3, plain(&[1]))]),
        missing("modules", 0),
    );
    check_damage(
        table(
            b"LOCA",
            0,
            1,
            &[(1, plain(&[3])), (4, plain(&[1])), (5, signed(&[0]))],
        ),
        missing("frames", 0),
    );
    check_damage(
        table(b"STAK", 0, 1, &[(1, plain(&[0])), (2, signed(&[0]))]),
        missing("locations", 0),
    );
    check_damage(
        table(b"THRD", 0, 1, &[(1, signed(&[1]))]),
        missing("processes", 0),
    );
    // Before the first row: there is no such number.
    check_damage(
        table(b"FILE", 1, 1, &[(1, signed(&[-1]))]),
        missing("strings", u64::MAX),
    );
}

#[test]
fn a_stack_is_not_its_own_ancestor() {
    let location = table(b"LOCA", 0, 1, &[(1, plain(&[3]))]);
    let stack = |up| table(b"STAK", 0, 1, &[(1, plain(&[up])), (2, signed(&[0]))]);
    for up in [1, 2, u64::MAX] {
        let (profile, warnings) = read(&file(&[location.clone(), stack(up)])).unwrap();
        assert!(profile.stacks.is_empty());
        assert!(matches!(
            warnings[..],
            [Warning::Damaged {
                damage: Damage::Number,
                ..
            }]
        ));
    }
}

#[test]
fn a_process_is_not_its_own_ancestor() {
    // 0 → 1 → 2 → 0, 3 → 2, 4 → 4, 5 → 99.
    let parents = plain(&[2, 3, 1, 3, 5, 100]);
    let processes = table(
        b"PROC",
        0,
        6,
        &[(1, plain(&[1, 2, 3, 4, 5, 6])), (3, parents)],
    );
    let (profile, warnings) = read(&file(&[processes, end(0)])).unwrap();
    let parents: Vec<_> = profile
        .processes
        .iter()
        .map(|process| process.parent.map(|id| id.0))
        .collect();
    assert_eq!(parents, [Some(1), Some(2), None, Some(2), None, None]);
    assert_eq!(warnings, [Warning::Parents { processes: 3 }]);
}

#[test]
fn rows_follow_one_another() {
    let gap = table(b"STRS", 2, 1, &[(1, plain(&[0]))]);
    check_damage(
        gap,
        Damage::Order {
            expected: 1,
            found: 2,
        },
    );
    check_damage(end(3), Damage::Count(3));
}

#[test]
fn only_rows_that_are_there_are_known_better() {
    // Nothing was read yet, so no row can be replaced.
    for kind in [b"proc", b"thrd", b"task", b"modu", b"loca"] {
        let column = if kind == b"loca" { 4 } else { 1 };
        let one = table(kind, 0, 1, &[(column, plain(&[0]))]);
        let damage = Damage::Order {
            expected: 0,
            found: 0,
        };
        check_damage(one, damage);
        let far = table(kind, u64::MAX, 1, &[(column, plain(&[0]))]);
        let damage = Damage::Order {
            expected: 0,
            found: u64::MAX,
        };
        check_damage(far, damage);
    }
}

#[test]
fn a_line_of_python_has_a_frame() {
    let line = table(b"LOCA", 0, 1, &[(1, plain(&[4])), (2, signed(&[3]))]);
    check_damage(line, Damage::Column(4));
}

#[test]
fn a_row_that_is_there_twice_is_one_row() {
    let strings = table(
        b"STRS",
        1,
        3,
        &[(1, plain(&[1, 1, 1])), (2, b"aab".to_vec())],
    );
    let files = table(b"FILE", 1, 1, &[(1, signed(&[3]))]);
    let (profile, warnings) = read(&file(&[strings, files, end(0)])).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(profile.strings.iter().collect::<Vec<_>>(), ["", "a", "b"]);
    let path = profile.files.get(profundo_model::FileId(1)).path;
    assert_eq!(profile.strings.get(path), "b");
}

/// A version 1 reader's treatment of later additions.
#[test]
fn additions_are_skipped() {
    let profile = Profile::from_folded("main 2").unwrap();
    let whole = write(&profile);
    // A new chunk, even one packed in a new way.
    let (before, after) = whole.split_at(16);
    let unknown = [
        chunk(b"LATE", 0, 4, b"what"),
        chunk(b"GPUS", 77, 4000, b"ever"),
    ]
    .concat();
    let (again, warnings) = read(&[before, &unknown, after].concat()).unwrap();
    assert_eq!((again.samples, warnings), (profile.samples, vec![]));
    // A new column, and a higher number of it than ours.
    let text = b"name".to_vec();
    let columns = [
        (1, plain(&[4])),
        (2, text),
        (9, vec![1, 2, 3]),
        (1 << 40, vec![4]),
    ];
    let (again, warnings) = read(&file(&[table(b"STRS", 1, 1, &columns), end(0)])).unwrap();
    assert_eq!((again.strings.len(), warnings), (2, vec![]));
}

#[test]
fn values_from_the_future_become_the_nearest_thing() {
    let chunks = [
        table(
            b"LOCA",
            0,
            3,
            &[(1, plain(&[3, 2, 9])), (2, signed(&[5, 95, 0]))],
        ),
        table(b"STAK", 0, 1, &[(1, plain(&[0])), (2, signed(&[1]))]),
        table(b"PROC", 0, 1, &[(1, plain(&[1]))]),
        table(b"THRD", 0, 1, &[(1, signed(&[1]))]),
        table(b"TASK", 0, 1, &[(1, signed(&[1]))]),
        table(
            b"SAMP",
            0,
            1,
            &[
                (1, [plain(&[0]), signed(&[5])].concat()),
                (4, plain(&[0])),
                (5, signed(&[0])),
                (6, plain(&[0])),
                (7, plain(&[200])),
            ],
        ),
        end(1),
    ];
    let (profile, warnings) = read(&file(&chunks)).unwrap();
    assert_eq!(profile.locations.len(), 3);
    assert!(
        profile
            .locations
            .iter()
            .all(|(_, row)| matches!(row.kind, LocationKind::Invented(_)))
    );
    assert_eq!(profile.samples[0].state, State::Running);
    assert_eq!(profile.samples[0].time.0, 5);
    assert_eq!(
        warnings,
        [
            Warning::UnknownCode {
                what: "kind of location",
                code: 2,
                times: 2
            },
            Warning::UnknownCode {
                what: "state",
                code: 200,
                times: 1
            },
        ]
    );
}

#[test]
fn what_cannot_be_skipped_is_an_error() {
    let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(
        error(&header(2)),
        "file format version 2 is not known (this program reads 1 to 1); a newer profundo reads it"
    );
    assert_eq!(
        error(&file(&[chunk(b"SAMP", 7, 4, b"what")])),
        "chunk SAMP at byte 16 is packed by codec 7, which is not known; a newer profundo reads it"
    );
    assert!(matches!(read(b""), Err(Error::NotAProfile)));
    assert!(matches!(
        read(b"\x7fELF and so on, for long enough"),
        Err(Error::NotAProfile)
    ));
    assert!(is_profundo(&header(9)) && !is_profundo(b"\x89PNG\r\n\x1a\n"));
}

/// The corpus of the fuzz target, with its earlier findings.
#[test]
fn the_fuzz_corpus_does_no_harm() {
    let corpus = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/profundo_file"
    );
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        files += 1;
        if let Ok((profile, _)) = read(&bytes) {
            // A profile that was read can be written, and comes back.
            let (again, _) = read(&write(&profile)).unwrap();
            assert!(again.samples == profile.samples);
        }
    }
    assert!(files >= 3);
}
