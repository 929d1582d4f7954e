//! Files of .NET, made by `testdata/nettrace/make.py` after the documented layout. Version 6 was
//! not tried on a file of the tool itself; files of the runtimes 3.0 and 5.0 were read by hand.

use profundo_model::{SampleKind, State};

use crate::support::{functions_of_samples, read, stacks};

#[test]
fn samples_of_threads_last_until_the_next_one() {
    let imported = read("nettrace/v5.nettrace");
    assert_eq!(imported.reader.name(), "nettrace");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Wall);
    assert_eq!(profile.meta.started_at_unix, 1_709_209_815_000_000_000);
    assert_eq!(profile.threads.len(), 2);
    let process = &profile.processes[0];
    assert_eq!(process.pid, 4711);
    assert_eq!(profile.strings.get(process.command), "dotnet App.dll");
    // Gaps of 10 and 20 ms, and the usual one for the last sample.
    let sums = functions_of_samples(profile);
    assert_eq!(sums["App.Program.Work"], (30_000_000, 30_000_000));
    // 20 ms of it above an address without a name.
    assert_eq!(sums["App.Program.Main"], (70_000_000, 100_000_000));
    let waiting = profile.samples.iter();
    let waiting = waiting.filter(|sample| sample.state == State::WallWaiting);
    assert_eq!(
        waiting.map(|sample| sample.weight.0).sum::<u64>(),
        30_000_000
    );
    let frame = profile.frames.iter().next().unwrap();
    let signature = profile.strings.get(frame.signature);
    assert_eq!(signature, "App.Program.Main(class System.String[])");
    let (_, module) = profile.modules.iter().next().unwrap();
    assert_eq!(profile.strings.get(module.path), "/app/App.dll");
    let block = &profile.heap.blocks[0];
    assert_eq!((block.size, block.time.0), (102_400, 20_000_000));
    assert_eq!(profile.strings.get(block.type_name), "System.Byte[]");
}

#[test]
fn samples_of_the_machine_have_threads_and_names() {
    let imported = read("nettrace/v6.nettrace");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    let sums = stacks(profile);
    assert_eq!(sums["main;work"], 4);
    assert_eq!(sums["main"], 6);
    let names = profile.threads.iter();
    let names: Vec<_> = names
        .map(|(_, thread)| (profile.strings.get(thread.name), thread.tid))
        .collect();
    assert_eq!(names, [("main", 11), ("worker", 12)]);
    assert_eq!(profile.processes.last().unwrap().pid, 4711);
}
