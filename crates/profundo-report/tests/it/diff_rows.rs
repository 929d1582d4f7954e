//! Comparisons by thread, process, task, kind, wait, I/O and type: pairs of recordings of which one
//! row has changed by a known amount, drawn at random over several seeds.

use profundo_analysis::diff::{By, Options, compare};
use profundo_model::{
    Bytes, FrameKey, Language, LocationKind, Measure, Nanos, Process, Profile, Sample, SampleKind,
    Sampling, StackId, State, ThreadId, Traffic, Wait,
};
use profundo_report::{Compared, Diff, Look, Ready, Shown};
use serde_json::Value;

const MS: u64 = 1_000_000;

/// Random numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Samples of which each is to be drawn about so many times.
type Urn = Vec<(u64, Sample)>;

/// A recording with the samples of an urn, in random order and number.
fn drawn(mut profile: Profile, urn: &Urn, seed: u64) -> Profile {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..8 {
        random.below(2);
    }
    let all: u64 = urn.iter().map(|(count, _)| count).sum();
    for number in 0..all {
        let mut at = random.below(all);
        let (_, sample) = (urn.iter())
            .find(|(count, _)| match at.checked_sub(*count) {
                Some(left) => {
                    at = left;
                    false
                }
                None => true,
            })
            .unwrap();
        profile.samples.push(Sample {
            time: Nanos(number * MS),
            ..*sample
        });
    }
    profile
}

/// A changed row, as text and JSON have it.
#[derive(Debug)]
struct Changed {
    name: String,
    what: String,
    before: f64,
    after: f64,
}

/// The verdict and the changed rows of a comparison by `by`, from its JSON. The text has the same.
fn changes(by: By, before: &Profile, after: &Profile) -> (String, Vec<Changed>) {
    let options = Options {
        by: vec![by],
        shown: Shown::COMMAND,
        ..Options::default()
    };
    let comparison = compare(&[before], &[after], &options).unwrap();
    let side = |name, profile| {
        [Compared {
            name,
            made: "",
            profile,
            of: "runs",
        }]
    };
    let (old, new) = (side("a", before), side("b", after));
    let diff = Diff::new(&comparison, &old, &new).look(Look::new().width(120));
    let json: Value = serde_json::from_str(&diff.json().unwrap()).unwrap();
    let text = diff.render().unwrap();
    let table = &json["tables"][0];
    assert_eq!(table["by"], by.name());
    let rows = table["rows"].as_array().unwrap().iter();
    let rows: Vec<Changed> = rows
        .filter(|row| row["self_changed"] == true)
        .map(|row| Changed {
            name: row["name"].as_str().unwrap().to_owned(),
            what: row["what"].as_str().unwrap().to_owned(),
            before: row["self_before"].as_f64().unwrap(),
            after: row["self_after"].as_f64().unwrap(),
        })
        .collect();
    for row in &rows {
        let is_it = |line: &str| line.contains(&row.name) && line.contains(['+', '−']);
        assert!(text.lines().skip(1).any(is_it), "{}: {text}", row.name);
    }
    let verdict = json["verdict"].as_str().unwrap().to_owned();
    assert!(
        text.replace('\n', " ").starts_with(&verdict[..20]),
        "{text}"
    );
    (verdict, rows)
}

/// Compares recordings of `make`, which has an amount for the row that changes, over seeds: the row
/// `name` alone is named when its amount changes, and nothing when it stays.
fn check(by: By, name: &str, make: impl Fn(u64, u64) -> Profile, [before, after]: [f64; 2]) {
    const SEEDS: u64 = 8;
    let is_near = |found: f64, wanted: f64| (found - wanted).abs() <= 0.08 * wanted;
    let mut alarms = 0;
    for seed in 1..=SEEDS {
        let recorded = |amount, seed| make(amount, seed);
        let (old, new) = (recorded(2000, seed), recorded(4000, seed + 100));
        let (verdict, rows) = changes(by, &old, &new);
        let [row] = &rows[..] else {
            panic!("by {}: one row has changed, and not {rows:?}", by.name());
        };
        assert_eq!((&row.name[..], &row.what[..]), (name, "same"));
        // Bytes of files are no part of the whole, which is time.
        assert!(by == By::Io || verdict.contains(name), "{verdict}");
        let is_right = is_near(row.before, before) && is_near(row.after, after);
        assert!(is_right, "{row:?} is not {before} and {after}");
        let (verdict, rows) = changes(by, &old, &recorded(2000, seed + 200));
        alarms += usize::from(!rows.is_empty());
        assert!(
            !rows.is_empty() || verdict.starts_with("No difference"),
            "{verdict}"
        );
        // What is only after is new, and what is only before is gone.
        let (verdict, rows) = changes(by, &recorded(0, seed), &new);
        assert_eq!(
            (&rows[0].name[..], &rows[0].what[..]),
            (name, "new"),
            "{verdict}"
        );
        let (_, rows) = changes(by, &new, &recorded(0, seed));
        assert_eq!((&rows[0].name[..], &rows[0].what[..]), (name, "gone"));
    }
    assert!(alarms <= 1, "by {}: {alarms} of {SEEDS}", by.name());
}

