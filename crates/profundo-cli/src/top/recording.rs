//! The recorder's thread: it attaches to a process or starts a program, and tells what happens. What
//! the kernel asks of one thread (the fork, the holding of others) is all done here.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use profundo_remote::{EngineChoice, Options, Recorder, Remains, WakeHandle};
use profundo_wire::recording::{Event, HowEnded, Start};

use super::bell::Bell;
use super::keeper::Message;
use super::messages::OwnedEvent;
use crate::launch::{Ended, Program, Signals, Streams, Unstarted, bury, fork_recorded, has_ended};
use crate::{carried, options};

/// How often it looks whether it is to end.
const HEED: Duration = Duration::from_millis(200);

/// How long it keeps what it has to tell, so that who keeps the numbers is woken less often than it is
/// itself, and how much at most.
const SEND: Duration = Duration::from_millis(100);
const MANY: usize = 1 << 12;

/// What is recorded.
#[derive(Debug)]
pub enum Target {
    /// Processes that run already: the first, and the others.
    Processes(u32, Vec<u32>),
    /// A program to be started.
    Program {
        /// Which one.
        program: Program,
        /// Its standard streams.
        streams: Streams,
    },
}

/// What the page wants of the recorder.
#[derive(Debug)]
pub struct Wish {
    what: AtomicU8,
    bell: Arc<Bell>,
}

const RECORD: u8 = 0;
const PAUSE: u8 = 1;
const STOP: u8 = 2;
const OVER: u8 = 3;
const BROKEN: u8 = 4;

impl Wish {
    /// It shall record, and ring when it has ended.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self {
            what: AtomicU8::new(RECORD),
            bell,
        }
    }

    /// It shall take no more samples, but wait for the program.
    pub fn pause(&self) {
        // Relaxed, here and below: nothing else hangs on it.
        let what = &self.what;
        let _ = what.compare_exchange(RECORD, PAUSE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// It shall end.
    pub fn stop(&self) {
        let what = &self.what;
        let _ = what.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |what| {
            (what < STOP).then_some(STOP)
        });
    }

    /// Whether the program or the recorder has ended, for one reason or another.
    pub fn is_over(&self) -> bool {
        self.is(OVER) || self.is_broken()
    }

    /// Whether it has failed.
    pub fn is_broken(&self) -> bool {
        self.is(BROKEN)
    }

    fn is(&self, what: u8) -> bool {
        self.what.load(Ordering::Relaxed) == what
    }
}

/// Whatever becomes of the recorder, who waits for it hears of it.
struct Over<'a> {
    wish: &'a Wish,
    what: u8,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.wish.what.store(self.what, Ordering::Relaxed);
        self.wish.bell.ring();
    }
}

/// A recorder that is ready, and has not touched the process yet.
#[derive(Debug)]
pub struct Ready {
    /// How its recording begins.
    pub start: Start,
    /// Ends its wait.
    pub wake: WakeHandle,
}

/// How the recorder and who has started it come to terms: when it is ready, it says so and waits until
/// there is a place for what it will tell; when it has begun, it says of which process. If it never
/// does, its error says why.
#[derive(Debug)]
pub struct Beginning {
    /// It is ready.
    pub ready: Sender<Ready>,
    /// It may begin. If that never comes, nothing is begun.
    pub go: Receiver<()>,
    /// It has begun, with this process.
    pub begun: Sender<u32>,
}

