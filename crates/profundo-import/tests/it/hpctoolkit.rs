//! Databases that HPCToolkit wrote (`testdata/import/hpctoolkit/README.md`), against what Hatchet
//! reads of them.

use std::collections::BTreeMap;

use profundo_model::{Profile, SampleKind};

use crate::support::{functions, oracle, read, read_value, stack};

/// The weights of the functions below `root`, by the names that Hatchet has for them.
fn sums(profile: &Profile, root: &str) -> BTreeMap<String, (u64, u64)> {
    let rows = profile.samples.iter().filter(|row| {
        let stack = stack(profile, row.stack);
        stack.starts_with(root)
    });
    let sums = functions(profile, rows.map(|row| (row.stack, row.weight.0)));
    let mut short: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (name, (own, total)) in sums {
        let end = name
            .get(1..)
            .and_then(|rest| rest.find(['[', '.', '@', '(', '<']));
        let name = end.map_or(&name[..], |end| &name[..=end]).trim_end();
        let row = short.entry(name.to_owned()).or_default();
        *row = (row.0 + own, row.1 + total);
    }
    short
}

#[track_caller]
fn check(folder: &str, file: &str, root: &str) -> Profile {
    let profile = read(&format!("hpctoolkit/{folder}/{file}")).profile;
    let mut expected = oracle(&format!("hpctoolkit/{folder}/sums.txt"));
    expected.retain(|_, (_, total)| *total > 0);
    assert_eq!(sums(&profile, root), expected, "{folder}");
    profile
}

#[test]
fn databases_have_the_weights_that_hatchet_reads() {
    let profile = check("loops", "meta.db", "main");
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.meta.event, "cycles");
    assert_eq!(profile.threads.len(), 1);
    let profile = check("forked", "meta.db", "main");
    assert_eq!(profile.processes.len(), 1);
}

#[test]
fn threads_are_apart() {
    let profile = read("hpctoolkit/inline/meta.db").profile;
    assert_eq!(profile.threads.len(), 8);
    assert!(profile.frames.iter().any(|frame| frame.line > 0));
    // Hatchet reads the main thread alone, and cuts `f._omp_fn.0` to `f`.
    let sums = sums(&profile, "main");
    let expected = oracle("hpctoolkit/inline/sums.txt");
    assert_eq!(sums["main"], expected["main"]);
    assert_eq!(sums["GOMP_parallel"], expected["GOMP_parallel"]);
    assert_eq!(sums["do_spin"], expected["do_spin"]);
    assert_eq!(sums["f"].0, expected["f"].0);
}

#[test]
fn files_of_threads_have_the_exact_values() {
    let profile = check("cpi", "experiment.xml", "<program root>");
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.processes.len(), 4);
}

#[test]
fn an_experiment_alone_has_sums() {
    let imported = read("hpctoolkit/inline-xml/experiment.xml");
    assert_eq!(imported.reader.name(), "hpctoolkit-xml");
    let profile = &imported.profile;
    assert_eq!(profile.meta.event, "cycles");
    // The value of its first mark, of six digits.
    let weight: u64 = profile.samples.iter().map(|row| row.weight.0).sum();
    assert!(weight.abs_diff(113_528_000_000) < 1_000_000, "{weight}");
    let profile = read_value("hpctoolkit/inline-xml/experiment.xml", Some("instructions"));
    assert_eq!(profile.profile.meta.event, "instructions");
}

#[test]
fn names_alone_say_what_is_missing() {
    let path = crate::support::testdata("hpctoolkit/loops/meta.db");
    let bytes = std::fs::read(path).unwrap();
    let error = profundo_import::read(&bytes, &profundo_import::Options::default()).unwrap_err();
    assert!(error.to_string().contains("profile.db"), "{error}");
}

/// The start of an experiment with one metric.
const EXPERIMENT: &str = "<?xml version=\"1.0\"?>\n<HPCToolkitExperiment version=\"2.0\">\
    <Metric i=\"1\" n=\"CPUTIME (sec):Sum (I)\" t=\"inclusive\"/>\
    <MetricDB i=\"1\" n=\"CPUTIME (sec)\" db-id=\"0\" t=\"inclusive\"/>";

#[test]
fn a_file_of_a_thread_that_is_a_pipe_is_not_opened() {
    let folder = std::env::temp_dir().join(format!("profundo-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("a-000000-000-1-2-0.metric-db");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    let tree = "<PF i=\"1\" n=\"main\"><M n=\"1\" v=\"2\"/></PF></HPCToolkitExperiment>";
    let file = folder.join("experiment.xml");
    std::fs::write(&file, format!("{EXPERIMENT}{tree}")).unwrap();
    let read = profundo_import::read_file(&file, &Default::default());
    std::fs::remove_dir_all(&folder).unwrap();
    let imported = read.unwrap();
    let weight: u64 = imported
        .profile
        .samples
        .iter()
        .map(|row| row.weight.0)
        .sum();
    assert_eq!(weight, 2_000_000_000);
    let has_pipe = made.is_ok_and(|status| status.success());
    assert_eq!(imported.warnings.len(), usize::from(has_pipe));
}

/// In time that grows with the square of the length, this would take minutes in this build.
#[test]
fn long_names_and_many_metrics_take_little_time() {
    let mut text = format!(
        "{EXPERIMENT}<Procedure i=\"7\" n=\"{}\"/>",
        "f".repeat(400_000)
    );
    for metric in 2..8_000 {
        text += &format!("<Metric i=\"{metric}\" n=\"x{metric:05}\" t=\"inclusive\"/>");
    }
    for node in 1..6_000 {
        text += &format!("<PF i=\"{node}\" n=\"7\"><M n=\"1\" v=\"1\"/></PF>");
    }
    text += "</HPCToolkitExperiment>";
    let profile = crate::support::read_text(&text).profile;
    assert_eq!(profile.samples.len(), 1);
    assert_eq!(profile.samples[0].weight.0, 5_999_000_000_000);
}
