//! The energy of a machine that is made of files.

use std::fs;

use profundo_remote::Options;

use crate::launch::{Scratch, run};

#[test]
fn what_is_counted_meanwhile_is_told_with_the_programs_time() {
    let scratch = Scratch::new("energy");
    let zone = scratch.0.join("intel-rapl:0");
    fs::create_dir(&zone).unwrap();
    for (name, text) in [
        ("name", "package-0"),
        ("max_energy_range_uj", "1000"),
        ("energy_uj", "900"),
    ] {
        fs::write(zone.join(name), text).unwrap();
    }
    let counter = zone.join("energy_uj");
    let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let work = format!("{work}; echo 400 > {}", counter.display());
    let options = Options {
        energy: Some(scratch.0.clone()),
        ..scratch.options()
    };
    let told = run(options, &["sh", "-c", &work]);
    let used = told.energy.expect("energy");
    // Over the counter's end.
    assert_eq!(used.zones[0].microjoules, 500, "{used:?}");
    assert!(
        used.duration > 0 && used.duration <= told.finish.duration,
        "{used:?}"
    );
    let ends = told.ends.iter();
    let times: u64 = ends
        .map(|end| end.user.unwrap() + end.system.unwrap())
        .sum();
    assert_eq!(used.program_cpu, times, "{used:?}");
    // The kernel counts by ticks, and it was at work elsewhere too.
    assert!(used.program_cpu > 0 && used.machine_cpu > 0, "{used:?}");
    assert!(
        !told.notes.iter().any(|it| it.contains("energy")),
        "{:?}",
        told.notes
    );
}

#[test]
fn without_counters_the_recording_goes_on_with_a_note() {
    let scratch = Scratch::new("no-energy");
    let options = Options {
        energy: Some(scratch.0.clone()),
        ..scratch.options()
    };
    let told = run(options, &["true"]);
    assert_eq!(told.energy, None);
    let notes: Vec<&String> = told
        .notes
        .iter()
        .filter(|it| it.contains("energy"))
        .collect();
    assert_eq!(notes.len(), 1, "{:?}", told.notes);
    assert!(notes[0].starts_with("energy is not counted: "), "{notes:?}");
}