/// Records until it is told to end, or the program ends. Returns how a program ended that was started.
pub fn record(
    target: &Target,
    live: &options::Live,
    signals: &Signals,
    wish: &Wish,
    to: &Sender<Message>,
    beginning: Beginning,
) -> Result<Option<Ended>> {
    let mut over = Over { wish, what: BROKEN };
    let mut told = Vec::new();
    let agent = match (target, live.engine) {
        (Target::Processes(..), _) | (_, options::EngineChoice::PerfRing) => None,
        _ => Some(carried::file(carried::For::Time)?),
    };
    let mut recorder = Recorder::create(Options {
        period: live.period(),
        engine: match (target, live.engine) {
            (Target::Processes(..), options::EngineChoice::Auto) => EngineChoice::Around,
            (_, options::EngineChoice::Auto) => EngineChoice::Auto,
            (_, options::EngineChoice::PerfSignal) => EngineChoice::PerfSignal,
            (_, options::EngineChoice::CpuTimer) => EngineChoice::CpuTimer,
            (_, options::EngineChoice::PerfRing) => EngineChoice::PerfRing,
        },
        // A program whose stacks are seldom asked for need not be asked often for its system time.
        system_period: live.period().saturating_mul(2).max(2_000_000),
        // Who only looks should not be felt.
        most_held: 125,
        follow: !live.no_children,
        wall: live.wall.then_some(profundo_remote::WALL_TICK),
        // The page has no place for it.
        traffic: false,
        agent,
        ..Options::default()
    })?;
    let start = recorder.start();
    let wake = recorder.wake_handle();
    // Who does not listen any more does not answer either.
    let _ = beginning.ready.send(Ready { start, wake });
    if beginning.go.recv().is_err() {
        return Ok(None);
    }
    let (pid, child) = match target {
        Target::Processes(pid, others) => {
            let pid = *pid;
            recorder.attach_all(pid, others, &mut |event| told.push(OwnedEvent::of(event)))?;
            (pid, None)
        }
        Target::Program { program, streams } => {
            leave_remains(&recorder, live.output.as_deref());
            let pid = start_program(program, streams, &mut recorder, signals)?;
            (pid as u32, Some(pid))
        }
    };
    let _ = beginning.begun.send(pid);
    let mut ended = None;
    let mut sent = Instant::now();
    while !wish.is(STOP) {
        recorder.turn_within(HEED, &mut |event| told.push(OwnedEvent::of(event)));
        // Samples that nobody will see need not be taken.
        if wish.is(PAUSE) && !recorder.is_paused() {
            recorder.set_paused(true);
        }
        if told.len() >= MANY || sent.elapsed() >= SEND {
            sent = Instant::now();
            let _ = to.send(Message::OwnedEvent(std::mem::take(&mut told)));
        }
        match child {
            Some(pid) => {
                ended = has_ended(pid).context("the program is out of sight")?;
                if let Some(ended) = ended {
                    let how = match ended {
                        Ended::Exited(code) => HowEnded::Exited(code),
                        Ended::Killed(signal) => HowEnded::Killed(signal),
                    };
                    recorder.exited(pid as u32, how);
                    break;
                }
            }
            None if !recorder.has_programs() => break,
            None => {}
        }
    }
    let is_over = !wish.is(STOP);
    // Said before anybody can see it: a program that has ended is not waited for, or interrupted.
    wish.what.store(OVER, Ordering::Relaxed);
    over.what = OVER;
    let finish = recorder.finish(&mut |event| told.push(OwnedEvent::of(event)));
    let how = is_over.then(|| how_it_ended(ended, &told));
    let _ = to.send(Message::OwnedEvent(told));
    let _ = to.send(Message::Finished(finish, how));
    if let (Some(pid), Some(_)) = (child, ended) {
        bury(pid);
    }
    Ok(ended)
}

/// Should we be killed, this tells whose memory it is that has the last samples.
fn leave_remains(recorder: &Recorder, output: Option<&Path>) {
    let Some(path) = output else { return };
    // Without it, the file alone is left.
    let _ = std::fs::canonicalize(path).map(|recording| {
        Remains {
            directory: recorder.directory().to_owned(),
            recording,
            start: recorder.start(),
        }
        .leave()
    });
}

/// Starts the program, which is recorded from its first instruction on.
fn start_program(
    program: &Program,
    streams: &Streams,
    recorder: &mut Recorder,
    signals: &Signals,
) -> Result<i32> {
    let child = fork_recorded(program, recorder, [], signals, Some(streams))?;
    let pid = child.pid();
    recorder.watch(pid as u32)?;
    if let Err(error) = child.release() {
        bail!(Unstarted::refused(&program.path, &error));
    }
    Ok(pid)
}

/// How the program ended, in words.
fn how_it_ended(ended: Option<Ended>, told: &[OwnedEvent]) -> String {
    let how = ended.map(|ended| match ended {
        Ended::Exited(code) => HowEnded::Exited(code),
        Ended::Killed(signal) => HowEnded::Killed(signal),
    });
    let last = told.iter().rev().find_map(|told| match told {
        OwnedEvent::Other(Event::Ended(end)) => Some(end.how),
        _ => None,
    });
    match how.or(last) {
        Some(HowEnded::Exited(code)) => format!("ended with exit code {code}"),
        Some(HowEnded::Killed(signal)) => format!("ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}
