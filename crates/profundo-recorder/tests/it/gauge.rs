//! Programs whose memory grows by known amounts, from inside and from outside.

use profundo_recorder::{EngineChoice, Memory, Options};
use profundo_wire::recording::Gauge;

use crate::launch::{Recorded, Scratch, agent, run, run_with};

/// Five times 16 MiB, of which two stay; then a child that shares them and touches one. Huge pages
/// are off, so that faults can be counted.
const STEPS: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define STEP (16ul << 20)
int main(void) {
    char *all = mmap(0, 5 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(all, 5 * STEP, MADV_NOHUGEPAGE);
    usleep(300000);
    for (int i = 0; i < 5; i++) {
        memset(all + i * STEP, 1, STEP);
        usleep(200000);
    }
    munmap(all + 2 * STEP, 3 * STEP);
    usleep(300000);
    if (fork() == 0) {
        memset(all, 2, STEP);
        usleep(2000000);
        _exit(0);
    }
    wait(0);
    return 0;
}
"#;

const STEP: u64 = 16 << 20;
/// The memory of a small program and its libraries.
const SMALL: u64 = 8 << 20;

fn sampled() -> Option<Memory> {
    Some(Memory::Sampled {
        mean: 512 << 10,
        doublings: 0,
    })
}

fn gauges_of(recorded: &Recorded, key: u32) -> Vec<Gauge> {
    let gauges = recorded.gauges.iter().filter(|gauge| gauge.process == key);
    gauges.copied().collect()
}

fn check_steps(recorded: &Recorded) {
    let is_program = |command: &str| command.ends_with("steps") && !command.starts_with("sh");
    let mut those = recorded.processes.iter();
    let parent = those.find(|process| is_program(&process.command));
    let parent = parent.expect("the program").key;
    let rows = gauges_of(recorded, parent);
    assert!(rows.len() > 5, "{rows:?}");
    assert!(rows.is_sorted_by_key(|row| row.clock));
    assert!(rows.is_sorted_by_key(|row| row.minor_faults), "{rows:?}");
    assert!(rows.is_sorted_by_key(|row| row.peak_resident), "{rows:?}");
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    assert!(first.resident > 0 && first.resident < SMALL, "{first:?}");
    // The memory between two readings is in the kernel's peak.
    let within = |size: u64, from: u64| size >= from && size < from + SMALL;
    assert!(within(last.peak_resident, 5 * STEP), "{last:?}");
    assert!(within(last.resident, 2 * STEP), "{last:?}");
    assert!(within(last.anonymous, 2 * STEP), "{last:?}");
    let faults = last.minor_faults - first.minor_faults;
    // A page was touched for the first time; a machine may have larger ones. SAFETY: a call without
    // pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    assert!(faults >= 5 * STEP / page, "{faults} faults");
    assert!(faults < 6 * STEP / page, "{faults} faults");
    // All shared pages are resident in the child, and a part counts as its own.
    let child = recorded
        .processes
        .iter()
        .find(|process| process.parent == parent);
    let rows = gauges_of(recorded, child.expect("the child").key);
    let last = rows.last().expect("the child was seen");
    assert!(within(last.resident, 2 * STEP), "{last:?}");
    let shares: Vec<u64> = rows.iter().filter_map(|row| row.proportional).collect();
    let share = *shares.last().expect("what it shares");
    assert!(within(share, STEP + STEP / 2), "{shares:?}");
}

#[test]
fn what_a_program_has_is_seen_from_outside() {
    let scratch = Scratch::new("gauge-outside");
    let Some(program) = scratch.compile("steps", STEPS, &[]) else {
        return;
    };
    let options = Options {
        engine: EngineChoice::PerfRing,
        memory: sampled(),
        ..scratch.options()
    };
    let recorded = run(options, &[&program]);
    check_steps(&recorded);
    let is_refusal = |note: &String| note.contains("allocations are not recorded");
    assert!(
        recorded.notes.iter().any(is_refusal),
        "{:?}",
        recorded.notes
    );
}

#[test]
fn what_a_program_has_is_seen_beside_an_agent() {
    let scratch = Scratch::new("gauge-agent");
    let (Some(program), Some(agent)) = (scratch.compile("steps", STEPS, &[]), agent()) else {
        return;
    };
    let options = Options {
        agent: Some(agent),
        memory: sampled(),
        ..scratch.options()
    };
    check_steps(&run(options, &[&program]));
}

#[test]
fn memory_is_not_read_unless_requested() {
    let scratch = Scratch::new("gauge-none");
    let recorded = run(scratch.options(), &["sleep", "0.2"]);
    assert_eq!(recorded.gauges, []);
}

#[test]
fn memory_is_not_read_in_a_pause() {
    let scratch = Scratch::new("gauge-pause");
    let options = Options {
        memory: sampled(),
        paused: true,
        ..scratch.options()
    };
    let began = std::time::Instant::now();
    let mut went_on = None;
    let recorded = run_with(options, &["sleep", "0.8"], &[], |recorder, _| {
        if went_on.is_none() && began.elapsed().as_millis() > 400 {
            recorder.set_paused(false);
            went_on = Some(profundo_linux::sys::instant().cycles);
        }
    });
    let went_on = went_on.expect("turns while it sleeps");
    assert!(recorded.gauges.iter().all(|gauge| gauge.clock >= went_on));
}

#[test]
fn programs_that_take_each_others_place_have_their_own() {
    let scratch = Scratch::new("gauge-exec");
    let Some(program) = scratch.compile("steps", STEPS, &[]) else {
        return;
    };
    let options = Options {
        engine: EngineChoice::PerfRing,
        memory: sampled(),
        ..scratch.options()
    };
    let recorded = run(
        options,
        &["sh", "-c", &format!("sleep 0.3; exec {program}")],
    );
    let shell = recorded.programs("sh -c");
    let shell = gauges_of(&recorded, shell[0].key);
    assert!(!shell.is_empty());
    let most = shell.iter().map(|row| row.peak_resident).max();
    assert!(most < Some(SMALL), "{shell:?}");
    check_steps(&recorded);
}

/// 64 MiB for a moment, then a program that ends before the next reading: its agent reports them.
const MOMENT: &str = r#"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **words) {
    if (count > 1) {
        char *all = mmap(0, 64ul << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(all, 1, 64ul << 20);
        if (words[1][0] == 'x')
            execl(words[0], words[0], (char *)0);
    } else {
        usleep(100000);
    }
    return 0;
}
"#;

#[test]
fn a_program_that_ends_at_once_has_its_peak() {
    const ALL: u64 = 64 << 20;
    let scratch = Scratch::new("gauge-moment");
    let (Some(program), Some(agent)) = (scratch.compile("moment", MOMENT, &[]), agent()) else {
        return;
    };
    let options = || Options {
        agent: Some(agent.clone()),
        memory: sampled(),
        ..scratch.options()
    };
    let peak_of = |recorded: &Recorded, key: u32| {
        let rows = gauges_of(recorded, key);
        let last = rows.last().copied();
        last.map_or(0, |last| last.peak_resident)
    };
    // The shell is small. This test's own process may have been larger than the program will be,
    // and the kernel does not separate the two.
    let command = format!("{program} ends; {program} x; true");
    let recorded = run(options(), &["sh", "-c", &command]);
    let of = |end: &str| {
        let found = recorded
            .processes
            .iter()
            .find(|process| process.command == format!("{program}{end}"));
        peak_of(&recorded, found.expect("the program").key)
    };
    let within = |peak| (ALL..ALL + SMALL).contains(&peak);
    assert!(within(of(" ends")), "{}", of(" ends"));
    // The memory of the earlier program is not the next one's.
    assert!(of("") > 0 && of("") < SMALL, "{}", of(""));
}
