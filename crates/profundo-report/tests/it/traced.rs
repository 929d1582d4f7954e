//! Profiles whose calls were counted, by hand.

use profundo_model::{
    Call, Callers, Clock, FrameKey, Language, LocationId, LocationKind, Nanos, Profile, Sample,
    SampleKind, ThreadId, Tracing,
};

/// A place of the tree of calls: the path from its root, how often it was begun and gone on with,
/// and what it took in all and itself, in microseconds.
type Place<'a> = (&'a [&'a str], u64, u64, u64, u64);

/// Functions by short names: those of a file of the program's, and what is built in.
fn location(profile: &mut Profile, name: &str) -> LocationId {
    let (file, line) = match name {
        "<module>" => ("/home/me/app.py", 1),
        "fib" => ("/home/me/app.py", 4),
        "read" => ("/home/me/lib/rows.py", 10),
        "wait" => ("/usr/lib/python3.12/asyncio/tasks.py", 655),
        _ => {
            let key = FrameKey {
                function: name,
                language: Language::Native,
                ..FrameKey::default()
            };
            let number = name.bytes().map(u64::from).sum();
            return profile.hand_made_location(LocationKind::Invented(number), None, &[key]);
        }
    };
    profile.hand_made_python(file, name, line, false)
}

fn add(profile: &mut Profile, thread: ThreadId, places: &[Place<'_>]) {
    for &(path, calls, resumes, total, own) in places {
        let path: Vec<LocationId> = path.iter().map(|name| location(profile, name)).collect();
        let stack = profile.hand_made_stack(&path);
        let micros = |micros: u64| Nanos(micros * 1000);
        profile.traced.calls.push(Call {
            thread,
            stack,
            calls,
            resumes,
            total: micros(total),
            own: micros(own),
            cost: [Nanos(100 * total), Nanos(100 * own)],
            callers: Callers::All,
        });
        let task = profile.tasks.find_number(1).unwrap();
        profile.samples.push(Sample {
            weight: micros(own),
            thread,
            task,
            stack,
            ..Sample::default()
        });
    }
}

/// A program with recursion, a coroutine, something built in, and two threads.
pub fn traced() -> Profile {
    let mut profile = Profile::default();
    profile.meta.kind = SampleKind::Traced;
    profile.hand_made_process(4711, "python3 app.py");
    profile.processes[0].runtime = profile.strings.intern("CPython 3.12.1");
    profile.hand_made_task(1);
    let main = profile.hand_made_thread(1, "MainThread");
    let worker = profile.hand_made_thread(2, "reader");
    let append = "method 'append' of 'list' objects";
    let len = "built-in method builtins.len";
    add(
        &mut profile,
        main,
        &[
            (&["<module>"], 1, 0, 120_000, 1_000),
            (&["<module>", "fib"], 1, 0, 100_000, 10_000),
            (&["<module>", "fib", "fib"], 2, 0, 90_000, 30_000),
            (&["<module>", "fib", "fib", "fib"], 4, 0, 60_000, 60_000),
            (&["<module>", "wait"], 3, 40, 19_000, 18_500),
            (&["<module>", "wait", len], 43, 0, 500, 500),
        ],
    );
    add(
        &mut profile,
        worker,
        &[
            (&["read"], 1, 0, 7_000, 6_000),
            (&["read", append], 1000, 0, 800, 800),
            (&["read", len], 1000, 0, 200, 200),
        ],
    );
    profile
}

/// Like [`traced`], with the lines of two functions, and the source of one of them.
pub fn counted_lines() -> Profile {
    let mut profile = traced();
    let source = [
        "@cache",
        "def fib(n):",
        "    # The slow way.",
        "    if n < 2:",
        "        return n",
        "    return fib(n - 1) + fib(n - 2)",
        "",
        "def next():",
        "    pass",
    ];
    let file = profile.file("/home/me/app.py", "", "");
    for (number, text) in (3..).zip(source) {
        let text = profile.strings.intern(text);
        profile.sources.insert(file, number, text);
    }
    let rows = [
        ("fib", "/home/me/app.py", 3, 6, 7, 21_000),
        ("fib", "/home/me/app.py", 3, 7, 4, 4_200),
        ("fib", "/home/me/app.py", 3, 8, 3, 90_000_000),
        (
            "read",
            "/home/me/lib/rows.py",
            10,
            12,
            1_234_567_890,
            7_654_321_000_000,
        ),
        ("read", "/home/me/lib/rows.py", 10, 14, 1, 0),
    ];
    for (function, file, first, line, hits, time) in rows {
        let frame = profile.frame(FrameKey {
            function,
            file,
            line,
            language: Language::Python,
            ..FrameKey::default()
        });
        profile.traced.lines.push(profundo_model::Line {
            process: profundo_model::ProcessId(0),
            frame,
            first,
            hits,
            time: Nanos(time),
        });
    }
    profile
}

/// Like [`counted_lines`], but with nothing but which lines were run at all.
pub fn lines_once() -> Profile {
    let mut profile = counted_lines();
    profile.traced.calls.clear();
    profile.samples.clear();
    profile.meta.kind = SampleKind::Cpu;
    profile.traced.tracing = Tracing::LinesOnce;
    profile.traced.clock = Clock::None;
    for line in &mut profile.traced.lines {
        line.hits = u64::from(line.hits > 3);
        line.time = Nanos(0);
    }
    let last = profile.traced.lines.len() - 1;
    profile.traced.lines[last - 1].hits = 0;
    profile
}
