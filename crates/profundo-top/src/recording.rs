//! The recorder's thread: it attaches to a process or starts a program, and passes on its events.
//! All that the kernel demands of a single thread (the fork, the tracing of others) is done here.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use profundo_launch::{
    Ended, Program, SIGNAL_INTERVAL, Signals, Streams, Unstarted, fork_recorded, has_ended, reap,
};
use profundo_recorder::{Chosen, EngineChoice, Options, Recorder, WakeHandle};
use profundo_session::Remains;
use profundo_wire::recording::{Event, HowEnded, Start};

use super::AgentFile;
use super::bell::Bell;
use super::keeper::Message;
use super::owned_event::OwnedEvent;
use crate::options::Live;

/// The time for which events are held back, so that the keeper is woken less often than the
/// recorder, and the largest number of them.
const SEND: Duration = Duration::from_millis(100);
const MANY: usize = 1 << 12;

/// The target of the recording.
#[derive(Debug)]
pub enum Target {
    /// Running processes: the first, and the others.
    Processes(u32, Vec<u32>),
    /// All processes of the machine.
    Machine,
    /// A program to be started.
    Program {
        /// The program.
        program: Program,
        /// Its standard streams.
        streams: Streams,
    },
}

/// The page's request to the recorder.
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
    /// The request to record. The recorder rings the bell when it has ended.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self {
            what: AtomicU8::new(RECORD),
            bell,
        }
    }

    /// Requests a pause: no more samples, only waiting for the program.
    pub fn pause(&self) {
        // Relaxed, here and below: no other memory depends on it.
        let what = &self.what;
        let _ = what.compare_exchange(RECORD, PAUSE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Requests the end.
    pub fn stop(&self) {
        let what = &self.what;
        let _ = what.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |what| {
            (what < STOP).then_some(STOP)
        });
    }

    /// True if the program or the recorder has ended, for whatever reason.
    pub fn is_over(&self) -> bool {
        self.is(OVER) || self.is_broken()
    }

    /// True if the recorder has failed.
    pub fn is_broken(&self) -> bool {
        self.is(BROKEN)
    }

    fn is(&self, what: u8) -> bool {
        self.what.load(Ordering::Relaxed) == what
    }
}

/// Reports the recorder's end, whatever its cause.
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
    /// The start of its recording.
    pub start: Start,
    /// Interrupts its wait.
    pub wake: WakeHandle,
}

/// The handshake of the recorder and its starter. When ready, the recorder sends [`Ready`] and
/// waits until its events can be received; when it has begun, it sends the process. If it fails
/// before that, its error has the reason.
#[derive(Debug)]
pub struct Beginning {
    /// The recorder is ready.
    pub ready: Sender<Ready>,
    /// The permission to begin. If this is dropped, nothing is begun.
    pub go: Receiver<()>,
    /// The process, once the recording has begun.
    pub begun: Sender<u32>,
}

/// Records until a request to end, or the program's end. Returns how a program ended that was
/// started here.
pub fn record(
    target: &Target,
    live: &Live,
    agent: AgentFile,
    signals: &Signals,
    wish: &Wish,
    to: &Sender<Message>,
    beginning: Beginning,
) -> Result<Option<Ended>> {
    let mut over = Over { wish, what: BROKEN };
    let mut events = Vec::new();
    let mut recorder = create(target, live, agent)?;
    let start = recorder.start();
    let wake = recorder.wake_handle();
    // If the receiver is gone, it will not answer either.
    let _ = beginning.ready.send(Ready { start, wake });
    if beginning.go.recv().is_err() {
        return Ok(None);
    }
    let (pid, child) = match target {
        Target::Processes(pid, others) => {
            let pid = *pid;
            recorder.attach_all(pid, others, &mut |event| events.push(OwnedEvent::of(event)))?;
            (pid, None)
        }
        Target::Machine => {
            recorder.begin_machine()?;
            (0, None)
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
        recorder.turn_within(SIGNAL_INTERVAL, &mut |event| {
            events.push(OwnedEvent::of(event))
        });
        // Samples that are not shown need not be taken.
        if wish.is(PAUSE) && !recorder.is_paused() {
            recorder.set_paused(true);
        }
        if events.len() >= MANY || sent.elapsed() >= SEND {
            sent = Instant::now();
            let _ = to.send(Message::Events(std::mem::take(&mut events)));
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
    // Set before the end can be seen: an ended program is not waited for, or interrupted.
    wish.what.store(OVER, Ordering::Relaxed);
    over.what = OVER;
    let finish = recorder.finish(&mut |event| events.push(OwnedEvent::of(event)));
    let how = is_over.then(|| how_it_ended(ended, &events));
    let _ = to.send(Message::Events(events));
    let _ = to.send(Message::Finished(finish, how));
    if let (Some(pid), Some(_)) = (child, ended) {
        reap(pid);
    }
    Ok(ended)
}

/// A recorder for the target, which it has not touched yet.
fn create(target: &Target, live: &Live, agent: AgentFile) -> Result<Recorder> {
    let agent = match (target, live.engine) {
        (Target::Processes(..) | Target::Machine, _) | (_, EngineChoice::PerfRing) => None,
        _ => Some(agent()?),
    };
    Ok(Recorder::create(Options {
        period: live.period(),
        engine: match (target, live.engine) {
            (Target::Processes(..), EngineChoice::Auto) => EngineChoice::Around,
            (_, engine) => engine,
        },
        // A program whose stacks are rarely sampled need not be asked often for its system time.
        system_period: live.period().saturating_mul(2).max(2_000_000),
        // A mere view should not slow the program.
        most_held: 125,
        follow: !live.no_children,
        wall: live.wall.then_some(profundo_recorder::WALL_TICK),
        // The page does not show it.
        traffic: false,
        agent,
        machine: matches!(target, Target::Machine).then(Chosen::default),
        ..Options::default()
    })?)
}

/// Leaves a note, should we be killed, on whose memory has the last samples.
fn leave_remains(recorder: &Recorder, output: Option<&Path>) {
    let Some(path) = output else { return };
    // Without it, only the file remains.
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

/// The end of the program, in words.
fn how_it_ended(ended: Option<Ended>, events: &[OwnedEvent]) -> String {
    let how = ended.map(|ended| match ended {
        Ended::Exited(code) => HowEnded::Exited(code),
        Ended::Killed(signal) => HowEnded::Killed(signal),
    });
    let last = events.iter().rev().find_map(|event| match event {
        OwnedEvent::Other(Event::Ended(end)) => Some(end.how),
        _ => None,
    });
    match how.or(last) {
        Some(HowEnded::Exited(code)) => format!("ended with exit code {code}"),
        Some(HowEnded::Killed(signal)) => format!("ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}
