//! Profiles written down by hand.

use expect_test::Expect;
use profundo_model::{
    FrameKey, Language, LocationId, LocationKind, Nanos, Profile, Sample, State, TaskId, ThreadId,
};
use profundo_report::Report;

/// A report that does not depend on where the tests run.
pub fn report() -> Report {
    Report::new().width(80)
}

/// Checks the text of a report.
pub fn check(profile: &Profile, report: Report, expected: Expect) {
    expected.assert_eq(&report.render(profile).unwrap());
}

/// Like [`check`], with `⋮` for the header, and without footer. (A snapshot loses the indent that
/// all its lines share; the `⋮` keeps it.)
pub fn check_rows(profile: &Profile, report: Report, expected: Expect) {
    let text = report.render(profile).unwrap();
    let rows: Vec<&str> = text
        .lines()
        .skip(2)
        .filter(|line| !line.starts_with("Total"))
        .collect();
    expected.assert_eq(&format!("⋮\n{}\n", rows.join("\n")));
}

/// A Rust frame without prefix.
pub fn frame<'a>(function: &'a str, file: &'a str, line: u32) -> FrameKey<'a> {
    FrameKey {
        function,
        file,
        line,
        language: Language::Rust,
        ..FrameKey::default()
    }
}

/// Adds a location with these frames, the innermost first.
pub fn location(profile: &mut Profile, number: u64, frames: &[FrameKey<'_>]) -> LocationId {
    profile.hand_made_location(LocationKind::Invented(number), None, frames)
}

/// Adds samples of a stack, given from its leaf.
pub fn samples(
    profile: &mut Profile,
    count: usize,
    leaf_first: &[LocationId],
    thread: ThreadId,
    task: TaskId,
) {
    let root_first: Vec<LocationId> = leaf_first.iter().rev().copied().collect();
    let stack = profile.hand_made_stack(&root_first);
    let (weight, state) = (profile.meta.period, State::Running);
    for _ in 0..count {
        let time = Nanos(profile.samples.len() as u64);
        profile.samples.push(Sample {
            time,
            weight,
            clock: 0,
            thread,
            task,
            stack,
            state,
            ..Sample::default()
        });
    }
}

/// A profile of one thread and one task without samples.
pub fn empty() -> (Profile, ThreadId, TaskId) {
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    let thread = profile.hand_made_thread(1, "default");
    let task = profile.hand_made_task(0xa);
    (profile, thread, task)
}

/// Eight samples of a small program: two threads, two tasks, a C function, an inlined function.
pub fn app() -> Profile {
    let (mut profile, one, a) = empty();
    let two = profile.hand_made_thread(2, "default");
    let b = profile.hand_made_task(0xb);
    let in_app = |function, signature, line| FrameKey {
        function,
        signature,
        file: "/proj/app.jl",
        prefix: "@App",
        rest: "/app.jl",
        line,
        language: Language::Rust,
        inlined: false,
    };
    let beta_key = in_app("beta", "beta(x)", 31);
    let inl_key = FrameKey {
        inlined: true,
        ..in_app("inl", "inl(x)", 41)
    };
    let sum_key = FrameKey {
        function: "sum",
        signature: "sum(v)",
        file: "reduce.jl",
        prefix: "@Base",
        rest: "reduce.jl",
        line: 7,
        language: Language::Rust,
        inlined: false,
    };
    let memcpy_key = FrameKey {
        function: "memcpy",
        file: "libc.so",
        ..FrameKey::default()
    };
    let main = location(&mut profile, 1, &[in_app("main", "main()", 10)]);
    let alpha = location(&mut profile, 2, &[in_app("alpha", "alpha(n::Int64)", 20)]);
    let beta = location(&mut profile, 3, &[beta_key]);
    let sum = location(&mut profile, 4, &[sum_key]);
    let memcpy = location(&mut profile, 5, &[memcpy_key]);
    let inl = location(&mut profile, 6, &[inl_key, beta_key]);
    samples(&mut profile, 3, &[sum, alpha, main], one, a);
    samples(&mut profile, 2, &[memcpy, sum, alpha, main], one, a);
    samples(&mut profile, 1, &[beta, main], one, b);
    samples(&mut profile, 2, &[inl, main], two, b);
    profile
}

/// Recursion: every call of `fact` is at the same address.
pub fn recursive() -> Profile {
    let (mut profile, thread, task) = empty();
    let key = |function, signature, line| FrameKey {
        signature,
        ..frame(function, "r.jl", line)
    };
    let top = location(&mut profile, 1, &[key("top", "top()", 9)]);
    let fact = location(&mut profile, 2, &[key("fact", "fact(n)", 3)]);
    let mul = location(&mut profile, 3, &[key("mul", "mul(a)", 5)]);
    samples(&mut profile, 2, &[mul, fact, fact, fact, top], thread, task);
    samples(&mut profile, 1, &[fact, fact, top], thread, task);
    profile
}

/// A stack of `f1`, `f2`, … with a line each.
pub fn deep(levels: u32) -> Profile {
    let (mut profile, thread, task) = empty();
    let stack: Vec<LocationId> = (1..=levels)
        .map(|level| {
            let name = format!("f{level}");
            location(
                &mut profile,
                u64::from(level),
                &[frame(&name, "d.jl", level)],
            )
        })
        .rev()
        .collect();
    samples(&mut profile, 1, &stack, thread, task);
    profile
}

/// A profile of one sample with these frames, one location each, the root first.
pub fn one_stack(frames: &[FrameKey<'_>]) -> Profile {
    let (mut profile, thread, task) = empty();
    let stack: Vec<LocationId> = (1..)
        .zip(frames)
        .map(|(number, &key)| location(&mut profile, number, &[key]))
        .collect();
    let leaf_first: Vec<LocationId> = stack.into_iter().rev().collect();
    samples(&mut profile, 1, &leaf_first, thread, task);
    profile
}
