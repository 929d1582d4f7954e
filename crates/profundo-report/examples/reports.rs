//! Times the reports on ten million samples of depth 40 from eight threads, with twenty thousand
//! distinct stacks; and the library's where nearly every stack of a million is new. Run it with
//! `--release`; a number is that of samples.

use std::hint::black_box;
use std::time::Instant;

use profundo_model::{
    FrameKey, Language, LocationId, LocationKind, Nanos, Profile, Sample, StackId, State, Thread,
};
use profundo_report::{
    Callers, Choices, Error, Filter, Format, Functions, GroupBy, Lines, Recur, Report, Statprof,
    Summary, View,
};

const STACKS: u64 = 20_000;
const DEPTH: u64 = 40;
const THREADS: u64 = 8;

fn main() -> Result<(), Error> {
    let samples = std::env::args()
        .nth(1)
        .and_then(|argument| argument.parse().ok());
    let samples = samples.unwrap_or(10_000_000);
    commands(&named(profile(samples, STACKS)))?;
    library(&named(profile(samples / 10, samples / 10)))
}

fn named(profile: Profile) -> Profile {
    eprint_row(&format!(
        "{} samples, {} distinct stacks or prefixes",
        profile.samples.len(),
        profile.stacks.len()
    ));
    profile
}

/// The library's reports, in the ways that make the most of distinct stacks.
fn library(profile: &Profile) -> Result<(), Error> {
    let report = Report::new().width(120);
    for (what, report) in [
        ("tree", report.clone()),
        ("tree, C, by address", report.clone().c(true).combine(false)),
        ("tree, flattened", report.clone().recur(Recur::Flat)),
        ("flat", report.clone().format(Format::Flat)),
        ("functions", report.clone().format(Format::Functions)),
    ] {
        time(what, || report.render(profile))?;
    }
    Ok(())
}

/// The command's.
fn commands(profile: &Profile) -> Result<(), Error> {
    let command = Choices::command();
    let tree = Report::new().choices(command.clone()).width(120);
    let window = (command.clone()).filter(Filter::default().from_seconds(1.0).thread("2"));
    let within = command
        .clone()
        .filter(Filter::default().function("function_20"));
    let mine = command.only_mine(true);
    time("summary", || Summary::new().render(profile))?;
    time("lines", || Lines::new().render(profile))?;
    time("functions", || Functions::new().render(profile))?;
    time("functions, mine", || {
        Functions::new().choices(mine).render(profile)
    })?;
    time("functions, window", || {
        Functions::new().choices(window).render(profile)
    })?;
    time("functions, within", || {
        Functions::new().choices(within).render(profile)
    })?;
    time("statprof", || Statprof::new().render(profile))?;
    time("callers", || Callers::both("function_20").render(profile))?;
    time("tree", || tree.render(profile))?;
    let threads = tree.clone().group_by(GroupBy::Thread).noisefloor(2.0);
    time("tree by thread", || threads.render(profile))?;
    time("flat", || tree.clone().format(Format::Flat).render(profile))?;
    time("tree, JSON", || tree.json(profile))?;
    time("lines, JSON", || Lines::new().json(profile))?;
    time("summary, JSON", || Summary::new().json(profile))
}

fn time(what: &str, report: impl FnOnce() -> Result<String, Error>) -> Result<(), Error> {
    let start = Instant::now();
    let text = black_box(report()?);
    let time = start.elapsed().as_secs_f64();
    eprint_row(&format!(
        "  {what}: {time:.3} s, {} lines",
        text.lines().count()
    ));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "this is what the program is for")]
fn eprint_row(text: &str) {
    eprintln!("{text}");
}

fn profile(samples: u64, distinct: u64) -> Profile {
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    profile.hand_made_thread(1, "main");
    for number in 2..=THREADS {
        let name = profile.strings.intern("worker");
        profile.threads.push(Thread {
            number,
            name,
            ..Thread::default()
        });
    }
    let task = profile.hand_made_task(1);
    let locations: Vec<LocationId> = (0..3000_u64)
        .map(|number| location(&mut profile, number))
        .collect();
    let mut random = Random(88_172_645_463_325_252);
    let stacks: Vec<StackId> = (0..distinct)
        .map(|_| {
            let mut stack = None;
            for level in 0..DEPTH {
                // Of the upper levels, few differ.
                let choices = if level < 20 { 2 } else { 8 };
                let location = level * 61 + (random.next() % choices) * 7;
                let location = locations[(location % 3000) as usize];
                stack = Some(profile.stacks.intern(stack, location));
            }
            stack.expect("a stack has levels")
        })
        .collect();
    profile.samples.reserve(samples as usize);
    for index in 0..samples {
        let random = random.next();
        // A few stacks are hot.
        let at = (random % distinct) * ((random >> 20) % distinct) / distinct;
        let is_system = (random >> 40).is_multiple_of(50);
        profile.samples.push(Sample {
            time: Nanos(index * 125_000),
            weight: Nanos(if is_system { 10_000_000 } else { 1_000_000 }),
            thread: profundo_model::ThreadId(((random >> 50) % THREADS) as u32),
            task,
            stack: stacks[at as usize],
            state: if is_system {
                State::System
            } else {
                State::Running
            },
            ..Sample::default()
        });
    }
    profile
}

fn location(profile: &mut Profile, number: u64) -> LocationId {
    let is_python = number % 5 < 3;
    let frame = profile.frame(FrameKey {
        function: &format!("some.module.function_{}", number / 3),
        file: &match number % 4 {
            0 => format!("/usr/lib/python3.12/file_{}.py", number % 97),
            _ => format!("/home/me/some/path/file_{}.py", number % 97),
        },
        line: number as u32 % 1000 + 1,
        language: if is_python {
            Language::Python
        } else {
            Language::Native
        },
        ..FrameKey::default()
    });
    let kind = if is_python {
        LocationKind::Python {
            frame,
            column: 0,
            is_call: true,
        }
    } else {
        LocationKind::Invented(number + 1)
    };
    let location = profile.locations.intern(kind, None);
    profile.locations.set_frames(location, &[frame]);
    location
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
