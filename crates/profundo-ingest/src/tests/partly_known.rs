//! Processes and threads with incomplete records.

use profundo_wire::recording::{Event, ThreadInfo};
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State, WaitKind, wait_words};

use super::incremental::{begun, feed, finish, process, start};
use crate::Ingest;

#[test]
fn a_process_that_has_ended_keeps_the_name_that_the_file_has() {
    let mut ingest = begun();
    let Event::Process(mut info) = process(2, 71, 1) else {
        panic!("a process")
    };
    info.command = "worker --fast".into();
    info.environment = vec!["LD_PRELOAD".into()];
    ingest.event(Event::Process(info.clone()));
    let before = ingest.profile().clone();
    // Its number is free by then, or another program has it.
    for now in ["", "another program"] {
        let mut ingest = Ingest::resume(before.clone(), start());
        info.command = now.into();
        (info.environment, info.parent) = (Vec::new(), 0);
        ingest.event(Event::Process(info.clone()));
        let profile = finish(ingest);
        assert_eq!(profile.processes[1], before.processes[1], "{now:?}");
        let command = profile.processes[1].command;
        assert_eq!(profile.strings.get(command), "worker --fast");
    }
}

/// A wait for a CPU, of a thread without a number in its process's agent.
fn waits_for_a_cpu(clock: u64, tid: u32) -> Vec<u64> {
    let head = SampleHead {
        state: State::WallWaiting,
        end: End::Unread,
        frames: 0,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: 500,
        task: 0,
        thread: 0,
        tid,
        span: 0,
    };
    let mut words = wait_words(WaitKind::Cpu, "");
    words.extend(head.to_words());
    words
}

#[test]
fn a_thread_without_a_number_is_known_by_the_kernels() {
    let mut ingest = begun();
    let announce = |number, tid| Event::Thread {
        process: 1,
        thread: ThreadInfo {
            number,
            tid,
            name: format!("worker-{tid}"),
            alive: 9000,
            cpu: 10,
        },
        gil_wait: 0,
    };
    ingest.event(announce(1, 71));
    // One is announced after its wait, one before, and one never.
    feed(&mut ingest, 1, &[waits_for_a_cpu(1500, 72)]);
    ingest.event(announce(2, 72));
    feed(
        &mut ingest,
        1,
        &[waits_for_a_cpu(1600, 71), waits_for_a_cpu(1700, 99)],
    );
    let profile = finish(ingest);
    let threads: Vec<_> = profile.threads.iter().collect();
    let mut found = Vec::new();
    for (id, thread) in threads {
        let waited = (profile.samples.iter()).filter(|sample| sample.thread == id);
        let waited: u64 = waited.map(|sample| sample.weight.0).sum();
        found.push((thread.tid, profile.strings.get(thread.name), waited));
        assert!(thread.number < 10, "{thread:?}");
    }
    found.sort_unstable();
    let expected = [
        (71, "worker-71", 500),
        (72, "worker-72", 500),
        (99, "", 500),
    ];
    assert_eq!(found, expected);
}
