//! Who keeps the numbers: a thread that takes in what the recorder tells and answers what the page
//! asks. So neither the recorder nor the keys ever wait for the other, or for a question that takes
//! long.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use profundo_analysis::{Cause, unread};
use profundo_ingest::Ingest;
use profundo_model::{Nanos, Profile};
use profundo_wire::recording::{Finish, Start};

use super::answer::{self, Texts, with_samples};
use super::bell::Bell;
use super::detail::detail;
use super::naming::{Named, Naming};
use super::picture::{Head, Key, Picture, View};
use super::told::Told;
use super::window::{Part, Span, Window, is_waiting};
use crate::qualified;
use crate::sink::{Done, Sink};

/// Different stacks and their prefixes, some 40 bytes each; of later ones only a part is kept.
const MOST_STACKS: usize = 1 << 20;
/// Pages come so seldom that working them out takes this part of the time at most.
const PART: u32 = 100;
/// But not seldom beyond this.
const SELDOM: Duration = Duration::from_secs(5);
/// Over how long our own CPU time is measured.
const MEASURED: Duration = Duration::from_secs(10);
/// How long a page of text waits for names, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_millis(50);
const ROUNDS: u32 = 4;

/// What the keeper hears.
#[derive(Debug)]
pub enum Message {
    /// From the recorder.
    Told(Vec<Told>),
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
    texts: Texts,
    question: Question,
    interval: Duration,
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
            texts: Texts::default(),
            question,
            interval,
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
        let mut next = Instant::now() + self.interval;
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
            Message::Told(told) => {
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
                }
                false
            }
            Message::Finished(finish, ended) => {
                if let Some(ingest) = self.ingest.take() {
                    self.done = ingest.finish(finish);
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
        let answer = answer::rows(profile, &part, view, &mut self.texts);
        let mut head = head(profile, &part, elapsed);
        head.split = answer.split;
        head.warning = warning(profile, &part, span);
        head.ended.clone_from(&self.ended);
        head.own_cpu = own_share(&mut self.spent);
        Picture {
            view,
            span,
            length: part.length,
            head,
            whole: answer.whole,
            rows: answer.rows.into(),
            detail: wanted.map(|key| detail(profile, &part, view, key)),
        }
    }
}

/// The share of a CPU that we took in the last seconds.
fn own_share(spent: &mut Vec<(Instant, u64)>) -> f64 {
    let (now, cpu) = (Instant::now(), super::own_cpu());
    spent.push((now, cpu));
    while spent.len() > 2 && now - spent[1].0 >= MEASURED {
        spent.remove(0);
    }
    let (then, before) = spent[0];
    (cpu - before) as f64 / (now - then).as_nanos().max(1) as f64
}

fn head(profile: &Profile, part: &Part, elapsed: u64) -> Head {
    let length = part.measured() as f64;
    let busy = part.rows.iter().filter(|sample| !is_waiting(sample));
    let weight: u64 = busy.map(|sample| sample.weight.0).sum();
    let mut threads: Vec<_> = part.rows.iter().map(|sample| sample.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let alive = profile.processes.iter().filter(|it| it.ended.is_none());
    let process = profile.processes.first();
    let loss = &profile.meta.loss;
    Head {
        command: process.map_or_else(String::new, |process| {
            short_command(profile.strings.get(process.command))
        }),
        pid: process.map_or(0, |process| process.pid),
        others: alive.count().saturating_sub(1),
        elapsed,
        cpu: weight as f64 / length,
        rate: part.samples as f64 * 1e9 / length,
        threads: threads.len(),
        lost: loss.lost(),
        broken: loss.broken + loss.truncated,
        note: profile.meta.notes.last().cloned(),
        ..Head::default()
    }
}

/// What is to be said of CPU time that could not be read, or was lost. Nobody knows when samples were lost.
fn warning(profile: &mut Profile, part: &Part, span: Span) -> Option<String> {
    let period = profile.meta.period.0;
    let mut missing = with_samples(profile, part.only(false), unread);
    if span == Span::SinceStart {
        let lost = profile.meta.loss.buffer_full.saturating_mul(period);
        missing.used = missing.used.saturating_add(lost);
        missing.causes.push((Cause::BufferFull, lost));
        missing.causes.retain(|&(_, time)| time > 0);
    }
    let is_grave = missing.is_grave(period);
    is_grave.then(|| profundo_report::text::missing(&missing))
}

/// A command line whose program is called by its name alone.
fn short_command(command: &str) -> String {
    let end = command.find(' ').unwrap_or(command.len());
    let start = command[..end].rfind('/').map_or(0, |slash| slash + 1);
    command[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_samples_are_no_billion_of_percent() {
        let sample = profundo_model::Sample {
            weight: Nanos(10_000_000),
            ..profundo_model::Sample::default()
        };
        let part = Part {
            rows: vec![sample],
            samples: 1,
            length: 1,
        };
        let head = head(&Profile::default(), &part, 1);
        assert!(head.cpu <= 0.1, "{}", head.cpu);
        assert!(head.rate <= 10.0, "{}", head.rate);
    }

    #[test]
    fn a_program_is_called_by_its_name() {
        for (command, short) in [
            (
                "/usr/bin/python3 /home/me/app.py",
                "python3 /home/me/app.py",
            ),
            ("./server", "server"),
            ("sort /tmp/x", "sort /tmp/x"),
            ("", ""),
        ] {
            assert_eq!(short_command(command), short);
        }
    }
}
