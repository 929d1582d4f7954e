//! `gc-log`: a line for each garbage collection of a Python program, as Julia's runtime prints
//! them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use profundo_console::{output, stderr};
use profundo_cpython::version;
use profundo_inject::{Injection, Refused};
use profundo_launch::{
    Ended, Program, SIGNAL_INTERVAL, Signals, Unstarted, end_as, fork_recorded,
    handle_signals_and_end, reap,
};
use profundo_recorder::{EngineChoice, Options, Recorder};
use profundo_report::text::percent;
use profundo_wire::recording::{Collection, Event};

use crate::agent_file;
use crate::options::GcLog;

pub fn gc_log(options: &GcLog) -> Result<ExitCode> {
    match options.pid {
        Some(pid) => of_process(options, pid),
        None => of_program(options),
    }
}

/// Logs a process that runs already.
fn of_process(options: &GcLog, pid: u32) -> Result<ExitCode> {
    let mut log = Log::create(options, Box::new(io::stdout()))?;
    let library = agent_file::library()?;
    let why = |refused: Refused| {
        let refused = refused.of_verb("gc-log");
        anyhow!("cannot log the collections of process {pid}: {refused}")
    };
    let mut door = Injection::of(pid, &library, options.through.filtered).map_err(why)?;
    let signals = Signals::take()?;
    if options.duration.is_none() {
        stderr::note(&format!(
            "logging the collections of process {pid}; Ctrl-C ends it"
        ));
    }
    let began = Instant::now();
    let failure = RefCell::new(None);
    let has_begun = Cell::new(false);
    let followed = door.collections(
        options.through.timeout,
        &mut |collection, lost| {
            log.lose(pid, lost);
            let mut failure = failure.borrow_mut();
            if failure.is_none() {
                *failure = log.add(pid, &collection).err();
            }
        },
        &mut || {
            has_begun.set(true);
            let is_enough = options
                .duration
                .is_some_and(|duration| began.elapsed() >= duration);
            signals.want_end() || is_enough || failure.borrow().is_some()
        },
    );
    signals.release();
    if let Some(error) = failure.into_inner() {
        return Err(error.into());
    }
    // Logged lines stay, even if the program cannot be asked to stop logging.
    if has_begun.get() {
        log.finish(began.elapsed())?;
    }
    followed.map_err(why)?;
    Ok(ExitCode::SUCCESS)
}

/// Starts a program, and logs it and the processes that it starts.
fn of_program(options: &GcLog) -> Result<ExitCode> {
    const UNBEGUN: &str = "nothing was run";
    let program = Program::find(&options.words)?;
    let mut log = Log::create(options, Box::new(io::stderr())).context(UNBEGUN)?;
    let mut recorder = Recorder::create(Options {
        engine: EngineChoice::Auto,
        collections: true,
        paused: true,
        agent: Some(agent_file::file(agent_file::For::Time)?),
        ..Options::default()
    })?;
    let signals = Signals::take()?;
    let child = fork_recorded(&program, &recorder, [], &signals, None)?;
    let pid = child.pid();
    recorder.watch(pid as u32)?;
    let wake = recorder.wake_handle();
    let watch = signals.watch(move || wake.wake())?;
    let began = Instant::now();
    log.began = monotonic();
    if let Err(error) = child.release() {
        bail!(Unstarted::refused(&program.path, &error));
    }
    let mut listener = Listener::new(&mut log, options.duration);
    let ended = accompany(&mut recorder, &mut listener, &signals, pid)?;
    let took = began.elapsed();
    recorder.finish(&mut |event| listener.event(event));
    drop(watch);
    reap(pid);
    signals.release();
    // The program's exit status stands, even if the log fails.
    listener.close(took);
    let Listener {
        has_python,
        has_reported,
        unknown,
        ..
    } = listener;
    if let (false, Some(python)) = (has_reported, unknown) {
        stderr::note(&format!(
            "{python} does not report its collections: CPython {} do",
            version::COLLECTOR
        ));
    } else if !has_python {
        stderr::note(&format!(
            "no Python interpreter that is known (CPython {}) was met, so there was nothing to log",
            version::COLLECTOR
        ));
    } else if !has_reported {
        stderr::note(
            "the program has an interpreter in it that never began, or could not be entered as it did: no collection was seen; \
             `profundo gc-log PID` logs those of a process that runs",
        );
    }
    Ok(end_as(ended))
}

