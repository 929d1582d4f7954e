//! `top`: where a program spends its time, while it runs, on a page of the terminal.
//!
//! Four parts, each with a thread of its own: the recorder (`recording`), the keeper of the numbers
//! (`keeper`), the search for names (`naming`), and the page with its keys (`live`), or the plain
//! text of `--batch` (`batch`). None of them waits for another.
//!
//! [`top`] is the command; its options are [`options::Top`]. What this is not for: reports on a
//! recording, which are in `profundo-report`.

mod answer;
mod asleep;
mod batch;
mod bell;
mod detail;
mod facts;
mod guardian;
mod keeper;
mod keys;
mod live;
mod nameless;
mod naming;
pub mod options;
mod owned_event;
mod page;
mod picture;
mod processes;
mod program_output;
mod recording;
mod state;
mod terminal;
mod terminal_modes;
mod window;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, bail};
use profundo_console::options::WrongUsage;
use profundo_console::output::{Kind, Refused, check, is_stdout};
use profundo_console::stderr;
use profundo_launch::{Ended, Program, Received, Signals, end_as, pass_on};
use profundo_recorder::WakeHandle;
use profundo_save::recording_writer::{Saved, UNBEGUN};
use profundo_wire::recording::Start;

use crate::options::{Live, Top};

use bell::Bell;
use guardian::Guardian;
use keeper::{Board, File, Keeper, Message};
use program_output::ProgramOutput;
use recording::{Beginning, Ready, Target, Wish};
use state::State;
use window::Span;

/// Shows a page until the user leaves it, and ends as the program does. `agent` finds the file of
/// the agent, which is loaded into a program that is started.
pub fn top(options: &Top, agent: AgentFile) -> Result<ExitCode> {
    let is_plain = options.is_plain();
    if !is_plain && !has_page() {
        bail!(WrongUsage(
            "`top` draws a page, and wants a terminal for its input and output; `--batch` prints \
             plain text instead"
                .into()
        ));
    }
    // Before any other thread and file: the guardian inherits all that we have.
    let guardian = match is_plain {
        true => None,
        false => Some(Guardian::start().context("cannot start a process")?),
    };
    let running = Running::start(options, agent)?;
    let left = match &guardian {
        Some(guardian) => live::show(&running, options, guardian)?,
        None => batch::print(&running, options)?,
    };
    running.end(left)
}

/// Finds the agent's file, or writes it.
pub type AgentFile = fn() -> Result<PathBuf>;

/// True if the terminal can show a page.
fn has_page() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

/// The reason why the page was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The user quit.
    Quit,
    /// This signal was received.
    Signal(i32),
}

/// The threads behind the page.
struct Running {
    signals: Arc<Signals>,
    bell: Arc<Bell>,
    board: Arc<Board>,
    wish: Arc<Wish>,
    /// The channel to the keeper.
    to: mpsc::Sender<Message>,
    wake: WakeHandle,
    pid: u32,
    /// True if we have started the program.
    is_ours: bool,
    output: Option<ProgramOutput>,
    file: Option<File>,
    recorder: JoinHandle<Result<Option<Ended>>>,
    keeper: JoinHandle<Option<Saved>>,
}

