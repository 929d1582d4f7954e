//! A file that grows with its recording is a file whenever its writer is stopped.

use profundo_formats::{StreamWriter, Warning, read};
use std::collections::BTreeMap;

use profundo_model::{
    Block, BlockEnd, Bytes, CodeObject, Copied, FrameKey, Gauge, Growing, Mapping, Module, Nanos,
    Process, ProcessEnd, ProcessId, Profile, Sample, Sampling, StackId, ThreadId, Traffic,
};

use crate::dump::dump;
use crate::made::{Random, Weights, realistic};
use crate::{raw, small};

/// Writes `profile` like a recorder that gets its rows in their order: in `parts`, with names, ends
/// and sources only at the end.
fn streamed(whole: &Profile, parts: usize) -> Vec<u8> {
    let mut growing = whole.clone();
    growing.samples.clear();
    growing.traffic.clear();
    growing.syscalls.clear();
    growing.heap.gauges.clear();
    growing.sources = Default::default();
    growing.meta.notes.clear();
    for row in 0..whole.locations.len() {
        let id = profundo_model::LocationId::from_index(row);
        growing.locations.set_frames(id, &[]);
    }
    let mut file = StreamWriter::new(Vec::new(), &growing.meta).unwrap();
    let each = whole.samples.len().div_ceil(parts);
    let traffic = whole.traffic.len().div_ceil(parts).max(1);
    let mut traffic = whole.traffic.chunks(traffic);
    let syscalls = whole.syscalls.len().div_ceil(parts).max(1);
    let mut syscalls = whole.syscalls.chunks(syscalls);
    let gauges = whole.heap.gauges.len().div_ceil(parts).max(1);
    let mut gauges = whole.heap.gauges.chunks(gauges);
    for part in whole.samples.chunks(each) {
        growing.samples.extend_from_slice(part);
        growing
            .traffic
            .extend_from_slice(traffic.next().unwrap_or_default());
        let syscalls = syscalls.next().unwrap_or_default();
        growing.syscalls.extend_from_slice(syscalls);
        let gauges = gauges.next().unwrap_or_default();
        growing.heap.gauges.extend_from_slice(gauges);
        file.flush(&mut growing).unwrap();
        assert!(growing.samples.is_empty() && growing.traffic.is_empty());
        assert!(growing.heap.gauges.is_empty() && growing.syscalls.is_empty());
        growing.meta.duration.0 += 1;
        file.update(&growing).unwrap();
    }
    let mut done = Profile {
        samples: Vec::new(),
        traffic: Vec::new(),
        syscalls: Vec::new(),
        heap: Default::default(),
        ..whole.clone()
    };
    file.finish(&mut done).unwrap()
}

#[test]
fn what_was_streamed_is_what_there_was() {
    let mut reading = realistic(20_000, 4, Weights::Elapsed);
    reading.traffic = traffic(&reading, 5000);
    reading.heap.gauges = gauges(5000);
    let file = reading.strings.intern("/tmp/data");
    reading
        .samples
        .iter_mut()
        .step_by(7)
        .for_each(|sample| sample.file = file);
    let called = small::with_syscalls();
    for whole in [small::small(), reading, called, small::traced()] {
        let file = streamed(&whole, 7);
        let (again, warnings) = read(&file).unwrap();
        assert_eq!(warnings, []);
        assert!(dump(&again) == dump(&whole));
    }
}

/// The threads' traffic of a profile, ten milliseconds by ten milliseconds.
fn traffic(profile: &Profile, rows: u64) -> Vec<Traffic> {
    let threads = profile.threads.len() as u64;
    let row = |number: u64| Traffic {
        thread: ThreadId((number % threads) as u32),
        from: Nanos(number * 10_000_000 / threads),
        to: Nanos((number + 1) * 10_000_000 / threads),
        waits: 1,
        bytes: Bytes {
            read: number * 1000,
            written: 1 << (number % 40),
            ..Bytes::default()
        },
    };
    (0..rows).map(row).collect()
}

/// The memory of one process, ten times a second: it grows, but for a moment in the middle.
fn gauges(rows: u64) -> Vec<Gauge> {
    let peak = rows / 2;
    let row = |number: u64| Gauge {
        time: Nanos(number * 100_000_000),
        resident: (number + if number == peak { 2 * rows } else { 0 }) << 12,
        minor_faults: number,
        ..Gauge::default()
    };
    (0..rows).map(row).collect()
}

