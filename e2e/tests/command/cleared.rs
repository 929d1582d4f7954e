//! After a request to clear, the recording has no earlier data and all later data. Counts at the
//! time the profiler was killed are recovered.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use profundo_formats::read_file;
use profundo_model::{Amount, Profile};
use profundo_testing::{profundo, wait_for};

use crate::heap::{Line, amount, line_of, lines, marked};
use crate::program::{Program, empty_folder, is_entered_too, number, wait, wait_for_number};
use crate::recording::Recording;
use crate::targets::{c, scratch, source};

/// Records the program, clears the data when it is ready, and lets it go on. Without a profiler
/// there is nothing to clear.
fn record(options: &[&str]) -> Option<Recording> {
    let target = c("cleared.c", &["-fno-builtin-malloc"])?;
    let cleared = Rc::new(Cell::new(0));
    let counter = Rc::clone(&cleared);
    let clear = move |_: &Child, folder: &Path| {
        let pid = wait_for_number(folder, "ready");
        let mut clear = Command::new(profundo());
        let output = clear.args(["ctl", &pid.to_string(), "clear"]).output();
        counter.set(counter.get() + usize::from(output.unwrap().status.success()));
        fs::write(folder.join("go"), "").unwrap();
    };
    let program = Program::new(target).options(options).meanwhile(clear);
    let recording = program.slack(5.0).run_both_ways();
    // The profiled one of two runs; and perhaps the one that is entered.
    let most = 1 + usize::from(is_entered_too());
    assert!((1..=most).contains(&cleared.get()), "{}", cleared.get());
    Some(recording)
}

fn line(profile: &Profile, comment: &str) -> Line {
    let found = lines(profile, "cleared.c", |_| true);
    let line = marked(&source("cleared.c"), comment);
    found.get(&line).copied().unwrap_or_default()
}

fn assert_only_later_data(recording: &Recording) {
    let profile = &recording.profile;
    assert_eq!(recording.share("burn_before"), 0.0);
    recording.assert_share("burn_after", 90.0);
    let notes = &profile.meta.notes;
    assert!(
        notes.iter().any(|note| note.contains("was cleared")),
        "{notes:?}"
    );
    // About a third of a second, of a program that takes more than twice as long.
    let (all, _) = recording.took;
    let part = profile.meta.duration.0 as f64 / 1e9;
    assert!(part > 0.25, "{part} of {all:?}");
    let cpu = profile.meta.cpu.unwrap().0 as f64 / 1e9;
    assert!(recording.seconds() < cpu * 1.3 + 0.05, "{cpu}");
    let latest = profile.samples.iter().map(|sample| sample.time).max();
    assert!(latest.unwrap() <= profile.meta.duration);
}

#[test]
fn exact_sums_count_from_the_request_on() {
    let Some(recording) = record(&["--memory=exact"]) else {
        return;
    };
    assert_only_later_data(&recording);
    let profile = &recording.profile;
    assert_eq!(line(profile, "// before"), Line::default());
    let after = line(profile, "// after");
    assert_eq!(after.allocated, amount(500, 200_000));
    assert_eq!(after.live, amount(500, 200_000));
    // A thousand older blocks of the line were freed after the request. They do not count.
    let takes = line(profile, "// takes");
    assert_eq!(takes.allocated, amount(10, 10_000));
    let peak: u64 = profile
        .heap
        .sites
        .iter()
        .map(|site| site.at_peak.bytes)
        .sum();
    assert!((200_000..330_000).contains(&peak), "{peak}");
    assert!(
        profile
            .heap
            .gauges
            .iter()
            .all(|gauge| gauge.time <= profile.meta.duration)
    );
}

#[test]
fn samples_count_from_the_request_on() {
    let Some(recording) = record(&["--memory", "--memory-sample", "256"]) else {
        return;
    };
    assert_only_later_data(&recording);
    let profile = &recording.profile;
    let mut sizes = [0.0; 3];
    for block in &profile.heap.blocks {
        let Some(line) = line_of(profile, block.stack, "cleared.c") else {
            continue;
        };
        let marks = ["// before", "// after", "// takes"];
        let at = marks.map(|mark| marked(&source("cleared.c"), mark));
        if let Some(at) = at.iter().position(|&marked| marked == line) {
            let bytes = block.size as f64;
            sizes[at] += bytes * profile.heap.sampling.weight(block.size);
        }
    }
    let [before, after, takes] = sizes;
    assert_eq!(before, 0.0);
    // Each block has a chance of eight tenths or more, so five times the deviation is a thirtieth.
    assert!((180_000.0..220_000.0).contains(&after), "{after}");
    assert!((8_000.0..12_000.0).contains(&takes), "{takes}");
}

/// The library's `clear_malloc_data` sends the same request.
#[test]
fn a_program_may_clear_its_own_data() {
    let Some(target) = c("cleared.c", &["-fno-builtin-malloc"]) else {
        return;
    };
    let program = Program::new(target).with(&["itself"]);
    let recording = program.options(&["--memory=exact"]).run_both_ways();
    assert_only_later_data(&recording);
    let found = line(&recording.profile, "// after").allocated;
    let Amount { count, .. } = line(&recording.profile, "// before").allocated;
    assert_eq!((found, count), (amount(500, 200_000), 0));
}

/// The exact sums in the file are up to a quarter of a second old. The newest ones are only in
/// memory when the profiler is killed.
#[test]
fn sums_outlive_the_profiler() {
    for clears in [false, true] {
        let Some(target) = c("cleared.c", &["-fno-builtin-malloc"]) else {
            return;
        };
        let file = scratch().join(format!("{}.profundo", number()));
        let folder = empty_folder();
        let program = Program::new(target).options(&["--memory=exact"]);
        let mut command = program.command(Some(&file));
        command.current_dir(&folder).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let pid = wait_for_number(&folder, "ready");
        // The sums in memory have numbers of stacks, which have to be in the file.
        let has_stacks = || {
            let (profile, _) = read_file(&file).ok()?;
            let seen = |wanted| move |moment: &profundo_model::Moment| moment.allocated == wanted;
            let moments = &profile.heap.moments;
            let wanted = [amount(1000, 100_000), amount(1000, 300_000)];
            wanted
                .iter()
                .all(|&wanted| moments.iter().any(seen(wanted)))
                .then_some(())
        };
        wait_for("the stacks", has_stacks);
        if clears {
            let mut clear = Command::new(profundo());
            let said = clear.args(["ctl", &pid.to_string(), "clear"]).output();
            assert!(said.unwrap().status.success());
        }
        child.kill().unwrap();
        wait(&mut child, "profundo");
        fs::write(folder.join("go"), "").unwrap();
        wait_for("the program's end", || {
            // It stays a zombie if its new parent does not read its exit status.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            let is_there = stat.is_ok_and(|stat| !stat.contains(") Z "));
            (!is_there).then_some(())
        });
        let mut recover = Command::new(profundo());
        let output = recover.arg("recover").arg(&file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let (profile, warnings) = read_file(&file).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let before = line(&profile, "// before");
        let takes = line(&profile, "// takes");
        let (all, old) = match clears {
            false => (amount(1010, 110_000), amount(1000, 300_000)),
            true => (amount(10, 10_000), Amount::default()),
        };
        assert_eq!((before.allocated, takes.allocated), (old, all), "{clears}");
        assert_eq!(before.live, Amount::default());
        let after = line(&profile, "// after");
        assert_eq!(after.allocated, amount(500, 200_000));
        assert_eq!(after.live, amount(500, 200_000));
        let _ = fs::remove_file(&file);
    }
}
