//! Readers of a running program's memory, and of the kernel's files about it.

use profundo_cpython::lines::{Ranges, position};
use profundo_jit::{At, JitDump, PerfMap, object_code};
use profundo_wire::{PythonWord, Reader, Record, graph};

use crate::words;

/// Records of the shared memory, with all that they hold.
pub fn wire_records(bytes: &[u8]) {
    let words = words(bytes);
    let mut reader = Reader::new(&words);
    while let Some(record) = reader.next() {
        assert!(reader.position() <= words.len());
        let Ok(record) = record else {
            continue;
        };
        let text = |text: profundo_wire::Text<'_>| {
            assert!(text.characters().count() <= bytes.len());
            assert!(text.bytes().count() <= bytes.len());
        };
        match record {
            Record::Sample { python, .. } => {
                python.iter().copied().for_each(|word| {
                    let _ = PythonWord::from_word(word);
                });
            }
            Record::Code(code) => [code.file, code.name, code.lines]
                .into_iter()
                .for_each(text),
            Record::ThreadName(thread) => text(thread.name),
            Record::TaskName(task) => text(task.name),
            Record::Wait(wait) => assert!(wait.text().chars().count() <= bytes.len()),
            Record::Opened(opened) => assert!(opened.name().chars().count() <= bytes.len()),
            _ => {}
        }
    }
}

/// The objects of a program, as its agent writes them.
pub fn graph_items(bytes: &[u8]) {
    let words = words(bytes);
    let mut rest = &words[..];
    while let Ok(Some((_, behind))) = graph::first_item(rest) {
        assert!(behind.len() < rest.len());
        rest = behind;
    }
}

/// A line table of CPython's, of the version that the first byte names.
pub fn line_table(bytes: &[u8]) {
    let Some((&[minor, line], table)) = bytes.split_first_chunk() else {
        return;
    };
    let (minor, first_line) = (8 + minor % 8, i32::from(line) << 16);
    // Each entry of a table gives at most one.
    let ranges: Vec<_> = Ranges::new(minor, table, first_line).collect();
    assert!(ranges.len() <= table.len() + 1);
    for offset in [-2, 0, 2, 1000, i32::MAX] {
        let _ = position(minor, table, first_line, offset);
    }
}

/// The published names of generated code: perf maps, jitdump, objects in memory.
pub fn generated_code(bytes: &[u8]) {
    let mut out = Vec::new();
    let (mut map, middle) = (PerfMap::default(), bytes.len() / 2);
    map.feed(&bytes[..middle], At::Always, &mut out);
    map.feed(&bytes[middle..], At::Always, &mut out);
    map.finish(At::Always, &mut out);
    let mut dump = JitDump::default();
    while dump.read(bytes, 64, &mut out) {}
    dump.finish(bytes, &mut out);
    let _ = object_code(bytes);
}

/// `/proc/PID/maps`.
pub fn proc_maps(bytes: &[u8]) {
    let lines = profundo_scan::map_lines(bytes).count();
    let executable = profundo_scan::executable(bytes);
    let mut last = None;
    let mut count = 0;
    for line in executable {
        let _ = (line.is_device(), line.plain_path());
        assert!(line.is_same(&line));
        count += 1;
        last = Some(line);
    }
    assert!(count <= lines && last.is_some() == (count > 0));
}
