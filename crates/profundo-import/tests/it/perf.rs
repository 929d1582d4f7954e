//! Files of `perf record` and `perf script` 6.1, against `perf report --children` and, for
//! addresses, against `perf script`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use profundo_import::Imported;
use profundo_model::{Language, LocationKind, Profile, Reason, SampleKind, State};

use crate::support::{functions_of_samples, read, read_text, read_value, stacks, testdata};

/// A row of `perf report`: the share with what is called, and the weight of its own.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    children: f64,
    own: u64,
}

/// The rows of an event in what `perf report -t ';' -F overhead_children,period,sample,sym,dso`
/// printed, by function.
fn printed(name: &str, event: &str) -> BTreeMap<String, Vec<Row>> {
    let text = fs::read_to_string(testdata(name)).expect("a report");
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut is_event = false;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# Samples: ") {
            is_event = head.ends_with(&format!("'{event}'"));
        }
        let mut columns = line.split(';').map(str::trim);
        let is_row = is_event && !line.starts_with('#');
        if is_row && let Some(children) = columns.next().and_then(|it| it.strip_suffix('%')) {
            let own = columns.next().expect("a period").parse().expect("a number");
            let symbol = columns.nth(1).expect("a symbol");
            let (_, function) = symbol.split_once("] ").expect("a mark");
            let children = children.parse().expect("a share");
            rows.entry(function.to_owned())
                .or_default()
                .push(Row { children, own });
        }
    }
    assert!(!rows.is_empty(), "{name}");
    rows
}

/// Compares the functions of a profile with a report.
fn check(imported: &Imported, name: &str, event: &str) {
    let found = functions_of_samples(&imported.profile);
    let all: u64 = (imported.profile.samples.iter())
        .map(|sample| sample.weight.0)
        .sum();
    for (function, rows) in printed(name, event) {
        // perf shows the addresses of functions without names.
        if function.starts_with("0x") {
            continue;
        }
        let (own, total) = found.get(&function).copied().unwrap_or_default();
        let expected: u64 = rows.iter().map(|row| row.own).sum();
        assert_eq!(own, expected, "{name}: {function}");
        if let [row] = rows[..] {
            let share = total as f64 * 100.0 / all as f64;
            let difference = (share - row.children).abs();
            assert!(difference < 0.0051, "{name}: {function}: {share} {row:?}");
        }
    }
}

#[test]
fn a_script_has_the_weights_of_the_report() {
    for name in ["fp", "two"] {
        let script = read(&format!(
            "perf/{name}.script.txt{}",
            if name == "two" { ".gz" } else { "" }
        ));
        assert_eq!(script.reader.name(), "perf script");
        assert_eq!(script.profile.meta.kind, SampleKind::Cpu);
        let event = if name == "two" {
            "task-clock"
        } else {
            "cpu-clock"
        };
        check(&script, &format!("perf/{name}.top.txt"), event);
    }
    for event in ["page-faults", "context-switches"] {
        let script = read_value("perf/two.script.txt.gz", Some(event));
        assert_eq!(script.profile.meta.kind, SampleKind::Events);
        assert_eq!(script.profile.meta.event, event);
        check(&script, "perf/two.top.txt", event);
    }
}

#[test]
fn generated_code_has_its_language() {
    let script = read("perf/js.script.txt.gz");
    let profile = &script.profile;
    let find = |name: &str| {
        let is_named = |frame: &&profundo_model::Frame| profile.strings.get(frame.function) == name;
        profile.frames.iter().find(is_named).copied()
    };
    let inner = find("inner").expect("a function of the script");
    assert_eq!(inner.language, Language::JavaScript);
    assert!(profile.files.get(inner.file).path != profundo_model::StringId(0));
}

/// The text of a packed file.
fn unpacked(name: &str) -> String {
    let mut text = String::new();
    let file = fs::File::open(testdata(name)).expect("a file");
    let mut decoder = flate2::read::GzDecoder::new(file);
    decoder.read_to_string(&mut text).expect("a text");
    text
}

