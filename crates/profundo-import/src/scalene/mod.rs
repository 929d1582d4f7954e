//! Scalene's JSON: by line the percentages of the elapsed time in Python, in native code and in the
//! system, and the memory that it allocated.

mod line;
mod memory;

use profundo_model::{Nanos, SampleKind, State};

use crate::encoding::json::{Json, Read, member, members};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source};
use line::{File, Line};

pub(crate) const READER: Reader = Reader(&Table {
    name: "scalene",
    writers: "Scalene",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |key| member(&members, key).is_some();
    has("alloc_samples") && (has("elapsed_time_sec") || has("async_profile"))
}

/// The facts about the whole run.
#[derive(Debug, Default)]
struct Run<'a> {
    /// Seconds.
    elapsed: f64,
    files: Vec<File<'a>>,
    /// Nanoseconds, and megabytes at that time.
    footprint: Vec<(u64, f64)>,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut run = Run::default();
    if let Err(damage) = read(source.bytes, builder, &mut run) {
        builder.warn(damage.warning());
    }
    builder.weighs(SampleKind::Wall, "");
    builder.profile.meta.duration = Nanos((run.elapsed * 1e9).round() as u64);
    let mut has_system = false;
    for file in &run.files {
        for line in &file.lines {
            has_system |= line.system > 0.0;
            samples(builder, file, line, run.elapsed);
            memory::site(builder, file, line);
        }
        file.keep_source(builder);
    }
    memory::gauges(builder, &run.footprint);
    if has_system {
        builder.note("Scalene's system time, in which a thread waits or the kernel works, is shown as waiting");
    }
    builder.note("a Scalene profile has lines and no callers, threads or times");
    Ok(())
}

fn read<'a>(bytes: &'a [u8], builder: &mut Builder, run: &mut Run<'a>) -> Read<()> {
    Json::new(bytes).object(|json, key| {
        match key {
            "elapsed_time_sec" => run.elapsed = json.number()?.unwrap_or(0.0).max(0.0),
            "program" => {
                if let Some(program) = json.text()? {
                    builder.process(0, &program);
                }
            }
            "samples" => json.array(|json| {
                let mut numbers = [0.0, 0.0];
                let mut at = 0;
                json.array(|json| {
                    let number = json.number()?.unwrap_or(0.0);
                    if let Some(place) = numbers.get_mut(at) {
                        *place = number;
                    }
                    at += 1;
                    Ok(())
                })?;
                let [time, megabytes] = numbers;
                run.footprint.push((time.round() as u64, megabytes));
                Ok(())
            })?,
            "files" => {
                if json.enter(b'{')? {
                    while let Some(path) = json.key()? {
                        let mut file = File::new(path);
                        let read = file.read(json);
                        run.files.push(file);
                        read?;
                    }
                }
            }
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// The parts of a line's time.
fn samples(builder: &mut Builder, file: &File<'_>, line: &Line, elapsed: f64) {
    let parts = [
        (line.python, State::WallRunning, false),
        (line.native, State::WallRunning, true),
        (line.system, State::WallWaiting, false),
    ];
    let thread = builder.only_thread();
    for (percent, state, is_native) in parts {
        // A cast takes what is no number as 0.
        let weight = (percent / 100.0 * elapsed * 1e9).round() as u64;
        if weight == 0 {
            continue;
        }
        let stack = file.stack(builder, line, is_native);
        builder.sample(Row {
            stack,
            thread,
            weight,
            samples: 1,
            time: None,
            state,
        });
    }
}
