//! jitdump files, written out record by record.

use profundo_jit::{At, Change, JitDump};

pub struct Dump(pub Vec<u8>);

impl Dump {
    pub fn new(flags: u64) -> Self {
        let mut dump = Self(Vec::new());
        for word in [0x4A69_5444_u32, 1, 40, 62, 0, 77] {
            dump.0.extend(word.to_ne_bytes());
        }
        dump.0.extend(5_u64.to_ne_bytes());
        dump.0.extend(flags.to_ne_bytes());
        dump
    }

    pub fn record(mut self, kind: u32, time: u64, body: &[u8]) -> Self {
        self.0.extend(kind.to_ne_bytes());
        self.0.extend((16 + body.len() as u32).to_ne_bytes());
        self.0.extend(time.to_ne_bytes());
        self.0.extend(body);
        self
    }

    pub fn load(self, time: u64, start: u64, size: u64, number: u64, name: &str) -> Self {
        let mut body = words(&[(77 << 32) | 77, start, start, size, number]);
        body.extend(name.as_bytes());
        body.push(0);
        body.resize(body.len() + size.min(64) as usize, 0xcc);
        self.record(0, time, &body)
    }

    pub fn moved(self, time: u64, from: u64, to: u64, size: u64, number: u64) -> Self {
        let body = words(&[(77 << 32) | 77, to, from, to, size, number]);
        self.record(1, time, &body)
    }

