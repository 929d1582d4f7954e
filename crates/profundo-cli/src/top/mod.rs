//! `top`: where a program spends its time, while it runs, on a page of the terminal.
//!
//! Four parts, each with a thread of its own: the recorder (`recording`), who keeps the numbers
//! (`keeper`), who looks names up (`naming`), and the page with its keys (`live`), or the plain text of
//! `--batch` (`batch`). None of them waits for another.

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
mod messages;
mod nameless;
mod naming;
mod output;
mod page;
mod picture;
mod processes;
mod recording;
mod state;
mod terminal;
mod window;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use profundo_remote::WakeHandle;

use crate::launch::{Ended, Got, Program, Signals, end_as, pass_on};
use crate::options::{self, Top};
use crate::run::UNBEGUN;
use crate::sink::Done;
use crate::{open, stderr};

use bell::Bell;
use guardian::Guardian;
use keeper::{Board, File, Keeper, Message};
use output::Output;
use recording::{Beginning, Ready, Target, Wish};
use state::State;
use window::Span;

pub fn top(options: &Top) -> Result<ExitCode> {
    let is_plain = options.is_plain();
    if !is_plain && !has_page() {
        options::refuse(
            "`top` draws a page, and wants a terminal for its input and output; `--batch` prints \
             plain text instead",
        );
    }
    // Before any other thread and file: it has copies of all that we have.
    let guardian = match is_plain {
        true => None,
        false => Some(Guardian::start().context("cannot start a process")?),
    };
    let running = Running::start(options)?;
    let left = match &guardian {
        Some(guardian) => live::show(&running, options, guardian)?,
        None => batch::print(&running, options)?,
    };
    running.end(left)
}

/// Whether there is a terminal that can show a page.
fn has_page() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

/// Why the page was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It was to end.
    Quit,
    /// This signal came.
    Signal(i32),
}

/// All that is at work beside the page.
struct Running {
    signals: Arc<Signals>,
    bell: Arc<Bell>,
    board: Arc<Board>,
    wish: Arc<Wish>,
    /// Leads to the keeper.
    to: mpsc::Sender<Message>,
    wake: WakeHandle,
    pid: u32,
    /// Whether we have started the program.
    is_ours: bool,
    output: Option<Output>,
    file: Option<File>,
    recorder: JoinHandle<Result<Option<Ended>>>,
    keeper: JoinHandle<Option<Done>>,
}

