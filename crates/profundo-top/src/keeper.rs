//! The keeper of the numbers: a thread that takes in the recorder's events and answers the page's
//! questions. So neither the recorder nor the keys ever wait for each other, or for a long query.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use profundo_ingest::Ingest;
use profundo_model::{Nanos, Profile};
use profundo_save::qualified_names;
use profundo_save::recording_writer::{RecordingWriter, Saved};
use profundo_wire::recording::{Finish, Start};

use super::answer::{self, Texts};
use super::asleep;
use super::bell::Bell;
use super::detail::detail;
use super::facts::{count, head, own_share, unseen};
use super::naming::{Named, Naming};
use super::owned_event::OwnedEvent;
use super::picture::{Key, Picture, View};
use super::processes::Processes;
use super::window::{Span, Window};

/// Distinct stacks and their prefixes, some 40 bytes each; of later ones only a part is kept.
const MOST_STACKS: usize = 1 << 20;
/// Pages are so far apart that computing them takes at most this part of the time.
const PART: u32 = 100;
/// But at most so far apart.
const SELDOM: Duration = Duration::from_secs(5);
/// The time that a page of text waits for names, and that between two searches for them.
const PATIENCE: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_millis(50);
const ROUNDS: u32 = 4;
/// With less use of a CPU, a program counts as waiting.
const IDLE: f64 = 0.01;
/// The first page comes when it has enough to show, and after this time at the latest.
const FIRST: Duration = Duration::from_secs(1);

/// A message to the keeper.
#[derive(Debug)]
pub enum Message {
    /// Events of the recorder.
    Events(Vec<OwnedEvent>),
    /// The recorder has ended, and the program perhaps, in this way.
    Finished(Finish, Option<String>),
    /// The page asks a question.
    Ask(Question),
    /// Names were found.
    Named(Box<Named>),
    /// The page has ended.
    Stop,
}

/// A question of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The table.
    pub view: View,
    /// The part of the past.
    pub span: Span,
    /// The row whose details are shown.
    pub detail: Option<Key>,
    /// True if the past is frozen.
    pub paused: bool,
}

/// The recording that is written alongside.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path.
    pub path: PathBuf,
    /// Its size limit.
    pub max_size: u64,
    /// True if it contains source lines.
    pub keeps_source: bool,
}

/// A picture that is due, and waits for names.
struct Due {
    since: Instant,
    /// The number of searches for all names since then.
    rounds: u32,
}

impl Due {
    fn now() -> Self {
        Self {
            since: Instant::now(),
            rounds: 0,
        }
    }

    fn is_late(&self) -> bool {
        self.since.elapsed() >= PATIENCE
    }
}

/// The board on which the keeper puts the newest picture.
#[derive(Debug)]
pub struct Board {
    picture: Mutex<Option<Picture>>,
    is_closed: AtomicBool,
    bell: Arc<Bell>,
}

/// Notifies the board's reader when the keeper has ended.
struct Closing<'a>(&'a Board);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        // Relaxed: no other memory depends on it.
        self.0.is_closed.store(true, Ordering::Relaxed);
        self.0.bell.ring();
    }
}

impl Board {
    /// The bell calls the board's reader.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self {
            picture: Mutex::default(),
            is_closed: AtomicBool::new(false),
            bell,
        }
    }

    fn put(&self, picture: Picture) {
        *self.lock() = Some(picture);
        self.bell.ring();
    }

    /// Takes the newest picture, if it was not taken yet.
    pub fn take(&self) -> Option<Picture> {
        self.lock().take()
    }

    /// True if no other picture will come.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Picture>> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keeper's state.
pub struct Keeper {
    /// `None` once the recording has ended and `done` has all of it.
    ingest: Option<Ingest>,
    done: Profile,
    window: Window,
    /// The window at the time of the pause.
    paused: Option<(Window, u64)>,
    naming: Naming,
    processes: Processes,
    texts: Texts,
    question: Question,
    interval: Duration,
    /// The time of the start.
    started: Instant,
    /// True if the page does not wait for names until the next one is due.
    is_eager: bool,
    /// The recorded duration at the last two messages.
    recorded: [u64; 2],
    ended: Option<String>,
    writer: Option<RecordingWriter>,
    finish: Option<Finish>,
    /// Our own CPU time at several moments.
    spent: Vec<(Instant, u64)>,
}

