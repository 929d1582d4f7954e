//! Who keeps the numbers: a thread that takes in what the recorder tells and answers what the page
//! asks. So neither the recorder nor the keys ever wait for the other, or for a question that takes
//! long.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use profundo_ingest::Ingest;
use profundo_model::{Nanos, Profile};
use profundo_wire::recording::{Finish, Start};

use super::answer::{self, Texts};
use super::asleep;
use super::bell::Bell;
use super::detail::detail;
use super::facts::{count, head, own_share, unseen};
use super::messages::OwnedEvent;
use super::naming::{Named, Naming};
use super::picture::{Key, Picture, View};
use super::processes::Processes;
use super::window::{Span, Window};
use crate::qualified;
use crate::sink::{Done, Sink};

/// Different stacks and their prefixes, some 40 bytes each; of later ones only a part is kept.
const MOST_STACKS: usize = 1 << 20;
/// Pages come so seldom that working them out takes this part of the time at most.
const PART: u32 = 100;
/// But not seldom beyond this.
const SELDOM: Duration = Duration::from_secs(5);
/// How long a page of text waits for names, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_millis(50);
const ROUNDS: u32 = 4;
/// Who takes less of a CPU waits.
const IDLE: f64 = 0.01;
/// The first page comes when there is enough to show on it, and after this at the latest.
const FIRST: Duration = Duration::from_secs(1);

/// What the keeper hears.
#[derive(Debug)]
pub enum Message {
    /// From the recorder.
    OwnedEvent(Vec<OwnedEvent>),
    /// The recorder has ended, the program perhaps, and so.
    Finished(Finish, Option<String>),
    /// The page wants to see something.
    Ask(Question),
    /// Names were found.
    Named(Box<Named>),
    /// Nobody wants to know any more.
    Stop,
}

/// What a page wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Which table.
    pub view: View,
    /// Of which part of the past.
    pub span: Span,
    /// More about this row.
    pub detail: Option<Key>,
    /// Whether the past is to stay as it is.
    pub paused: bool,
}

/// Where a recording is written, beside.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name.
    pub path: PathBuf,
    /// How large it may grow.
    pub max_size: u64,
    /// Whether it carries source lines.
    pub keeps_source: bool,
}

/// A picture that is due, and waits for names.
struct Due {
    since: Instant,
    /// How often names of all that there was have been asked for since then.
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

/// Where the keeper puts the newest picture.
#[derive(Debug)]
pub struct Board {
    picture: Mutex<Option<Picture>>,
    is_left: AtomicBool,
    bell: Arc<Bell>,
}

/// Who looks at the board hears of it, if nobody puts anything there any more.
struct Leaving<'a>(&'a Board);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        // Relaxed: nothing else hangs on it.
        self.0.is_left.store(true, Ordering::Relaxed);
        self.0.bell.ring();
    }
}

impl Board {
    /// Who looks at it is called by this bell.
    pub fn new(bell: Arc<Bell>) -> Self {
        Self {
            picture: Mutex::default(),
            is_left: AtomicBool::new(false),
            bell,
        }
    }

    fn put(&self, picture: Picture) {
        *self.lock() = Some(picture);
        self.bell.ring();
    }

    /// Takes the newest picture, if there is one that was not taken yet.
    pub fn take(&self) -> Option<Picture> {
        self.lock().take()
    }

