//! `report`, and the report that follows a run: its shape, its output and its look there.

mod html;
mod next_steps;
mod rows;
mod views;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_analysis::{
    Filter, GroupBy, has_allocations, is_recorded, keep_only, measured, transform, transforms,
};
use profundo_console::output;
use profundo_disassembly::Syntax;
use profundo_model::{Clock, Engine, Profile, SampleKind, Tracing};
use profundo_report::{
    Callers, Format, Listing, Look, NextStep, Stacks, Statprof, ThreadLocals, Trace, View, When,
};

use crate::input::Input;
use crate::open::Samples;
use crate::options::{Order, Report, Style, ViewOptions, What};

use crate::{annotate, open, options};

use next_steps::next;
use rows::Rows;

pub fn report(options: &Report) -> Result<ExitCode> {
    let asked = match options.asked() {
        Ok(asked) => asked,
        Err(error) => return Ok(options::wrong(error)),
    };
    let shape = Shape::new(asked.what, asked.name.as_deref(), &options.view);
    let view = &options.view;
    let file = asked.file.as_deref();
    let input =
        Input::new(file, &view.filters, view.until.to, &view.measuring).reading(&options.reading);
    let recording = input.path()?;
    let mut profile = input.read(&recording, shape.samples())?;
    if matches!(asked.what, What::Lines | What::MemoryLines) && profile.meta.question.is_some() {
        let note =
            "a store has no source text: lines are shown as the files on this machine have them";
        profile.meta.notes.push(note.to_owned());
    }
    // Instructions are found in stacks as they were recorded.
    let mut shape = shape.with_code(&mut profile)?;
    shape.filter = transform(&mut profile, &shape.filter);
    shape.print(&profile, &recording, Stream::Out)?;
    let is_found = !has_any(&profile) || shape.finds(&profile);
    Ok(match is_found && passes(profile, &shape.filter) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(crate::NOTHING),
    })
}

/// Why a report cannot be by this label, if no recording has it.
fn unknown_label(profile: &Profile, by: Option<&GroupBy>) -> Option<String> {
    let Some(GroupBy::LabelOf(key)) = by else {
        return None;
    };
    let of_recordings = profile.origins.iter().flat_map(|origin| &origin.labels);
    let of_processes = profile.processes.iter().flat_map(|process| &process.labels);
    let labels = of_recordings.chain(of_processes);
    let keys: BTreeSet<&str> = labels.map(|&(key, _)| profile.strings.get(key)).collect();
    if keys.contains(&**key) {
        return None;
    }
    let known: Vec<&str> = keys.into_iter().collect();
    Some(match known.is_empty() {
        true => format!("no label `{key}` is known: this recording has no labels"),
        false => format!("no label `{key}` is known: there are {}", known.join(", ")),
    })
}

/// Why a report cannot be by this attribute of spans, if no span has it.
fn unknown_attribute(profile: &Profile, by: Option<&GroupBy>) -> Option<String> {
    let key = match by {
        Some(GroupBy::SpanOf(key)) => key,
        Some(GroupBy::Span) if !profile.spans.paths.is_any() => {
            return Some("this recording has no spans".to_owned());
        }
        _ => return None,
    };
    let paths = profile.spans.paths.iter();
    let attributes = paths.flat_map(|(_, path)| &path.attributes);
    let keys: BTreeSet<&str> = attributes
        .map(|&(key, _)| profile.strings.get(key))
        .collect();
    if keys.contains(&**key) {
        return None;
    }
    let known: Vec<&str> = keys.into_iter().collect();
    Some(match (known.is_empty(), profile.spans.paths.is_any()) {
        (true, false) => "this recording has no spans".to_owned(),
        (true, true) => format!("no span has an attribute `{key}`: they have none"),
        (false, _) => format!(
            "no span has an attribute `{key}`: there are {}",
            known.join(", ")
        ),
    })
}

/// True if anything passes the filter, or there was nothing to begin with.
fn passes(mut profile: Profile, filter: &Filter) -> bool {
    if *filter == Filter::default() || !has_any(&profile) {
        return true;
    }
    keep_only(&mut profile, filter);
    has_any(&profile)
}