impl Keeper {
    /// A keeper without data.
    pub fn new(
        start: Start,
        question: Question,
        interval: Duration,
        is_eager: bool,
        follows: bool,
        file: Option<&File>,
    ) -> Result<Self> {
        let writer = match file {
            Some(file) => Some(RecordingWriter::create(&file.path, start, file.max_size)?),
            None => None,
        };
        Ok(Self {
            ingest: Some(
                Ingest::new(start)
                    .max_stacks(MOST_STACKS)
                    .qualified_names(qualified_names::by_source()),
            ),
            done: Profile::default(),
            window: Window::new(),
            paused: None,
            naming: Naming::new(),
            processes: Processes::new(follows),
            texts: Texts::default(),
            question,
            interval,
            started: Instant::now(),
            is_eager,
            recorded: [0; 2],
            ended: None,
            writer,
            finish: None,
            spent: vec![(Instant::now(), super::own_cpu())],
        })
    }

    /// Runs until [`Message::Stop`]. `to` leads to `inbox`: the search for names answers through
    /// it.
    pub fn run(
        mut self,
        inbox: &Receiver<Message>,
        to: &Sender<Message>,
        board: &Board,
        keeps_source: bool,
    ) -> Option<Saved> {
        let _closing = Closing(board);
        let first = match self.is_eager {
            true => self.interval.min(FIRST),
            false => self.interval,
        };
        let mut next = Instant::now() + first;
        let mut is_first = true;
        let mut due: Option<Due> = None;
        loop {
            let wait = match due {
                Some(_) => TURN,
                None => next.saturating_duration_since(Instant::now()),
            };
            let first = inbox.recv_timeout(wait);
            let mut is_over = false;
            let mut is_asked = false;
            for message in first.into_iter().chain(inbox.try_iter()) {
                is_over |= matches!(message, Message::Stop);
                is_asked |= self.handle(message);
            }
            if let Some(writer) = &mut self.writer {
                writer.turn();
            }
            if is_over {
                break;
            }
            // The first page waits for more than two samples without names.
            if is_first && self.is_eager {
                is_asked = self.finish.is_some() || self.has_enough();
            }
            if due.is_none() && (is_asked || Instant::now() >= next) {
                due = Some(Due::now());
            }
            if due.is_some()
                && let Some(ingest) = &mut self.ingest
            {
                // The recorder names functions of the kernel and of JIT compilers; they are in no
                // file.
                ingest.name_generated();
            }
            let profile = self.ingest.as_ref().map_or(&self.done, Ingest::profile);
            match &mut due {
                // A page of text stays as it is printed, so it waits for its names.
                Some(due) if !self.is_eager && !due.is_late() => {
                    // More addresses come while names are looked up.
                    if due.rounds < ROUNDS && !self.naming.is_busy() {
                        self.naming.begin(profile, true, found(to));
                        due.rounds += 1;
                    }
                    if self.naming.is_busy() {
                        continue;
                    }
                }
                _ => self.naming.begin(profile, false, found(to)),
            }
            if due.take().is_some() {
                is_first = false;
                let before = super::own_cpu_of_thread();
                board.put(self.picture());
                let took = Duration::from_nanos(super::own_cpu_of_thread() - before);
                next = Instant::now() + self.interval.max((took * PART).min(SELDOM));
            }
        }
        let finish = self.finish.unwrap_or_default();
        self.writer
            .map(|writer| writer.finish(finish, keeps_source))
    }

    /// Sets the rules for own code.
    pub fn own_code(mut self, mine: &[String]) -> Self {
        if let Some(ingest) = &mut self.ingest {
            ingest.profile_mut().meta.add_mine(mine);
        }
        self.writer = self.writer.map(|writer| writer.own_code(mine));
        self
    }

    /// Notes that all processes of the machine are recorded.
    pub fn of_machine(mut self) -> Self {
        if let Some(ingest) = &mut self.ingest {
            ingest.profile_mut().meta.is_of_machine = true;
        }
        self.writer = self.writer.map(RecordingWriter::of_machine);
        self
    }

