//! MOJO, the binary form: `MOJ`, a version from 1 to 4, and events. Strings and frames are written
//! once for each process and referred to by number.
//!
//! A string ends with a 0. The first byte of a number has six bits and a sign, each further one has
//! seven, the lowest first; the highest bit says that one more follows.

use std::borrow::Cow;

use profundo_model::{LocationId, Reason, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::frame::{self, Parts};
use super::samples::{Samples, Taken};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};

pub(crate) const READER: Reader = Reader(&Table {
    name: "mojo",
    writers: "Austin",
    is_start,
    fill,
});

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: u32 = 4096;

const LAST_VERSION: i64 = 4;

fn is_start(start: &[u8]) -> bool {
    // The first event tells something about the recording, or is a stack.
    matches!(start, [b'M', b'O', b'J', 1..=0x3f, 1 | 2, ..])
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut bytes = Bytes {
        bytes: source.bytes,
        at: 3,
    };
    let version = bytes.number().unwrap_or(0);
    if version > LAST_VERSION {
        return Err(Error::Malformed {
            format: READER.name(),
            what: format!("version {version} is newer than this reader"),
        });
    }
    let mut events = Events {
        version,
        ..Events::default()
    };
    loop {
        let at = bytes.at;
        let Some(event) = bytes.byte() else {
            break;
        };
        if let Err(what) = events.event(builder, &mut bytes, event) {
            builder.warn(Warning::Damaged {
                offset: at as u64,
                what: what.to_owned(),
            });
            // The sample before is incomplete.
            events.taken = None;
            break;
        }
    }
    events.end_sample(builder);
    events.samples.finish(builder);
    Ok(())
}

/// The bytes that are left.
#[derive(Debug)]
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    /// A number of up to 64 bits and a sign.
    fn number(&mut self) -> Option<i64> {
        let first = self.byte()?;
        let mut sum = u64::from(first & 0x3f);
        let (mut byte, mut shift) = (first, 6);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            sum |= part.checked_shl(shift)?;
            shift += 7;
        }
        let number = sum as i64;
        Some(if first & 0x40 != 0 {
            number.wrapping_neg()
        } else {
            number
        })
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let end = memchr::memchr(0, rest)?;
        self.at += end + 1;
        rest.get(..end)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        self.string().map(String::from_utf8_lossy)
    }
}

/// A stack and its number of frames.
#[derive(Debug, Clone, Copy, Default)]
struct Stack {
    stack: Option<StackId>,
    depth: u32,
}

/// The events so far.
#[derive(Debug, Default)]
struct Events<'a> {
    version: i64,
    samples: Samples,
    /// The process of the last sample: numbers are its own.
    pid: u32,
    strings: FxHashMap<(u32, i64), Cow<'a, str>>,
    frames: FxHashMap<(u32, i64), LocationId>,
    threads: FxHashMap<(u32, i64, &'a [u8]), ThreadId>,
    /// Whether the frame of a location is a native one.
    natives: FxHashMap<LocationId, bool>,
    /// The sample that is being read, and its frames.
    taken: Option<Taken>,
    open: Vec<LocationId>,
    /// The stack that it goes on from.
    base: Stack,
    previous: FxHashMap<ThreadId, Stack>,
}