/// The stacks of `perf script`, as addresses in modules, the innermost first, with their weights.
fn printed_addresses(text: &str, event: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for block in text.split("\n\n") {
        let Some((head, stack)) = block.split_once('\n') else {
            continue;
        };
        let mut words = head.split_whitespace().rev();
        if words.next() != Some(&format!("{event}:")) {
            continue;
        }
        let weight: u64 = words.next().expect("a period").parse().expect("a number");
        let places = stack.lines().map(|line| {
            let (address, rest) = line.trim().split_once(' ').expect("a name");
            let (_, module) = rest.rsplit_once(" (").expect("a module");
            let module = match module.trim_end_matches(')') {
                "[unknown]" => "",
                "[kernel.kallsyms]" => "[kernel]",
                module => module,
            };
            format!("{module}+{address}")
        });
        let stack: Vec<String> = places.collect();
        *sums.entry(stack.join(";")).or_default() += weight;
    }
    assert!(!sums.is_empty());
    sums
}

/// The same of a recording.
fn addresses(profile: &Profile) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let places = profile
            .stacks
            .locations(sample.stack)
            .filter_map(|location| {
                let location = profile.locations.get(location);
                let LocationKind::Code(code) = location.kind else {
                    // One stack is as deep as the kernel walks.
                    assert_eq!(location.kind, LocationKind::Reason(Reason::Truncated));
                    return None;
                };
                let module = location.module.map(|module| profile.modules.get(module));
                let path = module.map_or("", |module| profile.strings.get(module.path));
                let bias = module.map_or(0, |module| module.bias);
                Some(format!("{path}+{:x}", code.address().0.wrapping_sub(bias)))
            });
        let stack: Vec<String> = places.collect();
        *sums.entry(stack.join(";")).or_default() += sample.weight.0;
    }
    sums
}

#[test]
fn a_recording_has_the_addresses_of_the_script() {
    let read = |name: &str, event: &str| {
        let imported = read_value(&format!("perf/{name}.data"), Some(event));
        assert_eq!(imported.warnings, [], "{name}");
        assert_eq!(imported.reader.name(), "perf.data");
        let script = match name {
            "fp" => fs::read_to_string(testdata("perf/fp.script.txt")).expect("a file"),
            name => unpacked(&format!("perf/{name}.script.txt.gz")),
        };
        let expected = printed_addresses(&script, event);
        assert_eq!(addresses(&imported.profile), expected, "{name}");
        imported.profile
    };
    for name in ["fp", "zstd", "pipe", "pipez"] {
        let profile = read(name, "cpu-clock");
        assert_eq!(profile.meta.kind, SampleKind::Cpu);
        assert!(profile.has_times() && profile.meta.duration.0 > 100_000_000);
        let threads: Vec<&str> = (profile.threads.iter())
            .map(|(_, thread)| profile.strings.get(thread.name))
            .collect();
        assert!(threads.contains(&"work") && threads.contains(&"side 12: io/0"));
        assert_eq!(threads.len(), 2);
        assert_eq!(profile.processes.len(), 1);
    }
    let profile = read("two", "task-clock");
    assert!(
        profile
            .meta
            .notes
            .iter()
            .any(|note| note.contains("--value page-faults"))
    );
    read("two", "page-faults");
    let profile = read("two", "context-switches");
    assert!(
        profile
            .samples
            .iter()
            .all(|sample| sample.state == State::System)
    );
}

#[test]
fn a_recording_has_build_ids_and_the_command() {
    let profile = read("perf/fp.data").profile;
    let work = profile
        .modules
        .iter()
        .find(|(_, module)| profile.strings.get(module.path) == "/tmp/w/perf/work");
    assert_eq!(work.expect("the program").1.build_id.len(), 20);
    let command = profile.strings.get(profile.processes[0].command);
    assert_eq!(command, "./work 20");
    let machine = profile.meta.machine.expect("a machine");
    assert_eq!((&machine.cpu[..], machine.cpus), ("AMD EPYC", 2));
}

