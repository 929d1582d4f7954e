//! The thread that takes pieces of the recording: it gives them names, and hands them on to where
//! they go. The recorder goes on meanwhile.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use profundo_console::stderr;
use profundo_linux::sys;
use profundo_model::SampleKind;
use profundo_save::naming::Namer;
use profundo_save::pieces::Piece;

use crate::outlet::{Outlet, Sent};

/// Pieces that wait for this thread. Beyond them it is too slow, and pieces are dropped.
const WAITING: usize = 8;
/// The pauses between two attempts to reach a destination that is away.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

/// What has become of the recording.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kept {
    /// Samples in segments.
    pub samples: u64,
    /// Segments that have arrived.
    pub segments: u64,
    /// Segments that wait on this machine.
    pub waiting: u64,
    /// Whether they are still there after this process.
    pub is_durable: bool,
    /// Samples that were dropped, because there was no room for them.
    pub dropped: u64,
}

/// The thread.
#[derive(Debug)]
pub struct Keeper {
    to: SyncSender<Piece>,
    thread: JoinHandle<Kept>,
    /// Pieces that were dropped, because the thread was too slow.
    late: u64,
}

impl Keeper {
    /// Starts the thread.
    pub fn start(keeping: Keeping) -> Result<Self> {
        let (to, pieces) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("profundo-keep".into());
        let thread = thread.spawn(move || keeping.run(&pieces));
        Ok(Self {
            to,
            thread: thread.context("cannot start a thread")?,
            late: 0,
        })
    }

    /// Hands over a piece, without waiting.
    pub fn take(&mut self, piece: Piece) {
        if let Err(TrySendError::Full(_)) = self.to.try_send(piece) {
            self.late += 1;
            if self.late == 1 {
                stderr::note(
                    "this machine is too busy to write what is recorded: some of it is missing",
                );
            }
        }
    }

    /// Hands over the last piece, and waits until it is written.
    pub fn finish(self, piece: Piece) -> Kept {
        // The thread ends only after this.
        let _ = self.to.send(piece);
        drop(self.to);
        self.thread.join().unwrap_or_default()
    }
}

/// The state of the thread.
#[derive(Debug)]
pub struct Keeping {
    namer: Namer,
    outlet: Box<dyn Outlet>,
    kept: Kept,
    /// When the destination is tried again, and the pause after that.
    next: Instant,
    pause: Duration,
    is_away: bool,
    /// Whether the last piece could not be taken.
    is_full: bool,
}

impl Keeping {
    /// A keeper for a destination.
    pub fn new(outlet: Box<dyn Outlet>) -> Self {
        Self {
            namer: Namer::new(),
            outlet,
            kept: Kept::default(),
            next: Instant::now(),
            pause: SHORTEST,
            is_away: false,
            is_full: false,
        }
    }

    fn run(mut self, pieces: &Receiver<Piece>) -> Kept {
        self.send();
        loop {
            let wait = match self.outlet.waiting() {
                0 => Duration::from_secs(3600),
                _ => self.next.saturating_duration_since(Instant::now()),
            };
            match pieces.recv_timeout(wait) {
                Ok(piece) => self.keep(piece),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= self.next {
                self.send();
            }
        }
        self.send();
        self.kept.waiting = self.outlet.waiting();
        self.kept.dropped = self.outlet.dropped();
        self.kept.is_durable = self.outlet.is_durable();
        self.kept
    }

    /// Gives a piece its names, and hands it on.
    fn keep(&mut self, piece: Piece) {
        let mut profile = piece.profile;
        let is_empty = profile.samples.is_empty() && profile.heap.blocks.is_empty();
        if is_empty || !matches!(profile.meta.kind, SampleKind::Cpu | SampleKind::Wall) {
            return;
        }
        self.namer.name(&mut profile);
        profundo_analysis::settle_beside_waits(&mut profile);
        let taken = self.outlet.take(profile);
        // Looking up names takes much for a moment.
        sys::return_freed_memory();
        match taken {
            Ok(samples) => {
                self.kept.samples += samples;
                if std::mem::take(&mut self.is_full) {
                    stderr::note("segments can be written again");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_full, true) {
                    let why = stderr::chain(error.as_ref());
                    stderr::note(&format!("what was just recorded is lost: {why}"));
                }
            }
        }
    }

    /// Sends what waits.
    fn send(&mut self) {
        let Sent { segments, because } = self.outlet.send();
        self.kept.segments += segments;
        match because {
            Some(error) => {
                if !std::mem::replace(&mut self.is_away, true) {
                    let why = stderr::chain(error.as_ref());
                    stderr::note(&format!(
                        "segments wait on this machine until they are taken: {why}"
                    ));
                }
                self.next = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(LONGEST);
            }
            None => {
                if std::mem::take(&mut self.is_away) {
                    stderr::note(&format!("{segments} segments that waited were taken"));
                }
                (self.next, self.pause) = (Instant::now(), SHORTEST);
            }
        }
    }
}
