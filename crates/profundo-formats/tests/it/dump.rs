//! A profile as text, every table and every field: two profiles are the same where their dumps are.

use std::fmt::Write;

use profundo_model::Profile;

pub fn dump(profile: &Profile) -> String {
    let mut out = String::new();
    let Profile {
        meta,
        strings,
        files,
        frames,
        locations,
        stacks,
        modules,
        origins,
        processes,
        threads,
        tasks,
        spans,
        sources,
        source_files,
        growing,
        traffic,
        syscalls,
        heap,
        traced,
        samples,
        gathered,
    } = profile;
    assert!(!gathered.is_any(), "a file is read sample by sample");
    // Most recordings have no energy and no rules of own code, nor have the oldest dumps.
    let meta = format!("{meta:#?}").replace("    energy: None,\n", "");
    let meta = meta.replace("    mine: [],\n", "");
    let meta = meta.replace("    machine: None,\n", "");
    writeln!(out, "{meta}").unwrap();
    table(&mut out, "string", strings.iter());
    table(&mut out, "file", files.iter());
    table(&mut out, "frame", frames.iter());
    table(&mut out, "module", modules.iter().map(|(_, row)| row));
    table(&mut out, "location", locations.iter().map(|(_, row)| row));
    table(&mut out, "stack", stacks.iter());
    table(&mut out, "origin", origins.iter());
    // The oldest dumps have no origins.
    let processes = processes.iter().map(|process| {
        let row = format!("{process:?}");
        row.replace(", origin: None", "")
    });
    for (id, row) in processes.enumerate() {
        writeln!(out, "process {id}: {row}").unwrap();
    }
    table(&mut out, "thread", threads.iter().map(|(_, row)| row));
    table(&mut out, "task", tasks.iter().map(|(_, row)| row));
    table(&mut out, "source", sources.iter());
    table(&mut out, "source file", source_files.iter());
    table(&mut out, "code", growing.codes.iter());
    table(&mut out, "mapping", growing.mappings.iter());
    table(&mut out, "traffic", traffic.iter());
    table(&mut out, "system calls", syscalls.iter());
    if heap.sampling != profundo_model::Sampling::None {
        writeln!(out, "{:?}", heap.sampling).unwrap();
    }
    table(&mut out, "path", spans.paths.iter().skip(1));
    table(&mut out, "span", spans.each.iter());
    table(&mut out, "sum of spans", spans.sums.iter());
    table(&mut out, "mark", spans.marks.iter());
    if spans.loss != profundo_model::SpanLoss::default() {
        writeln!(out, "{:?}", spans.loss).unwrap();
    }
    without_spans(&mut out, "block", heap.blocks.iter());
    table(&mut out, "searched", heap.searched.iter());
    table(&mut out, "copy", heap.copies.iter());
    table(&mut out, "site", heap.sites.iter());
    table(&mut out, "moment", heap.moments.iter());
    table(&mut out, "gauge", heap.gauges.iter());
    if !traced.is_empty() {
        writeln!(out, "traced by {:?}", traced.clock).unwrap();
    }
    table(&mut out, "call", traced.calls.iter());
    table(&mut out, "line", traced.lines.iter());
    table(&mut out, "exceptions", traced.exceptions.iter());
    without_spans(&mut out, "sample", samples.iter());
    out
}

/// The oldest dumps have no spans.
fn without_spans<T: std::fmt::Debug>(out: &mut String, name: &str, rows: impl Iterator<Item = T>) {
    for (id, row) in rows.enumerate() {
        let row = format!("{row:?}").replace(", span: SpanId(0)", "");
        writeln!(out, "{name} {id}: {row}").unwrap();
    }
}

fn table<T: std::fmt::Debug>(out: &mut String, name: &str, rows: impl Iterator<Item = T>) {
    for (id, row) in rows.enumerate() {
        writeln!(out, "{name} {id}: {row:?}").unwrap();
    }
}