fn accompany(
    recorder: &mut Recorder,
    listener: &mut Listener<'_>,
    signals: &Signals,
    pid: i32,
) -> Result<Ended> {
    loop {
        let wait = listener
            .left()
            .map_or(SIGNAL_INTERVAL, |left| left.min(SIGNAL_INTERVAL));
        recorder.turn_within(wait, &mut |event| listener.event(event));
        if listener.left().is_some_and(|left| left.is_zero()) {
            // Earlier ones are still in the rings.
            recorder.turn_now(&mut |event| listener.event(event));
            listener.close(Duration::MAX);
        }
        if let Some(ended) = handle_signals_and_end(recorder, signals, pid)?.ended {
            return Ok(ended);
        }
    }
}

/// Logs the collections among the events of a recorder.
struct Listener<'a> {
    log: &'a mut Log,
    /// The time to log for.
    duration: Duration,
    /// True once the log is complete: later events are not logged.
    is_closed: bool,
    /// The processes by their keys.
    processes: BTreeMap<u32, u32>,
    failure: Option<io::Error>,
    has_python: bool,
    /// True once an interpreter has reported its collections.
    has_reported: bool,
    /// An interpreter of a version that cannot report its collections.
    unknown: Option<String>,
}

impl<'a> Listener<'a> {
    fn new(log: &'a mut Log, duration: Option<Duration>) -> Self {
        Self {
            log,
            duration: duration.unwrap_or(Duration::MAX),
            is_closed: false,
            processes: BTreeMap::new(),
            failure: None,
            has_python: false,
            has_reported: false,
            unknown: None,
        }
    }

    /// The time that is left to log; `None`: as long as the program runs.
    fn left(&self) -> Option<Duration> {
        let is_open = !self.is_closed && self.duration < Duration::MAX;
        is_open.then(|| self.duration.saturating_sub(self.log.runs()))
    }

    /// Writes the sums, once. The program may go on.
    fn close(&mut self, took: Duration) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let finished = match self.failure.take() {
            Some(error) => Err(error.into()),
            None => self.log.finish(took.min(self.duration)),
        };
        if let Err(error) = finished {
            stderr::error(&error);
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Process(process) => {
                self.processes.insert(process.key, process.pid);
            }
            Event::Runtime { runtime, .. } => {
                self.has_python = true;
                if !can_report_collections(&runtime) {
                    self.unknown = Some(runtime);
                }
            }
            Event::Collections {
                process,
                collections,
                lost,
            } => {
                (self.has_python, self.has_reported) = (true, true);
                if self.is_closed {
                    return;
                }
                let pid = self.processes.get(&process).copied().unwrap_or(0);
                self.log.lose(pid, lost);
                for collection in &collections {
                    let is_in_time = self.log.at(collection) <= self.duration;
                    if is_in_time && self.failure.is_none() {
                        self.failure = self.log.add(pid, collection).err();
                    }
                }
            }
            _ => {}
        }
    }
}

/// The output of lines, and the sums of the collections.
struct Log {
    out: Box<dyn Write>,
    json: bool,
    /// Collections that took less have no line, and are only counted.
    slow: Duration,
    /// The beginning of the log, on the monotonic clock.
    began: u64,
    /// The first logged process; lines name their process once there is another one.
    first: Option<u32>,
    sums: [Sum; 3],
    lost: u64,
}

/// The sums of the collections of a generation.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    pause: Duration,
    longest: Duration,
    collected: u64,
    uncollectable: u64,
}