impl Running {
    /// Starts everything, or returns why it cannot.
    fn start(options: &Top, agent: AgentFile) -> Result<Self> {
        let live = &options.recording;
        if let Some(path) = &live.output {
            may_replace(path, live.force).context(UNBEGUN)?;
        }
        let (target, output) = target(options)?;
        let is_ours = matches!(target, Target::Program { .. });
        let signals = Signals::take_also(&[libc::SIGTSTP, libc::SIGCONT], is_ours)?;
        let signals = Arc::new(signals);
        let bell = Arc::new(Bell::new()?);
        let board = Arc::new(Board::new(Arc::clone(&bell)));
        let wish = Arc::new(Wish::new(Arc::clone(&bell)));
        let (to, inbox) = mpsc::channel();
        let recorder = Unbegun::spawn(target, live, agent, &signals, &wish, &to)?;
        let Ok(Ready { start, wake }) = recorder.ready.recv() else {
            return Err(recorder.end(output.as_ref()));
        };
        let file = live.output.clone().map(|path| File {
            path,
            max_size: live.max_size.0,
            keeps_source: !live.no_source,
        });
        let keeper = match keeper(options, start, file.as_ref()) {
            Ok(keeper) => keeper,
            Err(error) => {
                recorder.end(output.as_ref());
                return Err(error);
            }
        };
        let keeper = {
            let (to, board) = (to.clone(), Arc::clone(&board));
            let keeps_source = file.as_ref().is_some_and(|file| file.keeps_source);
            let keeping = move || keeper.run(&inbox, &to, &board, keeps_source);
            spawn("profundo-keep", keeping)?
        };
        // If the recorder has ended, so has all that follows.
        let _ = recorder.go.send(());
        let Ok(pid) = recorder.begun.recv() else {
            let _ = to.send(Message::Stop);
            joined(keeper);
            // The file is empty.
            let _ = file.map(|file| std::fs::remove_file(file.path));
            return Err(recorder.end(output.as_ref()));
        };
        Ok(Self {
            signals,
            bell,
            board,
            wish,
            to,
            wake,
            pid,
            is_ours,
            output,
            file,
            recorder: recorder.thread,
            keeper,
        })
    }

    /// Asks the keeper a question. If the keeper has ended, that is noticed elsewhere.
    fn ask(&self, question: keeper::Question) {
        let _ = self.to.send(Message::Ask(question));
    }

    /// True if a thread has failed, which is reported when the page is closed.
    fn is_broken(&self) -> bool {
        self.board.is_closed() || self.wish.is_broken()
    }

    /// Handles a signal; returns the signal if it ends the page.
    fn handle(&self, got: Received) -> Option<i32> {
        const ENDS: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
        let ours = std::process::id() as i32;
        match got {
            Received::Child => {
                self.wake.wake();
                None
            }
            // Signals that we have sent to the whole group have reached the program, too.
            Received::ForUs { sender, .. } if sender == ours => None,
            Received::ForUs { signal, sender } if self.is_ours && !self.wish.is_over() => {
                let is_about_us = [libc::SIGWINCH, libc::SIGTSTP, libc::SIGCONT].contains(&signal);
                if !is_about_us {
                    pass_on(self.pid as i32, signal, sender);
                }
                None
            }
            // The terminal has sent it to the program, too; but without a terminal there is no
            // page.
            Received::FromTerminal { signal } if self.is_ours && signal != libc::SIGHUP => None,
            Received::ForUs { signal, .. } | Received::FromTerminal { signal } => {
                ENDS.contains(&signal).then_some(signal)
            }
        }
    }

    /// After the page: waits for the program, if we have started it, ends the recording, and ends
    /// as the program has ended.
    fn end(self, left: Left) -> Result<ExitCode> {
        if self.is_ours {
            self.accompany();
        } else {
            self.wish.stop();
            self.wake.wake();
        }
        let ended = joined(self.recorder);
        // The file is completed whatever has become of the recorder.
        let _ = self.to.send(Message::Stop);
        let done = joined(self.keeper);
        if let (Some(done), Some(file)) = (done, &self.file) {
            report_saved(&done, file);
        }
        if let Some(path) = self.output.as_ref().and_then(ProgramOutput::keep) {
            stderr::note(&format!("the program's output is in {}", path.display()));
        }
        Ok(match (ended?, left) {
            (Some(ended), _) => end_as(ended),
            (None, Left::Quit) => ExitCode::SUCCESS,
            (None, Left::Signal(signal)) => end_as(Ended::Killed(signal as u8)),
        })
    }

    /// Waits until the program has ended, without a page.
    fn accompany(&self) {
        if self.wish.is_over() {
            return;
        }
        let output = self.output.as_ref().map(|output| output.path().display());
        stderr::note(&format!(
            "the program goes on, its output goes to {}; Ctrl-C interrupts it",
            output.map_or_else(String::new, |output| output.to_string())
        ));
        if self.file.is_none() {
            self.wish.pause();
        }
        while !self.wish.is_over() && !self.is_broken() {
            live::wait(&[self.signals.descriptor(), self.bell.descriptor()], None);
            self.bell.heard();
            while let Some(got) = self.signals.next() {
                self.handle(got);
            }
        }
    }
}