/// True if anything was recorded, or has passed a filter.
fn has_any(profile: &Profile) -> bool {
    !profile.samples.is_empty()
        || !profile.traced.is_empty()
        || !profile.spans.is_empty()
        || has_allocations(profile)
}

/// The stream of a report for which no file is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error: after a run, the standard output is the program's.
    Error,
}

/// A report that was asked for.
#[derive(Debug, Clone)]
pub struct Shape<'a> {
    what: What,
    name: Option<&'a str>,
    view: &'a ViewOptions,
    /// The filter; once its transforms are applied, that of the profile as it is then.
    filter: Filter,
    /// True right after the recording was made.
    is_first: bool,
    /// The functions that `annotate` shows.
    listings: Vec<Listing>,
    /// The variables that `stacks` shows.
    locals: Vec<ThreadLocals>,
}

impl<'a> Shape<'a> {
    /// Ends the program with a hint where the options do not go together.
    pub fn new(what: What, name: Option<&'a str>, view: &'a ViewOptions) -> Self {
        let shape = Self {
            what,
            name,
            view,
            filter: view.filter(),
            is_first: false,
            listings: Vec::new(),
            locals: Vec::new(),
        };
        match name {
            None if what.wants_name() => {
                let what = what.name();
                options::refuse(&format!(
                    "`{what}` wants the name of a function: report {what} NAME"
                ))
            }
            Some(name) if !what.wants_name() => {
                options::refuse(&format!("`{name}` is one word too many"))
            }
            _ => {}
        }
        if let Some(why) = view.misfit(what) {
            options::refuse(&why);
        }
        if let Some(format) = shape.library_format()
            && let Err(error) = shape.library_report(format).check()
        {
            options::refuse(&error.to_string());
        }
        shape
    }

    /// The precision of samples that the report needs.
    pub fn samples(&self) -> Samples {
        match self.what {
            What::Stacks => Samples::Each,
            _ => Samples::of(&self.filter),
        }
    }

    /// Reads the code of the functions that `annotate` shows.
    fn with_code(mut self, profile: &mut Profile) -> Result<Self> {
        if self.what != What::Annotate {
            return Ok(self);
        }
        if let Some(why) = self.misfit(profile) {
            options::refuse(&why);
        }
        let shape = &self.view.shape;
        let style = annotate::Style {
            syntax: match shape.intel {
                true => Syntax::Intel,
                false => Syntax::Att,
            },
            limit: shape.limit.unwrap_or(1),
        };
        let name = self.name.unwrap_or_default();
        self.listings = annotate::listings(profile, &self.filter, name, style)?;
        Ok(self)
    }

    /// True if the recording has a function of the name that was asked for.
    fn finds(&self, profile: &Profile) -> bool {
        match self.what {
            What::Annotate => !self.listings.is_empty(),
            what if what.wants_name() => {
                let callers = Callers::new(self.name.unwrap_or_default());
                let callers = callers.choices(self.choices());
                match self.view.measuring.measure() {
                    // A function may allocate, and take too little time to be sampled.
                    Some(measure) => callers.finds(&measured(profile.clone(), measure)),
                    None => callers.finds(profile),
                }
            }
            _ => true,
        }
    }

    /// One stack of each thread, with these variables.
    pub fn stacks(view: &'a ViewOptions, locals: Vec<ThreadLocals>) -> Self {
        Self {
            locals,
            ..Self::new(What::Stacks, None, view)
        }
    }

    /// The first report on a recording: with the recording's path, and commands to try next.
    pub fn first(self) -> Self {
        Self {
            is_first: true,
            ..self
        }
    }

    /// Commands to try next, on the first report.
    fn next(&self, recording: &Path, profile: &Profile) -> Vec<NextStep> {
        match self.is_first && !recording.as_os_str().is_empty() {
            true => next(recording, profile),
            false => Vec::new(),
        }
    }

