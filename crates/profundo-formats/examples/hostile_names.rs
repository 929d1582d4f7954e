//! Writes a recording whose names attack a program that shows them: markup, ends of scripts,
//! addresses that run, marks that turn a line around, control characters, very long ones. The
//! page's tests open it (`ui/test/hostile.test.mjs`).
//!
//! `cargo run -p profundo-formats --example hostile_names -- hostile.profundo [more|counted]`
//!
//! `more` gives the functions other times, for a comparison. `counted` adds calls, lines and
//! exceptions that were counted.

use std::env;

use profundo_formats::write_file;
use profundo_model::{
    Block, Call, Exceptions, FrameId, FrameKey, Language, Line, LocationKind, Nanos, ProcessId,
    Profile, Sample, Sampling, Span, SpanPath, StackId, State, StringId, Task, Thread, ThreadId,
    Tracing,
};

/// The names. `hacked` is what the page's tests look for.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "<img src=x onerror=hacked=1>",
        "</script><script>hacked=1</script>",
        "<!--<script>",
        "\"><svg onload=hacked=1>",
        "' onmouseover='hacked=1",
        "javascript:hacked=1",
        "data:text/html,<script>hacked=1</script>",
        "</title></style><iframe srcdoc='<script>parent.hacked=1</script>'>",
        "`${hacked=1}` {{hacked=1}} &lt;b&gt; &amp;",
        "@answers@ @nonce@ @policy@",
        "__proto__",
        "constructor",
        "\u{202e}gnihtemos\u{2066}\u{200f} turned",
        "nul\u{0}bell\u{7}escape\u{1b}[31mdelete\u{7f}line\u{2028}feed\nreturn\r",
        "=HYPERLINK(\"http://evil.example/\")",
        "http://evil.example/image.png",
    ]
    .map(str::to_owned)
    .into();
    // Marks that pile up over one letter, a word that no line can break, and a very long name.
    names.push(format!("z{}", "\u{334}\u{351}\u{489}".repeat(60)));
    names.push("W".repeat(5_000));
    names.push("long name ".repeat(10_000));
    names
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = env::args().nth(1).ok_or("which file?")?;
    let kind = env::args().nth(2).unwrap_or_default();
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    profile.heap.sampling = Sampling::All;
    let names = names();
    let most = names.len() as u64;
    for (number, name) in (0_u64..).zip(&names) {
        let samples = if kind == "more" {
            50 * (most - number)
        } else {
            number + 1
        };
        let (thread, stack, frame) = add(&mut profile, number, samples, name);
        let word = profile.strings.intern(name);
        allocate(&mut profile, number, thread, stack, word);
        if kind == "counted" {
            count(&mut profile, number, thread, stack, frame, word);
        }
    }
    profile.meta.notes.extend(names);
    write_file(path, &profile)?;
    Ok(())
}

/// Two blocks of a type of this name: one is freed.
fn allocate(profile: &mut Profile, number: u64, thread: ThreadId, stack: StackId, word: StringId) {
    for freed in [None, Some(Nanos(50_000_000))] {
        profile.heap.blocks.push(Block {
            time: Nanos(number * 1_000_000),
            freed,
            size: 1000 * (number + 1),
            thread,
            stack,
            type_name: word,
            ..Block::default()
        });
    }
}

/// Calls, runs of a line and exceptions of a type of this name, each in a number of its own.
fn count(
    profile: &mut Profile,
    number: u64,
    thread: ThreadId,
    stack: StackId,
    frame: FrameId,
    of_type: StringId,
) {
    let process = profile.threads.get(thread).process;
    let count = 10 + number;
    profile.traced.tracing = Tracing::Calls;
    profile.traced.calls.push(Call {
        thread,
        stack,
        calls: count,
        total: Nanos(count * 2_000),
        own: Nanos(count * 1_000),
        ..Call::default()
    });
    profile.traced.lines.push(Line {
        process,
        frame,
        first: 1,
        hits: count,
        time: Nanos(count * 1_000),
    });
    profile.traced.exceptions.push(Exceptions {
        process,
        of_type,
        raised: frame,
        count,
        ..Exceptions::default()
    });
}

/// Samples of a process, a thread, a task, a span, two functions and a file of this name.
fn add(
    profile: &mut Profile,
    number: u64,
    samples: u64,
    name: &str,
) -> (ThreadId, StackId, FrameId) {
    let process: ProcessId = profile.hand_made_process(1000 + number as u32, name);
    let word = profile.strings.intern(name);
    let thread = profile.threads.push(Thread {
        number: number + 1,
        name: word,
        process,
        ..Thread::default()
    });
    let task = profile.tasks.push(Task {
        number: number + 1,
        name: word,
        ..Task::default()
    });
    let span = profile.spans.paths.intern(SpanPath {
        parent: None,
        name: word,
        attributes: [(word, word)].into(),
    });
    let file = format!("/{name}.py");
    let inner = format!("inner {name}");
    let frames = [(name, 1), (&inner, 3)].map(|(function, line)| FrameKey {
        function,
        file: &file,
        line,
        language: Language::Python,
        ..FrameKey::default()
    });
    let (mut stack, mut innermost) = (None, FrameId::default());
    for (level, frame) in (0..).zip(frames) {
        let id = profile.frame(frame);
        let kind = LocationKind::Invented(2 * number + level + 1);
        let location = profile.locations.intern(kind, None);
        profile.locations.set_frames(location, &[id]);
        stack = Some(profile.stacks.intern(stack, location));
        innermost = id;
        let file = profile.frames.get(id).file;
        profile.sources.insert(file, frame.line, word);
    }
    let stack = stack.unwrap_or_default();
    for _ in 0..samples {
        let time = Nanos(profile.samples.len() as u64 * profile.meta.period.0);
        profile.samples.push(Sample {
            time,
            weight: profile.meta.period,
            thread,
            task,
            span,
            stack,
            state: State::Running,
            ..Sample::default()
        });
    }
    profile.spans.each.push(Span {
        path: span,
        thread,
        from: Nanos(number * 1_000_000),
        to: Some(Nanos((number + 1) * 1_000_000)),
        ..Span::default()
    });
    (thread, stack, innermost)
}
