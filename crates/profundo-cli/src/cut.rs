//! `export --to profundo`: the part of a recording that passes a filter, as a recording of its own.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use profundo_analysis::has_allocations;
use profundo_console::progress::Progress;
use profundo_console::{output, stderr};
use profundo_formats::export::Format;
use profundo_model::{Growing, Profile};

use crate::input::{Input, NothingPasses};
use crate::open::Samples;
use crate::options::{self, Export};
use crate::report::LINES_ARE_ALL;

/// Writes the part up to `until`, and says so.
pub fn cut(options: &Export, until: Option<Duration>) -> Result<ExitCode> {
    let head = &options.head;
    let filters = &head.filters;
    let input = Input::new(
        head.recording.as_deref(),
        filters,
        until,
        &options.measuring,
    )
    .reading(&head.reading);
    if let Some(why) = Format::RECORDING.misfit(&options.options()) {
        options::refuse(&why);
    }
    let Some(output) = head.output.as_deref() else {
        options::refuse("a part of a recording wants a name: -o part.profundo");
    };
    let file = input.path()?;
    let kind = output::Kind::Recording;
    let text = output::Text::create(output, kind, &[&file], head.force)?;
    let mut profile = input.read(&file, Samples::Each)?;
    let filter = input.filter();
    let had_any = has_any(&profile);
    let had_lines = !profile.traced.lines.is_empty();
    let progress = Progress::start(format!("cutting {}", file.display()));
    let filter = profundo_analysis::cut(&mut profile, &filter);
    drop(progress);
    if had_any && !has_any(&profile) {
        if had_lines && !filter.is_timeless() {
            bail!("{LINES_ARE_ALL}; nothing was written");
        }
        bail!(NothingPasses::new(format!(
            "nothing passes the filter ({filter}); nothing was written"
        )));
    }
    // Of a recording that still goes on.
    profile.growing = Growing::default();
    let is_part = !filter.is_nothing();
    if is_part {
        let name = file.file_name().unwrap_or(file.as_os_str());
        profile.meta.notes.push(format!(
            "this is a part of {}: what passes {filter}",
            Path::new(name).display()
        ));
    }
    let samples = profile.samples_taken();
    text.write(|mut out| Ok(profundo_formats::write(&profile, &mut out)?))?;
    if !output::is_stdout(output) {
        let passing = match is_part {
            true => format!(", of what passes: {filter}"),
            false => String::new(),
        };
        let plural = if samples == 1 { "" } else { "s" };
        stderr::note(&format!(
            "wrote {} with {samples} sample{plural}{passing}",
            output.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there is anything in a profile that a report shows.
fn has_any(profile: &Profile) -> bool {
    !profile.samples.is_empty()
        || !profile.traced.is_empty()
        || !profile.spans.is_empty()
        || !profile.syscalls.is_empty()
        || !profile.heap.gauges.is_empty()
        || has_allocations(profile)
}