    /// Prints the report, or writes it to the file that was named.
    pub fn print(&self, profile: &Profile, recording: &Path, stream: Stream) -> Result<()> {
        if transforms(profile, &self.filter) {
            let mut profile = profile.clone();
            let filter = transform(&mut profile, &self.filter);
            let shape = Self {
                filter,
                ..self.clone()
            };
            return shape.print(&profile, recording, stream);
        }
        let style = &self.view.style;
        let of_memory;
        let profile = match self.view.measuring.measure() {
            None => profile,
            Some(measure) => {
                if !is_recorded(profile, measure) {
                    bail!("{}", open::NO_MEMORY);
                }
                of_memory = measured(profile.clone(), measure);
                &of_memory
            }
        };
        if let Some(folder) = style.html.as_deref() {
            return html::write(profile, &self.choices(), folder, style.force);
        }
        if let Some(path) = style.report_to.as_deref()
            && !output::is_stdout(path)
        {
            return self.print_to(path, profile, recording);
        }
        let stream = match style.report_to {
            Some(_) => Stream::Out,
            None => stream,
        };
        match stream {
            Stream::Out => {
                let stdout = io::stdout();
                let look = look(style, stdout.is_terminal());
                self.write(profile, recording, look, &mut BufWriter::new(stdout.lock()))
                    .context("cannot write the report")
            }
            Stream::Error => {
                let stderr = io::stderr();
                let look = look(style, stderr.is_terminal());
                self.write(profile, recording, look, &mut BufWriter::new(stderr.lock()))
                    .context("cannot write the report")
            }
        }
    }

    /// Writes the report to a file. By its first line the file is known as a report, which may be
    /// replaced later.
    fn print_to(&self, path: &Path, profile: &Profile, recording: &Path) -> Result<()> {
        let style = &self.view.style;
        let text = output::Text::create(path, output::Kind::Report, &[recording], style.force)?;
        let look = look(style, false).width(style.width.unwrap_or(UNCUT));
        text.write(|out| {
            if !style.json && Rows::of(style).is_none() {
                writeln!(out, "{}: {}", output::REPORT, self.what.name())?;
            }
            self.write(profile, recording, look, out)
        })
    }

    fn write(
        &self,
        profile: &Profile,
        recording: &Path,
        look: Look,
        out: &mut (impl Write + ?Sized),
    ) -> Result<()> {
        let style = &self.view.style;
        macro_rules! write_view {
            ($view:expr) => {{
                let mut view = $view.choices(self.choices()).look(look);
                if style.no_quality {
                    view = view.quality(false);
                }
                match Rows::of(style) {
                    Some(rows) => {
                        let mut json = Vec::new();
                        view.write_json(profile, &mut json).map_err(plain)?;
                        rows.write(&json, self.what.name(), out)?;
                    }
                    None if style.json => view.write_json(profile, &mut *out).map_err(plain)?,
                    None => view.write(profile, &mut *out).map_err(plain)?,
                }
            }};
        }
        let name = self.name.unwrap_or_default();
        if let Some(why) = self.misfit(profile) {
            options::refuse(&why);
        }
        match self.what {
            What::Summary if profile.traced.tracing == Tracing::Exceptions => {
                write_view!(self.exceptions().next(next(recording, profile)))
            }
            What::Summary if is_untimed(profile) => {
                let trace = self.trace(Trace::new());
                write_view!(trace.next(next(recording, profile)))
            }
            // Without a recording, nothing can be reported on later.
            What::Summary if recording.as_os_str().is_empty() => write_view!(self.summary()),
            What::Summary => write_view!(self.summary().next(next(recording, profile))),
            What::Lines if has_counted_lines(profile) => {
                write_view!(self.counted_lines().next(self.next(recording, profile)))
            }
            What::Lines => write_view!(self.lines()),
            What::Functions if self.view.shape.is_grouped() => {
                write_view!(self.library_report(Format::Functions))
            }
            What::Functions => write_view!(self.functions()),
            What::Callers => write_view!(Callers::new(name)),
            What::Callees => write_view!(Callers::callees_of(name)),
            What::Calls => write_view!(Callers::both(name)),
            What::Annotate => write_view!(self.annotate()),
            What::Io => write_view!(self.io()),
            What::Syscalls => write_view!(self.syscalls()),
            What::Memory => write_view!(self.memory()),
            What::Allocs => write_view!(self.allocs()),
            What::MemoryLines => write_view!(self.memory_lines()),
            What::Trace => {
                let trace = self.trace(Trace::new());
                write_view!(trace.next(self.next(recording, profile)))
            }
            What::Pstats => write_view!(self.trace(Trace::pstats())),
            What::Exceptions => {
                write_view!(self.exceptions().next(self.next(recording, profile)))
            }
            What::Spans => write_view!(self.spans()),
            What::Spread => write_view!(self.spread()),
            What::Statprof => write_view!(Statprof::new()),
            What::Stacks => write_view!(Stacks::new().locals(self.locals.clone())),
            What::Tree => write_view!(self.library_report(Format::Tree)),
            What::Flat => write_view!(self.library_report(Format::Flat)),
        }
        out.flush()?;
        Ok(())
    }

