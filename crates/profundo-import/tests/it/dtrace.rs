//! A file in the layout that DTrace's manual shows, not made by DTrace itself, and texts with odd
//! parts.

use profundo_import::{Options, read as read_bytes};
use profundo_model::{SampleKind, State};

use crate::support::{functions, read, read_text, stacks, testdata};

#[test]
fn stacks_of_kernel_and_program_are_one() {
    let imported = read("dtrace/both.txt");
    assert_eq!(imported.reader.name(), "dtrace");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    let rows = profile.samples.iter();
    let sums = functions(profile, rows.map(|row| (row.stack, row.weight.0)));
    assert_eq!(sums["main"], (0, 45));
    assert_eq!(sums["arc_read"], (12, 12));
    assert_eq!(sums["__pwrite"], (0, 12));
    assert_eq!(sums["i86_mwait"], (5, 5));
    let samples = profile.samples.iter();
    let system = samples.filter(|row| row.state == State::System);
    assert_eq!(system.map(|row| row.weight.0).sum::<u64>(), 17);
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
    assert!(testdata("dtrace/both.txt").exists());
}

#[test]
fn odd_parts_are_left_out() {
    let text = "head\n\n  a`f+0x1\n  a`g<T>+0x2\n  7\n\nprinted between\n  a`f+0x1\n  a`h\n";
    let imported = read_bytes(text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(imported.reader.name(), "dtrace");
    assert_eq!(imported.profile.samples.len(), 1);
    assert_eq!(imported.profile.samples[0].weight.0, 7);
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn other_texts_are_not_taken() {
    for text in [
        "  a`f\n  a`g\n",
        "  0x12\n  0x13\n  5\n",
        "# `code`\n\n    let a = `b`;\n    3\n",
        "one\n  `quoted`\n  4\n",
    ] {
        let read = read_bytes(text.as_bytes(), &Options::default());
        let reader = read.map(|imported| imported.reader.name());
        assert_ne!(reader.ok(), Some("dtrace"), "{text}");
    }
}

#[test]
fn formats_that_are_not_read_are_named() {
    let check = |start: &[u8], words: &str| {
        let refusal = profundo_import::refusal(start).unwrap();
        assert!(refusal.contains(words), "{refusal}");
    };
    check(b"v8-version,6,0,287", "--preprocess");
    check(b"PK\x03\x04\x14\0", "zip archive");
    check(b"\xfd7zXZ\0\0\x04", "unxz");
    check(b"SLOW\xf3\0 \0", "method trace");
    check(b"@ inst_retired.any [35705 samples]\n\n20.86%", "pmcstat");
    check(
        b"{\"version\":1.2,\"mode\":\"wall\",\"interval\":1000,\"samples\":5,\"gc_samples\":4",
        "stackprof",
    );
    check(
        b"{\"version\":1,\"recording\":{\"instrumentTypes\":[]",
        "Safari",
    );
    assert_eq!(profundo_import::refusal(b"SLOW down, said the fox"), None);
    assert_eq!(profundo_import::refusal(b"@ home [3 samples] are\n"), None);
}

#[test]
fn the_part_of_the_kernel_is_known_by_its_module() {
    let kernel = "  genunix`fop_write+0x5d\n  unix`sys_syscall+0x17d\n";
    let program = "  libc.so.1`__pwrite+0xa\n  app`main+0x12\n";
    for text in [
        format!("\n{kernel}\n{program}  7\n"),
        format!("\n{program}\n{kernel}  7\n"),
    ] {
        let profile = read_text(&text).profile;
        let expected = "main;__pwrite;sys_syscall;fop_write";
        assert_eq!(stacks(&profile), [(expected.to_owned(), 7)].into());
        assert_eq!(profile.samples[0].state, State::System);
    }
}
