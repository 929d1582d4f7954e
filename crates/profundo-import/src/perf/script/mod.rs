//! The text that `perf script` prints: a line for each sample, and its stack below, the innermost
//! frame first.
//!
//! A line of a stack is the same text each time, so its location is found by the text. With other
//! fields (`-F`) parts are missing. Without call graphs the only frame stands in the line itself.

mod frames;
mod header;

use profundo_model::{LocationKind, Reason, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::event::{Events, Sampled};
use super::{comments, is_of};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source};
use frames::Places;
use header::Header;

pub(crate) const READER: Reader = Reader(&Table {
    name: "perf script",
    writers: "`perf script`, simpleperf's report_sample.py",
    is_start,
    fill,
});

/// The most frames of a stack. Deeper ones lose their roots.
const DEEPEST: usize = 4096;

/// Whether there is a sample, and nothing else before it.
fn is_start(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n').map(without_return);
    let mut lines = lines.by_ref().filter(|line| !line.is_empty()).peekable();
    while lines.next_if(|line| line.starts_with(b"#")).is_some() {}
    // Some lines without a stack may come first.
    const OTHERS: usize = 50;
    for _ in 0..OTHERS {
        let Some(line) = lines.next() else {
            return false;
        };
        if is_printed_frame(line) {
            return true;
        }
        let Some(header) = header::parse(line).filter(|_| is_text(line)) else {
            return false;
        };
        let next = lines.peek().copied().unwrap_or_default();
        if is_printed_frame(next) {
            return true;
        }
        let is_whole = header.is_sure && header.tid.is_some();
        if is_whole
            && (header::is_frame(header.rest) || is_shifted_frame(next) || is_bare_frame(next))
        {
            return true;
        }
        if !header.is_sure {
            return false;
        }
    }
    false
}

fn is_text(line: &[u8]) -> bool {
    line.iter().all(|&byte| byte >= b' ' || byte == b'\t')
}

/// Whether a line is a tab, an address of 16 columns, and a name in the form of perf's.
fn is_printed_frame(line: &[u8]) -> bool {
    let Some((address, rest)) = line
        .strip_prefix(b"\t")
        .and_then(|it| it.split_at_checked(16))
    else {
        return false;
    };
    let digits = address.trim_ascii_start();
    !digits.is_empty()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && matches!(rest.first(), None | Some(b' '))
        && is_text(rest)
}

/// Whether it is a frame whose tab has become spaces.
fn is_shifted_frame(line: &[u8]) -> bool {
    line.starts_with(b" ") && line.ends_with(b")") && header::is_frame(line.trim_ascii())
}

/// Whether it is a frame whose tab is gone.
fn is_bare_frame(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    (8..=16).contains(&digits.count()) && line.ends_with(b")") && header::is_frame(line)
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut script = Script::new(source.bytes);
    script.read(builder);
    let Script {
        mut events,
        command,
        has_pids,
        threads,
        ..
    } = script;
    threads.name_processes(builder, comments::program(&command));
    if !has_pids {
        builder.note("`perf script` printed no process numbers (`-F +pid` prints them)");
    }
    std::mem::take(&mut events).finish(builder, source.options.value.as_deref())?;
    if builder.profile.meta.kind == profundo_model::SampleKind::Events
        && builder.profile.meta.event.is_empty()
    {
        builder.note("`perf script` printed no periods: these are numbers of samples");
    }
    Ok(())
}

/// A file being read.
struct Script<'a> {
    text: &'a [u8],
    /// The sample whose stack is being read.
    header: Option<Header<'a>>,
    /// The lines of the stack.
    lines: Vec<(usize, usize)>,
    places: Places,
    /// The last stack of each thread.
    previous: Vec<Previous>,
    threads: Threads<'a>,
    events: Events,
    command: String,
    has_pids: bool,
}