#[test]
fn recordings_without_stacks_have_the_innermost_function() {
    let flat = read("perf/flat.data").profile;
    assert!(flat.meta.notes[0].contains("no stacks"));
    let script = read("perf/flat.script.txt.gz").profile;
    assert_eq!(stacks(&script), [("leaf".to_owned(), 326_633_125)].into());
    // The text has microseconds.
    let check = |one: &Profile, other: &Profile| {
        assert_eq!(one.samples.len(), other.samples.len());
        for (one, other) in one.samples.iter().zip(&other.samples) {
            assert_eq!(one.weight, other.weight);
            assert!(one.time.0.abs_diff(other.time.0) <= 1000);
        }
    };
    check(&flat, &script);
    // Its stacks were copied, and are whole where this machine has its files.
    let copied = read("perf/inl.data.gz").profile;
    check(&copied, &read("perf/inl.script.txt.gz").profile);
}

#[test]
fn inlined_functions_and_source_lines_are_of_their_frame() {
    let profile = read("perf/lines.script.txt.gz").profile;
    let frames = || profile.frames.iter();
    let inlined = frames().filter(|frame| frame.inlined);
    let names: Vec<&str> = inlined
        .map(|frame| profile.strings.get(frame.function))
        .collect();
    assert!(names.contains(&"outer"), "{names:?}");
    let main = |frame: &&profundo_model::Frame| profile.strings.get(frame.function) == "main";
    let main = frames().find(main).expect("a main function");
    assert_eq!(main.line, 18);
    let id = profile
        .frames
        .iter()
        .position(|frame| frame == main)
        .expect("it");
    let id = profundo_model::FrameId::from_index(id);
    assert_eq!(profile.file_path(id), "inl.cc");
    assert_eq!(
        profile.processes[0].pid,
        profile.threads.iter().next().unwrap().1.tid
    );
}

#[test]
fn fields_may_be_left_out() {
    // No periods: the head has the frequency.
    let profile = read("perf/header.script.txt.gz").profile;
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.samples.len(), 63);
    assert_eq!(profile.meta.period.0, 1_000_000_000 / 199);
    assert_eq!(profile.meta.machine.as_ref().expect("a machine").cpus, 2);
    let bare = read("perf/bare.script.txt.gz").profile;
    assert_eq!(bare.meta.kind, SampleKind::Events);
    let weight = |weight: u64| weight / (1_000_000_000 / 199);
    let counts = stacks(&profile)
        .into_iter()
        .map(|(stack, it)| (stack, weight(it)));
    assert_eq!(stacks(&bare), counts.collect());
    assert!(bare.meta.lacks_times);
}

#[test]
fn the_perf_trampoline_of_python_has_python_frames() {
    let text = "python3 9/9 [001] 10.000000:     250000 cycles:P: \n\
                \t    7f5b6dfc3fa8 _PyEval_EvalFrameDefault+0x1 (/usr/bin/python3.12)\n\
                \t    7f5b6dfc3fa8 py::Shop.price:/tmp/a b/hot.py+0xb (/tmp/perf-9.map)\n\
                \t    7f5b6dfc3fa8 py::<module>:/tmp/a b/hot.py+0xb (/tmp/perf-9.map)\n\n\
                python3 9/9 [001] 10.000100:     250000 cycles:P: \n\
                \tffffffff8104f45a do_it+0xa ([kernel.kallsyms])\n\
                \t         1104f45a read (/lib/x (deleted))\n\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let profile = read_text(&text).profile;
        assert_eq!(
            (profile.meta.kind, &profile.meta.event[..]),
            (SampleKind::Events, "cycles")
        );
        let stacks = stacks(&profile);
        assert_eq!(
            stacks["<module>;Shop.price;_PyEval_EvalFrameDefault"],
            250_000
        );
        assert_eq!(stacks["read;do_it"], 250_000);
        let python = profile
            .locations
            .iter()
            .filter(|(_, location)| matches!(location.kind, LocationKind::Python { .. }));
        assert_eq!(python.count(), 2);
        let states: Vec<State> = profile.samples.iter().map(|sample| sample.state).collect();
        assert_eq!(states, [State::Running, State::System]);
        let modules = profile
            .modules
            .iter()
            .map(|(_, module)| profile.strings.get(module.path));
        let modules: Vec<&str> = modules.collect();
        assert_eq!(
            modules,
            ["/usr/bin/python3.12", "/lib/x (deleted)", "[kernel]"]
        );
    }
}

