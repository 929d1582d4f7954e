//! The strings and the frames. A frame has the lines and the columns of an expression, the latter
//! counted in bytes from 0.

use std::borrow::Cow;

use profundo_model::{Language, LocationId, LocationKind, Reason};

use super::{Bytes, FOOTER, Header, varint};
use crate::{Builder, Named};

/// The locations of all frames, in the order of their numbers; `None` for those of the profiler
/// itself, which starts the program from Python.
pub(super) fn frames(
    builder: &mut Builder,
    bytes: &Bytes<'_>,
    header: &Header,
) -> Vec<Option<LocationId>> {
    let all = bytes.bytes;
    let footer = all.len().saturating_sub(FOOTER);
    let part = |from: usize, to: usize| all.get(from..to.min(all.len())).unwrap_or_default();
    let strings = strings(part(header.strings, header.frames));
    let rows = part(header.frames, footer);
    let count = bytes.u32(footer + 4).unwrap_or(u32::MAX);
    let (mut at, mut found) = (0, Vec::new());
    while at < rows.len() && found.len() < count as usize {
        let Some(row) = Row::read(rows, &mut at) else {
            break;
        };
        found.push(location(builder, &strings, &row));
    }
    found
}

fn strings(bytes: &[u8]) -> Vec<Cow<'_, str>> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let length = varint(bytes, &mut at).and_then(|length| usize::try_from(length).ok());
        let end = length.and_then(|length| at.checked_add(length));
        let Some(text) = end.and_then(|end| bytes.get(at..end)) else {
            break;
        };
        at += text.len();
        found.push(String::from_utf8_lossy(text));
    }
    found
}

/// A frame as the file has it.
#[derive(Debug, Clone, Copy)]
struct Row {
    file: u64,
    function: u64,
    line: i64,
    column: i64,
}

impl Row {
    fn read(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let file = varint(bytes, at)?;
        let function = varint(bytes, at)?;
        let line = signed(varint(bytes, at)?);
        let _lines = varint(bytes, at)?;
        let column = signed(varint(bytes, at)?);
        let _columns = varint(bytes, at)?;
        let _opcode = bytes.get(*at)?;
        *at += 1;
        Some(Self {
            file,
            function,
            line,
            column,
        })
    }
}

/// A signed number: 0, -1, 1, -2 …
fn signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn location(builder: &mut Builder, strings: &[Cow<'_, str>], row: &Row) -> Option<LocationId> {
    let text = |number: u64| {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        strings.get(number).map_or("", |text| &**text)
    };
    let (file, function) = (text(row.file), text(row.function));
    if function == "<GC>" {
        return Some(mark(builder, Reason::Collecting));
    }
    if file.ends_with("/profiling/sampling/_sync_coordinator.py") {
        return None;
    }
    let is_made = matches!(file, "~" | "");
    let line = u32::try_from(row.line).unwrap_or(0);
    let frame = builder.frame(Named {
        function,
        file: if is_made { "" } else { file },
        line,
        language: Some(match is_made {
            true => Language::Native,
            false => Language::Python,
        }),
        ..Named::default()
    });
    let column = u16::try_from(row.column.saturating_add(1)).unwrap_or(0);
    if is_made || column == 0 {
        return Some(builder.location_of(frame, None));
    }
    let kind = LocationKind::Python {
        frame,
        column,
        is_call: false,
    };
    let location = builder.profile.locations.intern(kind, None);
    builder.profile.locations.set_frames(location, &[frame]);
    Some(location)
}

/// The location of what is no frame.
pub(super) fn mark(builder: &mut Builder, reason: Reason) -> LocationId {
    let kind = LocationKind::Reason(reason);
    builder.profile.locations.intern(kind, None)
}