fn empty(kind: SampleKind) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    profile.meta.period = Nanos(MS);
    profile.meta.kind = kind;
    profile
}

fn stack(profile: &mut Profile, language: Language, function: &str, line: u32) -> StackId {
    let key = FrameKey {
        function,
        file: "/app/app.py",
        line,
        language,
        ..FrameKey::default()
    };
    let kind = LocationKind::Invented(profile.locations.len() as u64 + 1);
    let location = profile.hand_made_location(kind, None, &[key]);
    profile.hand_made_stack(&[location])
}

fn sample(profile: &Profile, stack: StackId) -> Sample {
    Sample {
        weight: Nanos(MS),
        thread: profile.threads.find_number(1).unwrap(),
        task: profile.tasks.find_number(1).unwrap(),
        stack,
        state: State::Running,
        ..Sample::default()
    }
}

#[test]
fn threads_by_their_names() {
    let make = |amount, seed| {
        let mut profile = empty(SampleKind::Cpu);
        let stack = stack(&mut profile, Language::Python, "work", 1);
        let plain = sample(&profile, stack);
        // The two threads of one name are one row.
        let urn = [
            ("loader", 3000),
            ("worker", amount / 2),
            ("worker", amount / 2),
            ("idle", 1000),
        ];
        let urn: Urn = (2..)
            .zip(urn)
            .map(|(number, (name, count))| {
                let thread = profile.hand_made_thread(number, name);
                (count, Sample { thread, ..plain })
            })
            .collect();
        drawn(profile, &urn, seed)
    };
    check(By::Thread, "worker", make, [2.0, 4.0]);
}

#[test]
fn processes_by_their_programs() {
    let make = |amount, seed| {
        let mut profile = empty(SampleKind::Cpu);
        let stack = stack(&mut profile, Language::Python, "work", 1);
        let plain = sample(&profile, stack);
        let programs = [
            ("/usr/bin/python3 app.py", 3000),
            ("gzip -9 a", amount / 2),
            ("/bin/gzip -9 b", amount / 2),
            ("sh -c true", 1000),
        ];
        let mut urn = Urn::new();
        for (number, (command, count)) in (2..).zip(programs) {
            let command = profile.strings.intern(command);
            profile.processes.push(Process {
                pid: number as u32,
                command,
                ..Process::default()
            });
            let process = profundo_model::ProcessId::from_index(profile.processes.len() - 1);
            let thread = profile.hand_made_thread(number, "main");
            profile.threads.get_mut(thread).process = process;
            urn.push((count, Sample { thread, ..plain }));
        }
        drawn(profile, &urn, seed)
    };
    check(By::Process, "gzip", make, [2.0, 4.0]);
}

#[test]
fn tasks_by_their_names_or_where_they_began() {
    let with = |is_named: bool| {
        move |amount, seed| {
            let mut profile = empty(SampleKind::Cpu);
            let stack = stack(&mut profile, Language::Python, "work", 1);
            let plain = sample(&profile, stack);
            let texts = ["fetch", "app.py:12", "other"].map(|text| profile.strings.intern(text));
            let [fetch, place, other] = texts;
            // What runs in no task has the name of its thread.
            let root = profile.tasks.get_mut(plain.task);
            (root.is_root, root.name) = (true, fetch);
            let mut urn: Urn = vec![(1000, plain)];
            for (number, (is_it, count)) in
                (2..).zip([(true, amount / 2), (true, amount / 2), (false, 3000)])
            {
                let task = profile.hand_made_task(number);
                let row = profile.tasks.get_mut(task);
                match (is_it, is_named) {
                    (true, true) => row.name = fetch,
                    (true, false) => row.spawned_at = place,
                    (false, _) => row.name = other,
                }
                urn.push((count, Sample { task, ..plain }));
            }
            drawn(profile, &urn, seed)
        }
    };
    check(By::Task, "fetch", with(true), [2.0, 4.0]);
    check(By::Task, "tasks of app.py:12", with(false), [2.0, 4.0]);
}

