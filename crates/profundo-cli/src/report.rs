//! `report`, and the report that follows a run: which shape, where to, and how it looks there.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_analysis::{
    Filter, GroupBy, Whole, has_allocations, is_recorded, keep_only, measured, missing_of,
};
use profundo_model::{
    Clock, Engine, Language, ProcessEnd, Profile, SampleKind, State, StringId, Tracing,
};
use profundo_report::{
    Allocs, Callers, Choices, CountedLines, Format, Functions, Hidden, Io, Lines, Look, Memory,
    MemoryLines, Neighbours, NextStep, Only, Stacks, Statprof, Summary, Trace, When,
};

use crate::open::Samples;
use crate::options::{Looking, Order, Report, Style, What};
use crate::recordings::meant;
use crate::{open, options, output, own_code};

pub fn report(options: &Report) -> Result<ExitCode> {
    let asked = match options.asked() {
        Ok(asked) => asked,
        Err(error) => return Ok(options::wrong(error)),
    };
    let shape = Shape::new(asked.what, asked.name.as_deref(), &options.looking);
    let recording = meant(asked.file.as_deref())?;
    let mut profile = open::open(&recording, shape.samples())?;
    own_code::add_said(&mut profile, &options.looking.filters.own_code);
    shape.print(&profile, &recording, Stream::Out)?;
    Ok(match passes(profile, &options.looking.filter()) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(crate::NOTHING),
    })
}

/// Whether there is anything that passes the filter, or there was nothing to begin with.
fn passes(mut profile: Profile, filter: &Filter) -> bool {
    let has_any = |profile: &Profile| {
        !profile.samples.is_empty() || !profile.traced.is_empty() || has_allocations(profile)
    };
    if *filter == Filter::default() || !has_any(&profile) {
        return true;
    }
    keep_only(&mut profile, filter);
    has_any(&profile)
}

/// Where a report goes if no file is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error: after a run, the standard output is the program's.
    Error,
}

/// A report that was asked for.
#[derive(Debug)]
pub struct Shape<'a> {
    what: What,
    name: Option<&'a str>,
    looking: &'a Looking,
    /// Whether the recording has only just been made.
    is_first: bool,
}