    /// Whether there will be no other.
    pub fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Picture>> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The numbers.
pub struct Keeper {
    /// Gone once the recording has ended, when `done` has all.
    ingest: Option<Ingest>,
    done: Profile,
    window: Window,
    /// The window when the page was paused.
    paused: Option<(Window, u64)>,
    naming: Naming,
    processes: Processes,
    texts: Texts,
    question: Question,
    interval: Duration,
    /// When nothing was known yet.
    started: Instant,
    /// Whether the reader does not want to wait for names until the next page is due.
    is_eager: bool,
    /// How long it has been recorded, as it was told last and the time before.
    told: [u64; 2],
    ended: Option<String>,
    sink: Option<Sink>,
    finish: Option<Finish>,
    /// Our CPU time, from time to time.
    spent: Vec<(Instant, u64)>,
}

impl Keeper {
    /// Nothing is known yet.
    pub fn new(
        start: Start,
        question: Question,
        interval: Duration,
        is_eager: bool,
        follows: bool,
        file: Option<&File>,
    ) -> Result<Self> {
        let sink = match file {
            Some(file) => Some(Sink::create(&file.path, start, file.max_size)?),
            None => None,
        };
        Ok(Self {
            ingest: Some(
                Ingest::new(start)
                    .max_stacks(MOST_STACKS)
                    .qualified_names(qualified::by_source()),
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
            told: [0; 2],
            ended: None,
            sink,
            finish: None,
            spent: vec![(Instant::now(), super::own_cpu())],
        })
    }

    /// Keeps until it is told to stop. `to` leads to `inbox`: those who look for names answer by it.
    pub fn run(
        mut self,
        inbox: &Receiver<Message>,
        to: &Sender<Message>,
        board: &Board,
        keeps_source: bool,
    ) -> Option<Done> {
        let _leaving = Leaving(board);
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
                is_asked |= self.hear(message);
            }
            if let Some(sink) = &mut self.sink {
                sink.turn();
            }
            if is_over {
                break;
            }
            // The first page is none of two samples without names.
            if is_first && self.is_eager {
                is_asked = self.finish.is_some() || self.has_enough();
            }
            if due.is_none() && (is_asked || Instant::now() >= next) {
                due = Some(Due::now());
            }
            if due.is_some()
                && let Some(ingest) = &mut self.ingest
            {
                // The recorder names functions of the kernel and of compilers at run time; no file has their names.
                ingest.name_generated();
            }
            let profile = self.ingest.as_ref().map_or(&self.done, Ingest::profile);
            match &mut due {
                // A page of text stays as it is printed, so it waits for its names.
                Some(due) if !self.is_eager && !due.is_late() => {
                    // More comes while names are looked for.
                    if due.rounds < ROUNDS && !self.naming.is_busy() {
                        self.naming.begin(profile, to, true);
                        due.rounds += 1;
                    }
                    if self.naming.is_busy() {
                        continue;
                    }
                }
                _ => self.naming.begin(profile, to, false),
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
        self.sink.map(|sink| sink.finish(finish, keeps_source))
    }

    /// Whose code it is, where that is said.
    pub fn own_code(mut self, mine: &[String]) -> Self {
        if let Some(ingest) = &mut self.ingest {
            crate::own_code::add(ingest.profile_mut(), mine);
        }
        self.sink = self.sink.map(|sink| sink.own_code(mine));
        self
    }

    /// Takes a message in; returns whether it wants an answer.
    fn hear(&mut self, message: Message) -> bool {
        match message {
            Message::OwnedEvent(told) => {
                for told in told {
                    if let Some(sink) = &mut self.sink {
                        sink.event(told.copy());
                    }
                    if let Some(ingest) = &mut self.ingest {
                        ingest.event(told.copy());
                    }
                }
                if let Some(ingest) = &mut self.ingest {
                    let profile = ingest.profile_mut();
                    self.told = [self.told[1], profile.meta.duration.0];
                    self.window.take(profile, Nanos(self.told[0]));
                    let now = since(self.started);
                    self.processes.take(profile, now);
                }
                false
            }
            Message::Finished(finish, ended) => {
                if let Some(ingest) = self.ingest.take() {
                    self.done = ingest.finish(finish);
                    let last = self.done.samples.iter().map(|sample| sample.time.0).max();
                    self.told[1] = last.unwrap_or(0).max(self.told[1]);
                    self.window.take(&mut self.done, Nanos(self.told[1]));
                }
                self.finish = Some(finish);
                self.ended = ended;
                true
            }
            Message::Ask(question) => {
                match (question.paused, &self.paused) {
                    (true, None) => self.paused = Some((self.window.clone(), self.told[1])),
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

    /// Whether there are enough samples for shares, and names for them.
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
            None => (&self.window, self.told[1]),
        };
        let part = window.part(span);
        let profile = match &mut self.ingest {
            Some(ingest) => ingest.profile_mut(),
            None => &mut self.done,
        };
        let has_ended = self.finish.is_some();
        if self.paused.is_none() && !has_ended {
            let now = since(self.started);
            self.processes.look(profile, now);
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
        (head.warning, head.unread) = unseen(profile, &part, span, head.counted);
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

/// Nanoseconds since then.
fn since(then: Instant) -> u64 {
    u64::try_from(then.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
