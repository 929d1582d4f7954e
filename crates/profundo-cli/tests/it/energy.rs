//! `--energy`, on machines that are made up: the directory of the kernel's counters is ours for one
//! command.

use crate::doctor::{about, mend};
use crate::machine::{Folder, Outcome};
use crate::refused::with_own_mounts;
use crate::users::Elsewhere;

const PROFUNDO: &str = env!("CARGO_BIN_EXE_profundo");

/// A machine without any counter.
const NONE: &str = "mount -t tmpfs none /sys/class";
/// One with a package.
const ONE: &str = "mount -t tmpfs none /sys/class
    z=/sys/class/powercap/intel-rapl:0
    mkdir -p $z
    echo package-0 > $z/name
    echo 262143328850 > $z/max_energy_range_uj
    echo 1000000 > $z/energy_uj";
/// A program that takes all of a sudden what it takes.
const WORK: &str = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done
    echo 4500000 > /sys/class/powercap/intel-rapl:0/energy_uj";

fn on_machine(machine: &str, commands: &str) -> Option<Outcome> {
    let folder = Folder::new();
    with_own_mounts(&folder, &format!("{machine}\n{commands}"))
}

#[test]
fn what_the_machine_counts_is_shared_out() {
    let commands = format!(
        "{PROFUNDO} record --energy -o x.profundo sh -c '{WORK}'
        {PROFUNDO} report x.profundo --width 400
        {PROFUNDO} report x.profundo --json
        {PROFUNDO} doctor --width 400"
    );
    let Some(outcome) = on_machine(ONE, &commands) else {
        return;
    };
    outcome.succeeded();
    for sentence in [
        "\nEnergy: 3.50 J by package-0 in ",
        "the whole machine); about ",
        "of it is this program's, by its share of the CPU time of all that ran (",
        "    \"energy\": {\n      \"joules\": 3.5,\n",
        "{\"name\": \"package-0\", \"joules\": 3.5, \"counted\": true}",
    ] {
        assert!(outcome.out.contains(sentence), "{sentence}: {outcome:#?}");
    }
    let row = about(&outcome, "--energy");
    assert!(
        row.ends_with("the processors count it (RAPL): package-0"),
        "{row}"
    );
}

#[test]
fn without_being_asked_nothing_is_counted() {
    let commands = format!("{PROFUNDO} run sh -c '{WORK}'; {PROFUNDO} report --json");
    let Some(outcome) = on_machine(ONE, &commands) else {
        return;
    };
    outcome.succeeded();
    assert!(!outcome.err.contains("Energy"), "{outcome:#?}");
    assert!(outcome.out.contains("\"energy\": null"), "{outcome:#?}");
}

#[test]
fn where_there_is_no_counter_all_say_so_and_the_program_runs() {
    let commands = format!(
        "{PROFUNDO} doctor --width 400
        {PROFUNDO} run --energy sh -c 'echo it runs; exit 7' || echo ended with $?
        sleep 1000 & {PROFUNDO} attach $! --energy -d 0.2 --width 400; kill $!"
    );
    let Some(outcome) = on_machine(NONE, &commands) else {
        return;
    };
    outcome.succeeded();
    assert!(
        outcome.out.contains("it runs\nended with 7\n"),
        "{outcome:#?}"
    );
    let row = about(&outcome, "--energy");
    let (row, mend) = row.split_once(" → ").unwrap_or((&row, ""));
    let why = row.trim_start_matches("✗ --energy").trim();
    assert!(why.contains("no counters of energy"), "{row}");
    let note = format!("energy is not counted: {why}");
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for place in [&outcome.out, &outcome.err] {
        let place = squeezed(place);
        assert!(
            place.contains(&note) && place.contains(mend),
            "{note}: {place}"
        );
    }
}

#[test]
fn what_root_alone_may_read_is_opened_as_is_said() {
    let Some(there) = Elsewhere::new("energy") else {
        return;
    };
    let there = there.path().display();
    let run = |mended: &str| {
        let commands = format!(
            "chmod 400 $z/energy_uj
            {mended}
            cd {there}
            HOME={there} setpriv --reuid 65534 --regid 65534 --clear-groups ./profundo doctor --width 400"
        );
        on_machine(ONE, &commands)
    };
    let Some(before) = run("") else { return };
    let row = about(&before, "--energy");
    assert!(row.contains("may be read by root alone"), "{row}");
    let command = mend(&before, "--energy");
    let (_, command) = command.split_once("sudo ").unwrap();
    let row = about(&run(command).unwrap(), "--energy");
    assert!(row.ends_with("package-0"), "{command}: {row}");
}
