//! Records by hand, and the profile they make.

use profundo_model::{LocationKind, Nanos, Reason, State};
use profundo_wire::recording::{
    Engine, Instant, LossCounts, ModuleInfo, Recording, TaskInfo, ThreadInfo,
};
use profundo_wire::{End, SampleHead};

use crate::ingest;

mod bounded;
mod cleared;
mod gauges;
mod generated;
mod growth;
mod incremental;
mod partly_known;
mod qualified;
mod spans;
mod traffic;

fn head(clock: u64, thread: u32, task: u64, end: End, frames: u16) -> SampleHead {
    let state = profundo_wire::State::Running;
    SampleHead {
        state,
        end,
        frames,
        python: 0,
        python_end: profundo_wire::PythonEnd::Whole,
        gil: profundo_wire::Gil::None,
        clock,
        weight: 1000,
        task,
        thread,
        tid: 70 + thread,
        span: 0,
    }
}

fn words(records: &[(SampleHead, &[u64])]) -> Vec<u64> {
    let mut words = Vec::new();
    for (head, addresses) in records {
        words.extend(head.to_words());
        words.extend_from_slice(addresses);
    }
    words
}

fn module(path: &str, start: u64, loaded: u64, unloaded: u64) -> ModuleInfo {
    let build_id = vec![1, 2, 3];
    ModuleInfo {
        path: path.into(),
        start,
        end: start + 0x1000,
        bias: start,
        build_id,
        loaded,
        unloaded,
    }
}

fn recording(chunks: Vec<Vec<u64>>, modules: Vec<ModuleInfo>) -> Recording {
    Recording {
        chunks,
        modules,
        engine: Engine::PerfSignal,
        period: 1000,
        started: Instant {
            cycles: 1000,
            monotonic: 0,
            unix: 5,
        },
        ended: Instant {
            cycles: 3000,
            monotonic: 1000,
            unix: 6,
        },
        threads: vec![ThreadInfo {
            number: 1,
            tid: 71,
            name: "main".into(),
            alive: 9,
            cpu: 8,
        }],
        ..Recording::default()
    }
}

#[test]
fn samples_of_all_chunks_are_put_in_order_of_time() {
    let late = words(&[(head(2000, 1, 0, End::Root, 1), &[0x1010])]);
    let early = words(&[(head(1500, 2, 9, End::Root, 1), &[0x1010])]);
    let profile = ingest(&recording(
        vec![late, early],
        vec![module("a", 0x1000, 0, u64::MAX)],
    ));
    let times: Vec<_> = profile.samples.iter().map(|sample| sample.time).collect();
    assert_eq!(times, [Nanos(250), Nanos(500)]);
    let [first, second] = &profile.samples[..] else {
        panic!("two samples")
    };
    assert_eq!(first.stack, second.stack);
    assert_eq!(profile.threads.get(second.thread).number, 1);
    assert_eq!(profile.tasks.get(first.task).number, 9);
    assert!(profile.tasks.get(second.task).is_root);
    assert_ne!(profile.tasks.get(second.task).number, 0);
    assert_eq!(first.state, State::Running);
}

#[test]
fn only_tasks_that_were_met_are_in_the_profile() {
    let info = |number, name: &str| TaskInfo {
        number,
        name: name.into(),
        spawned_at: format!("{name}.rs:7"),
    };
    let chunk = words(&[(head(1500, 1, 9, End::Root, 1), &[0x1010])]);
    let profile = ingest(&Recording {
        tasks: vec![info(8, "before"), info(9, "met"), info(10, "after")],
        ..recording(vec![chunk], vec![module("a", 0x1000, 0, u64::MAX)])
    });
    let named = |text| profile.strings.get(text);
    let tasks: Vec<_> = (profile.tasks.iter())
        .map(|(_, task)| (task.number, named(task.name), named(task.spawned_at)))
        .collect();
    assert_eq!(tasks, [(9, "met", "met.rs:7")]);
}

#[test]
fn a_truncated_stack_has_its_reason_at_the_root_and_is_counted() {
    let chunk = words(&[(head(1500, 1, 0, End::Truncated, 2), &[0x1010, 0x1020])]);
    let profile = ingest(&recording(
        vec![chunk],
        vec![module("a", 0x1000, 0, u64::MAX)],
    ));
    let root = profile
        .stacks
        .locations(profile.samples[0].stack)
        .last()
        .unwrap();
    assert_eq!(
        profile.locations.get(root).kind,
        LocationKind::Reason(Reason::Truncated)
    );
    assert_eq!(profile.meta.loss.truncated, 1);
    let frame = profile.locations.get(root).frames[0];
    assert_eq!(profile.function_name(frame), "[truncated]");
}

#[test]
fn an_empty_stack_keeps_its_weight() {
    let chunk = words(&[(head(1500, 1, 0, End::Broken, 0), &[])]);
    let profile = ingest(&recording(vec![chunk], vec![]));
    assert_eq!(profile.samples.len(), 1);
    assert_eq!(profile.meta.loss.broken, 1);
}

/// A hostile program writes any weights into its buffer.
#[test]
fn weights_without_measure_add_up_to_a_number() {
    let huge = |clock| SampleHead {
        weight: u64::MAX,
        ..head(clock, 1, 0, End::Root, 0)
    };
    let first = head(1500, 1, 0, End::Root, 0);
    let chunk = words(&[(first, &[]), (huge(1600), &[]), (huge(1700), &[])]);
    let profile = ingest(&recording(vec![chunk], vec![]));
    assert_eq!(profile.samples.len(), 3);
    assert_eq!(profile.samples[0].weight, Nanos(1000));
    let all: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    assert_eq!(all, 1 << 61);
}

#[test]
fn an_address_belongs_to_the_module_of_its_time() {
    let chunk = words(&[
        (head(1500, 1, 0, End::Root, 1), &[0x1010]),
        (head(2500, 1, 0, End::Root, 1), &[0x1010]),
    ]);
    let modules = vec![
        module("old", 0x1000, 0, 2000),
        module("new", 0x1000, 2000, u64::MAX),
    ];
    let profile = ingest(&recording(vec![chunk], modules));
    let path = |index: usize| {
        let location = profile.stacks.get(profile.samples[index].stack).location;
        let module = profile.locations.get(location).module.unwrap();
        profile.strings.get(profile.modules.get(module).path)
    };
    assert_eq!((path(0), path(1)), ("old", "new"));
}

#[test]
fn unreadable_words_are_noted_and_the_rest_is_kept() {
    let mut chunk = words(&[(head(1500, 1, 0, End::Root, 1), &[0x1010])]);
    chunk.push(0);
    let mut recording = recording(vec![chunk], vec![]);
    recording.loss = LossCounts {
        buffer_full: 4,
        ..LossCounts::default()
    };
    let profile = ingest(&recording);
    assert_eq!(profile.samples.len(), 1);
    assert_eq!(profile.meta.notes.len(), 1);
    assert_eq!(profile.meta.loss.lost(), 4);
}
