//! How long it takes to add up and print a million samples of depth 30, once where stacks repeat
//! and once where nearly every stack is new. Run it with `--release`.

use std::hint::black_box;
use std::time::Instant;

use profundo_model::{FrameKey, Language, LocationId, LocationKind, Nanos, Profile, Sample, State};
use profundo_report::{Format, Recur, Report};

const SAMPLES: u64 = 1_000_000;
const DEPTH: u64 = 30;

fn main() -> Result<(), profundo_report::Error> {
    for (name, choices) in [("repeating stacks", 2), ("distinct stacks", 40)] {
        let profile = profile(choices);
        eprint_row(&format!(
            "{name}: {} samples, {} distinct stacks or prefixes",
            profile.samples.len(),
            profile.stacks.len()
        ));
        let report = Report::new().width(120);
        for (what, report) in [
            ("tree", report.clone()),
            ("tree, C, by address", report.clone().c(true).combine(false)),
            ("tree, flattened", report.clone().recur(Recur::Flat)),
            ("flat", report.clone().format(Format::Flat)),
            ("functions", report.clone().format(Format::Functions)),
        ] {
            let start = Instant::now();
            let text = black_box(report.render(&profile)?);
            let time = start.elapsed().as_secs_f64();
            eprint_row(&format!(
                "  {what}: {time:.3} s, {} lines",
                text.lines().count()
            ));
        }
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "this is what the program is for")]
fn eprint_row(text: &str) {
    eprintln!("{text}");
}

/// Stacks whose upper third is shared and whose last levels choose among `choices` functions.
fn profile(choices: u64) -> Profile {
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    let thread = profile.hand_made_thread(1, "main");
    let task = profile.hand_made_task(1);
    let locations: Vec<LocationId> = (0..2000_u64)
        .map(|number| {
            let frame = profile.frame(FrameKey {
                function: &format!("some::module::function_{number}"),
                file: &format!("/src/some/path/file_{}.rs", number % 97),
                line: number as u32 % 1000 + 1,
                language: if number % 10 == 9 {
                    Language::Native
                } else {
                    Language::Rust
                },
                ..FrameKey::default()
            });
            let location = profile
                .locations
                .intern(LocationKind::Invented(number + 1), None);
            profile.locations.set_frames(location, &[frame]);
            location
        })
        .collect();
    let mut random = 88_172_645_463_325_252_u64;
    for index in 0..SAMPLES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut stack = None;
        for level in 0..DEPTH {
            let choice = if level < 26 {
                // Of the upper levels, few differ.
                if level % 9 == 8 {
                    (random >> level) & 1
                } else {
                    0
                }
            } else {
                (random >> (10 * (level - 26))) % choices
            };
            let location = locations[((level * 61 + choice * 7) % 2000) as usize];
            stack = Some(profile.stacks.intern(stack, location));
        }
        let stack = stack.expect("a stack has levels");
        profile.samples.push(Sample {
            time: Nanos(index * 1_000_000),
            weight: profile.meta.period,
            clock: 0,
            thread,
            task,
            stack,
            state: State::Running,
            ..Sample::default()
        });
    }
    profile
}