#[test]
fn kinds_of_time() {
    let make = |amount, seed| {
        let mut profile = empty(SampleKind::Cpu);
        let python = stack(&mut profile, Language::Python, "work", 1);
        let native = stack(&mut profile, Language::Native, "crunch", 2);
        let (python, native) = (sample(&profile, python), sample(&profile, native));
        let in_kernel = Sample {
            state: State::System,
            ..python
        };
        drawn(
            profile,
            &vec![(3000, python), (amount, native), (1000, in_kernel)],
            seed,
        )
    };
    check(By::Kind, "native", make, [2.0, 4.0]);
}

#[test]
fn waits_by_reason_and_line() {
    let make = |amount, seed| {
        let mut profile = empty(SampleKind::Wall);
        let mut waiting = |wait: Wait, line| {
            let below = stack(&mut profile, Language::Python, "work", line);
            let frame = profile.frame(FrameKey {
                function: &wait.frame_name(""),
                language: Language::Synthetic,
                ..FrameKey::default()
            });
            let location = profile
                .locations
                .intern(LocationKind::Wait { frame, wait }, None);
            profile.locations.set_frames(location, &[frame]);
            let stack = profile.stacks.intern(Some(below), location);
            Sample {
                state: State::WallWaiting,
                ..sample(&profile, stack)
            }
        };
        let (lock, read) = (waiting(Wait::Lock, 7), waiting(Wait::Read, 9));
        let running = stack(&mut profile, Language::Python, "work", 11);
        let running = sample(&profile, running);
        drawn(
            profile,
            &vec![(3000, lock), (amount, read), (2000, running)],
            seed,
        )
    };
    check(By::Wait, Wait::Read.name(), make, [2.0, 4.0]);
}

#[test]
fn bytes_by_file() {
    let make = |amount: u64, seed| {
        let mut profile = empty(SampleKind::Wall);
        let stack = stack(&mut profile, Language::Python, "read", 7);
        let plain = Sample {
            state: State::System,
            ..sample(&profile, stack)
        };
        let files = [("a.csv", 3000), ("b.csv", amount), ("c.csv", 1000)];
        let files = files.map(|(name, count)| (profile.strings.intern(name), count));
        let urn: Urn = (files.iter())
            .map(|&(file, count)| (count, Sample { file, ..plain }))
            .collect();
        let mut profile = drawn(profile, &urn, seed);
        // Each sample stands for as many bytes.
        let length = profile.samples.len() as u64;
        profile.traffic = (0..length)
            .map(|number| Traffic {
                thread: ThreadId(0),
                from: Nanos(number * MS),
                to: Nanos((number + 1) * MS),
                bytes: Bytes {
                    read: 1000,
                    ..Bytes::default()
                },
                ..Traffic::default()
            })
            .collect();
        profile
    };
    check(By::Io, "b.csv", make, [2e6, 4e6]);
}

#[test]
fn memory_by_type() {
    const ALLOC: &str = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/";
    let with = |sampling| {
        move |amount, seed| {
            let mut profile = empty(SampleKind::Heap(Measure::default()));
            profile.meta.period = Nanos(1);
            profile.heap.sampling = sampling;
            let mut of = |element: &str| {
                let file = format!("{ALLOC}vec/mod.rs");
                let signature = format!("push<{element}, alloc::alloc::Global>");
                let own = stack(&mut profile, Language::Rust, "app::work", 1);
                let kind = LocationKind::Invented(profile.locations.len() as u64 + 1);
                let key = FrameKey {
                    function: "push",
                    signature: &signature,
                    file: &file,
                    language: Language::Rust,
                    ..FrameKey::default()
                };
                let push = profile.hand_made_location(kind, None, &[key]);
                let stack = profile.stacks.intern(Some(own), push);
                Sample {
                    weight: Nanos(1000),
                    ..sample(&profile, stack)
                }
            };
            let (numbers, texts, flags) = (of("u64"), of("alloc::string::String"), of("bool"));
            drawn(
                profile,
                &vec![(3000, texts), (amount, numbers), (1000, flags)],
                seed,
            )
        }
    };
    let wanted = [2e6, 4e6];
    check(By::Type, "Vec<u64>", with(Sampling::Bytes(1000)), wanted);
    // Where every allocation was recorded, every difference is one.
    let make = with(Sampling::All);
    let (verdict, rows) = changes(By::Type, &make(2000, 1), &make(4000, 1));
    assert!(rows.iter().any(|row| row.name == "Vec<u64>"), "{verdict}");
    assert!(
        changes(By::Type, &make(2000, 1), &make(2000, 1))
            .1
            .is_empty()
    );
}