impl Log {
    fn create(options: &GcLog, otherwise: Box<dyn Write>) -> Result<Self> {
        let out: Box<dyn Write> = match &options.output {
            Some(path) if output::is_stdout(path) => Box::new(io::stdout()),
            Some(path) => {
                output::check(path, output::Kind::GcLog, &[], options.force)?;
                // A reader that follows the file finds it under its name from the beginning.
                let file = File::create(path);
                Box::new(BufWriter::new(
                    file.with_context(|| format!("cannot write {}", path.display()))?,
                ))
            }
            None => otherwise,
        };
        Ok(Self {
            out,
            json: options.json,
            slow: options.slow,
            began: monotonic(),
            first: None,
            sums: [Sum::default(); 3],
            lost: 0,
        })
    }

    /// The time since the beginning of the log.
    fn runs(&self) -> Duration {
        Duration::from_nanos(monotonic().saturating_sub(self.began))
    }

    /// The time from there to the beginning of a collection.
    fn at(&self, collection: &Collection) -> Duration {
        Duration::from_nanos(collection.began.saturating_sub(self.began))
    }

    fn lose(&mut self, _: u32, count: u64) {
        self.lost += count;
    }

    /// Adds a collection to the sums, and writes its line if it was slow enough.
    fn add(&mut self, pid: u32, collection: &Collection) -> io::Result<()> {
        let pause = Duration::from_nanos(collection.pause);
        let generation = (collection.generation as usize).min(2);
        if let Some(sum) = self.sums.get_mut(generation) {
            sum.count += 1;
            sum.pause += pause;
            sum.longest = sum.longest.max(pause);
            sum.collected += collection.collected;
            sum.uncollectable += collection.uncollectable;
        }
        let first = *self.first.get_or_insert(pid);
        if pause < self.slow {
            return Ok(());
        }
        let at = self.at(collection);
        let line = match self.json {
            true => json(pid, at, collection),
            false => text((pid != first).then_some(pid), at, collection),
        };
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }

