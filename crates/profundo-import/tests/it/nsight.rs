//! A database in the schema of Nsight Systems, made by `testdata/nsight/make.py`, against sums by
//! SQLite. Exports of the tool itself were compared in the same way by hand: they had calls, kernels
//! and copies, but no samples and no marked ranges.

use std::fs;

use profundo_import::{Options, refusal};
use profundo_model::{SampleKind, State};

use crate::support::{functions_of_samples, read_value, stacks, testdata};

#[test]
fn sums_are_those_of_sqlite() {
    let sums = fs::read_to_string(testdata("nsight/report.sums.txt")).unwrap();
    for value in ["cpu", "cuda", "kernels"] {
        let imported = read_value("nsight/report.sqlite", Some(value));
        assert_eq!(imported.warnings, []);
        assert_eq!(imported.reader.name(), "nsight");
        let functions = functions_of_samples(&imported.profile);
        let rows = sums.lines().filter_map(|line| line.split_once('\t'));
        let mut checked = 0;
        for (_, row) in rows.filter(|row| row.0 == value) {
            let (name, weight) = row.split_once('\t').unwrap();
            assert_eq!(functions[name].0.to_string(), weight, "{value} {name}");
            checked += 1;
        }
        assert!(checked > 0);
    }
}

#[test]
fn samples_have_threads_modules_and_times() {
    let profile = read_value("nsight/report.sqlite", None).profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.samples.len(), 300);
    assert_eq!(profile.samples[1].time.0, 1_000_000);
    assert_eq!(profile.meta.started_at_unix, 1_700_000_000_005_000_000);
    let thread = profile.threads.get(profile.samples[1].thread);
    assert_eq!(profile.strings.get(thread.name), "worker");
    assert_eq!(thread.tid, 4712);
    let process = &profile.processes[thread.process.index()];
    assert_eq!(
        (process.pid, profile.strings.get(process.command)),
        (4711, "app")
    );
    let system = profile.samples.iter();
    let system = system.filter(|sample| sample.state == State::System);
    let sums = stacks(&profile);
    assert_eq!(system.count() as u64, sums["main;step;do_syscall_64"]);
    // An address without a name lies in its module.
    let paths = profile.modules.iter().map(|(_, module)| module.path);
    let paths: Vec<_> = paths.map(|path| profile.strings.get(path)).collect();
    assert!(paths.contains(&"libc.so.6"), "{paths:?}");
}

#[test]
fn marked_ranges_lie_in_one_another() {
    let profile = read_value("nsight/report.sqlite", Some("nvtx")).profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    let sums = stacks(&profile);
    assert_eq!(sums["epoch;forward"], 40 * 400_000);
    assert_eq!(sums["epoch"], 40 * 601_000);
    assert_eq!(sums.len(), 2);
}

#[test]
fn long_names_go_on_in_other_pages() {
    let profile = read_value("nsight/report.sqlite", Some("kernels")).profile;
    let frame = profile.frames.iter().next().unwrap();
    let signature = profile.strings.get(frame.signature);
    assert!(signature.starts_with("gemm<float0") && signature.ends_with("float299>"));
    let names = profile.threads.iter();
    let names: Vec<_> = names
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    assert_eq!(names, ["GPU 0 stream 7", "GPU 0 stream 8"]);
}

#[test]
fn the_report_itself_is_refused_with_a_way_around() {
    let start = b"NVIDIA Tegra Profiler Report 1.\n\x0bLocal";
    assert!(refusal(start).unwrap().contains("nsys export"));
    let error = profundo_import::read(start, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("nsys export"));
}
