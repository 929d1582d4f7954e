//! Texts of macOS's `sample` and of Instruments' *Deep Copy*. The files are built from the layout
//! of such texts in other projects, which were read, too; neither tool can be had where these tests
//! were written.

use profundo_model::{Profile, SampleKind, State};

use crate::support::{functions_of_samples, read, stack, stacks};

const MILLISECOND: u64 = 1_000_000;

fn milliseconds(profile: &Profile) -> Vec<(String, u64)> {
    let sums = stacks(profile).into_iter();
    sums.map(|(stack, weight)| (stack, weight / MILLISECOND))
        .collect()
}

fn owned(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
    rows.iter()
        .map(|&(name, weight)| (name.to_owned(), weight))
        .collect()
}

fn threads(profile: &Profile) -> Vec<(u32, &str)> {
    let threads = profile.threads.iter();
    threads
        .map(|(_, row)| (row.tid, profile.strings.get(row.name)))
        .collect()
}

#[test]
fn sample_has_the_time_of_every_thread() {
    let imported = read("macos_sample/shop.txt");
    assert_eq!(imported.reader.name(), "macos sample");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    assert_eq!(profile.meta.period.0, 2 * MILLISECOND);
    assert_eq!(profile.sample_count(), 200);
    assert_eq!(
        threads(profile),
        [(11, "com.apple.main-thread"), (12, "worker")]
    );
    assert_eq!(profile.processes.len(), 1);
    assert_eq!(
        milliseconds(profile),
        owned(&[
            ("kevent", 200),
            ("start;main;price(int, long)", 100),
            ("start;main;price(int, long);__psynch_cvwait", 100),
        ])
    );
    let waiting = profile
        .samples
        .iter()
        .filter(|row| row.state == State::WallWaiting);
    assert_eq!(
        waiting.map(|row| row.weight.0).sum::<u64>(),
        300 * MILLISECOND
    );
    let mut lines: Vec<u32> = profile.frames.iter().map(|frame| frame.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [0, 0, 0, 12, 30, 31]);
}

#[test]
fn a_deep_copy_has_processes_threads_and_own_weights() {
    let imported = read("instruments/time.txt");
    assert_eq!(imported.reader.name(), "instruments");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.processes[0].pid, 4242);
    assert_eq!(
        milliseconds(profile),
        owned(&[
            ("main", 500),
            ("main;price(int)", 1500),
            ("main;price(int);round", 500),
            ("wait_for_work", 500),
        ])
    );
    let functions = functions_of_samples(profile);
    assert_eq!(functions["price(int)"].1, 2000 * MILLISECOND);
    let names = threads(profile);
    assert!(names.contains(&(0x1a2b, "Main Thread")) && names.contains(&(0x1a2c, "worker")));
}

#[test]
fn older_copies_and_those_of_memory_are_read() {
    let old = read("instruments/old.txt").profile;
    assert_eq!(
        milliseconds(&old),
        owned(&[("main", 1000), ("main;work", 3000)])
    );
    let memory = read("instruments/allocations.txt").profile;
    let sites: Vec<_> = (memory.heap.sites.iter())
        .map(|site| {
            let allocated = site.allocated;
            (stack(&memory, site.stack), allocated.bytes, allocated.count)
        })
        .collect();
    const MEGABYTE: u64 = 1 << 20;
    assert_eq!(
        sites,
        [
            ("main".to_owned(), MEGABYTE, 200),
            ("main;fill".to_owned(), MEGABYTE, 10),
            ("main;fill;malloc".to_owned(), MEGABYTE, 90),
        ]
    );
}
