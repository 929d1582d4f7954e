//! `flame` and `heatmap`: layouts, colours, and what is refused.

use profundo_model::{Nanos, Profile};

use crate::machine::Folder;

fn made() -> Folder {
    let folder = Folder::new();
    let text = "main;work 1\nmain;rest 1\n".repeat(40);
    let mut profile = Profile::from_folded(&text).unwrap();
    for (index, sample) in (0..).zip(&mut profile.samples) {
        sample.time = Nanos(100_000_000 * index + 10_000_000);
        sample.weight = Nanos(10_000_000);
    }
    let file = folder.path().join("made.profundo");
    profundo_formats::write_file(file, &profile).unwrap();
    folder
}

#[test]
fn a_layout_and_colours_are_chosen_by_name() {
    let folder = made();
    let drawn = |options: &[&str]| {
        let outcome = folder.run(&[&["flame", "made.profundo", "-o", "-"], options].concat());
        outcome.succeeded().out.clone()
    };
    let chart = drawn(&["--layout", "time-order"]);
    assert!(chart.contains("\"timed\":true") && chart.contains("from 0.00 s for 10.0 ms"));
    // Both spellings, and each flag of a layout.
    assert_eq!(chart, drawn(&["--time-order"]));
    assert_eq!(drawn(&["--color", "heat"]), drawn(&["--colour", "heat"]));
    assert_eq!(drawn(&["--layout", "icicle"]), drawn(&["--icicle"]));
    assert_eq!(drawn(&["--layout", "inverted"]), drawn(&["--inverted"]));
    assert_eq!(drawn(&["--layout", "left-heavy"]), drawn(&[]));
}

#[test]
fn options_that_change_nothing_are_refused() {
    let folder = made();
    for (options, why) in [
        (
            &["flame", "--layout", "icicle", "--icicle"][..],
            "are the same",
        ),
        (&["flame", "--time-order", "--icicle"], "at the top already"),
        (&["flame", "--time-order", "--inverted"], "from its root"),
        (
            &["flame", "--time-order", "--threads"],
            "a lane for each thread",
        ),
        (
            &["flame", "--layout", "flame", "--time-order"],
            "a layout of its own",
        ),
        (&["heatmap", "--column", "1", "--row", "2"], "not longer"),
        (&["heatmap", "--row", "0"], "more than 0 seconds"),
        (&["heatmap", "--only-mine"], "no frames"),
    ] {
        let words = [
            &options[..1],
            &["made.profundo", "-o", "x.svg"],
            &options[1..],
        ]
        .concat();
        folder.run(&words).refused(2, why);
    }
    let waits = folder.run(&["heatmap", "made.profundo", "-o", "x.svg", "--waiting"]);
    waits.refused(1, "waits were not sampled");
    let nothing = folder.run(&[
        "heatmap",
        "made.profundo",
        "-o",
        "x.svg",
        "--thread",
        "nobody",
    ]);
    nothing.refused(4, "no samples pass the filter");
    assert!(!folder.path().join("x.svg").exists());
}

#[test]
fn a_heatmap_is_beside_its_recording_and_replaces_only_its_like() {
    let folder = made();
    folder.run(&["heatmap", "made.profundo"]).succeeded();
    let picture = std::fs::read_to_string(folder.path().join("made.heatmap.svg")).unwrap();
    assert!(picture.contains("800.0 ms on a CPU in 80 samples · a column is 1.00 s"));
    folder
        .run(&["flame", "made.profundo", "-o", "f.svg"])
        .succeeded();
    let other = folder.run(&["heatmap", "made.profundo", "-o", "f.svg"]);
    other.refused(2, "is no heatmap of profundo's");
}

#[test]
fn every_picture_names_the_filter() {
    let folder = made();
    for options in [
        &["flame"][..],
        &["flame", "--icicle"],
        &["flame", "--time-order"],
        &["heatmap"],
        &["graph"],
        &["graph", "--square"],
    ] {
        let words = [
            &options[..1],
            &["made.profundo", "--from", "0.01", "-o", "f.svg", "--force"],
            &options[1..],
        ]
        .concat();
        folder.run(&words).succeeded();
        let picture = std::fs::read_to_string(folder.path().join("f.svg")).unwrap();
        let line = ">Only what passes the filter: from=0.01<";
        assert!(picture.contains(line), "{options:?}");
    }
}