#[test]
fn a_cut_at_any_byte_gives_the_samples_before_it() {
    let text: String = (0..60)
        .map(|stack| format!("main;f{};g{stack} 50\n", stack / 7))
        .collect();
    let whole = Profile::from_folded(&text).unwrap();
    let file = streamed(&whole, 20);
    let mut ends: Vec<usize> = raw::ends(&file).into_iter().map(|(_, end)| end).collect();
    let mut random = Random(88_172_645_463_325_252);
    ends.extend((0..2_000).map(|_| 16 + random.below(file.len() as u64 - 16) as usize));
    for cut in ends {
        let (profile, warnings) = read(&file[..cut]).unwrap();
        let due: usize = raw::ends(&file)
            .iter()
            .filter(|(kind, end)| kind == "SAMP" && *end <= cut)
            .count();
        let due = (due * 150).min(3_000);
        assert_eq!(profile.samples.len(), due, "cut at {cut}");
        assert!(profile.samples[..] == whole.samples[..due]);
        if cut < file.len() {
            assert!(matches!(warnings[..], [Warning::Cut { samples, .. }] if samples == due));
        }
    }
}

#[test]
fn rows_are_written_again_as_they_change() {
    let mut profile = Profile::from_folded("main;work 2").unwrap();
    let mut file = StreamWriter::new(Vec::new(), &profile.meta).unwrap();
    file.flush(&mut profile).unwrap();
    let name = profile.strings.intern("worker");
    let thread = profundo_model::ThreadId(0);
    profile.threads.get_mut(thread).name = name;
    profile.threads.get_mut(thread).gil_wait = Some(Nanos(5));
    profile.tasks.get_mut(profundo_model::TaskId(0)).name = name;
    profile.processes[0].end = ProcessEnd::Exited(1);
    profile.processes[0].runtime = name;
    file.update(&profile).unwrap();
    // Nothing has changed since.
    let size = file.size();
    file.update(&profile).unwrap();
    assert_eq!(file.size(), size);
    profile.processes.push(Process {
        parent: Some(ProcessId(0)),
        ..Process::default()
    });
    let frame = profile.frame(FrameKey {
        function: "named at last",
        ..FrameKey::default()
    });
    let location = profundo_model::LocationId(1);
    profile.locations.set_frames(location, &[frame]);
    let bytes = file.finish(&mut profile).unwrap();
    let (again, warnings) = read(&bytes).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(again.samples.len(), 2);
    profile.samples.clone_from(&again.samples);
    assert_eq!(dump(&again), dump(&profile));
}

/// A code object, and a module that came and went.
fn growing(profile: &mut Profile) -> Growing {
    let code = CodeObject {
        process: ProcessId(0),
        number: 7,
        minor: 12,
        first_line: -3,
        file: profile.file("/app/a.py", "", ""),
        name: profile.strings.intern("f"),
        lines: [1, 2, 3].into(),
    };
    let path = profile.strings.intern("/bin/app");
    let module = profile.modules.push(Module {
        path,
        ..Module::default()
    });
    let mapping = |unloaded| Mapping {
        process: ProcessId(0),
        module,
        start: 0x1000,
        end: 0x3000,
        loaded: 7,
        unloaded,
    };
    Growing {
        codes: vec![code],
        mappings: vec![mapping(u64::MAX), mapping(99)],
    }
}

/// A small file as a recorder writes it, and its size before its recorder went on.
pub fn small() -> (Vec<u8>, usize) {
    let mut profile = small::small();
    profile.growing = growing(&mut profile);
    let file_lines = std::mem::take(&mut profile.sources);
    let mut file = StreamWriter::new(Vec::new(), &profile.meta).unwrap();
    let later = profile.samples.split_off(12);
    file.flush(&mut profile).unwrap();
    profile.processes[1].end = ProcessEnd::Killed(15);
    profile.meta.notes.push("later".into());
    file.update(&profile).unwrap();
    let cut = file.size() as usize + 11;
    profile.samples = later;
    let frame = profile.frame(FrameKey {
        function: "named at last",
        ..FrameKey::default()
    });
    let location = profundo_model::LocationId(3);
    profile.locations.set_frames(location, &[frame]);
    profile.sources = file_lines;
    (file.finish(&mut profile).unwrap(), cut)
}

