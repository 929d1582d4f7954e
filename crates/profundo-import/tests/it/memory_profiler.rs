//! Files of memory_profiler 0.61 against the peaks that `mprof peak` prints of them, and against
//! the printed report.

use std::fs;

use crate::support::{read, read_text, testdata};

#[test]
fn peaks_are_those_of_mprof() {
    let text = fs::read_to_string(testdata("memory_profiler/peaks.txt")).expect("peaks");
    let mut expected = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[words.len() - 2].parse::<f64>().expect("a number")
    });
    for name in ["mprof", "mprof-func", "mprof-multi"] {
        let imported = read(&format!("memory_profiler/{name}.dat"));
        assert_eq!(imported.reader.name(), "mprof");
        let profile = &imported.profile;
        for process in 0..profile.processes.len() {
            let gauges = profile.heap.gauges.iter();
            let of_process = gauges.filter(|gauge| gauge.process.index() == process);
            let peak = of_process
                .map(|gauge| gauge.resident)
                .max()
                .expect("readings");
            let mebibytes = peak as f64 / f64::from(1 << 20);
            let expected = expected.next().expect("a peak");
            assert!(
                (mebibytes - expected).abs() < 0.0006,
                "{name}: {mebibytes} {expected}"
            );
        }
        let command = profile.strings.get(profile.processes[0].command);
        assert!(command.contains("python"), "{command}");
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn functions_are_spans() {
    let profile = read("memory_profiler/mprof-func.dat").profile;
    let [main, large] = profile.spans.each[..] else {
        panic!("{:?}", profile.spans.each);
    };
    let name = |id| profile.strings.get(profile.spans.paths.get(id).name);
    assert_eq!(
        (name(main.path), name(large.path)),
        ("__main__.main", "__main__.large")
    );
    assert_eq!(large.parent, main.number);
    assert_eq!(main.length().map(|length| length / 100_000), Some(4548));
}

#[test]
fn a_report_has_the_growth_by_line() {
    let imported = read("memory_profiler/report.txt");
    assert_eq!(imported.reader.name(), "memory_profiler");
    let profile = &imported.profile;
    let rows: Vec<(u32, u64)> = (profile.heap.sites.iter())
        .map(|site| {
            let location = profile.stacks.locations(site.stack).next().expect("a line");
            let frame = profile.locations.get(location).frames[0];
            let line = profile.frames.get(frame).line;
            let mebibytes = site.allocated.bytes as f64 / f64::from(1 << 20);
            (line, (mebibytes * 1000.0).round() as u64)
        })
        .collect();
    assert_eq!(rows, [(9, 19_074), (14, 42_367), (16, 8)]);
    let old = "Filename: a.py\n\nLine #    Mem usage    Increment   Line Contents\n\
               ================================================\n\
               \x20    3     10.0 MiB      0.0 MiB   @profile\n\
               \x20    4                             def f():\n\
               \x20    5     12.5 MiB      2.5 MiB       x = [0] * 99\n\
               \x20    6     11.5 MiB     -1.0 MiB       del x\n";
    let profile = read_text(old).profile;
    let live: Vec<(u64, u64)> = (profile.heap.sites.iter())
        .map(|site| (site.allocated.bytes, site.freed.bytes))
        .collect();
    assert_eq!(live, [(5 << 19, 0), (0, 1 << 20)]);
    let frame = profile
        .frames
        .iter()
        .find(|frame| frame.line == 5)
        .expect("a line");
    assert_eq!(profile.strings.get(frame.function), "f");
}