impl<'a> Script<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            header: None,
            lines: Vec::new(),
            places: Places::default(),
            previous: Vec::new(),
            threads: Threads::default(),
            events: Events::default(),
            command: String::new(),
            has_pids: false,
        }
    }

    fn read(&mut self, builder: &mut Builder) {
        let text = self.text;
        let mut at = 0;
        let mut number = 0_u64;
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            let line = without_return(&text[at..end]);
            number += 1;
            self.line(builder, line, at, number);
            at = end + 1;
        }
        self.end_sample(builder);
    }

    fn line(&mut self, builder: &mut Builder, line: &'a [u8], at: usize, number: u64) {
        let place = (at, at + line.len());
        match line.first() {
            Some(b'\t') => self.lines.push(place),
            // Some have put an empty line before the stack.
            None if self.lines.is_empty() => {}
            None => self.end_sample(builder),
            Some(_) if is_bare_frame(line) && self.header.is_some() => self.lines.push(place),
            Some(b'#') => {
                self.end_sample(builder);
                comments::take(&line[1..], builder, &mut self.events, &mut self.command);
            }
            Some(b' ') if self.is_of_stack(line) => self.lines.push(place),
            Some(_) => {
                self.end_sample(builder);
                let header = header::parse(line);
                self.start_sample(builder, header, place, number);
            }
        }
    }

    /// Whether a line with spaces before it belongs to the stack: as a source line, or as a frame
    /// whose tab has become spaces.
    fn is_of_stack(&self, line: &[u8]) -> bool {
        if self.lines.is_empty() && self.header.is_none() {
            return false;
        }
        let is_first = self.lines.is_empty();
        let is_header = header::parse(line).is_some_and(|header| header.is_sure);
        !is_header && (!is_first || header::is_frame(line.trim_ascii()))
    }

    fn start_sample(
        &mut self,
        builder: &mut Builder,
        header: Option<Header<'a>>,
        (at, end): (usize, usize),
        number: u64,
    ) {
        let Some(header) = header else {
            return;
        };
        const OTHER: &[u8] = b"PERF_RECORD_";
        if header.event.starts_with(OTHER) || header.rest.starts_with(OTHER) {
            return;
        }
        if header::is_frame(header.rest) {
            let end = at + self.text[at..end].trim_ascii_end().len();
            self.lines.push((end - header.rest.len(), end));
            self.header = Some(header);
            return self.end_sample(builder);
        }
        // A name alone is one before a stack only.
        let behind = self.text.get(end..).unwrap_or_default();
        if !(header.is_sure || behind.starts_with(b"\n\t") || behind.starts_with(b"\r\n\t")) {
            return builder.leave_out("lines", || format!("line {number}"));
        }
        self.header = Some(header);
    }

    fn end_sample(&mut self, builder: &mut Builder) {
        let header = self.header.take();
        if header.is_none() && self.lines.is_empty() {
            return;
        }
        let header = header.unwrap_or_default();
        let thread = self.threads.id(builder, &header);
        let (stack, state) = self.stack(builder, thread);
        self.has_pids |= header.pid.is_some();
        let event = self.events.id(header.event);
        self.events.push(Sampled {
            event,
            period: header.period,
            samples: 1,
            time: header.time,
            stack,
            thread,
            state,
        });
    }

    /// The stack of the lines, which are used up. Most stacks of a thread end like its one before.
    fn stack(&mut self, builder: &mut Builder, thread: ThreadId) -> (StackId, State) {
        let mut root = None;
        if self.lines.len() > DEEPEST {
            self.lines.truncate(DEEPEST);
            root = Some(reason(builder, Reason::Truncated));
        }
        if self.previous.len() <= thread.index() {
            self.previous
                .resize_with(thread.index() + 1, Previous::default);
        }
        let previous = &mut self.previous[thread.index()];
        let (Some(first), Some(last)) = (self.lines.first(), self.lines.last()) else {
            return (reason(builder, Reason::Broken), State::Running);
        };
        let (start, end) = (first.0, last.1);
        if root.is_some() {
            previous.levels.clear();
        }
        previous.keep(self.text, (start, end));
        if let Some(level) = previous.levels.last() {
            let kept = end - level.size;
            while self.lines.pop_if(|line| line.0 >= kept).is_some() {}
        }
        let mut stack = previous.levels.last().map(|level| level.stack).or(root);
        while let many @ 1.. = frames::lines_of_last(self.text, &self.lines) {
            let at = self.lines.len() - many;
            let text = &self.text[self.lines[at].0..self.lines[self.lines.len() - 1].1];
            let (location, is_kernel) = self.places.location(builder, text);
            let id = builder.stack(stack, location);
            previous.levels.push(Level {
                size: end - self.lines[at].0,
                stack: id,
                is_kernel,
            });
            stack = Some(id);
            self.lines.truncate(at);
        }
        let Some(leaf) = previous.levels.last().copied() else {
            return (reason(builder, Reason::Broken), State::Running);
        };
        if root.is_some() {
            previous.levels.clear();
        }
        let state = match leaf.is_kernel {
            true => State::System,
            false => State::Running,
        };
        (leaf.stack, state)
    }
}