    /// Writes the sums.
    fn finish(&mut self, took: Duration) -> Result<()> {
        if self.json && self.lost > 0 {
            stderr::note(&format!(
                "{} collections came too fast to be told of, and have no line",
                self.lost
            ));
        }
        if !self.json {
            let text = self.summary(took);
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()?;
        Ok(())
    }

    fn summary(&self, took: Duration) -> String {
        use std::fmt::Write;
        let count: u64 = self.sums.iter().map(|sum| sum.count).sum();
        if count == 0 {
            return "GC: no collections\n".into();
        }
        let pause: Duration = self.sums.iter().map(|sum| sum.pause).sum();
        let mut text = format!(
            "GC: {} held the program up for {} of {:.2} s ({} %)\n",
            collections(count),
            milliseconds(pause),
            took.as_secs_f64(),
            match percent(pause.as_secs_f64() / took.as_secs_f64().max(1e-9)) {
                none if none.is_empty() => "0".to_owned(),
                some => some,
            }
        );
        for (generation, sum) in self
            .sums
            .iter()
            .enumerate()
            .filter(|(_, sum)| sum.count > 0)
        {
            let _ = writeln!(
                text,
                "GC:   generation {generation}: {}, {} in all, {} on average, {} at most; {} collected{}",
                collections(sum.count),
                milliseconds(sum.pause),
                milliseconds(sum.pause / u32::try_from(sum.count).unwrap_or(u32::MAX)),
                milliseconds(sum.longest),
                objects(sum.collected),
                uncollectable(sum.uncollectable),
            );
        }
        if self.lost > 0 {
            let _ = writeln!(
                text,
                "GC:   {} more came too fast to be told of: they are in none of these sums",
                self.lost
            );
        }
        text
    }
}

fn text(pid: Option<u32>, at: Duration, collection: &Collection) -> String {
    use std::fmt::Write;
    let mut line = format!(
        "GC: {:9.3} s  gen {}  pause {:>10}  collected {:>7}{}",
        at.as_secs_f64(),
        collection.generation,
        milliseconds(Duration::from_nanos(collection.pause)),
        collection.collected,
        uncollectable(collection.uncollectable),
    );
    let [before, after] = collection.blocks;
    if before > 0 {
        let _ = write!(line, "  blocks {before} → {after}");
    }
    let [before, after] = collection.resident;
    if before > 0 {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        let _ = write!(line, "  resident {:.1} → {:.1} MB", mb(before), mb(after));
    }
    if let Some(pid) = pid {
        let _ = write!(line, "  process {pid}");
    }
    line.push('\n');
    line
}

/// True if an interpreter, as `CPython 3.12.1`, is of a version that reports its collections.
fn can_report_collections(runtime: &str) -> bool {
    let minor = version::minor_of_runtime(runtime);
    minor.is_some_and(|minor| version::COLLECTOR.holds(minor))
}

fn objects(count: u64) -> String {
    match count {
        1 => "1 object".into(),
        more => format!("{more} objects"),
    }
}

fn collections(count: u64) -> String {
    match count {
        1 => "1 collection".into(),
        more => format!("{more} collections"),
    }
}

fn uncollectable(count: u64) -> String {
    match count {
        0 => String::new(),
        count => format!(", {count} uncollectable"),
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// The beginning of each line of JSON, in every version.
const JSON_START: &str = "{\"schema\":\"profundo-gc-log/";

fn json(pid: u32, at: Duration, collection: &Collection) -> String {
    let pair = |[before, after]: [u64; 2]| match before {
        0 => "null".to_owned(),
        before => format!("[{before},{after}]"),
    };
    format!(
        "{JSON_START}1\",\"process\":{pid},\"seconds\":{:.6},\"generation\":{},\"pause_ns\":{},\
         \"collected\":{},\"uncollectable\":{},\"blocks\":{},\"resident_bytes\":{}}}\n",
        at.as_secs_f64(),
        collection.generation,
        collection.pause,
        collection.collected,
        collection.uncollectable,
        pair(collection.blocks),
        pair(collection.resident),
    )
}

fn monotonic() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is ours to write; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Collection = Collection {
        began: 0,
        pause: 12_340_000,
        generation: 2,
        collected: 4321,
        uncollectable: 0,
        blocks: [1000, 900],
        resident: [40_000_000, 38_500_000],
    };

    #[test]
    fn versions_are_known() {
        assert!(can_report_collections("CPython 3.8.18"));
        assert!(can_report_collections("CPython 3.15.2"));
        for other in [
            "CPython 3.7.16",
            "CPython 3.16.0a1",
            "CPython 2.7.18",
            "PyPy",
        ] {
            assert!(!can_report_collections(other), "{other}");
        }
    }

    #[test]
    fn a_log_begins_like_one() {
        assert!(
            output::Kind::GcLog.is_start_of(b"GC: no collections\n")
                && output::Kind::GcLog.is_start_of(json(1, Duration::ZERO, &SOME).as_bytes())
        );
        assert!(
            !output::Kind::GcLog.is_start_of(b"import gc")
                && !output::Kind::GcLog.is_start_of(b"{\"schema\":\"profundo-heap/1\"}")
        );
    }

    #[test]
    fn a_line_says_what_there_was_and_is() {
        let line = text(None, Duration::from_millis(1500), &SOME);
        assert_eq!(
            line,
            "GC:     1.500 s  gen 2  pause   12.34 ms  collected    4321  blocks 1000 → 900  resident 40.0 → 38.5 MB\n"
        );
        let unasked = Collection {
            blocks: [0; 2],
            resident: [0; 2],
            uncollectable: 3,
            ..SOME
        };
        let line = text(Some(77), Duration::ZERO, &unasked);
        assert!(
            line.ends_with("4321, 3 uncollectable  process 77\n"),
            "{line}"
        );
    }
}
