//! The energy of a made-up machine.

use std::fs;

use profundo_recorder::Options;

use crate::launch::{Scratch, run};

#[test]
fn energy_is_recorded_with_the_programs_time() {
    let scratch = Scratch::new("energy");
    let zone = scratch.path().join("intel-rapl:0");
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
        energy: Some(scratch.path().to_owned()),
        ..scratch.options()
    };
    let recorded = run(options, &["sh", "-c", &work]);
    let used = recorded.energy.expect("energy");
    // The counter wraps around.
    assert_eq!(used.zones[0].microjoules, 500, "{used:?}");
    assert!(
        used.duration > 0 && used.duration <= recorded.finish.duration,
        "{used:?}"
    );
    let ends = recorded.ends.iter();
    let times: u64 = ends
        .map(|end| end.user.unwrap() + end.system.unwrap())
        .sum();
    assert_eq!(used.program_cpu, times, "{used:?}");
    // The kernel counts in ticks, and the machine did other work too.
    assert!(used.program_cpu > 0 && used.machine_cpu > 0, "{used:?}");
    assert!(
        !recorded.notes.iter().any(|note| note.contains("energy")),
        "{:?}",
        recorded.notes
    );
}

#[test]
fn without_counters_the_recording_goes_on_with_a_note() {
    let scratch = Scratch::new("no-energy");
    let options = Options {
        energy: Some(scratch.path().to_owned()),
        ..scratch.options()
    };
    let recorded = run(options, &["true"]);
    assert_eq!(recorded.energy, None);
    let notes: Vec<&String> = recorded
        .notes
        .iter()
        .filter(|note| note.contains("energy"))
        .collect();
    assert_eq!(notes.len(), 1, "{:?}", recorded.notes);
    assert!(notes[0].starts_with("energy is not counted: "), "{notes:?}");
}
