//! `report`, and the report that follows a run: its shape, its output and its look there.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_analysis::{
    Filter, GroupBy, Whole, has_allocations, is_recorded, keep_only, measured, missing_of,
    transform, transforms,
};
use profundo_console::output;
use profundo_disassembly::Syntax;
use profundo_model::{
    Clock, Engine, Language, ProcessEnd, Profile, SampleKind, State, StringId, Tracing,
};
use profundo_report::{
    Allocs, Annotate, Callers, Choices, CountedLines, Exceptions, Format, Functions, Hidden, Io,
    Lines, Listing, Look, Memory, MemoryLines, Neighbours, NextStep, Only, Spans, Spread, Stacks,
    Statprof, Summary, Syscalls, Trace, View, When,
};

use crate::input::Input;
use crate::open::Samples;
use crate::options::{Order, Report, Style, ViewOptions, What};
use crate::recordings::meant;
use crate::{annotate, open, options};

pub fn report(options: &Report) -> Result<ExitCode> {
    let asked = match options.asked() {
        Ok(asked) => asked,
        Err(error) => return Ok(options::wrong(error)),
    };
    let shape = Shape::new(asked.what, asked.name.as_deref(), &options.view);
    let view = &options.view;
    let file = asked.file.as_deref();
    let input = Input::new(file, &view.filters, view.until.to, &view.measuring);
    let recording = input.path()?;
    let mut profile = input.read(&recording, shape.samples())?;
    // Instructions are found in stacks as they were recorded.
    let mut shape = shape.with_code(&mut profile)?;
    shape.filter = transform(&mut profile, &shape.filter);
    shape.print(&profile, &recording, Stream::Out)?;
    Ok(match passes(profile, &shape.filter) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(crate::NOTHING),
    })
}

