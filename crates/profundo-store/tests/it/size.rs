//! The bytes of a sample in the store, stacks and all.

use profundo_model::{
    FrameKey, Language, LocationId, LocationKind, Nanos, Process, ProcessId, Profile, Sample,
    State, Task, Thread,
};
use profundo_store::{Stretch, table::TABLES};

use crate::given::{NINE, PERIOD, writer};

/// Pseudo-random numbers (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % most
    }

    /// Small numbers are likely: about as by Zipf's law.
    fn low(&mut self, most: u64) -> u64 {
        let share = self.below(1 << 32) as f64 / (1_u64 << 32) as f64;
        ((most as f64).powf(share) - 1.0) as u64
    }
}

/// A busy machine of two cores with 200 processes, for this number of seconds at 97 Hz. Each
/// process has its own 300 stacks of 10 to 40 frames, of which few take most of the time.
fn machine(seconds: u64) -> Profile {
    let mut profile = Profile::default();
    profile.meta.started_at_unix = NINE as u64 * 1_000_000;
    profile.meta.period = Nanos(PERIOD);
    let mut chance = Chance(5);
    let frames: Vec<LocationId> = (0..30_000_u64)
        .map(|number| {
            let (name, file) = (
                format!("function_{number}"),
                format!("/srv/app/module{}.py", number / 20),
            );
            let language = if number % 3 == 0 {
                Language::Native
            } else {
                Language::Python
            };
            let frame = profile.frame(FrameKey {
                function: &name,
                file: &file,
                line: number as u32 % 900 + 1,
                language,
                ..FrameKey::default()
            });
            let kind = LocationKind::Invented(number + 1);
            let location = profile.locations.intern(kind, None);
            profile.locations.set_frames(location, &[frame]);
            location
        })
        .collect();
    let mut threads = Vec::new();
    for pid in 0..200_u32 {
        let command = profile
            .strings
            .intern(&format!("/usr/bin/program{pid} --serve"));
        profile.processes.push(Process {
            pid,
            command,
            ..Process::default()
        });
        let process = ProcessId(pid);
        let thread = profile.threads.push(Thread {
            number: 1,
            tid: pid,
            process,
            ..Thread::default()
        });
        let task = profile.tasks.push(Task {
            number: 1,
            is_root: true,
            ..Task::default()
        });
        let mut lists: Vec<Vec<LocationId>> = Vec::new();
        for number in 0..300 {
            let mut list = match number {
                0 => Vec::new(),
                _ => {
                    let other = &lists[chance.below(number) as usize];
                    other[..other.len() * 3 / 4].to_vec()
                }
            };
            let depth = 10 + chance.below(31) as usize;
            while list.len() < depth {
                let base = u64::from(pid) * 140;
                list.push(frames[(base + chance.below(400)) as usize % frames.len()]);
            }
            lists.push(list);
        }
        let stacks = lists.iter().map(|list| {
            let intern = |stack, &location| Some(profile.stacks.intern(stack, location));
            list.iter().fold(None, intern).expect("a frame")
        });
        threads.push((thread, task, stacks.collect::<Vec<_>>()));
    }
    for tick in 0..seconds * 97 * 2 {
        let (thread, task, stacks) = &threads[chance.low(200) as usize];
        profile.samples.push(Sample {
            time: Nanos(tick / 2 * PERIOD),
            weight: Nanos(PERIOD),
            thread: *thread,
            task: *task,
            stack: stacks[chance.low(300) as usize],
            state: if tick % 7 == 0 {
                State::System
            } else {
                State::Running
            },
            ..Sample::default()
        });
    }
    profile
}

#[test]
fn a_sample_takes_at_most_20_bytes() {
    let (seconds, length) = (3600, 60);
    let given = machine(seconds);
    let mut writer = writer("machine", "h1");
    let mut bytes = [0_u64; TABLES.len()];
    let mut samples = 0;
    for start in (0..seconds).step_by(length as usize) {
        let at = |second: u64| Nanos(second * 1_000_000_000);
        let stretch = Stretch {
            time: at(start)..at(start + length),
            ..Stretch::all(&given)
        };
        let segment = writer.segment(&given, &stretch).unwrap();
        samples += segment.samples;
        for file in &segment.files {
            let table = TABLES
                .iter()
                .position(|table| file.path.contains(&format!("/{table}/")));
            bytes[table.unwrap()] += file.bytes.len() as u64;
        }
    }
    assert_eq!(samples, given.samples.len() as u64);
    let each = bytes.map(|bytes| bytes as f64 / samples as f64);
    let sum: f64 = each.iter().sum();
    let tables = TABLES
        .iter()
        .zip(each)
        .map(|(table, bytes)| format!("{table} {bytes:.2}"));
    let stacks = given.stacks.len();
    let text = format!(
        "{samples} samples, {stacks} nodes; segments of {length} s: {sum:.2} bytes: {}",
        tables.collect::<Vec<_>>().join(", ")
    );
    // `--nocapture` shows it.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
    assert!(sum <= 20.0, "{text}");
}