    pub fn lines(self, start: u64, lines: &[(u64, u32, &[u8])]) -> Self {
        let mut body = words(&[start, lines.len() as u64]);
        for (address, line, file) in lines {
            body.extend(address.to_ne_bytes());
            body.extend(line.to_ne_bytes());
            body.extend(0_u32.to_ne_bytes());
            body.extend(*file);
            body.push(0);
        }
        self.record(2, 0, &body)
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn described(changes: &[Change]) -> Vec<String> {
    let time = |at: &At| match at {
        At::Monotonic(at) => format!("{at}"),
        At::Cycles(at) => format!("{at}c"),
        At::Always => "always".into(),
    };
    let text = |change: &Change| match change {
        Change::Loaded(code) => {
            let lines = code.lines.iter();
            let lines: String = lines
                .map(|line| format!(" {}@{}:{}", line.offset, line.file, line.line))
                .collect();
            let at = time(&code.since);
            format!("{at} {:x}+{:x} {}{lines}", code.start, code.size, code.name)
        }
        Change::Unloaded { start, at } => format!("{} -{start:x}", time(at)),
    };
    changes.iter().map(text).collect()
}

fn read(bytes: &[u8]) -> Vec<String> {
    let (mut dump, mut out) = (JitDump::default(), Vec::new());
    while dump.read(bytes, 2, &mut out) {}
    dump.finish(bytes, &mut out);
    described(&out)
}

fn good() -> Vec<u8> {
    Dump::new(0)
        .lines(
            0x1000,
            &[
                (0x1008, 8, b"/b.c"),
                (0x1000, 7, b"/a.c"),
                (0x100c, 9, b"\xff"),
                (0xfff, 1, b"/a.c"),
                (0x1010, 1, b"/a.c"),
            ],
        )
        .load(10, 0x1000, 0x10, 1, "first")
        .record(4, 11, &[7; 32])
        .record(999, 11, b"who knows")
        .load(12, 0x2000, 0x20, 2, "second")
        .moved(20, 0x1000, 0x3000, 0x10, 1)
        .moved(21, 0x1000, 0x4000, 0x10, 99)
        .load(30, 0x1000, 0x18, 3, "third")
        .record(3, 40, &[])
        .load(50, 0x5000, 1, 4, "after the end")
        .0
}

#[test]
fn what_was_loaded_and_moved() {
    let lines = " 0@/a.c:7 8@/b.c:8 12@/a.c:9";
    assert_eq!(
        read(&good()),
        [
            format!("10 1000+10 first{lines}"),
            "12 2000+20 second".into(),
            "20 -1000".into(),
            format!("20 3000+10 first{lines}"),
            "30 1000+18 third".into(),
        ]
    );
}

#[test]
fn times_may_be_of_the_cycle_counter() {
    let dump = Dump::new(1).load(10, 0x1000, 0x10, 1, "f");
    assert_eq!(read(&dump.0), ["10c 1000+10 f"]);
}

#[test]
fn v8_writes_addresses_as_they_are_in_perfs_file() {
    let lines: &[(u64, u32, &[u8])] = &[(0x1040, 3, b"/x.js"), (0x1048, 4, b"\x8b\xfa\x01")];
    let dump = Dump::new(0)
        .lines(0x1000, lines)
        .load(1, 0x1000, 0x10, 1, "JS:*hot /x.js:1:1")
        .lines(0x1000, lines)
        .load(2, 0x1000, 0x50, 2, "llvm");
    // Other bytes in place of a name are ignored.
    let expected = [
        "1 1000+10 JS:*hot /x.js:1:1 0@/x.js:3 8@:4",
        "2 1000+50 llvm 64@/x.js:3 72@:4",
    ];
    assert_eq!(read(&dump.0), expected);
}

#[test]
fn a_name_that_v8_has_given_away_is_known_by_its_length() {
    // Overwritten, with a zero in it; in the third one with letters.
    let lines: &[(u64, u32, &[u8])] = &[
        (0x1040, 3, b"/src/x.js"),
        (0x1048, 4, b"\x49\xe8\0c/x.js"),
        (0x104c, 5, b"Y~\0c/x.js"),
    ];
    let dump = Dump::new(0)
        .lines(0x1000, lines)
        .load(1, 0x1000, 0x10, 1, "JS:*hot /src/x.js:1:1")
        // With several files, as after inlining, each line has its own or none.
        .lines(
            0x2000,
            &[
                (0x2040, 7, b"/other.js"),
                (0x2044, 8, b"Y~"),
                (0x2048, 9, b"node:fs"),
            ],
        )
        .load(2, 0x2000, 0x10, 2, "JS:*hot /src/x.js:1:1");
    let expected = [
        "1 1000+10 JS:*hot /src/x.js:1:1 0@/src/x.js:3 8@/src/x.js:4 12@/src/x.js:5",
        "2 2000+10 JS:*hot /src/x.js:1:1 0@/other.js:7 4@:8 8@node:fs:9",
    ];
    assert_eq!(read(&dump.0), expected);
}

#[test]
fn a_file_that_was_cut_gives_what_comes_before() {
    let whole = good();
    let all = read(&whole);
    for cut in 0..whole.len() {
        let (mut dump, mut out) = (JitDump::default(), Vec::new());
        while dump.read(&whole[..cut], 100, &mut out) {}
        let before = out.len();
        assert_eq!(described(&out), all[..before], "{cut}");
        // It goes on where it stopped, when there is more.
        let mut rest = Vec::new();
        while dump.read(whole.as_slice(), 100, &mut rest) {}
        assert_eq!(described(&rest), all[before..], "{cut}");
    }
    // The last function's name is there, and most of its code.
    let cut = Dump::new(0).load(1, 0x10, 0x40, 1, "f").0;
    assert_eq!(read(&cut[..cut.len() - 8]), ["1 10+40 f"]);
}

#[test]
fn no_damage_does_harm() {
    let whole = good();
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            assert!(read(&bytes).len() <= 8, "{at}");
        }
    }
    assert!(read(b"not a jitdump file at all, but long enough").is_empty());
    let huge = Dump::new(0).record(2, 0, &words(&[0x1000, u64::MAX]));
    let huge = huge
        .load(1, 0x1000, u64::MAX, 1, "around")
        .load(2, 0x1000, 0, 2, "empty");
    assert_eq!(
        read(&huge.load(3, 0x1000, 1 << 40, 3, "f").0),
        ["3 1000+10000000000 f"]
    );
}

#[test]
fn a_large_file_is_read_piece_by_piece() {
    let mut dump = Dump::new(0);
    for number in 0..20_000 {
        dump = dump.load(number, 0x1000 + number * 64, 64, number, "f");
    }
    let (mut reader, mut out) = (JitDump::default(), Vec::new());
    assert!(reader.read(dump.0.as_slice(), 1000, &mut out));
    assert_eq!(out.len(), 1000);
    while reader.read(dump.0.as_slice(), 1000, &mut out) {}
    assert_eq!(out.len(), 20_000);
    assert!(!reader.read(dump.0.as_slice(), 1000, &mut out));
}