impl<'a> Shape<'a> {
    /// Ends the program with a hint where the options do not go together.
    pub fn new(what: What, name: Option<&'a str>, looking: &'a Looking) -> Self {
        let shape = Self {
            what,
            name,
            looking,
            is_first: false,
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
        if let Some(why) = looking.misfit(what) {
            options::refuse(&why);
        }
        if let Some(format) = shape.library_format()
            && let Err(error) = shape.library_report(format).check()
        {
            options::refuse(&error.to_string());
        }
        shape
    }

    /// What it has to know of samples.
    pub fn samples(&self) -> Samples {
        match self.what {
            What::Stacks => Samples::Each,
            _ => Samples::of(&self.looking.filter()),
        }
    }

    /// One stack of each thread.
    pub fn stacks(looking: &'a Looking) -> Self {
        Self::new(What::Stacks, None, looking)
    }

    /// The first report on a recording: it says where that is, and what may be typed next.
    pub fn first(self) -> Self {
        Self {
            is_first: true,
            ..self
        }
    }

    /// What may be typed next, if that is to be said.
    fn next(&self, recording: &Path, profile: &Profile) -> Vec<NextStep> {
        match self.is_first && !recording.as_os_str().is_empty() {
            true => next(recording, profile),
            false => Vec::new(),
        }
    }

    /// Prints it, or writes it to the file that was named.
    pub fn print(&self, profile: &Profile, recording: &Path, stream: Stream) -> Result<()> {
        let style = &self.looking.style;
        let of_memory;
        let profile = match self.looking.measuring.measure() {
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

    /// Writes it to a file, where a line says what it is: by that it is known when it is to be replaced.
    fn print_to(&self, path: &Path, profile: &Profile, recording: &Path) -> Result<()> {
        let style = &self.looking.style;
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
        let style = &self.looking.style;
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
            What::Summary if is_untimed(profile) => {
                let trace = self.trace(Trace::new());
                write_view!(trace.next(next(recording, profile)))
            }
            // What was never written can be reported on no more.
            What::Summary if recording.as_os_str().is_empty() => write_view!(self.summary()),
            What::Summary => write_view!(self.summary().next(next(recording, profile))),
            What::Lines if has_counted_lines(profile) => {
                write_view!(self.counted_lines().next(self.next(recording, profile)))
            }
            What::Lines => write_view!(self.lines()),
            What::Functions if self.looking.shape.is_grouped() => {
                write_view!(self.library_report(Format::Functions))
            }
            What::Functions => write_view!(self.functions()),
            What::Callers => write_view!(Callers::new(name)),
            What::Callees => write_view!(Callers::callees_of(name)),
            What::Calls => write_view!(Callers::both(name)),
            What::Io => write_view!(self.io()),
            What::Memory => write_view!(self.memory()),
            What::Allocs => write_view!(self.allocs()),
            What::MemoryLines => write_view!(self.memory_lines()),
            What::Trace => {
                let trace = self.trace(Trace::new());
                write_view!(trace.next(self.next(recording, profile)))
            }
            What::Pstats => write_view!(self.trace(Trace::pstats())),
            What::Statprof => write_view!(Statprof::new()),
            What::Stacks => write_view!(Stacks::new()),
            What::Tree => write_view!(self.library_report(Format::Tree)),
            What::Flat => write_view!(self.library_report(Format::Flat)),
        }
        out.flush()?;
        Ok(())
    }

    /// Why this report does not go with what was recorded, if it does not.
    fn misfit(&self, profile: &Profile) -> Option<String> {
        let shape = &self.looking.shape;
        let name = self.what.name();
        if self.what == What::Lines && has_counted_lines(profile) {
            let option = shape.of_samples()?;
            return Some(format!(
                "`--{option}` is about samples, and each run of a line was counted in this recording: `lines` has `--limit` and \
                 `--no-disk` there"
            ));
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
        let is_typed = !shape.set.iter().any(|it| it == "sort");
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
            What::Functions if self.looking.shape.is_grouped() => Some(Format::Functions),
            _ => None,
        }
    }

    /// What the report is about.
    fn choices(&self) -> Choices {
        let hidden = match self.looking.filters.c {
            true => Hidden::Nothing,
            false => Hidden::Runtime,
        };
        Choices::command()
            .filter(self.looking.filter())
            .hidden(hidden)
            .only_mine(self.looking.filters.only_mine)
    }

    fn summary(&self) -> Summary {
        let shape = &self.looking.shape;
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

    fn lines(&self) -> Lines {
        let shape = &self.looking.shape;
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
        let shape = &self.looking.shape;
        let lines = CountedLines::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => lines.limit(limit),
            None => lines,
        }
    }

    fn functions(&self) -> Functions {
        let shape = &self.looking.shape;
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

    fn io(&self) -> Io {
        match self.looking.shape.limit {
            Some(limit) => Io::new().limit(limit),
            None => Io::new(),
        }
    }

    fn memory(&self) -> Memory {
        match self.looking.shape.limit {
            Some(limit) => Memory::new().limit(limit),
            None => Memory::new(),
        }
    }

    fn allocs(&self) -> Allocs {
        let shape = &self.looking.shape;
        let allocs = Allocs::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => allocs.limit(limit).small_rows(true),
            None => allocs,
        }
    }

    fn memory_lines(&self) -> MemoryLines {
        let shape = &self.looking.shape;
        let lines = MemoryLines::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => lines.limit(limit),
            None => lines,
        }
    }

    fn trace(&self, mut trace: Trace) -> Trace {
        let shape = &self.looking.shape;
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
            .group_by(shape.by.unwrap_or_default())
    }

    /// The library's own reports, with all of their options.
    fn library_report(&self, format: Format) -> profundo_report::Report {
        let shape = &self.looking.shape;
        let mut report = profundo_report::Report::new()
            .format(format)
            .choices(self.choices())
            .combine(!shape.no_combine)
            .hot_first(shape.hot_first)
            .group_by(shape.by.unwrap_or_default())
            .recur(shape.recur.unwrap_or_default());
        if let Some(maxdepth) = shape.maxdepth {
            report = report.maxdepth(maxdepth);
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

/// What the system said, where it is the writing that failed: the caller says what was written.
fn plain(error: profundo_report::Error) -> anyhow::Error {
    match error {
        profundo_report::Error::Write(source) => source.into(),
        other => other.into(),
    }
}

/// How many columns text has where nothing needs to be cut.
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

/// What is said where a filter asks for more than is known of lines.
pub const LINES_ARE_ALL: &str = "nobody knows which thread or task ran a line, or when: lines can be chosen by process, file and function";

/// Whether calls were counted, and none of them measured.
pub fn is_untimed(profile: &Profile) -> bool {
    let traced = &profile.traced;
    traced.clock == Clock::None && !traced.calls.is_empty()
}

/// Whether it was lines that were counted.
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
    /// Of a process that is sampled from outside, threads that live no longer than some periods are hardly seen.
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
        let again = |option: &str| format!("profundo attach {process} -d {seconds} {option}");
        let misses_much =
            missing_of(profile, Whole::Cpu).is_some_and(|it| it.is_grave(meta.period.0));
        let is_coarse = meta.period.0 >= COARSE && (misses_much || profile.samples_taken() < FEW);
        return (is_coarse && cpu > 1e6).then(|| NextStep::new(again("-r 1000"), "more samples"));
    }
    let again = |option: &str| format!("profundo run {option} -- {}", command_of(profile));
    let mut samples = profile.samples.iter();
    let waits = samples.any(|sample| sample.state == State::WallWaiting);
    match profile.samples_taken() {
        _ if meta.engine == Engine::PerfRing => None,
        _ if wall > SHORT && cpu < BUSY * wall && !waits => {
            Some(NextStep::new(again("--wall"), "what it waits for"))
        }
        few if few < FEW && cpu > 1e6 => Some(NextStep::new(
            again("-r 10000"),
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

/// The command line of a recording, or what stands for one that is long.
fn command_of(profile: &Profile) -> String {
    const LONG: usize = 60;
    let first = profile.processes.first();
    let command = first.map_or("", |it| profile.strings.get(it.command));
    match command.len() {
        1..LONG => command.to_owned(),
        _ => "CMD".to_owned(),
    }
}

/// Whether the line of any code is known, but for the interpreter's own.
fn has_lines(profile: &Profile) -> bool {
    let counted = !profile.traced.lines.is_empty();
    let mut frames = profile.frames.iter();
    counted || frames.any(|frame| frame.line > 0 && frame.language != Language::Runtime)
}

/// What may be typed next.
fn next(recording: &Path, profile: &Profile) -> Vec<NextStep> {
    let is_newest = meant(None).is_ok_and(|newest| newest == recording);
    let path = recording.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    let path = match path.chars().all(plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    // The newest one is meant where none is named.
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
            match profile.processes.iter().any(|it| it.runtime != StringId(0)) {
                true => export("pstats", "a file for pstats and snakeviz"),
                false => export("callgrind", "a file for KCachegrind"),
            },
        ];
    }
    if profile.samples.is_empty() && !traced.lines.is_empty() {
        return vec![
            report("lines", "how often each line ran"),
            export("lprof", "a file for line_profiler"),
        ];
    }
    // A count that counted nothing has nothing else to show.
    if profile.samples.is_empty() && traced.is_empty() && traced.tracing != Tracing::Unknown {
        return Vec::new();
    }
    let mut steps = Vec::new();
    steps.extend(better_recording(profile));
    if !traced.calls.is_empty() {
        steps.push(report("trace", "calls and time of each function"));
    }
    // Where lines were not counted, all time of calls stands at the first lines of functions. A program without
    // debug information has no lines.
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
