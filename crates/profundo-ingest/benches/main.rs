//! The speed of ingesting samples that repeat their stacks: `cargo bench -p profundo-ingest`.

#![expect(
    clippy::print_stdout,
    reason = "a table on the terminal is what a bench is for"
)]

use std::time::Instant as Stopwatch;

use profundo_ingest::Ingest;
use profundo_wire::recording::{Event, Instant, ModuleInfo, ProcessInfo, Start};
use profundo_wire::{End, Gil, PythonEnd, PythonWord, SampleHead, State};

const SAMPLES: usize = 2_000_000;
const STACKS: usize = 20_000;
const DEPTH: usize = 40;

fn main() {
    for python in [0, DEPTH / 2] {
        let words = words(python);
        let mut ingest = Ingest::new(Start::default());
        ingest.event(Event::Process(ProcessInfo {
            key: 1,
            ..ProcessInfo::default()
        }));
        let module = ModuleInfo {
            path: "/bin/app".into(),
            start: 0x1000,
            end: 0x100_0000,
            bias: 0,
            build_id: vec![1],
            loaded: 0,
            unloaded: u64::MAX,
        };
        ingest.event(Event::Modules {
            process: 1,
            modules: vec![module],
        });
        let mut sum = 0;
        let start = Stopwatch::now();
        for (round, chunk) in words.chunks(1000).enumerate() {
            let process = 1;
            for words in chunk {
                ingest.event(Event::Words { process, words });
            }
            let now = 1 + round as u64 * 1_000_000;
            ingest.event(Event::Clock(Instant {
                cycles: now,
                monotonic: now,
                unix: 0,
            }));
            sum += ingest.profile_mut().samples.drain(..).len();
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{DEPTH} levels, {python} of them Python: {:.2} million samples a second \
             ({sum} let go, {} stack rows)",
            SAMPLES as f64 / seconds / 1e6,
            ingest.profile().stacks.len(),
        );
    }
}

/// Records of samples whose stacks repeat.
fn words(python: usize) -> Vec<Vec<u64>> {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let stacks: Vec<Vec<u64>> = (0..STACKS)
        .map(|_| {
            let native = (0..DEPTH - python)
                .map(|_| 0x1000 + next(0x10_0000))
                .collect::<Vec<_>>();
            let frames = (0..python).map(|_| {
                let word = PythonWord::Frame {
                    code: 0,
                    offset: next(1000) as i32,
                    is_call: true,
                };
                word.to_word()
            });
            let entry = (python > 0).then(|| PythonWord::Entry { native: Some(3) }.to_word());
            native.into_iter().chain(frames).chain(entry).collect()
        })
        .collect();
    (0..SAMPLES)
        .map(|index| {
            let stack = &stacks[next(STACKS as u64) as usize];
            let head = SampleHead {
                state: State::Running,
                end: End::Root,
                frames: (DEPTH - python) as u16,
                python: (stack.len() - (DEPTH - python)) as u16,
                python_end: PythonEnd::Whole,
                gil: Gil::None,
                clock: index as u64 * 1000,
                weight: 1_000_000,
                task: 0,
                thread: 1 + next(8) as u32,
                tid: 1,
                span: 0,
            };
            [&head.to_words()[..], stack].concat()
        })
        .collect()
}