impl<'a> Events<'a> {
    fn event(
        &mut self,
        builder: &mut Builder,
        bytes: &mut Bytes<'a>,
        event: u8,
    ) -> Result<(), &'static str> {
        const CUT: &str = "an event is cut";
        match event {
            1 => {
                let (name, value) = (bytes.text().ok_or(CUT)?, bytes.text().ok_or(CUT)?);
                self.samples.fact(builder, &name, &value);
            }
            2 => {
                self.end_sample(builder);
                self.sample(builder, bytes).ok_or(CUT)?;
            }
            3 => self.frame(builder, bytes).ok_or(CUT)?,
            4 => self.open.push(frame::mark(builder, Reason::PythonBroken)),
            5 => {
                let number = bytes.number().ok_or(CUT)?;
                let known = |pid| self.frames.get(&(pid, number));
                // austinp writes some before the first sample.
                let frame = known(self.pid).or_else(|| known(0));
                let frame = frame.ok_or("it refers to a frame that it does not have")?;
                self.open.push(*frame);
            }
            6 => {
                let name = bytes.text().ok_or(CUT)?;
                self.open.push(frame::kernel(builder, &name));
                if let Some(taken) = &mut self.taken {
                    taken.is_in_kernel = true;
                }
            }
            7 => self.open.push(frame::mark(builder, Reason::Collecting)),
            8 => {
                if let Some(taken) = &mut self.taken {
                    taken.is_idle = true;
                }
            }
            9 | 10 => {
                let number = bytes.number().ok_or(CUT)?;
                if let Some(taken) = &mut self.taken {
                    match event {
                        9 => taken.time = Some(u64::try_from(number).unwrap_or(0)),
                        _ => taken.memory = Some(number),
                    }
                }
            }
            11 => {
                let number = bytes.number().ok_or(CUT)?;
                let text = bytes.text().ok_or(CUT)?;
                self.strings.insert((self.pid, number), text);
            }
            12 => drop(bytes.number().ok_or(CUT)?),
            13 => self.repeat(builder),
            _ => return Err("it has an event of an unknown kind"),
        }
        Ok(())
    }

    /// The start of a sample.
    fn sample(&mut self, builder: &mut Builder, bytes: &mut Bytes<'a>) -> Option<()> {
        let pid = u32::try_from(bytes.number()?).unwrap_or(0);
        let interpreter = match self.version {
            ..=2 => 0,
            _ => bytes.number()?,
        };
        let name = bytes.string()?;
        self.pid = pid;
        let key = (pid, interpreter, name);
        let thread = match self.threads.get(&key) {
            Some(&thread) => thread,
            None => {
                let number = u64::try_from(interpreter).unwrap_or(0);
                let name = String::from_utf8_lossy(name);
                // Numbers are in hexadecimal digits.
                let name = match u64::from_str_radix(&name, 16) {
                    Ok(number) => Cow::Owned(number.to_string()),
                    Err(_) => name,
                };
                let thread = self.samples.thread(builder, pid, number, &name);
                self.threads.insert(key, thread);
                thread
            }
        };
        self.taken = Some(Taken {
            process: builder.process(pid, ""),
            thread,
            ..Taken::default()
        });
        Some(())
    }

    fn end_sample(&mut self, builder: &mut Builder) {
        let mut stack = std::mem::take(&mut self.base);
        let open = std::mem::take(&mut self.open);
        if let Some(mut taken) = self.taken.take() {
            for &location in &open {
                if stack.depth < DEEPEST {
                    stack = Stack {
                        stack: Some(builder.stack(stack.stack, location)),
                        depth: stack.depth + 1,
                    };
                }
            }
            taken.stack = stack.stack;
            self.previous.insert(taken.thread, stack);
            self.samples.add(builder, taken);
        }
        self.open = open;
        self.open.clear();
    }

    fn frame(&mut self, builder: &mut Builder, bytes: &mut Bytes<'a>) -> Option<()> {
        let (number, file, function) = (bytes.number()?, bytes.number()?, bytes.number()?);
        let line = u32::try_from(bytes.number()?).unwrap_or(0);
        let mut column = 0;
        if self.version > 1 {
            bytes.number()?;
            column = u16::try_from(bytes.number()?).unwrap_or(0);
            bytes.number()?;
        }
        let (file, function) = (self.string(file), self.string(function));
        let is_native = frame::is_native(file);
        let parts = Parts {
            file,
            function,
            line,
            column,
        };
        let location = frame::location(builder, parts);
        self.natives.insert(location, is_native);
        self.frames.insert((self.pid, number), location);
        Some(())
    }

    fn string(&self, number: i64) -> &str {
        let known = |pid| self.strings.get(&(pid, number));
        let text = known(self.pid).or_else(|| known(0));
        match (text, number) {
            (Some(text), _) => text,
            (None, 1) => "<unknown>",
            (None, _) => "",
        }
    }

    /// The sample goes on from the thread's previous one, without the native frames at its end.
    fn repeat(&mut self, builder: &Builder) {
        let Some(taken) = &self.taken else {
            return;
        };
        let mut base = self
            .previous
            .get(&taken.thread)
            .copied()
            .unwrap_or_default();
        while let Some(stack) = base.stack {
            let row = builder.profile.stacks.get(stack);
            if !self.natives.get(&row.location).copied().unwrap_or(false) {
                break;
            }
            base = Stack {
                stack: row.parent,
                depth: base.depth.saturating_sub(1),
            };
        }
        self.base = base;
    }
}
