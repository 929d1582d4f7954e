//! Lines of a statement as one.

use profundo_model::{
    Block, Bytes, Copied, FrameKey, Language, Nanos, Profile, Sampling, StackId, State, ThreadId,
    Traffic,
};
use profundo_report::{Allocs, Io, Lines, Look, View};
use serde_json::Value;

use crate::mixed::{APP, Maker};

#[test]
fn a_statement_over_several_lines_counts_as_one() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 9, true);
    let [first, second] = [2, 3].map(|line| maker.python(APP, "total", line, false));
    let within = maker.python(APP, "total", 2, true);
    maker.samples(30, &[root, first], State::Running);
    maker.samples(20, &[root, second], State::Running);
    // It calls itself: the sample is the statement's once.
    maker.samples(10, &[root, within, second], State::Running);
    let file = maker.profile.file(APP, "", "");
    for (line, text) in (1..).zip(["def total(rows):", "    return sum(", "        rows)", "x"]) {
        let text = maker.profile.strings.intern(text);
        maker.profile.sources.insert(file, line, text);
    }
    let rows = |statements: bool| {
        let lines = Lines::new().all_lines(true).statements(statements);
        let json = lines.from_disk(false).json(&maker.profile).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let lines = json["files"][0]["lines"].as_array().unwrap().clone();
        let number = |line: &serde_json::Value, name: &str| line[name].as_u64();
        (lines.iter())
            .map(|line| {
                let names = ["line", "last_line", "self_samples", "total_samples"];
                names.map(|name| number(line, name))
            })
            .collect::<Vec<_>>()
    };
    let row = |line, last, own, total| [Some(line), last, Some(own), Some(total)];
    assert_eq!(
        rows(false),
        [
            row(2, None, 30, 40),
            row(3, None, 30, 30),
            row(9, None, 0, 60)
        ]
    );
    assert_eq!(
        rows(true),
        [row(2, Some(3), 60, 60), row(9, Some(9), 0, 60)]
    );
}

/// A statement of lines 2 to 4, and line 5. Each has blocks, copies, and reads.
fn traffic_and_memory() -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 9, true);
    let read = FrameKey {
        function: "__libc_read",
        language: Language::Runtime,
        ..FrameKey::default()
    };
    let read = maker.native("/usr/lib/libc.so.6", read);
    let [begins, within, ends, after] = [2, 3, 4, 5].map(|line| {
        // The middle of a comprehension has a function of its own.
        let function = if line == 3 { "<genexpr>" } else { "total" };
        let at = maker.python(APP, function, line, false);
        maker.samples(2, &[root, at, read], State::System);
        maker.profile.hand_made_stack(&[root, at, read])
    });
    let profile = &mut maker.profile;
    profile.meta.duration = Nanos(1_000_000_000);
    profile.heap.sampling = Sampling::All;
    profile.heap.copying = Sampling::All;
    let mut add = |stack: StackId, size, freed: Option<u64>| {
        profile.heap.blocks.push(Block {
            size,
            stack,
            freed: freed.map(Nanos),
            time: Nanos(1000),
            ..Block::default()
        });
        profile.heap.copies.push(Copied {
            size: size + 1,
            stack,
            ..Copied::default()
        });
    };
    add(begins, 1000, None);
    add(within, 200, Some(2000));
    add(ends, 30, None);
    add(after, 4, None);
    // Each of the eight samples stands for a hundred bytes.
    profile.traffic.push(Traffic {
        thread: ThreadId(0),
        from: Nanos(0),
        to: Nanos(20_000_000_000),
        bytes: Bytes {
            read: 800,
            ..Bytes::default()
        },
        ..Traffic::default()
    });
    let file = profile.file(APP, "", "");
    let text = [
        "def total(rows):",
        "    return sum(",
        "        row for row in",
        "        rows)",
    ];
    for (line, text) in (1..).zip(text) {
        let text = profile.strings.intern(text);
        profile.sources.insert(file, line, text);
    }
    maker.profile
}

/// The rows of a table, by their lines in the app.
fn by_line(rows: &Value, members: &[&str]) -> Vec<(u64, Vec<u64>)> {
    let rows = rows.as_array().unwrap().iter();
    let row = |row: &Value| {
        assert_eq!(row["at"]["file"], APP);
        let numbers = members.iter().map(|name| row[name].as_u64().unwrap());
        (row["at"]["line"].as_u64().unwrap(), numbers.collect())
    };
    let mut found: Vec<_> = rows.map(row).collect();
    found.sort();
    found
}

#[test]
fn memory_and_copies_of_a_statement_are_summed() {
    let profile = traffic_and_memory();
    let tables = |statements: bool| {
        let view = Allocs::new().from_disk(false).statements(statements);
        let json: Value = serde_json::from_str(&view.json(&profile).unwrap()).unwrap();
        let of = &json["allocations"];
        let members = ["allocated_bytes", "live_bytes", "peak_bytes", "samples"];
        let copies = by_line(&of["copies"], &["bytes", "copies"]);
        (by_line(&of["lines"], &members), copies)
    };
    let (lines, copies) = tables(false);
    assert_eq!(
        lines,
        [
            (2, vec![1000, 1000, 1000, 1]),
            (3, vec![200, 0, 200, 1]),
            (4, vec![30, 30, 30, 1]),
            (5, vec![4, 4, 4, 1]),
        ]
    );
    assert_eq!(copies.len(), 4);
    let (lines, copies) = tables(true);
    assert_eq!(
        lines,
        [(2, vec![1230, 1030, 1230, 3]), (5, vec![4, 4, 4, 1])]
    );
    assert_eq!(copies, [(2, vec![1233, 3]), (5, vec![5, 1])]);
    let look = Look::new().width(100);
    let view = Allocs::new().from_disk(false).statements(true).look(look);
    let text = view.small_rows(true).render(&profile).unwrap();
    assert!(text.contains("confidence.py:2  return sum("), "{text}");
    assert!(!text.contains("confidence.py:4"), "{text}");
}

#[test]
fn bytes_that_a_statement_reads_are_summed() {
    let profile = traffic_and_memory();
    let lines = |statements: bool| {
        let view = Io::new().from_disk(false).statements(statements);
        let json: Value = serde_json::from_str(&view.json(&profile).unwrap()).unwrap();
        by_line(&json["lines"], &["read_bytes", "samples"])
    };
    let each = [2, 3, 4, 5].map(|line| (line, vec![200, 2]));
    assert_eq!(lines(false), each);
    assert_eq!(lines(true), [(2, vec![600, 6]), (5, vec![200, 2])]);
    let view = Io::new().from_disk(false).statements(true);
    let text = view.look(Look::new().width(100)).render(&profile).unwrap();
    assert!(
        text.contains("confidence.py:2") && !text.contains("confidence.py:3"),
        "{text}"
    );
}
