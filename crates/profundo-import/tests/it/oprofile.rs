//! Reports of `opreport`. The files are built from the layout in OProfile's manual and from reports
//! that others have posted; OProfile cannot be had where these tests were written.

use profundo_model::{Profile, SampleKind, State};

use crate::support::{functions_of_samples, read, read_text, read_value, stacks};

/// The events behind a sample.
const EACH: u64 = 100_000;

fn samples(profile: &Profile) -> Vec<(String, u64)> {
    let sums = stacks(profile).into_iter();
    sums.map(|(stack, events)| (stack, events / EACH)).collect()
}

fn owned(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
    rows.iter()
        .map(|&(name, samples)| (name.to_owned(), samples))
        .collect()
}

#[test]
fn functions_have_lines_modules_and_programs() {
    let imported = read("oprofile/functions.txt");
    assert_eq!(imported.reader.name(), "opreport");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.meta.event, "CPU_CLK_UNHALTED");
    assert_eq!(profile.meta.period.0, EACH);
    assert_eq!(profile.sample_count(), 5000);
    assert_eq!(
        samples(profile),
        owned(&[
            ("[unknown in libc.so.6]", 300),
            ("[unknown in no-vmlinux]", 100),
            ("do_syscall_64", 1000),
            ("gc_mark_loop(_jl_tls_states_t*, int)", 600),
            ("step", 3000),
        ])
    );
    let frame = profile
        .frames
        .iter()
        .find(|frame| frame.line == 12)
        .unwrap();
    let path = profile.strings.get(profile.files.get(frame.file).path);
    assert_eq!(path, "step.jl");
    let system = profile
        .samples
        .iter()
        .filter(|sample| sample.state == State::System);
    assert_eq!(
        system.map(|sample| sample.weight.0).sum::<u64>(),
        1100 * EACH
    );
    let commands: Vec<_> = (profile.processes.iter())
        .map(|process| profile.strings.get(process.command))
        .collect();
    assert_eq!(commands, ["julia", "cc1"]);
}

#[test]
fn addresses_have_lines() {
    let profile = read("oprofile/details.txt").profile;
    let mut lines: Vec<_> = (profile.samples.iter())
        .map(|sample| {
            let location = profile.stacks.locations(sample.stack).next().unwrap();
            let frame = profile.locations.get(location).frames[0];
            let name = profile.function_name(frame).to_owned();
            (name, profile.frames.get(frame).line, sample.weight.0 / EACH)
        })
        .collect();
    lines.sort();
    let row = |name: &str, line, samples| (name.to_owned(), line, samples);
    assert_eq!(
        lines,
        [
            row("main", 30, 250),
            row("work", 12, 700),
            row("work", 13, 300)
        ]
    );
}

#[test]
fn a_call_graph_is_shared_out_among_callers() {
    let imported = read("oprofile/call-graph.txt");
    assert_eq!(imported.reader.name(), "opreport");
    assert_eq!(
        samples(&imported.profile),
        owned(&[
            ("main", 200),
            ("main;leaf", 100),
            ("main;work", 300),
            ("main;work;leaf", 400),
        ])
    );
    let functions = functions_of_samples(&imported.profile);
    assert_eq!(functions["main"].1, 1000 * EACH);
}

#[test]
fn programs_have_libraries() {
    let profile = read("oprofile/images.txt").profile;
    assert_eq!(
        samples(&profile),
        owned(&[
            ("[unknown in Xorg]", 2126),
            ("[unknown in Xorg];[unknown in kallsyms]", 16_846),
            ("[unknown in Xorg];[unknown in libpixman-1.so.0.26.2]", 3605),
            ("[unknown in madplay]", 17_074),
        ])
    );
}

#[test]
fn several_events_and_threads_have_columns() {
    let text = "CPU: Core 2, speed 2200 MHz (estimated)\n\
        Counted CPU_CLK_UNHALTED events (cycles) with a unit mask of 0x00 (x) count 1000\n\
        Counted LLC_MISSES events (misses) with a unit mask of 0x41 (x) count 6000\n\
        samples  %        samples  %        image name               symbol name\n\
        10       50.0000  2        20.0000  app                      work\n\
        10       50.0000  8        80.0000  app                      main\n";
    let profile = read_text(text).profile;
    assert_eq!(functions_of_samples(&profile)["work"].0, 10_000);
    let options = profundo_import::Options {
        value: Some("llc_misses".into()),
    };
    let misses = profundo_import::read(text.as_bytes(), &options)
        .unwrap()
        .profile;
    assert_eq!(misses.meta.event, "LLC_MISSES");
    assert_eq!(functions_of_samples(&misses)["work"].0, 12_000);
    let text = "Profiling through timer interrupt\n\
        Processes with a thread ID of 31\nProcesses with a thread ID of 32\n\
        samples  %        samples  %        symbol name\n\
        10       50.0000  2        20.0000  work\n";
    let profile = read_text(text).profile;
    let threads = profile.threads.iter().map(|(_, thread)| thread.tid);
    assert_eq!(threads.collect::<Vec<_>>(), [31, 32]);
    assert_eq!(profile.samples.len(), 2);
    let wrong = profundo_import::read(
        b"samples  %  symbol name\n1  100  f\n",
        &profundo_import::Options {
            value: Some("cycles".into()),
        },
    );
    assert!(wrong.is_err());
    let _ = read_value("oprofile/functions.txt", Some("CPU_CLK_UNHALTED"));
}
