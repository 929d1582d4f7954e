//! All samples: `[[frames], seconds]`. A frame is `function␀file␀first line` and attributes behind
//! `␁`: `l` and its line at that moment, `c` and the class of its first argument. The outermost
//! frame is the thread: `MainThread␀<thread>␀number`.

use profundo_model::{LocationId, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::{named, state_of_mark};
use crate::encoding::json::{Json, Read};
use crate::{Builder, Row};

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// The meaning of a frame.
#[derive(Debug, Clone, Copy)]
enum Frame {
    Thread(ThreadId),
    Function(LocationId),
    Mark(State),
    /// The profiler itself, which runs the program.
    Profiler,
}

pub(super) fn read(json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
    let mut frames: FxHashMap<&[u8], Frame> = FxHashMap::default();
    let mut time = 0_u64;
    json.array(|json| {
        let (mut stack, mut depth) = (None, 0);
        let (mut thread, mut state) = (None, State::WallRunning);
        let mut seconds = None;
        if !json.enter(b'[')? {
            return Ok(());
        }
        while json.element()? {
            if json.peek()? != b'[' {
                seconds = json.decimal(9)?;
                continue;
            }
            json.array(|json| {
                let text = json.raw()?;
                let frame = *frames.entry(text).or_insert_with(|| frame(builder, text));
                match frame {
                    Frame::Thread(id) => thread = Some(id),
                    Frame::Mark(mark) => state = mark,
                    Frame::Function(location) if depth < DEEPEST => {
                        stack = Some(builder.stack(stack, location));
                        depth += 1;
                    }
                    Frame::Function(_) | Frame::Profiler => {}
                }
                Ok(())
            })?;
        }
        let weight = seconds.and_then(|time| u64::try_from(time).ok());
        if let (Some(stack), Some(weight)) = (stack, weight) {
            let thread = thread.unwrap_or_else(|| builder.only_thread());
            add(builder, stack, thread, weight, time, state);
            time = time.saturating_add(weight);
        }
        Ok(())
    })
}

fn add(
    builder: &mut Builder,
    stack: StackId,
    thread: ThreadId,
    weight: u64,
    time: u64,
    state: State,
) {
    builder.sample(Row {
        stack,
        thread,
        weight,
        samples: 1,
        time: Some(time),
        state,
    });
}

/// The frame of a text in quotes.
fn frame(builder: &mut Builder, text: &[u8]) -> Frame {
    let text = Json::new(text).text().ok().flatten().unwrap_or_default();
    let mut parts = text.split('\u{1}');
    let mut identity = parts.next().unwrap_or_default().split('\0');
    let function = identity.next().unwrap_or_default();
    let file = identity.next().unwrap_or_default();
    let number = identity.next().unwrap_or_default();
    if let (Some(state), "") = (state_of_mark(function), file) {
        return Frame::Mark(state);
    }
    if file == "<thread>" {
        return Frame::Thread(builder.thread(0, number.parse().unwrap_or(0), function));
    }
    if file.ends_with("/pyinstrument/__main__.py") || file.ends_with("/bin/pyinstrument") {
        return Frame::Profiler;
    }
    let (mut line, mut qualified) = (number.parse().unwrap_or(0), String::new());
    for attribute in parts {
        if let Some(number) = attribute.strip_prefix('l') {
            line = number.parse().unwrap_or(line);
        } else if let Some(class) = attribute.strip_prefix('c') {
            qualified = format!("{class}.{function}");
        }
    }
    let mut named = named(function, file, line);
    named.signature = &qualified;
    Frame::Function(builder.location(named))
}
