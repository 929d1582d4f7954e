//! `memray transform csv`: a line for each stack, thread and allocator. A stack is
//! `function;file;line|…`, the innermost frame first.

use std::borrow::Cow;

use profundo_model::{Amount, LocationId};
use rustc_hash::FxHashMap;

use super::{ONE_AMOUNT, add, named};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "memray-csv",
    writers: "memray transform csv",
    is_start,
    fill,
});

const HEAD: &[u8] = b"allocator,num_allocations,size,tid,thread_name,stack_trace";

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

fn is_start(start: &[u8]) -> bool {
    start.starts_with(HEAD)
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut locations: FxHashMap<String, LocationId> = FxHashMap::default();
    let lines = source.bytes.split(|&byte| byte == b'\n');
    for (line, number) in lines.zip(1_u64..).skip(1) {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        if row(builder, &mut locations, line).is_none() {
            builder.leave_out("lines", || format!("line {number}"));
        }
    }
    builder.note(ONE_AMOUNT);
    Ok(())
}

fn row(
    builder: &mut Builder,
    locations: &mut FxHashMap<String, LocationId>,
    line: &[u8],
) -> Option<()> {
    let text = std::str::from_utf8(line).ok()?;
    let mut rest = text;
    let mut field = || {
        let (field, after) = field(rest);
        rest = after;
        field
    };
    let _allocator = field();
    let count = field().parse().ok()?;
    let bytes = field().parse().ok()?;
    let (_thread, _name) = (field(), field());
    let trace = field();
    let mut frames: Vec<LocationId> = Vec::new();
    for frame in trace.split('|').filter(|frame| !frame.is_empty()) {
        let location = match locations.get(frame) {
            Some(&location) => location,
            None => {
                let location = location(builder, frame)?;
                locations.insert(frame.to_owned(), location);
                location
            }
        };
        frames.push(location);
    }
    let stack = builder.stack_of(frames.into_iter().rev().take(DEEPEST));
    let stack = stack.unwrap_or_else(|| {
        let location = builder.location(named("<unknown>", "", 0));
        builder.stack(None, location)
    });
    add(builder, stack, Amount { count, bytes });
    Some(())
}

fn location(builder: &mut Builder, frame: &str) -> Option<LocationId> {
    let (frame, line) = frame.rsplit_once(';')?;
    let (function, file) = frame.split_once(';')?;
    Some(builder.location(named(function, file, line.parse().unwrap_or(0))))
}

/// The first field of a line, and the fields behind it. Quotes in quotes are doubled.
fn field(line: &str) -> (Cow<'_, str>, &str) {
    let Some(quoted) = line.strip_prefix('"') else {
        let (field, rest) = line.split_once(',').unwrap_or((line, ""));
        return (Cow::Borrowed(field), rest);
    };
    let mut at = 0;
    loop {
        let rest = quoted.get(at..).unwrap_or_default();
        at += rest.find('"').unwrap_or(rest.len());
        if !quoted
            .get(at..)
            .is_some_and(|rest| rest.starts_with("\"\""))
        {
            break;
        }
        at += 2;
    }
    let (field, rest) = quoted.split_at_checked(at).unwrap_or((quoted, ""));
    let rest = rest.strip_prefix('"').unwrap_or(rest);
    (
        Cow::Owned(field.replace("\"\"", "\"")),
        rest.strip_prefix(',').unwrap_or(rest),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_quoted() {
        assert_eq!(field("a,b"), (Cow::Borrowed("a"), "b"));
        assert_eq!(field("\"a,\"\"b\",c"), (Cow::Borrowed("a,\"b"), "c"));
        assert_eq!(field("\"a"), (Cow::Borrowed("a"), ""));
        assert_eq!(field(""), (Cow::Borrowed(""), ""));
    }
}
