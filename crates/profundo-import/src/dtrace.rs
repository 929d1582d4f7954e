//! The text of DTrace's aggregations over `stack()` and `ustack()`: each stack with the innermost
//! frame first, then its number.
//!
//! ```text
//!               genunix`fop_write+0x5d
//!               unix`sys_syscall+0x17d
//!
//!               libc.so.1`__pwrite+0xa
//!               app`main+0x12
//!                 7
//! ```
//!
//! With both, the kernel's part stands before an empty line, and may be empty itself.

use profundo_model::{LocationId, SampleKind, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::encoding::text;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Row, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "dtrace",
    writers: "DTrace",
    is_start: |start| is_start(&text::utf8(start)),
    fill,
});

/// The most frames of a stack: of a deeper one, the outermost frames are left out.
const DEEPEST: usize = 4096;
/// The kernels' own modules, below which all other frames are the kernel's too.
const KERNELS: &[&str] = &["unix", "genunix", "kernel", "mach_kernel"];

/// A line's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    /// A frame, without its offset.
    Frame(&'a str),
    Count(u64),
    Empty,
    /// A line of the head, or one that was printed in between.
    Other,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let words = line.trim();
        if words.is_empty() {
            return Self::Empty;
        }
        if !line.starts_with([' ', '\t']) {
            return Self::Other;
        }
        if let Ok(count) = words.parse() {
            return Self::Count(count);
        }
        let is_address = words.strip_prefix("0x").is_some_and(is_hex);
        // What stands before the mark is a file's name.
        let module = module_of(words);
        let has_module = !module.is_empty() && !module.contains(['(', '<', '"', ' ']);
        match is_address || has_module {
            true => Self::Frame(without_offset(words)),
            false => Self::Other,
        }
    }
}

fn is_hex(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A frame without `+0x1f`.
fn without_offset(frame: &str) -> &str {
    match frame.rsplit_once("+0x") {
        Some((name, offset)) if is_hex(offset) => name,
        _ => frame,
    }
}

/// The module in a frame; empty where there is none.
fn module_of(frame: &str) -> &str {
    frame.split_once('`').map_or("", |(module, _)| module)
}

/// Whether these frames, the innermost first, are the kernel's.
fn is_of_kernel(frames: &[&str]) -> bool {
    let outermost = frames.last().copied().map(module_of);
    outermost.is_some_and(|module| KERNELS.contains(&module))
}

/// Whether a whole stack with its number stands there, and hardly anything before it.
fn is_start(start: &[u8]) -> bool {
    /// The lines of a head.
    const OTHERS: usize = 20;
    let start = String::from_utf8_lossy(start);
    let (mut others, mut frames, mut modules) = (0, 0, 0);
    for line in start.lines() {
        match Line::of(line) {
            Line::Frame(frame) => {
                frames += 1;
                modules += usize::from(frame.contains('`'));
            }
            Line::Count(_) if frames > 0 => return modules > 0,
            Line::Empty => {}
            Line::Count(_) | Line::Other => {
                if frames > 0 || others == OTHERS {
                    return false;
                }
                others += 1;
            }
        }
    }
    false
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let bytes = text::utf8(source.bytes);
    let text = String::from_utf8_lossy(&bytes);
    builder.weighs(SampleKind::Events, "");
    let mut stacks = Stacks {
        thread: builder.only_thread(),
        parts: [Vec::new(), Vec::new()],
        part: 0,
        locations: FxHashMap::default(),
    };
    for (number, line) in (1_u64..).zip(text.lines()) {
        match Line::of(line) {
            Line::Frame(frame) => stacks.frame(frame),
            Line::Count(count) => stacks.close(builder, count),
            Line::Empty => stacks.next_part(),
            Line::Other => {
                if stacks.is_open() {
                    builder.leave_out("lines", || format!("line {number}"));
                }
            }
        }
    }
    if stacks.is_open() {
        builder.leave_out("stacks", || "the last one, which has no number".to_owned());
    }
    builder.note("DTrace's stacks have no threads, times, files or lines");
    Ok(())
}

/// The stacks so far.
struct Stacks<'a> {
    thread: ThreadId,
    /// The frames of the present stack, the innermost first: those before an empty line, and those
    /// behind it.
    parts: [Vec<&'a str>; 2],
    part: usize,
    /// By the frame, and whether it is the kernel's.
    locations: FxHashMap<(&'a str, bool), LocationId>,
}

impl<'a> Stacks<'a> {
    fn is_open(&self) -> bool {
        self.parts.iter().any(|part| !part.is_empty())
    }

    fn frame(&mut self, frame: &'a str) {
        if let Some(part) = self.parts.get_mut(self.part)
            && part.len() < DEEPEST
        {
            part.push(frame);
        }
    }

    /// Goes on behind an empty line.
    fn next_part(&mut self) {
        if self.is_open() {
            self.part = 1;
        }
    }

    fn close(&mut self, builder: &mut Builder, count: u64) {
        let [mut first, mut second] = std::mem::take(&mut self.parts);
        let has_both = std::mem::take(&mut self.part) == 1 && !second.is_empty();
        if first.is_empty() {
            return;
        }
        // The program's part is first where a script asks for it first.
        if has_both && is_of_kernel(&second) && !is_of_kernel(&first) {
            std::mem::swap(&mut first, &mut second);
        }
        let is_kernels = has_both || is_of_kernel(&first);
        let user = second.iter().rev().map(|&frame| (frame, false));
        let frames = user.chain(first.iter().rev().map(|&frame| (frame, is_kernels)));
        let mut stack = None;
        for frame in frames {
            let location = self.location(builder, frame);
            stack = Some(builder.stack(stack, location));
        }
        let Some(stack) = stack else { return };
        builder.sample(Row {
            stack,
            thread: self.thread,
            weight: count,
            samples: count,
            time: None,
            state: match is_kernels {
                true => State::System,
                false => State::Running,
            },
        });
    }

    fn location(&mut self, builder: &mut Builder, key: (&'a str, bool)) -> LocationId {
        if let Some(&location) = self.locations.get(&key) {
            return location;
        }
        let (frame, is_kernels) = key;
        let (module, name) = frame.split_once('`').unwrap_or(("", frame));
        let module = match is_kernels {
            true => "[kernel]",
            false => module,
        };
        let module = (!module.is_empty()).then(|| builder.module(module));
        let frame = builder.frame(Named {
            function: name,
            ..Named::default()
        });
        let location = builder.location_of(frame, module);
        self.locations.insert(key, location);
        location
    }
}
