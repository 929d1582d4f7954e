//! The text: `P<pid>;T<interpreter>:<tid>;<file>:<function>:<line>;… <metrics>`, one sample a line.
//! The metrics are microseconds, or bytes, or `microseconds,idle,bytes`.
//!
//! Before version 3, a frame was `<function> (<file>);L<line>`; before version 2, a line began with
//! `Process <pid>;Thread <tid>`.

use profundo_model::{LocationId, ProcessId, Reason, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::frame::{self, Parts};
use super::samples::{Samples, Taken};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "austin",
    writers: "Austin before version 4, mojo2austin",
    is_start,
    fill,
});

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// Whether it begins with Austin's facts about itself, or with samples of a process and a thread.
fn is_start(start: &[u8]) -> bool {
    if start.starts_with(b"# austin: ") {
        return true;
    }
    let lines = start.split_inclusive(|&byte| byte == b'\n');
    let mut lines = lines.filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    lines.next().is_some_and(|line| {
        let is_whole = line.ends_with(b"\n");
        let has_owner =
            owner(line).is_some_and(|(_, rest)| matches!(rest.first(), Some(b';' | b' ')));
        has_owner && (!is_whole || split(line.trim_ascii()).is_some())
    })
}

/// A process and a thread as a line names them.
#[derive(Debug, Clone, Copy)]
struct Owner<'a> {
    pid: u32,
    interpreter: u64,
    thread: &'a str,
}

/// The process and the thread, and the rest of the line.
fn owner(line: &[u8]) -> Option<(Owner<'_>, &[u8])> {
    let (line, prefix) = match line.strip_prefix(b"Process ") {
        Some(line) => (line, &b"Thread "[..]),
        None => (line.strip_prefix(b"P")?, &b"T"[..]),
    };
    let end = line.iter().position(|byte| !byte.is_ascii_digit())?;
    let pid = std::str::from_utf8(line.get(..end)?).ok()?.parse().ok()?;
    let rest = line.get(end..)?.strip_prefix(b";")?.strip_prefix(prefix)?;
    let end = memchr::memchr2(b';', b' ', rest)?;
    let thread = std::str::from_utf8(rest.get(..end)?).ok()?;
    let (interpreter, thread) = match thread.split_once(':') {
        Some((interpreter, thread)) => (interpreter.parse().ok()?, thread),
        None => (0, thread),
    };
    let is_thread = !thread.is_empty();
    let owner = Owner {
        pid,
        interpreter,
        thread,
    };
    is_thread.then_some((owner, rest.get(end..)?))
}

/// The frames and the metrics of a line.
fn split(line: &[u8]) -> Option<(&[u8], Metrics)> {
    let at = memchr::memrchr(b' ', line)?;
    let metrics = std::str::from_utf8(line.get(at + 1..)?).ok()?;
    let mut numbers = metrics.split(',').map(|number| number.parse::<i64>().ok());
    let metrics = match (numbers.next()?, numbers.next(), numbers.next()) {
        (Some(only), None, None) => Metrics::One(only),
        (Some(time), Some(Some(idle)), Some(Some(memory))) => Metrics::Full {
            time,
            is_idle: idle != 0,
            memory,
        },
        _ => return None,
    };
    Some((line.get(..at)?, metrics))
}

/// The numbers behind a sample.
#[derive(Debug, Clone, Copy)]
enum Metrics {
    /// Microseconds or bytes.
    One(i64),
    Full {
        time: i64,
        is_idle: bool,
        memory: i64,
    },
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut lines = Lines::default();
    let mut rest = source.bytes;
    let mut number = 0_u64;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest);
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
        number += 1;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        if let Some(fact) = line.strip_prefix(b"# ") {
            let fact = String::from_utf8_lossy(fact);
            if let Some((name, value)) = fact.split_once(": ") {
                lines.samples.fact(builder, name, value);
            }
            continue;
        }
        if lines.line(builder, line).is_none() {
            builder.leave_out("lines", || format!("line {number}"));
        }
    }
    lines.samples.finish(builder);
    Ok(())
}

/// The lines so far.
#[derive(Debug, Default)]
struct Lines<'a> {
    samples: Samples,
    /// By the start of a line.
    owners: FxHashMap<&'a [u8], (ProcessId, ThreadId)>,
    locations: FxHashMap<&'a [u8], Frame>,
    /// The frames of the previous line.
    previous: &'a [u8],
    /// Where each ends, its stack, and whether it is the kernel's.
    stacks: Vec<(usize, StackId, bool)>,
}

/// A frame's location.
#[derive(Debug, Clone, Copy)]
struct Frame {
    location: LocationId,
    is_in_kernel: bool,
}

