//! Peek: a signal to the running program prints its stacks and a profile.
//!
//! ```no_run
//! # fn main() -> profundo::Result<()> {
//! profundo::peek::install()?; // then, from a shell: kill -USR1 PID
//! # Ok(())
//! # }
//! ```
//!
//! At the signal one stack of each thread is printed on stderr, then a profile of
//! [`get_peek_duration`] seconds is taken, then the report. A thread of ours does the work, so the
//! program need not reach a certain point. The samples that were in the buffer are lost; while a
//! profile is running, the peek only says so.
//!
//! With `PROFUNDO_PEEK_HEAP_SNAPSHOT=1` in the environment, a [heap
//! snapshot](crate::heap::snapshot) is taken before the report.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use profundo_capture::PeekSignal;
use profundo_model::{LocationKind, Profile, ThreadId};

use crate::data::Data;
use crate::error::{Error, Result};
use crate::guard::Session;
use crate::names::names_of;
use crate::warn::warn;
use crate::{GroupBy, control, show};

const MICROSECONDS: f64 = 1_000_000.0;

/// In microseconds, to fit an atomic.
static DURATION: AtomicU64 = AtomicU64::new(1_000_000);

type ReportFn = dyn Fn() + Send + Sync;

/// The report of a peek, if not the default.
static REPORT: Mutex<Option<Arc<ReportFn>>> = Mutex::new(None);

/// The seconds for which a peek samples before it reports.
pub fn get_peek_duration() -> f64 {
    DURATION.load(Ordering::Relaxed) as f64 / MICROSECONDS
}

/// Sets the seconds for which a peek samples.
pub fn set_peek_duration(seconds: f64) -> Result<()> {
    if !(seconds > 0.0 && seconds <= 3600.0) {
        return Err(Error::PeekDuration(seconds));
    }
    DURATION.store((seconds * MICROSECONDS).ceil() as u64, Ordering::Relaxed);
    Ok(())
}

/// Replaces the report. It runs on a thread of ours after the profile was taken.
pub fn set_peek_report(report: impl Fn() + Send + Sync + 'static) {
    *REPORT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(report));
}

/// Peeks at SIGUSR1 from now on.
pub fn install() -> Result<()> {
    install_for(libc::SIGUSR1)
}

/// Peeks at this signal from now on. Installing twice is the same as once.
pub fn install_for(signal: i32) -> Result<()> {
    /// The process and the signal. A forked child has the handler, but no listening thread.
    static INSTALLED: AtomicU64 = AtomicU64::new(0);
    const TAKEN: [i32; 9] = [
        libc::SIGKILL,
        libc::SIGSTOP,
        libc::SIGTRAP,
        libc::SIGURG,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGABRT,
    ];
    if !(1..=64).contains(&signal) || TAKEN.contains(&signal) {
        return Err(Error::PeekSignal(signal));
    }
    let process = u64::from(std::process::id()) << 32;
    let ours = process | signal as u64;
    let before = INSTALLED.swap(ours, Ordering::Relaxed);
    if before == ours {
        return Ok(());
    }
    if before >> 32 == ours >> 32 {
        INSTALLED.store(before, Ordering::Relaxed);
        return Err(Error::PeekInstalled {
            wanted: signal,
            installed: before as u32 as i32,
        });
    }
    let events = PeekSignal::install(signal).map_err(Error::from)?;
    let body = move || listen(events, signal);
    thread::Builder::new()
        .name("profundo-peek".into())
        .spawn(body)?;
    Ok(())
}

fn listen(mut events: PeekSignal, signal: i32) {
    let _own = profundo_capture::OwnThread::register();
    while events.wait().is_ok() {
        // A peek that fails or panics must not end the listening.
        let outcome = std::panic::catch_unwind(|| peek(signal));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn(&format!("the peek failed: {error}")),
            Err(_) => warn("the peek's report panicked"),
        }
    }
}

