//! pyinstrument's sessions: the tree of `-r json`, and every sample of `-r session` and
//! `.pyisession`. A sample is the elapsed time since the one before; `[await]` stands for the time
//! in which a coroutine waits.

mod session;
mod tree;

use profundo_model::{Language, Nanos, SampleKind, State};

use crate::encoding::json::{Json, Read, member, members};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "pyinstrument",
    writers: "pyinstrument -r json, -r session",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |key| member(&members, key).is_some();
    has("sample_count") && has("start_time") && (has("frame_records") || has("root_frame"))
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Wall, "");
    let mut facts = Facts::default();
    if let Err(damage) = read(source.bytes, builder, &mut facts) {
        builder.warn(damage.warning());
    }
    let meta = &mut builder.profile.meta;
    meta.started_at_unix = facts.started;
    meta.duration = Nanos(facts.duration);
    if let Some(interval) = facts.duration.checked_div(facts.samples) {
        meta.period = Nanos(interval);
    }
    Ok(())
}

/// The facts about the whole recording. Times are in nanoseconds.
#[derive(Debug, Default)]
struct Facts {
    started: u64,
    duration: u64,
    samples: u64,
}

fn read(bytes: &[u8], builder: &mut Builder, facts: &mut Facts) -> Read<()> {
    Json::new(bytes).object(|json, key| {
        match key {
            "start_time" => facts.started = nanos(json)?,
            "duration" => facts.duration = nanos(json)?,
            "sample_count" => {
                facts.samples = json
                    .whole()?
                    .and_then(|number| number.try_into().ok())
                    .unwrap_or(0);
            }
            "target_description" | "program" => {
                if let Some(text) = json.text()? {
                    builder.process(0, text.strip_prefix("Program: ").unwrap_or(&text));
                }
            }
            "root_frame" => tree::read(json, builder, facts)?,
            "frame_records" => session::read(json, builder)?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// Seconds in nanoseconds.
fn nanos(json: &mut Json<'_>) -> Read<u64> {
    let nanos = json.decimal(9)?;
    Ok(nanos.and_then(|nanos| nanos.try_into().ok()).unwrap_or(0))
}

/// The state of a thread that is in a frame of this name, if it is none of a function.
fn state_of_mark(function: &str) -> Option<State> {
    match function {
        "[self]" => Some(State::WallRunning),
        "[await]" | "[out-of-context]" => Some(State::WallWaiting),
        _ => None,
    }
}

/// The frame of a function.
fn named<'a>(function: &'a str, file: &'a str, line: u32) -> Named<'a> {
    let is_builtin = file == "<built-in>";
    Named {
        function,
        file: if is_builtin { "" } else { file },
        line,
        language: Some(match is_builtin {
            true => Language::Native,
            false => Language::Python,
        }),
        ..Named::default()
    }
}