impl Running {
    /// Starts everything, or says why it cannot.
    fn start(options: &Top) -> Result<Self> {
        let is_plain = options.is_plain();
        let live = &options.recording;
        if let Some(path) = &live.output {
            open::may_replace(path, live.force).context(UNBEGUN)?;
        }
        let named = options.pid.iter().chain(&options.pids);
        let named: Vec<u32> = named.copied().collect();
        let (target, output) = match named.split_first() {
            Some((&pid, others)) => (Target::Processes(pid, others.to_vec()), None),
            None => {
                let program = Program::find(&options.words)?;
                let named = options.output_to.as_deref();
                let (output, streams) = Output::create(named, &program.name, live.force)?;
                (Target::Program { program, streams }, Some(output))
            }
        };
        let is_ours = named.is_empty();
        let signals = Signals::take_also(&[libc::SIGTSTP, libc::SIGCONT], is_ours)?;
        let signals = Arc::new(signals);
        let bell = Arc::new(Bell::new()?);
        let board = Arc::new(Board::new(Arc::clone(&bell)));
        let wish = Arc::new(Wish::new(Arc::clone(&bell)));
        let (to, inbox) = mpsc::channel();
        let (ready, readiness) = mpsc::channel();
        let (go, gone) = mpsc::channel();
        let (begun, beginning) = mpsc::channel();
        let recorder = {
            let (live, signals, wish) = (live.clone(), Arc::clone(&signals), Arc::clone(&wish));
            let to = to.clone();
            let between = Beginning {
                ready,
                go: gone,
                begun,
            };
            let recording =
                move || recording::record(&target, &live, &signals, &wish, &to, between);
            spawn("profundo-record", recording)?
        };
        let unbegun = |recorder| {
            if let Some(output) = &output {
                output.keep();
            }
            match joined(recorder) {
                Err(error) => error,
                Ok(_) => anyhow!("the recording has ended before it began"),
            }
        };
        let Ok(Ready { start, wake }) = readiness.recv() else {
            return Err(unbegun(recorder));
        };
        let file = live.output.clone().map(|path| File {
            path,
            max_size: live.max_size.0,
            keeps_source: !live.no_source,
        });
        let question = state(options).question();
        let interval = options.interval;
        let keeper = match Keeper::new(
            start,
            question,
            interval,
            !is_plain,
            !live.no_children,
            file.as_ref(),
        ) {
            Ok(keeper) => keeper.own_code(&live.own_code.rules()),
            Err(error) => {
                // So it hears that it will never begin, and tidies up.
                drop(go);
                unbegun(recorder);
                return Err(error);
            }
        };
        let keeper = {
            let (to, board) = (to.clone(), Arc::clone(&board));
            let keeps_source = file.as_ref().is_some_and(|file| file.keeps_source);
            let keeping = move || keeper.run(&inbox, &to, &board, keeps_source);
            spawn("profundo-keep", keeping)?
        };
        // If it has ended, so has what would be heard next.
        let _ = go.send(());
        let Ok(pid) = beginning.recv() else {
            let _ = to.send(Message::Stop);
            joined(keeper);
            // There is nothing in it.
            let _ = file.map(|file| std::fs::remove_file(file.path));
            return Err(unbegun(recorder));
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
            recorder,
            keeper,
        })
    }

    /// Asks the keeper for something. If it has ended, its end is seen elsewhere.
    fn ask(&self, question: keeper::Question) {
        let _ = self.to.send(Message::Ask(question));
    }

    /// Whether a part of us has failed, which is told when the page is gone.
    fn is_broken(&self) -> bool {
        self.board.is_left() || self.wish.is_broken()
    }

    /// Sees to a signal; returns whether it ends the page.
    fn heed(&self, got: Got) -> Option<i32> {
        const ENDS: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
        let ours = std::process::id() as i32;
        match got {
            Got::Child => {
                self.wake.wake();
                None
            }
            // What we have sent to the whole group has reached the program, too.
            Got::ForUs { sender, .. } if sender == ours => None,
            Got::ForUs { signal, sender } if self.is_ours && !self.wish.is_over() => {
                let is_about_us = [libc::SIGWINCH, libc::SIGTSTP, libc::SIGCONT].contains(&signal);
                if !is_about_us {
                    pass_on(self.pid as i32, signal, sender);
                }
                None
            }
            // The terminal has sent it to the program, too; but if it is gone, so is the page.
            Got::FromTerminal { signal } if self.is_ours && signal != libc::SIGHUP => None,
            Got::ForUs { signal, .. } | Got::FromTerminal { signal } => {
                ENDS.contains(&signal).then_some(signal)
            }
        }
    }

    /// The page is gone. Waits for the program, if we have started it, ends the recording, and ends as
    /// the program has ended.
    fn end(self, left: Left) -> Result<ExitCode> {
        if self.is_ours {
            self.accompany();
        } else {
            self.wish.stop();
            self.wake.wake();
        }
        let ended = joined(self.recorder);
        // The file is ended whatever has become of the recorder.
        let _ = self.to.send(Message::Stop);
        let done = joined(self.keeper);
        if let (Some(done), Some(file)) = (done, &self.file) {
            tell(&done, file);
        }
        if let Some(path) = self.output.as_ref().and_then(Output::keep) {
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
                self.heed(got);
            }
        }
    }
}

/// The page as it is at first.
fn state(options: &Top) -> State {
    State::new(Span::Last(options.window), options.recording.wall)
}

/// Says what became of the file.
fn tell(done: &Done, file: &File) {
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

/// What a thread has come to; its panic is ours.
fn joined<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// CPU time that we have taken, in nanoseconds.
fn own_cpu() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The same of this thread alone.
fn own_cpu_of_thread() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours to write, and both clocks are there.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