#[test]
fn odd_lines_of_a_script_are_passed_over_or_counted() {
    let text = "work 1 [000] 0.000000: PERF_RECORD_COMM: work:1/1\n\
                a b: c 7 [000] 1.000000: sched:sched_switch: prev_comm=x y: z\n\
                \tffffffff8104f45a schedule+0xa ([kernel.kallsyms])\n\n\
                what is this\n\
                a b: c 7 [000] 2.000000: sched:sched_switch: prev_comm=x\n\n";
    let imported = read_text(text);
    assert_eq!(imported.warnings.len(), 1);
    let profile = &imported.profile;
    assert_eq!(profile.meta.event, "sched:sched_switch");
    let stacks = stacks(profile);
    assert_eq!(stacks["schedule"], 1);
    assert_eq!(profile.samples.len(), 2);
    let thread = profile.threads.iter().next().expect("a thread").1;
    assert_eq!(profile.strings.get(thread.name), "a b: c");
}

#[test]
fn a_report_has_the_stacks_of_the_script_but_for_its_digits() {
    let check = |name: &str, script: &Profile, event: Option<&str>| {
        let imported = read_value(&format!("perf/{name}"), event);
        assert_eq!(imported.warnings, [], "{name}");
        assert_eq!(imported.reader.name(), "perf report");
        let profile = &imported.profile;
        assert!(profile.meta.lacks_times && profile.meta.kind == script.meta.kind);
        let all: u64 = script.samples.iter().map(|sample| sample.weight.0).sum();
        let (found, expected) = (stacks(profile), stacks(script));
        let names = |sums: &BTreeMap<String, u64>| sums.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{name}");
        for (stack, weight) in found {
            let difference = weight.abs_diff(expected[&stack]) as f64 / all as f64;
            assert!(difference < 0.0002, "{name}: {stack}: {difference}");
        }
    };
    let script = read("perf/fp.script.txt").profile;
    for name in [
        "children", "callees", "callers", "fractal", "folded", "counts", "head",
    ] {
        check(&format!("{name}.report.txt"), &script, None);
    }
    let script = read("perf/js.script.txt.gz").profile;
    check("js.report.txt.gz", &script, None);
    for event in ["task-clock", "page-faults"] {
        let script = read_value("perf/two.script.txt.gz", Some(event)).profile;
        check("two.report.txt.gz", &script, Some(event));
    }
}

#[test]
fn a_report_with_periods_has_exact_weights() {
    for (name, event) in [
        ("fp", "cpu-clock"),
        ("inl", "cpu-clock"),
        ("two", "task-clock"),
    ] {
        let report = read(&format!("perf/{name}.top.txt"));
        assert_eq!(report.reader.name(), "perf report");
        let found = functions_of_samples(&report.profile);
        for (function, rows) in printed(&format!("perf/{name}.top.txt"), event) {
            let expected: u64 = rows.iter().map(|row| row.own).sum();
            let own = found.get(&function).map_or(0, |it| it.0);
            assert_eq!(own, expected, "{name}: {function}");
        }
    }
    let flat = read("perf/flat.report.txt").profile;
    assert_eq!(flat.sample_count(), 63);
    assert_eq!(flat.threads.len(), 2);
}

#[test]
fn stacks_may_have_lost_their_tabs_or_begin_after_an_empty_line() {
    let text = "java 7 cycles:\nffffffff8103d0ca inner ([kernel.kallsyms])\n\
                7f5966605dd5 outer (/x)\n\njava 7 cycles:\nffffffff8103d0ca inner ([kernel.kallsyms])\n";
    let all = stacks(&read_text(text).profile);
    assert_eq!(
        all,
        [("inner".to_owned(), 1), ("outer;inner".to_owned(), 1)].into()
    );
    let text = "a\t7 [007] 1.936601:\t\t100 task-clock:u:\n    b3cea6c4\tLock::unlock() (/libc.so)\n\
                \x20   b3ce\tmain (/a)\n\na\t7 [007] 1.936701:\t\t100 task-clock:u:\n\n\
                \tb3ce\tmain (/a)\n\n";
    let imported = read_text(text);
    let all = stacks(&imported.profile);
    assert_eq!(
        all,
        [
            ("main".to_owned(), 100),
            ("main;Lock::unlock()".to_owned(), 100)
        ]
        .into()
    );
    assert_eq!(imported.profile.meta.kind, SampleKind::Cpu);
}