/// Why a report cannot be by this label, if no recording has it.
fn unknown_label(profile: &Profile, by: Option<&GroupBy>) -> Option<String> {
    let Some(GroupBy::LabelOf(key)) = by else {
        return None;
    };
    let labels = profile.origins.iter().flat_map(|origin| &origin.labels);
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
    let has_any = |profile: &Profile| {
        !profile.samples.is_empty()
            || !profile.traced.is_empty()
            || !profile.spans.is_empty()
            || has_allocations(profile)
    };
    if *filter == Filter::default() || !has_any(&profile) {
        return true;
    }
    keep_only(&mut profile, filter);
    has_any(&profile)
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

    /// One stack of each thread.
    pub fn stacks(view: &'a ViewOptions) -> Self {
        Self::new(What::Stacks, None, view)
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
            if !style.json {
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
                match style.json {
                    true => view.write_json(profile, &mut *out),
                    false => view.write(profile, &mut *out),
                }
                .map_err(plain)?
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
            What::Stacks => write_view!(Stacks::new()),
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

    fn library_format(&self) -> Option<Format> {
        match self.what {
            What::Tree => Some(Format::Tree),
            What::Flat => Some(Format::Flat),
            What::Functions if self.view.shape.is_grouped() => Some(Format::Functions),
            _ => None,
        }
    }

    /// The choices of the report: samples, frames, rows.
    fn choices(&self) -> Choices {
        let hidden = match self.view.filters.c {
            true => Hidden::Nothing,
            false => Hidden::Runtime,
        };
        Choices::command()
            .filter(self.filter.clone())
            .hidden(hidden)
            .only_mine(self.view.filters.only_mine)
    }

    fn summary(&self) -> Summary {
        let shape = &self.view.shape;
        let by_command = shape.by == Some(GroupBy::Command);
        let summary = Summary::new()
            .from_disk(!shape.no_disk)
            .by_command(by_command);
        match shape.limit {
            // The tree has several lines for each function.
            Some(limit) => (summary.lines(limit).functions(limit).table(limit))
                .tree(limit.saturating_mul(2))
                .small_rows(true),
            None => summary,
        }
    }

    fn spans(&self) -> Spans {
        let shape = &self.view.shape;
        let spans = Spans::new().by(shape.by.clone().unwrap_or_default());
        match shape.limit {
            Some(limit) => spans.limit(limit),
            None => spans,
        }
    }

    fn spread(&self) -> Spread {
        let spread = Spread::new().total(self.view.shape.total);
        match self.view.shape.limit {
            Some(limit) => spread.limit(limit),
            None => spread,
        }
    }

    fn lines(&self) -> Lines {
        let shape = &self.view.shape;
        let mut lines = Lines::new()
            .all_lines(shape.all_lines)
            .total(shape.total)
            .libraries(shape.libraries)
            .from_disk(!shape.no_disk);
        if let Some(context) = shape.context {
            lines = lines.context(context);
        }
        if let Some(min_share) = shape.min_share {
            lines = lines.min_share(min_share);
        }
        if let Some(limit) = shape.limit {
            lines = lines.limit(limit);
        }
        lines
    }

    fn counted_lines(&self) -> CountedLines {
        let shape = &self.view.shape;
        let lines = CountedLines::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => lines.limit(limit),
            None => lines,
        }
    }

    fn exceptions(&self) -> Exceptions {
        match self.view.shape.limit {
            Some(limit) => Exceptions::new().limit(limit),
            None => Exceptions::new(),
        }
    }

    fn functions(&self) -> Functions {
        let shape = &self.view.shape;
        let mut functions = Functions::new();
        if let Some(order) = shape.sort.as_ref().and_then(Order::of_samples) {
            functions = functions.sorted_by(order);
        }
        if let Some(limit) = shape.limit {
            functions = functions.limit(limit);
        }
        if let Some(min_share) = shape.min_share {
            functions = functions.min_share(min_share);
        }
        functions
    }

    fn annotate(&self) -> Annotate {
        let shape = &self.view.shape;
        let mut annotate = Annotate::new(self.name.unwrap_or_default(), self.listings.clone())
            .all(shape.all_lines)
            .from_disk(!shape.no_disk);
        if let Some(context) = shape.context {
            annotate = annotate.context(context);
        }
        if let Some(min_share) = shape.min_share {
            annotate = annotate.min_share(min_share);
        }
        annotate
    }

    fn io(&self) -> Io {
        match self.view.shape.limit {
            Some(limit) => Io::new().limit(limit),
            None => Io::new(),
        }
    }

    fn syscalls(&self) -> Syscalls {
        match self.view.shape.limit {
            Some(limit) => Syscalls::new().limit(limit),
            None => Syscalls::new(),
        }
    }

    fn memory(&self) -> Memory {
        match self.view.shape.limit {
            Some(limit) => Memory::new().limit(limit),
            None => Memory::new(),
        }
    }

    fn allocs(&self) -> Allocs {
        let shape = &self.view.shape;
        let allocs = Allocs::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => allocs.limit(limit).small_rows(true),
            None => allocs,
        }
    }

    fn memory_lines(&self) -> MemoryLines {
        let shape = &self.view.shape;
        let lines = MemoryLines::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => lines.limit(limit),
            None => lines,
        }
    }

    fn trace(&self, mut trace: Trace) -> Trace {
        let shape = &self.view.shape;
        if let Some(order) = shape.sort.as_ref().and_then(Order::of_calls) {
            trace = trace.sorted_by(order.clone());
        }
        let limit = shape.limit.map(Only::First);
        for only in shape.only.iter().cloned().chain(limit) {
            trace = trace.only(only);
        }
        let neighbours = match (shape.callers, shape.callees) {
            (true, _) => Neighbours::Callers,
            (_, true) => Neighbours::Callees,
            _ => Neighbours::None,
        };
        trace
            .neighbours(neighbours)
            .group_by(shape.by.clone().unwrap_or_default())
    }

    /// The library's own reports, with all of their options.
    fn library_report(&self, format: Format) -> profundo_report::Report {
        let shape = &self.view.shape;
        let mut report = profundo_report::Report::new()
            .format(format)
            .choices(self.choices())
            .combine(!shape.no_combine)
            .hot_first(shape.hot_first)
            .group_by(shape.by.clone().unwrap_or_default())
            .recur(shape.recur.unwrap_or_default());
        if let Some(maxdepth) = shape.maxdepth {
            report = report.maxdepth(maxdepth);
        }
        if let Some(min_share) = shape.min_share {
            report = report.min_share(min_share);
        }
        if let Some(mincount) = shape.mincount {
            report = report.mincount(mincount);
        }
        if let Some(noisefloor) = shape.noisefloor {
            report = report.noisefloor(noisefloor);
        }
        if let Some(order) = shape.sort.as_ref().and_then(Order::of_samples) {
            report = report.sorted_by(order);
        }
        report
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

/// True if calls were counted, and none of them measured.
pub fn is_untimed(profile: &Profile) -> bool {
    let traced = &profile.traced;
    traced.clock == Clock::None && !traced.calls.is_empty()
}

/// True if lines were counted, not calls.
fn has_counted_lines(profile: &Profile) -> bool {
    let traced = &profile.traced;
    !traced.lines.is_empty() || profile.samples.is_empty() && traced.tracing.is_of_lines()
}

/// A recording that would show more, and what it would show.
fn better_recording(profile: &Profile) -> Option<NextStep> {
    /// Below this share of the elapsed time the CPU was hardly used.
    const BUSY: f64 = 0.5;
    /// In shorter runs nothing waits for long.
    const SHORT: f64 = 0.2e9;
    /// Fewer samples say little.
    const FEW: u64 = 100;
    /// With this period or a longer one, sampling from outside misses threads that live for some
    /// milliseconds only.
    const COARSE: u64 = 1_500_000;
    let meta = &profile.meta;
    let wall = meta.duration.0 as f64;
    let (user, system) = profile.cpu_used()?;
    let cpu = user.0.saturating_add(system.0) as f64;
    let is_traced = !profile.traced.is_empty() || profile.traced.tracing != Tracing::Unknown;
    if meta.kind != SampleKind::Cpu || is_traced {
        return None;
    }
    if let Some(process) = attached(profile) {
        let seconds = (wall / 1e9).round().max(1.0);
        let command_with =
            |option: &str| format!("profundo attach {process} -d {seconds} {option}");
        let misses_much =
            missing_of(profile, Whole::Cpu).is_some_and(|missing| missing.is_grave(meta.period.0));
        let is_coarse = meta.period.0 >= COARSE && (misses_much || profile.samples_taken() < FEW);
        return (is_coarse && cpu > 1e6)
            .then(|| NextStep::new(command_with("-r 1000"), "more samples"));
    }
    let command_with = |option: &str| format!("profundo run {option} -- {}", command_of(profile));
    let mut samples = profile.samples.iter();
    let waits = samples.any(|sample| sample.state == State::WallWaiting);
    match profile.samples_taken() {
        _ if meta.engine == Engine::PerfRing => None,
        _ if wall > SHORT && cpu < BUSY * wall && !waits => {
            Some(NextStep::new(command_with("--wall"), "what it waits for"))
        }
        few if few < FEW && cpu > 1e6 => Some(NextStep::new(
            command_with("-r 10000"),
            "ten times as many samples",
        )),
        _ => None,
    }
}

/// The process, if the recording is of one that ran on, sampled from outside.
fn attached(profile: &Profile) -> Option<u32> {
    let first = profile.processes.first()?;
    let runs_on = first.end == ProcessEnd::Unknown && profile.meta.engine == Engine::PerfRing;
    runs_on.then_some(first.pid)
}

/// The command line of a recording, or `CMD` for a long one.
fn command_of(profile: &Profile) -> String {
    const LONG: usize = 60;
    let first = profile.processes.first();
    let command = first.map_or("", |process| profile.strings.get(process.command));
    match command.len() {
        1..LONG => command.to_owned(),
        _ => "CMD".to_owned(),
    }
}

/// True if the line of any code is known, but for the interpreter's own.
fn has_lines(profile: &Profile) -> bool {
    let counted = !profile.traced.lines.is_empty();
    let mut frames = profile.frames.iter();
    counted || frames.any(|frame| frame.line > 0 && frame.language != Language::Runtime)
}

/// Commands to try next.
fn next(recording: &Path, profile: &Profile) -> Vec<NextStep> {
    let is_newest = meant(None).is_ok_and(|newest| newest == recording);
    let path = recording.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    let path = match path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    // The newest recording needs no name.
    let path = match is_newest {
        true => String::new(),
        false => format!(" {path}"),
    };
    let report = |name: &str, shows| NextStep::new(format!("profundo report{path} {name}"), shows);
    let export = |to: &str, shows| NextStep::new(format!("profundo export{path} --to {to}"), shows);
    let traced = &profile.traced;
    let flame = NextStep::new(format!("profundo flame{path}"), "a picture for the browser");
    if is_untimed(profile) {
        return vec![
            report("trace", "how often each function was called"),
            match profile
                .processes
                .iter()
                .any(|process| process.runtime != StringId(0))
            {
                true => export("pstats", "a file for pstats and snakeviz"),
                false => export("callgrind", "a file for KCachegrind"),
            },
        ];
    }
    if profile.samples.is_empty() && !traced.lines.is_empty() {
        let mut steps = vec![
            report("lines", "how often each line ran"),
            export("lprof", "a file for line_profiler"),
        ];
        if !traced.exceptions.is_empty() {
            let shows = "the lines that raise and catch exceptions";
            steps.push(report("exceptions", shows));
        }
        return steps;
    }
    if traced.tracing == Tracing::Exceptions {
        return Vec::new();
    }
    // An empty count has no other report.
    if profile.samples.is_empty() && traced.is_empty() && traced.tracing != Tracing::Unknown {
        return Vec::new();
    }
    let mut steps = Vec::new();
    match profile.is_merged() {
        true => steps.push(report("spread", "how far the recordings differ")),
        false => steps.extend(better_recording(profile)),
    }
    if !traced.calls.is_empty() {
        steps.push(report("trace", "calls and time of each function"));
    }
    // Where lines were not counted, all time of calls stands at the first lines of functions. A
    // program without debug information has no lines.
    if traced.calls.is_empty() || !traced.lines.is_empty() {
        steps.push(match has_lines(profile) {
            true => report("lines", "the source, with a share on each line"),
            false => report("functions", "each function, with its share"),
        });
    }
    if has_allocations(profile) {
        steps.push(report("allocs", "who allocates memory, and who keeps it"));
    }
    steps.push(report("tree", "who called whom"));
    steps.push(flame);
    steps
}