fn print(text: &str) {
    // A failed write to stderr cannot be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

const ALREADY_RUNNING: &str = "A profile is already running; its report will come at its end.\n";

fn peek(signal: i32) -> Result<()> {
    let seconds = get_peek_duration();
    let rule = "=".repeat(86);
    let request = format!(
        "\n{rule}\nInformation request received. A stacktrace will print followed by a \
         {seconds:.1} second profile.\n{rule}\n"
    );
    if control::is_running() {
        print(&format!("{request}{ALREADY_RUNNING}"));
        return Ok(());
    }
    print(&request);
    // Two sessions, with the lookup of names between them: it takes CPU time on threads of ours,
    // which is not part of the program's profile.
    print(&one_stack_of_each_thread(signal)?);
    control::clear();
    let session = match Session::cpu() {
        Ok(session) => session,
        Err(Error::Capture(profundo_capture::Error::AlreadyRunning)) => {
            print(ALREADY_RUNNING);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    thread::sleep(Duration::from_secs_f64(seconds));
    drop(session);
    let rule = "=".repeat(62);
    print(&format!(
        "\n{rule}\nProfile collected. The report follows.\n{rule}\n"
    ));
    take_snapshot_if_wanted();
    // The report may set another one, so it runs without the lock.
    let report = REPORT
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    match report {
        Some(report) => report(),
        None => default_report()?,
    }
    Ok(())
}

fn take_snapshot_if_wanted() {
    if std::env::var_os("PROFUNDO_PEEK_HEAP_SNAPSHOT").is_none_or(|value| value != "1") {
        return;
    }
    print("Saving heap snapshot...\n");
    match crate::heap::snapshot() {
        Ok(snapshot) => print(&format!(
            "Heap snapshot saved to `{}`\n",
            snapshot.path().display()
        )),
        Err(error) => warn(&format!("there is no heap snapshot: {error}")),
    }
}

/// The report by thread and task, in one write, as wide and colourful as stderr allows.
fn default_report() -> Result<()> {
    let text = show::report()
        .group_by(GroupBy::ThreadTask)
        .for_stderr()
        .to_text()?;
    print(&text);
    Ok(())
}

/// Blocked threads are read where they block; running ones answer with their first sample, for
/// which they get a moment.
fn one_stack_of_each_thread(signal: i32) -> Result<String> {
    const A_MOMENT: Duration = Duration::from_millis(30);
    control::clear();
    let session = Session::cpu()?;
    let blocked = profundo_capture::blocked_threads()?;
    thread::sleep(A_MOMENT);
    let running = profundo_capture::snapshot()?;
    let total = profundo_capture::thread_count();
    drop(session);
    let blocked = named(Data::from_profile(profundo_ingest::ingest(&blocked)));
    let running = named(Data::from_profile(profundo_ingest::ingest(&running)));
    let mut stacks: Vec<(u64, String)> = Vec::new();
    let mut awake = 0;
    for (profile, is_running) in [(&running, true), (&blocked, false)] {
        for (id, thread) in profile.threads.iter() {
            if stacks.iter().any(|(number, _)| *number == thread.number) {
                continue;
            }
            if let Some(text) = first_stack(profile, id) {
                awake += usize::from(is_running);
                stacks.push((thread.number, text));
            }
        }
    }
    // The last thread first and the main thread last: the one most looked for is at the end.
    stacks.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let command = std::env::current_exe().unwrap_or_default();
    let mut text = format!(
        "\ncmd: {} {} running {awake} of {total}\n\nsignal ({signal}): {}\n",
        command.display(),
        std::process::id(),
        signal_name(signal),
    );
    for (_, stack) in stacks {
        text.push_str(&stack);
        text.push('\n');
    }
    Ok(text)
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGUSR1 => "User defined signal 1",
        libc::SIGUSR2 => "User defined signal 2",
        _ => "Information request",
    }
}

fn named(data: Data) -> Profile {
    (*names_of(&data).apply(&data)).clone()
}

/// The first sample of a thread, one frame per line, leaf first.
fn first_stack(profile: &Profile, thread: ThreadId) -> Option<String> {
    let sample = profile
        .samples
        .iter()
        .find(|sample| sample.thread == thread)?;
    let row = profile.threads.get(thread);
    let mut text = format!(
        "Thread {} ({}):\n",
        row.number,
        profile.strings.get(row.name)
    );
    for location in profile.stacks.locations(sample.stack) {
        let location = profile.locations.get(location);
        let pointer = match location.kind {
            LocationKind::Code(code) => code.address().0,
            _ => 0,
        };
        for &frame in &location.frames {
            let frame = crate::StackFrame::of(profile, frame, pointer);
            text.push_str(&format!("  {frame}\n"));
        }
    }
    Some(text)
}