/// The target of the recording, and the output of a program that is started.
fn target(options: &Top) -> Result<(Target, Option<ProgramOutput>)> {
    let pids = options.pid.iter().chain(&options.pids);
    let pids: Vec<u32> = pids.copied().collect();
    if options.all_processes {
        return Ok((Target::Machine, None));
    }
    Ok(match pids.split_first() {
        Some((&pid, others)) => (Target::Processes(pid, others.to_vec()), None),
        None => {
            let program = Program::find(&options.words)?;
            let named = options.output_to.as_deref();
            let force = options.recording.force;
            let (output, streams) = ProgramOutput::create(named, &program.name, force)?;
            (Target::Program { program, streams }, Some(output))
        }
    })
}

/// A keeper for the first page, and for the file.
fn keeper(options: &Top, start: Start, file: Option<&File>) -> Result<Keeper> {
    let live = &options.recording;
    let keeper = Keeper::new(
        start,
        state(options).question(),
        options.interval,
        !options.is_plain(),
        !live.no_children,
        file,
    )?;
    let keeper = match options.all_processes {
        true => keeper.of_machine(),
        false => keeper,
    };
    Ok(keeper.own_code(&live.own_code.rules()))
}

/// The recorder's thread before its recording begins, and our ends of the handshake
/// ([`Beginning`]).
struct Unbegun {
    thread: JoinHandle<Result<Option<Ended>>>,
    ready: mpsc::Receiver<Ready>,
    go: mpsc::Sender<()>,
    begun: mpsc::Receiver<u32>,
}

impl Unbegun {
    /// Starts the thread, which sends its events to `to`.
    fn spawn(
        target: Target,
        live: &Live,
        agent: AgentFile,
        signals: &Arc<Signals>,
        wish: &Arc<Wish>,
        to: &mpsc::Sender<Message>,
    ) -> std::io::Result<Self> {
        let (ready, readiness) = mpsc::channel();
        let (go, gone) = mpsc::channel();
        let (begun, beginning) = mpsc::channel();
        let between = Beginning {
            ready,
            go: gone,
            begun,
        };
        let (live, signals, wish) = (live.clone(), Arc::clone(signals), Arc::clone(wish));
        let to = to.clone();
        let recording =
            move || recording::record(&target, &live, agent, &signals, &wish, &to, between);
        Ok(Self {
            thread: spawn("profundo-record", recording)?,
            ready: readiness,
            go,
            begun: beginning,
        })
    }

    /// Waits for the end of a recorder that does not begin; returns the reason.
    fn end(self, output: Option<&ProgramOutput>) -> anyhow::Error {
        // The recorder thereby learns that it will not begin, and cleans up.
        drop(self.go);
        if let Some(output) = output {
            output.keep();
        }
        match joined(self.thread) {
            Err(error) => error,
            Ok(_) => anyhow!("the recording has ended before it began"),
        }
    }
}

/// Refuses to replace anything but an empty file or another recording, and to write where the
/// recording could not be read again.
fn may_replace(path: &Path, force: bool) -> Result<(), Refused> {
    if is_stdout(path) {
        return Err(Refused::new(
            "the page goes to the standard output; name a file for the recording",
        ));
    }
    check(path, Kind::Recording, &[], force)
}

/// The initial state of the page.
fn state(options: &Top) -> State {
    State::new(Span::Last(options.window), options.recording.wall)
}

/// Reports what became of the file.
fn report_saved(done: &Saved, file: &File) {
    let path = file.path.display();
    match &done.failure {
        Some(failure) => stderr::note(&format!(
            "the recording {path} ends early: {}; what is in it can be read (`profundo report {path}`)",
            stderr::chain(failure)
        )),
        None => stderr::note(&format!(
            "{} samples in {path}; `profundo report {path}` shows them",
            done.samples
        )),
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.into()).spawn(work)
}

/// The result of a thread; its panic becomes ours.
fn joined<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Our own CPU time in nanoseconds.
fn own_cpu() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The CPU time of this thread alone.
fn own_cpu_of_thread() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours to write, and both clocks exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
