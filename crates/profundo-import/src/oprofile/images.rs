//! `opreport` without options: the samples of each program, and below those of each library in it.
//!
//! ```text
//!   samples|      %|
//! ------------------
//!     22577 28.9011 /usr/bin/Xorg
//!           samples|      %|
//!         ------------------
//!             16846 74.6158 /proc/kallsyms
//! ```

use profundo_model::{LocationId, State};

use super::is_rule;
use super::names::{Names, Place};
use crate::{Builder, Row};

/// A program whose libraries may come.
struct Program {
    location: LocationId,
    place: Place,
    samples: u64,
    libraries: u64,
}

pub(super) fn fill<'a>(rows: impl Iterator<Item = &'a str>, each: u64, builder: &mut Builder) {
    let mut names = Names::default();
    let mut program: Option<Program> = None;
    for line in rows {
        let text = line.trim();
        if text.is_empty() || text.ends_with('|') || is_rule(text) || text == "..." {
            continue;
        }
        let Some((samples, name)) = row(text) else {
            builder.leave_out("lines", || format!("`{text}`"));
            continue;
        };
        // Numbers end in the ninth column, those of libraries eight columns later.
        let end = line.len() - line.trim_start().len() + samples.to_string().len();
        let image = names.location(builder, (name, name), "");
        match &mut program {
            Some(program) if end > 12 => {
                program.libraries = program.libraries.saturating_add(samples);
                add(builder, Some(program.location), image, samples, each);
            }
            _ => {
                finish(builder, program.take(), each);
                program = Some(Program {
                    location: image.location,
                    place: image,
                    samples,
                    libraries: 0,
                });
            }
        }
    }
    finish(builder, program, each);
}

/// The samples and the name of a row.
fn row(text: &str) -> Option<(u64, &str)> {
    let (samples, rest) = text.split_once(char::is_whitespace)?;
    let (percent, name) = rest.trim_start().split_once(char::is_whitespace)?;
    percent.parse::<f64>().ok()?;
    Some((samples.parse().ok()?, name.trim()))
}

/// Adds what is not in the libraries of a program.
fn finish(builder: &mut Builder, program: Option<Program>, each: u64) {
    if let Some(program) = program {
        let rest = program.samples.saturating_sub(program.libraries);
        add(builder, None, program.place, rest, each);
    }
}

fn add(builder: &mut Builder, parent: Option<LocationId>, image: Place, samples: u64, each: u64) {
    if samples == 0 {
        return;
    }
    let stack = parent.map(|parent| builder.stack(None, parent));
    let stack = match stack {
        // The program's own code.
        Some(stack) if parent == Some(image.location) => stack,
        parent => builder.stack(parent, image.location),
    };
    let thread = builder.only_thread();
    builder.sample(Row {
        stack,
        thread,
        weight: samples.saturating_mul(each),
        samples,
        time: None,
        state: match image.state {
            State::System => State::System,
            _ => State::Running,
        },
    });
}