/// The last stack of a thread.
#[derive(Debug, Default)]
struct Previous {
    text: (usize, usize),
    /// From the root, which stands at the end.
    levels: Vec<Level>,
}

/// A level of a stack.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The bytes from its first line to the end of the stack.
    size: usize,
    stack: StackId,
    is_kernel: bool,
}

impl Previous {
    /// Keeps the levels that a new stack has as well.
    fn keep(&mut self, text: &[u8], new: (usize, usize)) {
        let old = &text[self.text.0..self.text.1];
        let stack = &text[new.0..new.1];
        let shared = shared_end(old, stack);
        let kept = self.levels.partition_point(|level| level.size <= shared);
        self.levels.truncate(kept);
        // The line before may belong to the same level.
        let goes_on = |level: &mut Level| {
            let before = &stack[..stack.len() - level.size];
            match before.strip_suffix(b"\n") {
                Some(before) => without_return(before).ends_with(b"(inlined)"),
                None => !before.is_empty(),
            }
        };
        self.levels.pop_if(goes_on);
        self.text = new;
    }
}

/// The length of the bytes that both end with.
fn shared_end(one: &[u8], other: &[u8]) -> usize {
    const WORD: usize = 16;
    let words = one.rchunks_exact(WORD).zip(other.rchunks_exact(WORD));
    let end = words.take_while(|(a, b)| a == b).count() * WORD;
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    let rest = one.iter().rev().zip(other.iter().rev());
    end + rest.take_while(|(a, b)| a == b).count()
}

/// A stack without code.
fn reason(builder: &mut Builder, reason: Reason) -> StackId {
    let locations = &mut builder.profile.locations;
    let location = locations.intern(LocationKind::Reason(reason), None);
    builder.stack(None, location)
}

/// The threads by what the lines say of them.
#[derive(Debug, Default)]
struct Threads<'a> {
    known: FxHashMap<(u32, u32), (ThreadId, &'a [u8])>,
    /// Those that have only a name.
    named: FxHashMap<&'a [u8], ThreadId>,
}

impl<'a> Threads<'a> {
    fn id(&mut self, builder: &mut Builder, header: &Header<'a>) -> ThreadId {
        let Some(tid) = header.tid else {
            let number = (1 << 32) + self.named.len() as u64;
            let name = header.comm;
            let new = || builder.thread(0, number, &String::from_utf8_lossy(name));
            return *self.named.entry(name).or_insert_with(new);
        };
        let pid = header.pid.unwrap_or(0);
        if let Some(&(id, name)) = self.known.get(&(pid, tid))
            && name == header.comm
        {
            return id;
        }
        let name = String::from_utf8_lossy(header.comm);
        let id = builder.thread(pid, u64::from(tid), &name);
        self.known.insert((pid, tid), (id, header.comm));
        id
    }

    /// Names the processes by their main threads, or by the recorded command.
    fn name_processes(&self, builder: &mut Builder, program: Option<&str>) {
        for (&(pid, tid), &(_, name)) in &self.known {
            if pid != 0 && pid == tid {
                let name = String::from_utf8_lossy(name);
                let command = program.filter(|program| is_of(program, &name));
                builder.process(pid, command.unwrap_or(&name));
            }
        }
        if let Some(program) = program
            && self.known.keys().all(|&(pid, _)| pid == 0)
        {
            builder.process(0, program);
        }
    }
}
