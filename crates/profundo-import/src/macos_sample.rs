//! The text of macOS's `sample`, and of Activity Monitor's *Sample Process*: each thread's call
//! tree, with the numbers of samples.
//!
//! ```text
//! Analysis of sampling app (pid 123) every 1 millisecond
//! Process:         app [123]
//! Call graph:
//!     825 Thread_15758   DispatchQueue_1: com.apple.main-thread  (serial)
//!     + 825 start  (in libdyld.dylib) + 1  [0x7fff737cf3d5]
//!     +   ! 700 main  (in app) + 41  [0x10384b549]  main.c:12
//! ```
//!
//! Every thread is sampled at each tick, whether it runs or waits.

use profundo_model::{LocationId, Nanos, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::stacks::indented::Tree;
use crate::{Builder, Error, Named, Row, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "macos sample",
    writers: "macOS's `sample` and Activity Monitor",
    is_start: |start| {
        start
            .trim_ascii_start()
            .starts_with(b"Analysis of sampling ")
    },
    fill,
});

/// The most indentation.
const DEEPEST: usize = 4096;

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let text = String::from_utf8_lossy(source.bytes);
    let mut lines = (1_u64..).zip(text.lines());
    let mut process = (0, "");
    let mut period = 1_000_000;
    for (_, line) in lines.by_ref() {
        if let Some(rest) = line.trim_start().strip_prefix("Analysis of sampling ") {
            (process, period) = head(rest);
        }
        if line.trim_end() == "Call graph:" {
            break;
        }
    }
    builder.weighs(SampleKind::Wall, "");
    builder.profile.meta.period = Nanos(period);
    builder.process(process.0, process.1);
    let mut rows = Rows {
        pid: process.0,
        period,
        thread: None,
        tree: Tree::default(),
        locations: FxHashMap::default(),
    };
    for (number, line) in lines {
        if line.trim().is_empty() || line.starts_with("Total number in stack") {
            break;
        }
        if rows.line(builder, line).is_none() {
            builder.leave_out("lines", || format!("line {number}"));
        }
    }
    rows.close(builder, 0);
    builder.note("the report has no times at which samples were taken");
    builder
        .note("threads count as waiting where the innermost function is a system call that waits");
    Ok(())
}

/// The process and the nanoseconds between two samples of `app (pid 123) every 1 millisecond`.
fn head(text: &str) -> ((u32, &str), u64) {
    let (name, rest) = text.split_once(" (pid ").unwrap_or((text, ""));
    let (pid, rest) = rest.split_once(')').unwrap_or((rest, ""));
    let every = rest.trim_start().strip_prefix("every ").unwrap_or_default();
    let mut words = every.split_whitespace();
    let number: f64 = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(1.0);
    let unit = words.next().unwrap_or("milliseconds");
    let period = crate::Unit::of_name(unit).weight(number);
    ((pid.parse().unwrap_or(0), name), period.max(1))
}

/// The rows so far.
struct Rows<'a> {
    pid: u32,
    period: u64,
    thread: Option<ThreadId>,
    tree: Tree,
    /// By what stands behind the count.
    locations: FxHashMap<&'a str, (LocationId, State)>,
}

impl<'a> Rows<'a> {
    fn line(&mut self, builder: &mut Builder, line: &'a str) -> Option<()> {
        let indent = line.find(|letter: char| !" +!:|".contains(letter))?;
        let (count, name) = line.get(indent..)?.split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        if indent > DEEPEST {
            return None;
        }
        self.close(builder, indent);
        if self.tree.caller().is_none() && name.starts_with("Thread_") {
            self.thread = Some(self.thread(builder, name));
            self.tree.open(indent, None, count);
            return Some(());
        }
        let (location, _) = self.location(builder, name);
        let stack = builder.stack(self.tree.caller(), location);
        self.tree.open(indent, Some(stack), count);
        Some(())
    }

    /// `Thread_15758: name` and `Thread_15758   DispatchQueue_1: name  (serial)`.
    fn thread(&self, builder: &mut Builder, text: &str) -> ThreadId {
        let digits = text.trim_start_matches("Thread_");
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        let (number, name) = digits.split_at(end.unwrap_or(digits.len()));
        let name = name.trim_start_matches(':').trim();
        let name = name.split_once(": ").map_or(name, |(_, name)| name);
        let name = name.split_once("  (").map_or(name, |(name, _)| name);
        builder.thread(self.pid, number.parse().unwrap_or(0), name.trim())
    }

    fn close(&mut self, builder: &mut Builder, indent: usize) {
        let mut found: Vec<(StackId, u64)> = Vec::new();
        self.tree
            .close(indent, |stack, count| found.push((stack, count)));
        for (stack, samples) in found {
            let main = || builder.thread(self.pid, 0, "");
            let thread = *self.thread.get_or_insert_with(main);
            let leaf = builder.profile.stacks.get(stack).location;
            let state = state(builder, leaf);
            builder.sample(Row {
                stack,
                thread,
                weight: samples.saturating_mul(self.period),
                samples,
                time: None,
                state,
            });
        }
    }

    /// The location of `name  (in module) + 12  [0x1234]  file.c:7`.
    fn location(&mut self, builder: &mut Builder, text: &'a str) -> (LocationId, State) {
        let (name, rest) = match text.split_once("  (in ") {
            Some((name, rest)) => (name, rest),
            None => (text.split_once("  [").map_or(text, |(name, _)| name), ""),
        };
        let (module, rest) = rest.split_once(')').unwrap_or(("", ""));
        let place = rest
            .rsplit_once("]  ")
            .map_or("", |(_, place)| place.trim());
        let (file, line) = place
            .rsplit_once(':')
            .and_then(|(file, line)| Some((file, line.parse().ok()?)))
            .unwrap_or(("", 0));
        // Addresses differ, and offsets with them.
        let end = text.len() - rest.len();
        let key = if place.is_empty() { &text[..end] } else { text };
        if let Some(&known) = self.locations.get(key) {
            return known;
        }
        let module = (!module.is_empty()).then(|| builder.module(module));
        let function = if name.starts_with("???") {
            ""
        } else {
            name.trim()
        };
        let frame = builder.frame(Named {
            function,
            file,
            line,
            ..Named::default()
        });
        let found = (builder.location_of(frame, module), State::WallRunning);
        self.locations.insert(key, found);
        found
    }
}

/// The system calls in which a thread waits.
const WAITS: &[&str] = &[
    "__psynch_cvwait",
    "__psynch_mutexwait",
    "__psynch_rw_rdlock",
    "__psynch_rw_wrlock",
    "__semwait_signal",
    "__semwait_signal_nocancel",
    "__ulock_wait",
    "__ulock_wait2",
    "__workq_kernreturn",
    "__select",
    "__select_nocancel",
    "__wait4",
    "__wait4_nocancel",
    "__sigsuspend",
    "__sigsuspend_nocancel",
    "__sigwait",
    "kevent",
    "kevent64",
    "kevent_id",
    "kevent_qos",
    "mach_msg_trap",
    "mach_msg2_trap",
    "poll",
    "__accept",
    "__accept_nocancel",
    "__recvfrom",
    "__recvmsg",
    "semaphore_wait_trap",
    "semaphore_timedwait_trap",
    "swtch_pri",
    "__pselect",
];

fn state(builder: &Builder, leaf: LocationId) -> State {
    let frames = &builder.profile.locations.get(leaf).frames;
    let name = frames
        .first()
        .map_or("", |&frame| builder.profile.function_name(frame));
    match WAITS.contains(&name) {
        true => State::WallWaiting,
        false => State::WallRunning,
    }
}