    /// The reason why the recording has nothing for this report, if there is one.
    fn misfit(&self, profile: &Profile) -> Option<String> {
        let shape = &self.view.shape;
        let name = self.what.name();
        if self.what == What::Lines && has_counted_lines(profile) {
            let option = shape.of_samples()?;
            return Some(format!(
                "`--{option}` is about samples, and each run of a line was counted in this recording: `lines` has `--limit` and \
                 `--no-disk` there"
            ));
        }
        let unknown = unknown_label(profile, shape.by.as_ref());
        if let Some(why) = unknown.or_else(|| unknown_attribute(profile, shape.by.as_ref())) {
            return Some(why);
        }
        if self.what == What::Stacks && profile.meta.question.is_some() {
            return Some(
                "a store keeps no single samples, so there is no last stack of a thread in it"
                    .to_owned(),
            );
        }
        if !is_untimed(profile) {
            return None;
        }
        if self.what.is_of_time() && self.what != What::Summary {
            return Some(format!(
                "`{name}` is about time, and calls were counted without times in this recording: `profundo report FILE trace` shows them"
            ));
        }
        let order = shape.sort.as_ref().and_then(Order::of_calls);
        let is_typed = !shape.set.iter().any(|option| option == "sort");
        let order = order.filter(|order| order.is_of_time() && is_typed)?;
        Some(format!(
            "nothing can be ordered by {}: calls were counted without times in this recording",
            order.words()
        ))
    }
}

/// The system's error alone, where writing failed: the caller adds what was written.
fn plain(error: profundo_report::Error) -> anyhow::Error {
    match error {
        profundo_report::Error::Write(source) => source.into(),
        other => other.into(),
    }
}

/// The columns of text that is not cut.
const UNCUT: usize = 1000;

fn look(style: &Style, terminal: bool) -> Look {
    // A screen cuts what it has no room for. A file or a pipe gets all of it.
    let is_uncut = !terminal && std::env::var_os("COLUMNS").is_none();
    let mut look = Look::new()
        .terminal(terminal)
        .width(style.width.or(is_uncut.then_some(UNCUT)))
        .colors(style.color.unwrap_or(When::Auto))
        .hyperlinks(style.hyperlinks.unwrap_or(When::Auto));
    if let Some(editor) = &style.editor {
        look = look.editor(editor);
    }
    look
}

/// The error for a filter that asks for more than is known of lines.
pub const LINES_ARE_ALL: &str = "nobody knows which thread or task ran a line, or when: lines can be chosen by process, file and function";

/// True if calls were counted, and none of them measured. Other tools' files may have samples
/// beside them.
pub fn is_untimed(profile: &Profile) -> bool {
    let (traced, meta) = (&profile.traced, &profile.meta);
    let has_samples = meta.engine == Engine::Unknown
        && meta.kind != SampleKind::Traced
        && !profile.samples.is_empty();
    traced.clock == Clock::None && !traced.calls.is_empty() && !has_samples
}

/// True if lines were counted, not calls.
fn has_counted_lines(profile: &Profile) -> bool {
    let traced = &profile.traced;
    !traced.lines.is_empty() || profile.samples.is_empty() && traced.tracing.is_of_lines()
}
