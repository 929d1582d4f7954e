//! `export`, `flame` and `heatmap`: a recording in a format of other tools, or as a picture.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use profundo_analysis::has_allocations;
use profundo_console::{output, stderr};
use profundo_formats::export::{Format, Options, Order, Weights, to_path};
use profundo_model::{Profile, SampleKind};

use crate::cut::cut;
use crate::fleet;
use crate::input::{Input, Part, Wanted};
use crate::options::{self, Export, Flame, Head, Heatmap, Measuring};
use crate::recordings::{Other, newest_with};
use crate::report::is_untimed;

pub fn export(options: &Export) -> Result<ExitCode> {
    let (format, until) = options.format().unwrap_or_else(|why| options::refuse(&why));
    if format == Format::RECORDING {
        return cut(options, until);
    }
    write(&Job {
        format,
        head: &options.head,
        until,
        measuring: &options.measuring,
        options: options.options(),
        by_graphviz: false,
    })
}

pub fn flame(options: &Flame) -> Result<ExitCode> {
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    write(&Job {
        format: Format::FLAME,
        head: &options.head,
        until: options.until.to,
        measuring: &options.measuring,
        options: options.options(),
        by_graphviz: false,
    })
}

pub fn heatmap(options: &Heatmap) -> Result<ExitCode> {
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    write(&Job {
        format: Format::HEATMAP,
        head: &options.head,
        until: options.until.to,
        measuring: &Measuring::default(),
        options: options.options(),
        by_graphviz: false,
    })
}

/// An export, as the verbs ask for it.
pub struct Job<'a> {
    pub format: Format,
    pub head: &'a Head,
    /// The end of the time that counts.
    pub until: Option<Duration>,
    pub measuring: &'a Measuring,
    pub options: Options,
    /// Whether Graphviz lays a graph out.
    pub by_graphviz: bool,
}

/// Writes the file, and says so.
pub fn write(job: &Job<'_>) -> Result<ExitCode> {
    let Job {
        format,
        head,
        ref options,
        ..
    } = *job;
    let recording = head.recording.as_deref();
    let input =
        Input::new(recording, &head.filters, job.until, job.measuring).reading(&head.reading);
    if let Some(why) = format.misfit(options) {
        options::refuse(&why);
    }
    let file = &input.path()?;
    let beside = beside(file, format);
    let output = head.output.as_deref().unwrap_or(&beside);
    output::check(output, output::Kind::Export(format), &[file], head.force)?;
    let wanted = Wanted {
        holds: format.holds(),
        is_in_order: format.is_in_order() || options.order == Order::Time,
        has_memory_too: format.has_memory_too(),
    };
    let profile = input.read_for(file, wanted)?;
    if has_only_lines(&profile, format, options) {
        bail!(without_samples(format));
    }
    if options.waiting && profile.meta.kind != SampleKind::Wall {
        bail!("waits were not sampled: `profundo run --wall` samples them; nothing was written");
    }
    if let Some(why) = misses(&profile, options) {
        bail!("{why}; nothing was written");
    }
    let Part {
        profile,
        had_any,
        filter,
    } = input.part(profile, wanted)?;
    let is_empty = !had_any && profile.traced.is_empty() && !has_allocations(&profile);
    if format == Format::HEATMAP && is_empty {
        bail!("no samples were taken in this recording; nothing was written");
    }
    let options = &Options {
        filter: filter.clone(),
        ..options.clone()
    };
    match job.by_graphviz {
        true => crate::graph::by_graphviz(&profile, options, output)?,
        false => to_path(&profile, Some(format), options, output)?,
    }
    if output != Path::new("-") {
        let empty = match had_any {
            true => "",
            false if options.measure.is_some() => ", which is empty: there was nothing of this",
            false => ", which is empty: no samples were taken",
        };
        // `@1` may be another recording than a moment ago, so its command is named.
        let command = profile.processes.first();
        let command = command.map_or("", |process| profile.strings.get(process.command));
        let question = profile.meta.question.as_ref();
        let command = question.map_or(command, |question| &question.title);
        let of = match command {
            "" => String::new(),
            command => format!(" (of {})", profundo_report::text::keep_head(command, 50)),
        };
        let passing = match &filter[..] {
            "" => String::new(),
            filter => format!(", of what passes: {filter}"),
        };
        stderr::note(&format!("wrote {}{of}{passing}{empty}", output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// True if a recording has counted lines and no samples, and a format wants samples.
fn has_only_lines(profile: &Profile, format: Format, options: &Options) -> bool {
    let traced = &profile.traced;
    let wants_samples = !format.is_counted() && !format.is_of_memory() && options.measure.is_none();
    let has_lines = !traced.lines.is_empty() || traced.tracing.is_of_lines();
    wants_samples && profile.samples.is_empty() && has_lines && !has_allocations(profile)
}

/// The error for a count of lines, with the number of a recording that has samples.
fn without_samples(format: Format) -> String {
    let other = newest_with(|holds| holds.samples && !holds.calls && !holds.lines);
    let way_out = match other {
        Some(Other { number, name }) if [Format::GRAPH, Format::DOT].contains(&format) => {
            format!("`profundo graph {number}` draws {name}, which has samples")
        }
        Some(Other { number, name }) if [Format::FLAME, Format::HEATMAP].contains(&format) => {
            let verb = format.name();
            format!("`profundo {verb} {number}` draws {name}, which has samples")
        }
        Some(Other { number, name }) => {
            let format = format.name();
            format!("`profundo export {number} --to {format}` writes {name}, which has samples")
        }
        None => "`profundo run` makes a recording that has samples".to_owned(),
    };
    format!(
        "the recording has counts of lines and no samples; {way_out}, and `profundo export --to lprof` writes the counts"
    )
}

/// The reason why a recording of `trace` cannot be written with these options, if there is one.
fn misses(profile: &Profile, options: &Options) -> Option<&'static str> {
    (options.weights == Some(Weights::Time) && is_untimed(profile)).then_some(
        "calls were counted without times in this recording: `--weights samples` has the calls",
    )
}

/// The recording's name with the format's ending, in the current folder.
fn beside(file: &Path, format: Format) -> PathBuf {
    let stem = file.file_stem().unwrap_or(OsStr::new("profundo"));
    let mut name = fleet::name(file).map_or_else(|| stem.to_owned(), OsString::from);
    name.push(".");
    name.push(format.extension());
    name.into()
}
