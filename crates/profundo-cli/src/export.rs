//! `export` and `flame`: a recording in a form for others.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use profundo_analysis::{Filter, has_allocations, is_recorded, keep_only, measured};
use profundo_formats::export::{Format, Options, Weights, to_path};
use profundo_model::Profile;

use crate::open::Samples;
use crate::options::{self, Export, Flame, OwnCode};
use crate::own_code;
use crate::recordings::{Other, meant, newest_with};
use crate::report::is_untimed;
use crate::{open, output, stderr};

pub fn export(options: &Export) -> Result<ExitCode> {
    let (format, until) = options.format().unwrap_or_else(|why| options::refuse(&why));
    let format = format.format();
    if let Some(why) = options.filters.misfit(until) {
        options::refuse(&why);
    }
    if let Some(why) = options.measuring.misfit() {
        options::refuse(why);
    }
    let filter = options.filters.filter(until);
    let output = options.output.as_deref();
    write(
        format,
        options.recording.as_deref(),
        (output, options.force),
        (&filter, &options.filters.own_code),
        &options.options(),
    )
}

pub fn flame(options: &Flame) -> Result<ExitCode> {
    if let Some(why) = options.filters.misfit(options.until.to) {
        options::refuse(&why);
    }
    if let Some(why) = options.measuring.misfit() {
        options::refuse(why);
    }
    let filter = options.filters.filter(options.until.to);
    let output = options.output.as_deref();
    write(
        Format::Flame,
        options.recording.as_deref(),
        (output, options.force),
        (&filter, &options.filters.own_code),
        &options.options(),
    )
}

fn write(
    format: Format,
    recording: Option<&Path>,
    (output, force): (Option<&Path>, bool),
    (filter, own_code): (&Filter, &OwnCode),
    options: &Options,
) -> Result<ExitCode> {
    if let Some(why) = options::misfit(format, options) {
        options::refuse(why);
    }
    let file = &meant(recording)?;
    let beside = beside(file, format);
    let output = output.unwrap_or(&beside);
    output::check(output, output::Kind::Export(format), &[file], force)?;
    let samples = match format {
        // It has each sample in its place.
        Format::Speedscope => Samples::Each,
        _ => Samples::of(filter),
    };
    let mut profile = open::open(file, samples)?;
    own_code::add_said(&mut profile, own_code);
    if has_only_lines(&profile, format, options) {
        bail!(without_samples(format));
    }
    if let Some(why) = misses(&profile, options) {
        bail!("{why}; nothing was written");
    }
    if let Some(measure) = options.measure {
        if !is_recorded(&profile, measure) {
            bail!("{}; nothing was written", open::NO_MEMORY);
        }
        // That format has time and memory beside each other.
        if format != Format::Pprof {
            profile = measured(profile, measure);
        }
    }
    let had_samples = has_any(&profile, format);
    keep_only(&mut profile, filter);
    let is_empty =
        !has_any(&profile, format) && (format != Format::Pprof || !has_allocations(&profile));
    if had_samples && is_empty {
        let words = profundo_report::Choices::command().filter(filter.clone());
        let words = words.words().unwrap_or_default();
        if format == Format::Lprof && !filter.is_timeless() {
            bail!("{}; nothing was written", crate::report::LINES_ARE_ALL);
        }
        let what = match format {
            Format::Lprof => "lines",
            Format::Pstats | Format::Callgrind => "calls",
            _ => "samples",
        };
        bail!(NothingPasses(format!(
            "no {what} pass the filter ({words}); nothing was written"
        )));
    }
    to_path(&profile, Some(format), options, output)?;
    if output != Path::new("-") {
        let empty = match had_samples {
            true => "",
            false if options.measure.is_some() => ", which is empty: there was nothing of this",
            false => ", which is empty: no samples were taken",
        };
        // A number may mean another recording than a moment ago.
        let command = profile.processes.first();
        let command = command.map_or("", |it| profile.strings.get(it.command));
        let of = match command {
            "" => String::new(),
            command => format!(" (of {})", profundo_report::text::keep_head(command, 50)),
        };
        stderr::note(&format!("wrote {}{of}{empty}", output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Nothing of the recording is what was asked for. Scripts know it by the exit code.
#[derive(Debug)]
pub struct NothingPasses(String);

impl std::fmt::Display for NothingPasses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NothingPasses {}

/// Whether a recording has counted lines and no samples, and a format wants samples.
fn has_only_lines(profile: &Profile, format: Format, options: &Options) -> bool {
    let traced = &profile.traced;
    let wants_samples = !format.is_counted() && options.measure.is_none();
    let has_lines = !traced.lines.is_empty() || traced.tracing.is_of_lines();
    wants_samples && profile.samples.is_empty() && has_lines && !has_allocations(profile)
}

/// Says that a count of lines is no picture, and which recording is one.
fn without_samples(format: Format) -> String {
    let other = newest_with(|holds| holds.samples && !holds.calls && !holds.lines);
    let way_out = match (other, format) {
        (Some(Other { number, name }), Format::Flame) => {
            format!("`profundo flame {number}` draws {name}, which has samples")
        }
        (Some(Other { number, name }), _) => {
            let format = format.name();
            format!("`profundo export {number} --to {format}` writes {name}, which has samples")
        }
        (None, _) => "`profundo run` makes a recording that has samples".to_owned(),
    };
    format!(
        "the recording has counts of lines and no samples; {way_out}, and `profundo export --to lprof` writes the counts"
    )
}

/// Why a recording of `trace` cannot be written as the options say, if it cannot.
fn misses(profile: &Profile, options: &Options) -> Option<&'static str> {
    (options.weights == Some(Weights::Time) && is_untimed(profile)).then_some(
        "calls were counted without times in this recording: `--weights samples` has the calls",
    )
}

/// Whether there is anything of what a format holds.
fn has_any(profile: &Profile, format: Format) -> bool {
    match format {
        Format::Lprof => !profile.traced.lines.is_empty(),
        Format::Pstats | Format::Callgrind => !profile.traced.calls.is_empty(),
        _ => !profile.samples.is_empty(),
    }
}

/// The recording's name with the format's ending, in the current folder.
fn beside(file: &Path, format: Format) -> PathBuf {
    let stem = file.file_stem().unwrap_or(OsStr::new("profundo"));
    let mut name = stem.to_owned();
    name.push(".");
    name.push(format.extension());
    name.into()
}