    /// Handles a message; returns whether it wants an answer.
    fn handle(&mut self, message: Message) -> bool {
        match message {
            Message::Events(events) => {
                for event in events {
                    if let Some(writer) = &mut self.writer {
                        writer.event(event.copy());
                    }
                    if let Some(ingest) = &mut self.ingest {
                        ingest.event(event.copy());
                    }
                }
                if let Some(ingest) = &mut self.ingest {
                    let profile = ingest.profile_mut();
                    self.recorded = [self.recorded[1], profile.meta.duration.0];
                    self.window.take(profile, Nanos(self.recorded[0]));
                    let now = since(self.started);
                    self.processes.take(profile, now);
                }
                false
            }
            Message::Finished(finish, ended) => {
                if let Some(ingest) = self.ingest.take() {
                    self.done = ingest.finish(finish);
                    let last = self.done.samples.iter().map(|sample| sample.time.0).max();
                    self.recorded[1] = last.unwrap_or(0).max(self.recorded[1]);
                    self.window.take(&mut self.done, Nanos(self.recorded[1]));
                }
                self.finish = Some(finish);
                self.ended = ended;
                true
            }
            Message::Ask(question) => {
                match (question.paused, &self.paused) {
                    (true, None) => self.paused = Some((self.window.clone(), self.recorded[1])),
                    (false, _) => self.paused = None,
                    _ => {}
                }
                self.question = question;
                true
            }
            Message::Named(named) => {
                let profile = match &mut self.ingest {
                    Some(ingest) => ingest.profile_mut(),
                    None => &mut self.done,
                };
                self.naming.end(profile, &named);
                self.is_eager
            }
            Message::Stop => false,
        }
    }

    /// True if there are enough samples for shares, and names for them.
    fn has_enough(&self) -> bool {
        let part = self.window.part(Span::SinceStart);
        !self.naming.is_busy() && part.busy() > 0 && !answer::is_few(&part, View::Functions)
    }

    fn picture(&mut self) -> Picture {
        let Question {
            view,
            span,
            detail: wanted,
            ..
        } = self.question;
        let (window, elapsed) = match &self.paused {
            Some((window, elapsed)) => (window, *elapsed),
            None => (&self.window, self.recorded[1]),
        };
        let part = window.part(span);
        let profile = match &mut self.ingest {
            Some(ingest) => ingest.profile_mut(),
            None => &mut self.done,
        };
        let has_ended = self.finish.is_some();
        if self.paused.is_none() && !has_ended {
            let now = since(self.started);
            self.processes.read(profile, now);
        }
        let mut answer = answer::rows(profile, &part, view, &mut self.texts);
        let is_few = answer::is_few(&part, view);
        if view == View::Processes {
            answer.whole = part.measured();
            answer.rows = answer::processes(profile, &self.processes, span, answer.whole);
        }
        let mut head = head(profile, &part, elapsed);
        head.split = answer.split;
        if !has_ended {
            count(&mut head, &self.processes, span, &part);
        }
        let unseen = unseen(profile, &part, span, head.counted);
        (head.warning, head.unread) = (unseen.warning, unseen.figures);
        head.ended.clone_from(&self.ended);
        head.own_cpu = own_share(&mut self.spent);
        head.is_naming = self.naming.is_busy();
        head.asleep = match part.busy() {
            0 if head.cpu < IDLE && !has_ended => asleep::waits_for(head.pid).map(str::to_owned),
            _ => None,
        };
        let detail = wanted.map(|key| {
            let counted = is_few.then(|| part.counted());
            let mut detail = detail(profile, counted.as_ref().unwrap_or(&part), view, key);
            detail.whole = match is_few {
                true => part.busy(),
                false => answer.whole,
            };
            detail
        });
        Picture {
            view,
            span,
            length: part.length,
            head,
            whole: answer.whole,
            is_few,
            samples: part.busy(),
            rows: answer.rows.into(),
            detail,
        }
    }
}

/// Sends found names to the keeper.
fn found(to: &Sender<Message>) -> impl FnOnce(Named) + Send + 'static {
    let to = to.clone();
    move |named| {
        // If this fails, the keeper has ended, and needs no names.
        let _ = to.send(Message::Named(Box::new(named)));
    }
}

/// Nanoseconds since then.
fn since(then: Instant) -> u64 {
    u64::try_from(then.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