impl<'a> Lines<'a> {
    fn line(&mut self, builder: &mut Builder, line: &'a [u8]) -> Option<()> {
        let (sample, metrics) = split(line)?;
        let (process, thread, frames) = self.owner(builder, line, sample)?;
        let deepest = self.stack(builder, frames);
        let mut taken = Taken {
            process,
            thread,
            stack: deepest.map(|(stack, _)| stack),
            is_in_kernel: deepest.is_some_and(|(_, is_in_kernel)| is_in_kernel),
            ..Taken::default()
        };
        match metrics {
            Metrics::One(bytes) if self.samples.is_of_memory() => taken.memory = Some(bytes),
            Metrics::One(time) => taken.time = Some(u64::try_from(time).ok()?),
            Metrics::Full {
                time,
                is_idle,
                memory,
            } => {
                taken.time = Some(u64::try_from(time).ok()?);
                taken.is_idle = is_idle;
                taken.memory = Some(memory);
            }
        }
        self.samples.add(builder, taken);
        Some(())
    }

    /// The process and the thread of a line, and its frames.
    fn owner(
        &mut self,
        builder: &mut Builder,
        line: &'a [u8],
        sample: &'a [u8],
    ) -> Option<(ProcessId, ThreadId, &'a [u8])> {
        let (owner, rest) = owner(line)?;
        let start = line.len() - rest.len();
        let frames = sample.get(start..).unwrap_or_default();
        let frames = frames.strip_prefix(b";").unwrap_or(frames);
        let key = line.get(..start)?;
        if let Some(&(process, thread)) = self.owners.get(key) {
            return Some((process, thread, frames));
        }
        let Owner {
            pid,
            interpreter,
            thread,
        } = owner;
        let thread = self.samples.thread(builder, pid, interpreter, thread);
        let process = builder.process(pid, "");
        self.owners.insert(key, (process, thread));
        Some((process, thread, frames))
    }

    /// The stack of a line, and whether it ends in the kernel. Most lines begin like the one
    /// before.
    fn stack(&mut self, builder: &mut Builder, frames: &'a [u8]) -> Option<(StackId, bool)> {
        let shared = self.previous.iter().zip(frames).take_while(|(a, b)| a == b);
        let shared = shared.count();
        let is_end = |end: usize| end <= shared && frames.get(end).is_none_or(|&byte| byte == b';');
        let kept = self.stacks.iter().take_while(|&&(end, ..)| is_end(end));
        let kept = kept.count();
        self.stacks.truncate(kept);
        self.previous = frames;
        let mut at = self.stacks.last().map_or(0, |&(end, ..)| end + 1);
        while at < frames.len() && self.stacks.len() < DEEPEST {
            let rest = frames.get(at..).unwrap_or_default();
            let mut length = memchr::memchr(b';', rest).unwrap_or(rest.len());
            // The line of an old frame is behind its semicolon.
            let behind = rest.get(length + 1..).unwrap_or_default();
            if behind.first() == Some(&b'L') {
                let digits = behind
                    .iter()
                    .skip(1)
                    .take_while(|byte| byte.is_ascii_digit());
                let digits = digits.count();
                if digits > 0 && matches!(behind.get(digits + 1), None | Some(b';')) {
                    length += digits + 2;
                }
            }
            let frame = self.frame(builder, rest.get(..length).unwrap_or_default());
            let parent = self.stacks.last().map(|&(_, stack, _)| stack);
            let stack = builder.stack(parent, frame.location);
            self.stacks.push((at + length, stack, frame.is_in_kernel));
            at += length + 1;
        }
        let deepest = self.stacks.last();
        deepest.map(|&(_, stack, is_in_kernel)| (stack, is_in_kernel))
    }

    fn frame(&mut self, builder: &mut Builder, text: &'a [u8]) -> Frame {
        if let Some(&known) = self.locations.get(text) {
            return known;
        }
        let whole = String::from_utf8_lossy(text);
        let mut is_in_kernel = false;
        let location = match &whole[..] {
            ":GC:" => frame::mark(builder, Reason::Collecting),
            ":INVALID:" => frame::mark(builder, Reason::PythonBroken),
            text => {
                let parts = parts(text);
                is_in_kernel = parts.file == "kernel" && parts.line == 0;
                frame::location(builder, parts)
            }
        };
        let frame = Frame {
            location,
            is_in_kernel,
        };
        self.locations.insert(text, frame);
        frame
    }
}

/// `file:function:line`, or `function (file);Lline` and `function (file:line)` of old versions.
fn parts(text: &str) -> Parts<'_> {
    let of_name = Parts {
        function: text,
        ..Parts::default()
    };
    if let Some((file_and_function, line)) = text.rsplit_once(':')
        && let (Some((file, function)), Ok(line)) =
            (file_and_function.rsplit_once(':'), line.parse())
    {
        return Parts {
            file,
            function,
            line,
            column: 0,
        };
    }
    let (text, line) = match text.rsplit_once(";L") {
        Some((text, line)) => (text, line.parse().unwrap_or(0)),
        None => (text, 0),
    };
    let Some((function, file)) = text.rsplit_once(" (") else {
        return of_name;
    };
    let file = file.strip_suffix(')').unwrap_or(file);
    let (file, line) = file
        .rsplit_once(':')
        .filter(|_| line == 0)
        .and_then(|(path, number)| Some((path, number.parse().ok()?)))
        .unwrap_or((file, line));
    Parts {
        file,
        function,
        line,
        column: 0,
    }
}