#[test]
fn what_is_needed_to_go_on_is_kept_until_the_end() {
    let mut profile = Profile::from_folded("main 1").unwrap();
    let growing = growing(&mut profile);
    profile.growing = growing.clone();
    let mut file = StreamWriter::new(Vec::new(), &profile.meta).unwrap();
    file.flush(&mut profile).unwrap();
    assert_eq!(profile.growing, Growing::default());
    let bytes = file.finish(&mut profile).unwrap();
    let (whole, _) = read(&bytes).unwrap();
    assert_eq!(whole.growing, Growing::default());
    let (cut, _) = read(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(cut.growing, growing);
}

/// Ever more samples in a file of limited size.
fn bounded(samples: usize, limit: u64) -> (usize, Profile, Profile) {
    let mut whole = realistic(samples, 3, Weights::Random);
    whole.traffic = traffic(&whole, samples as u64);
    whole.heap.gauges = gauges(samples as u64);
    let mut growing = whole.clone();
    let mut file = StreamWriter::new(Vec::new(), &whole.meta)
        .unwrap()
        .max_size(limit);
    let mut traffic = whole.traffic.chunks(997);
    let mut gauges = whole.heap.gauges.chunks(997);
    for part in whole.samples.chunks(997) {
        growing.samples = part.to_vec();
        growing.traffic = traffic.next().unwrap_or_default().to_vec();
        growing.heap.gauges = gauges.next().unwrap_or_default().to_vec();
        file.append(&mut growing).unwrap();
    }
    let bytes = file.finish(&mut growing).unwrap();
    let (again, warnings) = read(&bytes).unwrap();
    assert_eq!(warnings, []);
    (bytes.len(), whole, again)
}

fn weight<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> u64 {
    samples.into_iter().map(|sample| sample.weight.0).sum()
}

#[test]
fn a_file_stays_within_its_size_and_loses_no_weight() {
    let limit = 600_000;
    let (size, whole, again) = bounded(200_000, limit);
    assert!(size as u64 <= limit + limit / 20, "{size}");
    assert!(size as u64 > limit / 2, "{size}");
    assert!(again.samples.len() < whole.samples.len() / 2);
    assert!(again.traffic.len() < whole.traffic.len() / 2);
    // The peak is there, and the end.
    let (kept, all) = (&again.heap.gauges, &whole.heap.gauges);
    assert!(kept.len() < all.len() / 2, "{}", kept.len());
    assert!(kept.contains(&all[all.len() / 2]));
    assert_eq!(kept.last(), all.last());
    assert!(kept.is_sorted_by_key(|row| row.time));
    let sum = |profile: &Profile, thread: u32| {
        let mut sum = Bytes::default();
        let own = profile.traffic.iter().filter(|row| row.thread.0 == thread);
        own.for_each(|row| sum += row.bytes);
        sum
    };
    for thread in 0..3 {
        assert_eq!(sum(&again, thread), sum(&whole, thread));
    }
    assert_eq!(weight(&again.samples), weight(&whole.samples));
    // By stack and by thread, too, and in counts.
    for sample in whole.samples.iter().step_by(10_007) {
        let of = |profile: &Profile| {
            let same =
                |other: &&Sample| other.stack == sample.stack && other.thread == sample.thread;
            weight(profile.samples.iter().filter(same))
        };
        assert_eq!(of(&again), of(&whole));
    }
    let counts = |profile: &Profile| -> u64 {
        let counts = profile
            .samples
            .iter()
            .map(|sample| profile.count_of(sample));
        counts.sum()
    };
    let (merged, single) = (counts(&again) as f64, counts(&whole) as f64);
    assert!((merged / single - 1.0).abs() < 0.01, "{merged} of {single}");
    let [note] = &again.meta.notes[..] else {
        panic!("{:?}", again.meta.notes)
    };
    assert!(
        note.starts_with("the file came near its largest size: from "),
        "{note}"
    );
}

/// The block with this number, of ever more: every third stays, another third is freed soon, the
/// last third late.
fn block(number: u64, stacks: u64) -> (Block, Option<u64>) {
    let lives = [None, Some(1), Some(5_000)][number as usize % 3];
    let block = Block {
        time: Nanos(number * 100_000),
        size: [24, 300, 5_000, 80_000, 2_000_000][number as usize % 5],
        stack: StackId((number % stacks) as u32),
        thread: ThreadId(0),
        ..Block::default()
    };
    (block, lives.map(|lives| number + lives))
}

#[test]
fn of_blocks_as_many_are_kept_as_there_is_room_for_and_sums_stay_right() {
    const BLOCKS: u64 = 400_000;
    const LIMIT: u64 = 500_000;
    let mut profile = realistic(1000, 3, Weights::Random);
    profile.samples.clear();
    let stacks = profile.stacks.len() as u64;
    profile.heap.sampling = Sampling::Bytes(64 << 10);
    profile.heap.copying = Sampling::Bytes(1 << 20);
    let sampling = profile.heap.sampling;
    let mut file = StreamWriter::new(Vec::new(), &profile.meta)
        .unwrap()
        .max_size(LIMIT);
    // The true sums of the recording: all blocks, and those live in the end, by stack.
    let mut expected = [0.0; 2];
    let mut waiting: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut copied = 0.0;
    for number in 0..BLOCKS {
        let (block, freed) = block(number, stacks);
        let bytes = sampling.weight(block.size) * block.size as f64;
        expected[0] += bytes;
        match freed.filter(|&freed| freed < BLOCKS) {
            Some(freed) => waiting.entry(freed).or_default().push(number),
            None => expected[1] += bytes,
        }
        profile.heap.blocks.push(block);
        for row in waiting.remove(&number).unwrap_or_default() {
            let freed = Nanos(number * 100_000);
            let index = row.checked_sub(profile.heap.taken);
            match index.and_then(|index| profile.heap.blocks.get_mut(index as usize)) {
                Some(block) => block.freed = Some(freed),
                None => profile.heap.ends.push(BlockEnd {
                    row,
                    freed,
                    is_temporary: false,
                }),
            }
        }
        if number % 40 == 0 {
            let size = 50_000;
            copied += profile.heap.copying.weight(size) * size as f64;
            profile.heap.copies.push(Copied {
                time: block.time,
                size,
                ..Copied::default()
            });
        }
        if number % 997 == 0 {
            file.flush(&mut profile).unwrap();
            assert!(profile.heap.blocks.is_empty() && profile.heap.ends.is_empty());
        }
    }
    let bytes = file.finish(&mut profile).unwrap();
    let (again, warnings) = read(&bytes).unwrap();
    assert_eq!(warnings, []);
    let size = bytes.len() as u64;
    assert!(size <= LIMIT + LIMIT / 20 && size > LIMIT / 2, "{size}");
    let heap = &again.heap;
    let (mut found, mut variance) = ([0.0; 2], 0.0);
    for block in &heap.blocks {
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        let chance =
            heap.sampling.of(block).probability(block.size) / sampling.probability(block.size);
        variance += (1.0 - chance) * bytes * bytes;
        found[0] += bytes;
        if block.freed.is_none() {
            found[1] += bytes;
        }
        // Each end belongs to its block.
        let number = block.time.0 / 100_000;
        let (_, freed) = self::block(number, stacks);
        let freed = freed.filter(|&freed| freed < BLOCKS);
        assert_eq!(block.freed.map(|time| time.0 / 100_000), freed, "{block:?}");
    }
    for (found, expected) in found.into_iter().zip(expected) {
        let off = (found - expected).abs();
        assert!(
            off < 5.0 * variance.sqrt(),
            "{found} of {expected} ± {variance}"
        );
        assert!(off < expected * 0.2, "{found} of {expected}");
    }
    let doublings = heap.blocks.iter().map(|block| block.doublings);
    assert!(doublings.clone().is_sorted() && doublings.max() > Some(1));
    let copies = heap.copies.iter();
    let kept: f64 = copies
        .map(|copy| heap.copying_of(copy).weight(copy.size) * copy.size as f64)
        .sum();
    assert!((kept / copied - 1.0).abs() < 0.3, "{kept} of {copied}");
    let [note] = &again.meta.notes[..] else {
        panic!("{:?}", again.meta.notes)
    };
    assert!(note.contains("fewer allocations are kept"), "{note}");
}

#[test]
fn a_file_that_is_small_enough_stays_as_it_is() {
    let (_, whole, again) = bounded(20_000, 10_000_000);
    assert!(again.samples == whole.samples);
    assert!(again.traffic == whole.traffic);
    assert!(again.heap == whole.heap);
    assert_eq!(again.meta.notes, Vec::<String>::new());
}
